# The lab "dhcp-on-port": all ports are in the bridge, and the DHCP client is on the port to the provider, ether1.
/interface bridge
add name=bridge protocol-mode=none
/interface bridge port
add bridge=bridge interface=ether1
add bridge=bridge interface=ether2
/system identity
set name=ferroute
/ip address
add address=192.168.88.1/24 interface=bridge
/ip dhcp-client
add interface=ether1
/ip firewall nat
add action=masquerade chain=srcnat out-interface=ether1
