# One rule for each thing that a test looks at, told apart by port.
/routing table
add fib name=other
/ip address
add address=203.0.113.2/24 interface=ether1
add address=192.168.88.1/24 interface=ether2
/ip route
add dst-address=198.51.100.80/32 gateway=203.0.113.1 routing-table=other
/ip firewall raw
add action=notrack chain=prerouting dst-port=6060 protocol=udp
add action=notrack chain=prerouting protocol=udp src-port=6060
add action=drop chain=prerouting comment=raw dst-port=6061 protocol=udp
/ip firewall mangle
add action=mark-routing chain=prerouting dst-port=6040 in-interface=ether2 new-routing-mark=other protocol=tcp
add action=change-mss chain=forward dst-port=6050 new-mss=1000 protocol=tcp tcp-flags=syn
/ip firewall filter
add action=drop chain=forward comment=dropped dst-port=6011 protocol=udp
add action=accept chain=forward connection-state=established,related
add action=reject chain=forward dst-port=6001 protocol=udp
add action=reject chain=forward dst-port=6002 protocol=udp reject-with=icmp-host-unreachable
add action=reject chain=forward dst-port=6003 protocol=udp reject-with=icmp-port-unreachable
add action=reject chain=forward dst-port=6004 protocol=udp reject-with=icmp-protocol-unreachable
add action=reject chain=forward dst-port=6005 protocol=udp reject-with=icmp-net-prohibited
add action=reject chain=forward dst-port=6006 protocol=udp reject-with=icmp-host-prohibited
add action=reject chain=forward dst-port=6007 protocol=udp reject-with=icmp-admin-prohibited
add action=reject chain=forward dst-port=6008 protocol=tcp reject-with=tcp-reset
add action=reject chain=input dst-port=6009 protocol=tcp reject-with=tcp-reset
add action=tarpit chain=forward comment=tarpit dst-port=6010 protocol=tcp
add action=add-src-to-address-list address-list=first address-list-timeout=1m chain=forward dst-port=7001 protocol=udp
add action=add-src-to-address-list address-list=second address-list-timeout=1m chain=forward dst-port=7002 protocol=udp src-address-list=first
add action=reject chain=forward dst-port=7003 protocol=tcp reject-with=tcp-reset src-address-list=!second
add action=reject chain=forward connection-limit=2,32 dst-port=6030 protocol=tcp reject-with=tcp-reset
/ip firewall nat
add action=dst-nat chain=dstnat dst-address=203.0.113.2 dst-port=8080 protocol=tcp to-addresses=192.168.88.10 to-ports=80
add action=dst-nat chain=dstnat dst-address=203.0.113.2 dst-port=6070 protocol=udp to-addresses=192.168.88.10 to-ports=6003
add action=redirect chain=dstnat dst-port=6020 protocol=tcp to-ports=6021
add action=masquerade chain=srcnat dst-address=192.168.88.0/24 src-address=192.168.88.0/24
add action=masquerade chain=srcnat out-interface=ether1
/ipv6 address
add address=2001:2:0:1::2/64 advertise=no interface=ether1
add address=2001:2:0:88::1/64 interface=ether2
/ipv6 firewall filter
add action=reject chain=forward dst-port=6001 protocol=udp
add action=reject chain=forward dst-port=6002 protocol=udp reject-with=icmp-admin-prohibited
add action=reject chain=forward dst-port=6003 protocol=udp reject-with=icmp-not-neighbour
add action=reject chain=forward dst-port=6004 protocol=udp reject-with=icmp-address-unreachable
add action=reject chain=forward dst-port=6005 protocol=udp reject-with=icmp-port-unreachable
add action=reject chain=forward dst-port=6006 protocol=udp reject-with=icmp-err-src-routing-header
add action=reject chain=forward dst-port=6008 protocol=tcp reject-with=tcp-reset
add action=reject chain=input dst-port=6009 protocol=tcp reject-with=tcp-reset
