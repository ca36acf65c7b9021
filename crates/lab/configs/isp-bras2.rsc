# The second router of the lab `isp`: serves PPPoE on two access VLANs. Subscribers of the
# VLAN that the other router serves without delay come here only if the other one does not answer.
/system identity
set name=bras2
/interface vlan
add interface=ether1 name=access10 vlan-id=10
add interface=ether1 name=access20 vlan-id=20
/ppp profile
add dns-server=198.51.100.80 local-address=10.64.0.1 name=subscribers
/ip address
add address=192.0.2.2/24 interface=ether2
/ip route
add gateway=192.0.2.1
/radius
add address=198.51.100.18 require-message-auth=no secret=testing123 service=ppp timeout=2s
/ppp aaa
set interim-update=1m use-radius=yes
/interface pppoe-server server
add authentication=mschap2,chap default-profile=subscribers disabled=no interface=access10 keepalive-timeout=10 pado-delay=500 service-name=isp
add authentication=mschap2,chap default-profile=subscribers disabled=no interface=access20 keepalive-timeout=10 service-name=isp
# The subscribers' addresses are the same at both routers, which translate them to their own.
/ip firewall nat
add action=masquerade chain=srcnat out-interface=ether2
