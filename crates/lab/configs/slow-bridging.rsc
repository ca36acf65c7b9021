# The lab "slow-bridging": a server at ether2, a workstation at ether3 and guests at ether4 are one network. The guests
# are to be kept off the server, and the rules for that are asked about every frame there is.
/interface bridge
add name=bridge protocol-mode=none
/interface bridge port
add bridge=bridge comment=server hw=no interface=ether2
add bridge=bridge comment=workstation hw=no interface=ether3
add bridge=bridge comment=guests hw=no interface=ether4
/interface bridge filter
add action=drop chain=forward comment="guests stay off the server" dst-address=192.168.88.10/32 mac-protocol=ip src-address=192.168.88.128/25
add action=accept chain=forward comment="everything else"
/system identity
set name=ferroute
/ip address
add address=192.168.88.1/24 interface=bridge
