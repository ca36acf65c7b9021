# The lab "layer7": two sites are to be blocked by patterns of their names, in all connections of the client at ether2.
/system identity
set name=ferroute
/ip address
add address=203.0.113.2/24 interface=ether1
add address=192.168.88.1/24 interface=ether2
/ip route
add gateway=203.0.113.1
/ip firewall layer7-protocol
add name=videos regexp="^.+(video-site).*"
add name=friends regexp="^.+(friends-site).*"
/ip firewall filter
add action=drop chain=forward layer7-protocol=friends
add action=drop chain=forward layer7-protocol=videos
/ip firewall nat
add action=masquerade chain=srcnat out-interface=ether1
