/interface bridge add name=bridge1 vlan-filtering=yes
/interface bridge port add bridge=bridge1 interface=ether2
/interface bridge port add bridge=bridge1 interface=ether3
/interface bridge vlan add bridge=bridge1 tagged=bridge1 vlan-ids=10
/interface vlan add interface=bridge1 name=vlan10 vlan-id=10
/interface vrrp add interface=ether1 name=vrrp1
/interface vxlan add name=vxlan1 vni=5
/interface eoip add name=eoip1 remote-address=198.51.100.7 tunnel-id=7
/interface wireguard add name=wg1 listen-port=13231 private-key="ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIGA="
/interface wireguard peers add interface=wg1 public-key="AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=" allowed-address=10.9.0.2/32
/interface list add name=LAN
/interface list member add interface=bridge1 list=LAN
/ip address add address=192.168.88.1/24 interface=bridge1
/ip address add address=203.0.113.2/24 interface=ether1
/ip pool add name=pool1 ranges=192.168.88.10-192.168.88.99
/ip dhcp-server add address-pool=pool1 interface=bridge1 name=dhcp1
/ip dhcp-server network add address=192.168.88.0/24 gateway=192.168.88.1
/ip dhcp-server lease add address=192.168.88.9 mac-address=02:00:00:00:00:09
/ip dhcp-client add interface=vlan10
/ip dns set allow-remote-requests=yes servers=203.0.113.1
/ip dns static add address=192.168.88.1 name=router.lan
/ip firewall address-list add address=198.51.100.1 list=blocked timeout=1h
/ip firewall filter add action=accept chain=input limit=10,5:packet
/ip firewall nat add action=masquerade chain=srcnat out-interface=ether1
/ip firewall mangle add action=mark-packet chain=forward new-packet-mark=web protocol=tcp
/ip route add dst-address=0.0.0.0/0 gateway=203.0.113.1
/ipv6 address add address=2001:db8::1/64 interface=bridge1
/queue simple add max-limit=10M/20M name=all target=192.168.88.0/24
/queue tree add limit-at=1M max-limit=5M name=web packet-mark=web parent=global
/ip ipsec peer add address=198.51.100.9/32 name=peer1
/ip ipsec identity add peer=peer1 secret=secret
/system ntp client set enabled=yes
/system ntp client servers add address=203.0.113.1
/system scheduler add interval=1d name=daily on-event=":log info x"
/system script add name=script1 source=":put 1"
/tool netwatch add host=203.0.113.1 type=icmp
/snmp set enabled=yes
/routing table add disabled=no fib name=table1
/routing rule add action=lookup src-address=192.168.88.0/24 table=table1
/user add group=read name=reader password=Secret-123
