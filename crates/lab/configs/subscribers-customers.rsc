# The lab "subscribers": the lines of ten customers, each a VLAN of ether1 with a PPPoE client. Anna, Bert and Carla
# have a host at ether2, ether3 and ether4. Jan mistyped his password.
/interface vlan
add interface=ether1 name=line-anna vlan-id=101
add interface=ether1 name=line-bert vlan-id=102
add interface=ether1 name=line-carla vlan-id=103
add interface=ether1 name=line-dora vlan-id=104
add interface=ether1 name=line-emil vlan-id=105
add interface=ether1 name=line-fritz vlan-id=106
add interface=ether1 name=line-gerda vlan-id=107
add interface=ether1 name=line-hugo vlan-id=108
add interface=ether1 name=line-ida vlan-id=109
add interface=ether1 name=line-jan vlan-id=110
/interface pppoe-client
add disabled=no interface=line-anna name=pppoe-anna password=anna-secret user=anna
add disabled=no interface=line-bert name=pppoe-bert password=bert-secret user=bert
add disabled=no interface=line-carla name=pppoe-carla password=carla-secret user=carla
add disabled=no interface=line-dora name=pppoe-dora password=dora-secret user=dora
add disabled=no interface=line-emil name=pppoe-emil password=emil-secret user=emil
add disabled=no interface=line-fritz name=pppoe-fritz password=fritz-secret user=fritz
add disabled=no interface=line-gerda name=pppoe-gerda password=gerda-secret user=gerda
add disabled=no interface=line-hugo name=pppoe-hugo password=hugo-secret user=hugo
add disabled=no interface=line-ida name=pppoe-ida password=ida-secret user=ida
add disabled=no interface=line-jan name=pppoe-jan password=jan-secert user=jan
/routing table
add fib name=anna
add fib name=bert
add fib name=carla
/ip address
add address=192.168.1.1/24 interface=ether2 network=192.168.1.0
add address=192.168.2.1/24 interface=ether3 network=192.168.2.0
add address=192.168.3.1/24 interface=ether4 network=192.168.3.0
/ip firewall nat
add action=masquerade chain=srcnat out-interface=pppoe-anna
add action=masquerade chain=srcnat out-interface=pppoe-bert
add action=masquerade chain=srcnat out-interface=pppoe-carla
/ip route
add dst-address=0.0.0.0/0 gateway=pppoe-anna routing-table=anna
add dst-address=0.0.0.0/0 gateway=pppoe-bert routing-table=bert
add dst-address=0.0.0.0/0 gateway=pppoe-carla routing-table=carla
/routing rule
add action=lookup src-address=192.168.1.0/24 table=anna
add action=lookup src-address=192.168.2.0/24 table=bert
add action=lookup src-address=192.168.3.0/24 table=carla
/system identity
set name=customers
