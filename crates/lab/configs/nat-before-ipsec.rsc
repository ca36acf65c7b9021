# The lab "nat-before-ipsec": a site at ether2 whose packets for the other site IPsec should encrypt, and masquerade.
/system identity
set name=ferroute
/ip ipsec peer
add address=203.0.113.1/32 exchange-mode=ike2 name=far
/ip address
add address=203.0.113.2/24 interface=ether1
add address=10.1.202.1/24 interface=ether2
/ip route
add gateway=203.0.113.1
/ip ipsec identity
add peer=far secret="correct horse battery"
/ip ipsec policy
add dst-address=10.1.101.0/24 peer=far src-address=10.1.202.0/24 tunnel=yes
/ip firewall nat
add action=masquerade chain=srcnat out-interface=ether1
