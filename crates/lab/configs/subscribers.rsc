# The lab "subscribers": a provider's router. ether1 is the internet; ether2 and ether3 are the access network, on which
# PPPoE serves the subscribers, each on a VLAN.
/interface list
add name=access
/ip pool
add name=subscribers ranges=100.64.0.2-100.64.0.99
/ppp profile
add local-address=100.64.0.1 name=gold only-one=yes rate-limit=20M/50M remote-address=subscribers
add local-address=100.64.0.1 name=silver only-one=yes rate-limit=10M/20M remote-address=subscribers
add local-address=100.64.0.1 name=bronze only-one=yes rate-limit=2M/5M remote-address=subscribers
/interface list member
add interface=ether2 list=access
add interface=ether3 list=access
/interface pppoe-server server
add default-profile=bronze disabled=no interface=access one-session-per-host=yes pppoe-over-vlan-range=101-110 service-name=isp
/ip address
add address=198.51.100.1/24 interface=ether1 network=198.51.100.0
/ppp secret
add name=anna password=anna-secret profile=gold service=pppoe
add name=bert password=bert-secret profile=silver service=pppoe
add name=carla password=carla-secret profile=bronze service=pppoe
add name=dora password=dora-secret profile=gold service=pppoe
add name=emil password=emil-secret profile=silver service=pppoe
add name=fritz password=fritz-secret profile=bronze service=pppoe
add name=gerda password=gerda-secret profile=bronze service=pppoe
add name=hugo password=hugo-secret profile=silver service=pppoe
add name=ida password=ida-secret profile=bronze service=pppoe
add name=jan password=jan-secret profile=bronze service=pppoe
/system identity
set name=bras
