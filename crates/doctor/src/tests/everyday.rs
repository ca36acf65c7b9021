//! Everyday mistakes of addresses, sessions and rules, and similar correct configurations.

use super::{ACCEPT, CLOSED, Case, DROP, FASTTRACK, WAN};

const LAN: &str = "/ip/address/add address=192.168.88.1/24 interface=ether2\n";
const STATIC: &str = "/ip/address/add address=192.0.2.7/24 interface=ether1\n";
const POOL: &str = "/ip/pool/add name=p ranges=192.168.88.10-192.168.88.99\n";
const DHCP: &str = "/ip/dhcp-server/add name=d interface=ether2 address-pool=p disabled=no\n";
const NETWORK: &str = "/ip/dhcp-server/network/add address=192.168.88.0/24 gateway=192.168.88.1\n";
const L2TP: &str = "/interface/l2tp-server/server/set enabled=yes\n";
const PORT: &str = "/ip/firewall/nat/add chain=dstnat action=dst-nat protocol=tcp dst-port=80 to-addresses=192.168.88.9\n";

/// Per rule the wrong and the correct configuration, in parts.
pub(super) const CASES: &[Case] = &[
    (
        "fasttrack-vs-mangle",
        &[
            FASTTRACK,
            ACCEPT,
            "/ip/firewall/mangle/add chain=forward action=mark-packet new-packet-mark=m protocol=udp\n",
        ],
        &[
            "/ip/firewall/filter/add chain=forward action=fasttrack-connection connection-state=established \
             connection-mark=no-mark\n",
            ACCEPT,
            "/ip/firewall/mangle/add chain=forward action=mark-packet new-packet-mark=m protocol=udp\n",
        ],
    ),
    (
        "gateway-unreachable",
        &[LAN, STATIC, "/ip/route/add gateway=192.0.3.1\n"],
        &[
            LAN,
            STATIC,
            "/ip/route/add gateway=192.0.2.1\n/ip/route/add dst-address=198.51.100.9/32 gateway=192.0.2.1\n\
             /ip/route/add dst-address=10.0.0.0/8 gateway=198.51.100.9\n",
        ],
    ),
    (
        "network-twice",
        &[
            LAN,
            "/ip/address/add address=192.168.88.2/24 interface=ether3\n",
        ],
        &[
            LAN,
            "/ip/address/add address=192.168.88.2/24 interface=ether2\n",
            STATIC,
        ],
    ),
    (
        "dhcp-pool-outside",
        &[
            LAN,
            "/ip/pool/add name=p ranges=192.168.89.10-192.168.89.99\n",
            DHCP,
        ],
        &[LAN, POOL, DHCP, NETWORK],
    ),
    (
        "dhcp-network-missing",
        &[
            LAN,
            POOL,
            DHCP,
            "/ip/dhcp-server/network/add address=192.168.89.0/24 gateway=192.168.89.1\n",
        ],
        &[LAN, POOL, DHCP, NETWORK],
    ),
    (
        "queue-target-nowhere",
        &[
            LAN,
            STATIC,
            "/queue/simple/add name=q target=192.168.89.7/32 max-limit=1M/1M\n",
        ],
        &[
            LAN,
            "/ip/route/add dst-address=192.168.90.0/24 gateway=192.168.88.2\n\
             /queue/simple/add name=q target=192.168.88.7/32 max-limit=1M/1M\n\
             /queue/simple/add name=r target=192.168.90.7/32 max-limit=1M/1M\n",
        ],
    ),
    (
        "ppp-no-address",
        &[
            L2TP,
            "/ppp/secret/add name=anna password=a-long-random-one\n",
        ],
        &[
            L2TP,
            "/ppp/secret/add name=anna password=a-long-random-one remote-address=10.7.0.2\n",
        ],
    ),
    (
        "ppp-address-twice",
        &[
            "/ppp/secret/add name=anna password=a-long-random-one remote-address=10.7.0.2\n\
             /ppp/secret/add name=bert password=another-random-one remote-address=10.7.0.2\n",
        ],
        &[
            "/ppp/secret/add name=anna password=a-long-random-one remote-address=10.7.0.2\n\
             /ppp/secret/add name=bert password=another-random-one remote-address=10.7.0.3\n",
        ],
    ),
    (
        "ovpn-server-no-certificate",
        &["/interface/ovpn-server/server/add name=o disabled=no\n"],
        &["/interface/ovpn-server/server/add name=o\n"],
    ),
    (
        "tunnel-mtu-fragments",
        &["/interface/gre/add name=g remote-address=198.51.100.9 mtu=1500\n"],
        &[
            "/interface/gre/add name=g remote-address=198.51.100.9 mtu=1476\n\
             /interface/ethernet/set ether1 mtu=1500\n/interface/wireguard/add name=w mtu=1420\n",
        ],
    ),
    (
        "mtu-above-l2mtu",
        &[
            "/interface/ethernet/set ether1 l2mtu=1500\n/interface/vlan/add name=v interface=ether1 vlan-id=7\n",
        ],
        &[
            "/interface/ethernet/set ether1 l2mtu=1504\n/interface/vlan/add name=v interface=ether1 vlan-id=7\n",
        ],
    ),
    (
        "bond-of-tunnels",
        &[
            "/interface/eoip/add name=e remote-address=198.51.100.9 tunnel-id=1\n\
             /interface/bonding/add name=b mode=802.3ad slaves=ether3,e transmit-hash-policy=layer-2-and-3\n",
        ],
        &[
            "/interface/bonding/add name=b mode=802.3ad slaves=ether3,ether4 transmit-hash-policy=layer-2-and-3\n",
        ],
    ),
    (
        "dstnat-blocked",
        &[WAN, PORT, ACCEPT, DROP],
        &[
            WAN,
            PORT,
            ACCEPT,
            "/ip/firewall/filter/add chain=forward action=drop connection-state=new connection-nat-state=!dstnat \
             in-interface=ether1\n",
        ],
    ),
    (
        "admin-from-everywhere",
        &[
            WAN,
            "/ip/firewall/filter/add chain=input action=accept protocol=tcp dst-port=22\n",
            CLOSED,
        ],
        &[
            WAN,
            "/ip/firewall/filter/add chain=input action=accept protocol=tcp dst-port=22\n",
            CLOSED,
            "/user/set admin address=192.168.88.0/24\n",
        ],
    ),
    (
        "password-in-script",
        &["/system/script/add name=s source=\"/tool fetch user=a password=opensesame url=x\"\n"],
        &["/system/script/add name=s source=\"/tool fetch user=a password=\\$word url=x\"\n"],
    ),
    (
        "speed-test-on-router",
        &[
            "/system/scheduler/add name=s interval=1h on-event=\"/tool bandwidth-test 192.0.2.9 duration=30s\"\n",
        ],
        &["/system/scheduler/add name=s interval=1h on-event=\"/ping 192.0.2.9 count=3\"\n"],
    ),
];
