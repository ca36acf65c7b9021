# The subscribers of the lab `isp`: eight PPPoE clients on two VLANs. All use one line, so one default route is active.
/system identity
set name=subscribers
/interface vlan
add interface=ether1 name=line10 vlan-id=10
add interface=ether1 name=line20 vlan-id=20
/interface pppoe-client
add add-default-route=yes default-route-distance=1 disabled=no interface=line10 keepalive-timeout=3 name=pppoe-anna password=anna-secret user=anna
add add-default-route=yes default-route-distance=2 disabled=no interface=line20 keepalive-timeout=3 name=pppoe-bert password=bert-secret user=bert
add add-default-route=yes default-route-distance=3 disabled=no interface=line10 keepalive-timeout=3 name=pppoe-cora password=cora-secret user=cora
add add-default-route=yes default-route-distance=4 disabled=no interface=line20 keepalive-timeout=3 name=pppoe-dora password=dora-secret user=dora
add add-default-route=yes default-route-distance=5 disabled=no interface=line10 keepalive-timeout=3 name=pppoe-emil password=emil-secret user=emil
add add-default-route=yes default-route-distance=6 disabled=no interface=line20 keepalive-timeout=3 name=pppoe-fritz password=fritz-secret user=fritz
add add-default-route=yes default-route-distance=7 disabled=no interface=line10 keepalive-timeout=3 name=pppoe-gerd password=gerd-secret user=gerd
add add-default-route=yes default-route-distance=8 disabled=no interface=line20 keepalive-timeout=3 name=pppoe-hanna password=hanna-secret user=hanna
