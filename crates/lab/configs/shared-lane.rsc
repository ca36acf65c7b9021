# The lab "shared-lane": a hEX with two databases in a bridge that its chip switches, at ether1 and ether2, and the two
# sites that feed them at ether3 and ether4.
/interface bridge
add name=data protocol-mode=none
/interface bridge port
add bridge=data interface=ether1
add bridge=data interface=ether2
/system identity
set name=ferroute
/ip address
add address=10.9.0.1/24 interface=data
add address=10.9.3.1/24 interface=ether3
add address=10.9.4.1/24 interface=ether4
