# The lab "everyday": the configuration of the lab "home" with what a household adds to it. Guests have a VLAN on ether4
# and a queue. ICMP has a queue tree. The office is part of the LAN by EoIP with ipsec-secret, the branch is reached by
# IKEv2 with certificates, and the far router itself by WireGuard.
/interface bridge
add admin-mac=02:00:00:00:02:01 auto-mac=no comment=defconf name=bridge vlan-filtering=yes
/interface eoip
add allow-fast-path=no ipsec-secret="correct horse" mac-address=02:00:00:00:20:01 mtu=1500 name=eoip-office remote-address=192.0.2.2 tunnel-id=20
/interface wireguard
add listen-port=13231 mtu=1420 name=wireguard1 private-key="SM/vTdRgLCSmdacDHkT/Y25P17Lq9NbuRaaLccVaxHw="
/interface vlan
add interface=bridge name=vlan20-guests vlan-id=20
/interface list
add comment=defconf name=WAN
add comment=defconf name=LAN
/ip ipsec peer
add address=192.0.2.2/32 exchange-mode=ike2 name=branch
/ip pool
add name=default-dhcp ranges=192.168.88.10-192.168.88.254
add name=guests ranges=192.168.20.10-192.168.20.254
/ip dhcp-server
add address-pool=default-dhcp interface=bridge name=defconf
add address-pool=guests interface=vlan20-guests name=guests
/queue simple
add max-limit=2M/20M name=guests target=192.168.20.0/24
/queue tree
add max-limit=50M name=icmp-up packet-mark=icmp parent=ether1 priority=1
/interface bridge port
add bridge=bridge comment=defconf interface=ether2
add bridge=bridge comment=defconf interface=ether3
add bridge=bridge frame-types=admit-only-untagged-and-priority-tagged interface=ether4 pvid=20
add bridge=bridge interface=eoip-office
/ip neighbor discovery-settings
set discover-interface-list=LAN
/interface bridge vlan
add bridge=bridge tagged=bridge vlan-ids=20
/interface list member
add comment=defconf interface=bridge list=LAN
add comment=defconf interface=ether1 list=WAN
add interface=vlan20-guests list=LAN
/interface wireguard peers
add allowed-address=10.9.0.2/32 endpoint-address=192.0.2.2 endpoint-port=13231 interface=wireguard1 name=far persistent-keepalive=25s public-key="mPcDMrVIoA3J2ifRYz0dk+JTyrWgKdwNIdFTKpTHM2c="
/ip address
add address=192.168.88.1/24 comment=defconf interface=bridge network=192.168.88.0
add address=192.168.20.1/24 interface=vlan20-guests network=192.168.20.0
add address=10.9.0.1/24 interface=wireguard1 network=10.9.0.0
/ip dhcp-client
add comment=defconf interface=ether1
/ip dhcp-server network
add address=192.168.88.0/24 comment=defconf dns-server=192.168.88.1 gateway=192.168.88.1
add address=192.168.20.0/24 dns-server=192.168.20.1 gateway=192.168.20.1
/ip dns
set allow-remote-requests=yes
/ip dns static
add address=192.168.88.1 comment=defconf name=router.lan type=A
/ip firewall filter
add action=accept chain=input comment="defconf: accept established,related,untracked" connection-state=established,related,untracked
add action=drop chain=input comment="defconf: drop invalid" connection-state=invalid
add action=accept chain=input comment="defconf: accept ICMP" protocol=icmp
add action=accept chain=input comment="defconf: accept to local loopback (for CAPsMAN)" dst-address=127.0.0.1
add action=accept chain=input comment="accept IKE" dst-port=500,4500 protocol=udp
add action=accept chain=input comment="accept ESP" protocol=ipsec-esp
add action=accept chain=input comment="accept EoIP out of IPsec" ipsec-policy=in,ipsec protocol=gre
add action=accept chain=input comment="accept WireGuard" dst-port=13231 protocol=udp
add action=drop chain=input comment="defconf: drop all not coming from LAN" in-interface-list=!LAN
add action=accept chain=forward comment="defconf: accept in ipsec policy" ipsec-policy=in,ipsec
add action=accept chain=forward comment="defconf: accept out ipsec policy" ipsec-policy=out,ipsec
add action=drop chain=forward comment="guests: the internet alone" in-interface=vlan20-guests out-interface-list=!WAN
add action=accept chain=forward comment="guests: queued, so no FastTrack" connection-state=established,related dst-address=192.168.20.0/24
add action=accept chain=forward comment="guests: queued, so no FastTrack" connection-state=established,related src-address=192.168.20.0/24
add action=fasttrack-connection chain=forward comment="defconf: fasttrack" connection-state=established,related hw-offload=yes
add action=accept chain=forward comment="defconf: accept established,related, untracked" connection-state=established,related,untracked
add action=drop chain=forward comment="defconf: drop invalid" connection-state=invalid
add action=drop chain=forward comment="defconf: drop all from WAN not DSTNATed" connection-nat-state=!dstnat connection-state=new in-interface-list=WAN
/ip firewall mangle
add action=mark-packet chain=postrouting new-packet-mark=icmp out-interface-list=WAN passthrough=no protocol=icmp
/ip firewall nat
add action=masquerade chain=srcnat comment="defconf: masquerade" ipsec-policy=out,none out-interface-list=WAN
/ip ipsec policy
add dst-address=10.20.0.0/24 peer=branch src-address=192.168.88.0/24 tunnel=yes
/ipv6 address
add address=::1/64 from-pool=isp interface=bridge
add address=::1/64 from-pool=isp interface=vlan20-guests
/ipv6 dhcp-client
add add-default-route=yes interface=ether1 pool-name=isp request=address,prefix
/ipv6 firewall address-list
add address=::/128 comment="defconf: unspecified address" list=bad_ipv6
add address=::1/128 comment="defconf: lo" list=bad_ipv6
add address=fec0::/10 comment="defconf: site-local" list=bad_ipv6
add address=::ffff:0.0.0.0/96 comment="defconf: ipv4-mapped" list=bad_ipv6
add address=::/96 comment="defconf: ipv4 compat" list=bad_ipv6
add address=100::/64 comment="defconf: discard only " list=bad_ipv6
add address=2001:db8::/32 comment="defconf: documentation" list=bad_ipv6
add address=2001:10::/28 comment="defconf: ORCHID" list=bad_ipv6
add address=3ffe::/16 comment="defconf: 6bone" list=bad_ipv6
/ipv6 firewall filter
add action=accept chain=input comment="defconf: accept established,related,untracked" connection-state=established,related,untracked
add action=drop chain=input comment="defconf: drop invalid" connection-state=invalid
add action=accept chain=input comment="defconf: accept ICMPv6" protocol=icmpv6
add action=accept chain=input comment="defconf: accept UDP traceroute" dst-port=33434-33534 protocol=udp
add action=accept chain=input comment="defconf: accept DHCPv6-Client prefix delegation." dst-port=546 protocol=udp src-address=fe80::/10
add action=accept chain=input comment="defconf: accept IKE" dst-port=500,4500 protocol=udp
add action=accept chain=input comment="defconf: accept ipsec AH" protocol=ipsec-ah
add action=accept chain=input comment="defconf: accept ipsec ESP" protocol=ipsec-esp
add action=accept chain=input comment="defconf: accept all that matches ipsec policy" ipsec-policy=in,ipsec
add action=drop chain=input comment="defconf: drop everything else not coming from LAN" in-interface-list=!LAN
add action=fasttrack-connection chain=forward comment="defconf: fasttrack6" connection-state=established,related
add action=accept chain=forward comment="defconf: accept established,related,untracked" connection-state=established,related,untracked
add action=drop chain=forward comment="defconf: drop invalid" connection-state=invalid
add action=drop chain=forward comment="defconf: drop packets with bad src ipv6" src-address-list=bad_ipv6
add action=drop chain=forward comment="defconf: drop packets with bad dst ipv6" dst-address-list=bad_ipv6
add action=drop chain=forward comment="defconf: rfc4890 drop hop-limit=1" hop-limit=equal:1 protocol=icmpv6
add action=accept chain=forward comment="defconf: accept ICMPv6" protocol=icmpv6
add action=accept chain=forward comment="defconf: accept HIP" protocol=139
add action=accept chain=forward comment="defconf: accept IKE" dst-port=500,4500 protocol=udp
add action=accept chain=forward comment="defconf: accept ipsec AH" protocol=ipsec-ah
add action=accept chain=forward comment="defconf: accept ipsec ESP" protocol=ipsec-esp
add action=accept chain=forward comment="defconf: accept all that matches ipsec policy" ipsec-policy=in,ipsec
add action=drop chain=forward comment="defconf: drop everything else not coming from LAN" in-interface-list=!LAN
/system scheduler
add interval=1m name=heartbeat on-event=":log info \"heartbeat\"" start-time=startup
/tool mac-server
set allowed-interface-list=LAN
/tool mac-server mac-winbox
set allowed-interface-list=LAN
/tool netwatch
add host=198.51.100.80 interval=2s name=internet startup-delay=0s type=icmp up-script=":log info \"the internet is there\""
