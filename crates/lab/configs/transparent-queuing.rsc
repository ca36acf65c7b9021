# The lab "transparent-queuing": guests at ether4 are to get 10 Mbit/s, from the internet at ether1 and from a server at
# ether2, which is in the same bridge. IP is shown what is bridged for that, and a simple queue is on the guests' port.
/interface bridge
add name=bridge protocol-mode=none
/interface bridge port
add bridge=bridge comment=server hw=no interface=ether2
add bridge=bridge comment=guests hw=no interface=ether4
/interface bridge settings
set use-ip-firewall=yes
/queue simple
add max-limit=10M/10M name=guests target=ether4
/system identity
set name=ferroute
/ip address
add address=192.168.88.1/24 interface=bridge
add address=203.0.113.2/24 interface=ether1
/ip firewall nat
add action=masquerade chain=srcnat out-interface=ether1
