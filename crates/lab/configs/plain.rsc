# The lab "plain": ether1 is the internet, ether2 the LAN, and nothing is filtered.
/system identity
set name=ferroute
/ip address
add address=203.0.113.2/24 comment=internet interface=ether1
add address=192.168.88.1/24 comment=LAN interface=ether2
/ip route
add dst-address=0.0.0.0/0 gateway=203.0.113.1
/ipv6 address
add address=2001:db8:1::2/64 advertise=no comment=internet interface=ether1
add address=2001:db8:88::1/64 comment=LAN interface=ether2
/ipv6 route
add dst-address=::/0 gateway=2001:db8:1::1
