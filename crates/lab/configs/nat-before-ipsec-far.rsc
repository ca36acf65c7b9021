# The lab "nat-before-ipsec": the other site, which takes packets for its network out of IPsec alone.
/ip ipsec peer
add address=203.0.113.2/32 exchange-mode=ike2 name=near
/ip address
add address=203.0.113.1/24 interface=ether1
add address=10.1.101.1/24 interface=ether2
/ip route
add gateway=203.0.113.2
/ip ipsec identity
add peer=near secret="correct horse battery"
/ip ipsec policy
add dst-address=10.1.202.0/24 peer=near src-address=10.1.101.0/24 tunnel=yes
/ip firewall filter
add action=drop chain=forward in-interface=ether1 ipsec-policy=in,none
