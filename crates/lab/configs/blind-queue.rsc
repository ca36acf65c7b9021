# The lab "blind-queue": the default firewall of a home router, and a queue of 10 Mbit/s for its LAN.
/system identity
set name=ferroute
/ip address
add address=203.0.113.2/24 interface=ether1
add address=192.168.88.1/24 interface=ether2
/ip route
add gateway=203.0.113.1
/ip firewall filter
add action=accept chain=input connection-state=established,related,untracked
add action=drop chain=input connection-state=invalid
add action=accept chain=input protocol=icmp
add action=drop chain=input in-interface=ether1
add action=accept chain=forward ipsec-policy=in,ipsec
add action=accept chain=forward ipsec-policy=out,ipsec
add action=fasttrack-connection chain=forward connection-state=established,related
add action=accept chain=forward comment=established connection-state=established,related,untracked
add action=drop chain=forward connection-state=invalid
add action=drop chain=forward connection-nat-state=!dstnat connection-state=new in-interface=ether1
/ip firewall nat
add action=masquerade chain=srcnat out-interface=ether1
/queue simple
add max-limit=10M/10M name=lan target=192.168.88.0/24
