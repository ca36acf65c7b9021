# The lab "vpn-wan-change": the other site, which knows the new address of the router.
/interface ipip
add name=to-near remote-address=203.0.113.6
/ip address
add address=203.0.113.1/24 interface=ether1
add address=10.1.101.1/24 interface=ether2
add address=10.8.0.1/30 interface=to-near
/ip route
add dst-address=10.1.202.0/24 gateway=10.8.0.2
