# The lab "fasttrack-blind": a pattern that the client's datagrams match after the first ones, behind FastTrack.
/system identity
set name=ferroute
/ip address
add address=203.0.113.2/24 interface=ether1
add address=192.168.88.1/24 interface=ether2
/ip route
add gateway=203.0.113.1
/ip firewall layer7-protocol
add name=data regexp="ddd"
/ip firewall filter
add action=fasttrack-connection chain=forward connection-state=established,related
add action=accept chain=forward connection-state=established,related
add action=passthrough chain=forward comment=deep layer7-protocol=data
/ip firewall nat
add action=masquerade chain=srcnat out-interface=ether1
