# The lab "vpn-wan-change": the uplink at ether1 has a new address, and the tunnel keeps the old one.
/interface ipip
add local-address=203.0.113.2 name=to-far remote-address=203.0.113.1
/system identity
set name=ferroute
/ip address
add address=203.0.113.6/24 interface=ether1
add address=10.1.202.1/24 interface=ether2
add address=10.8.0.2/30 interface=to-far
/ip route
add dst-address=10.1.101.0/24 gateway=10.8.0.1
