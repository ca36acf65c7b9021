# The lab "everyday": the other end of its tunnels. ether1 is the internet, ether2 is the office, whose frames EoIP takes
# to the LAN of the home, and ether3 is the branch.
/interface bridge
add name=bridge protocol-mode=none
/interface eoip
add allow-fast-path=no ipsec-secret="correct horse" mac-address=02:00:00:00:20:02 mtu=1500 name=eoip-home remote-address=203.0.113.100 tunnel-id=20
/interface wireguard
add listen-port=13231 mtu=1420 name=wireguard1 private-key="UHCnZjKnthxF5CtRAzh0ve6TpPJnYjCBSfEj8Ug3LU8="
/ip ipsec peer
add address=203.0.113.100/32 exchange-mode=ike2 name=home
/interface bridge port
add bridge=bridge interface=ether2
add bridge=bridge interface=eoip-home
/interface wireguard peers
add allowed-address=10.9.0.1/32,192.168.88.0/24 interface=wireguard1 name=home public-key="qqaScuFQ2QGp90XuInDHmmqyPSh5xQ6U2SVmSMCLUjY="
/ip address
add address=192.0.2.2/24 interface=ether1 network=192.0.2.0
add address=10.20.0.1/24 interface=ether3 network=10.20.0.0
add address=10.9.0.2/24 interface=wireguard1 network=10.9.0.0
/ip ipsec policy
add dst-address=192.168.88.0/24 peer=home src-address=10.20.0.0/24 tunnel=yes
/ip route
add gateway=192.0.2.1
add dst-address=192.168.88.0/24 gateway=10.9.0.1
