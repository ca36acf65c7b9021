//! Configurations of PPP sessions with a mistake, and similar correct ones.

use super::{BRIDGE, CLOSED, Case, WAN};

const PPPOE: &str = "/interface/pppoe-client/add disabled=no name=pppoe-out1 interface=ether1 \
                     user=anna add-default-route=yes\n";

/// Per rule the wrong and the correct configuration, in parts.
pub(super) const CASES: &[Case] = &[
    (
        "mppe-security",
        &[
            "/interface/pppoe-client/add name=p interface=ether2 profile=default-encryption disabled=no",
        ],
        &["/interface/pppoe-client/add name=p interface=ether2 disabled=no"],
    ),
    (
        "pppoe-on-slave-interface",
        &[
            BRIDGE,
            "/interface/pppoe-client/add interface=ether2 user=anna disabled=no\n",
        ],
        &[
            BRIDGE,
            "/interface/pppoe-client/add interface=lan user=anna disabled=no\n",
        ],
    ),
    (
        "pppoe-serves-nobody",
        &[
            "/interface/pppoe-server/server/add service-name=isp interface=ether1 accept-untagged=no disabled=no\n",
        ],
        &[
            "/interface/pppoe-server/server/add service-name=isp interface=ether1 accept-untagged=no \
             pppoe-over-vlan-range=10-20 disabled=no\n\
             /interface/pppoe-server/server/add service-name=lan interface=ether2 disabled=no\n",
        ],
    ),
    (
        "pppoe-mtu",
        &[
            "/interface/pppoe-client/add interface=ether1 user=anna disabled=no max-mtu=1500 max-mru=1500\n",
        ],
        &[
            "/interface/ethernet/set [find default-name=ether1] mtu=1508\n\
             /interface/pppoe-client/add interface=ether1 user=anna disabled=no max-mtu=1500 max-mru=1500\n\
             /interface/pppoe-client/add interface=ether2 user=anna disabled=no max-mtu=1492 max-mru=1480\n",
        ],
    ),
    (
        "pppoe-not-masqueraded",
        &[
            PPPOE,
            "/interface/list/add name=WAN\n/interface/list/member/add list=WAN interface=ether1\n\
             /ip/firewall/nat/add chain=srcnat action=masquerade out-interface-list=WAN\n",
        ],
        &[
            PPPOE,
            "/interface/list/add name=WAN\n/interface/list/member/add list=WAN interface=pppoe-out1\n\
             /ip/firewall/nat/add chain=srcnat action=masquerade out-interface-list=WAN\n",
        ],
    ),
    (
        "pppoe-mss",
        &["/ppp/profile/set default change-tcp-mss=no\n", PPPOE],
        &[
            "/ppp/profile/add name=clamped change-tcp-mss=yes\n",
            PPPOE,
            "/interface/pppoe-client/set pppoe-out1 profile=clamped\n",
        ],
    ),
    (
        "dhcp-client-below-pppoe",
        &[WAN, PPPOE],
        &[
            "/ip/dhcp-client/add interface=ether1 add-default-route=no\n",
            PPPOE,
        ],
    ),
    (
        "l2tp-server-blocked",
        &[
            WAN,
            CLOSED,
            "/interface/l2tp-server/server/set enabled=yes use-ipsec=required\n",
        ],
        &[
            WAN,
            "/ip/firewall/filter/add chain=input action=accept protocol=udp dst-port=1701\n",
            CLOSED,
            "/interface/l2tp-server/server/set enabled=yes\n",
        ],
    ),
    (
        "double-encapsulation",
        &[
            "/interface/l2tp-client/add name=l2tp-out1 connect-to=192.0.2.2 user=u disabled=no\n",
            "/interface/eoip/add name=e remote-address=10.64.0.1 tunnel-id=1\n",
        ],
        &[
            "/interface/l2tp-client/add name=l2tp-out1 connect-to=192.0.2.2 user=u disabled=no\n",
            "/ip/address/add address=10.64.0.2/24 interface=ether1\n",
            "/interface/eoip/add name=e remote-address=10.64.0.1 tunnel-id=1\n",
            "/interface/eoip/add name=f remote-address=192.0.2.2 tunnel-id=2\n",
        ],
    ),
    (
        "double-encapsulation",
        &[
            "/interface/sstp-client/add name=sstp-out1 connect-to=192.0.2.2 user=u disabled=no\n",
            "/ip/route/add dst-address=198.51.100.0/24 gateway=sstp-out1\n",
            "/interface/eoip/add name=e remote-address=198.51.100.7 tunnel-id=1\n",
        ],
        &[
            "/interface/sstp-client/add name=sstp-out1 connect-to=192.0.2.2 user=u disabled=no\n",
            "/ip/route/add dst-address=10.0.0.0/8 gateway=192.168.88.9\n",
            "/interface/eoip/add name=e remote-address=10.64.0.1 tunnel-id=1\n",
        ],
    ),
    (
        "pptp-server-blocked",
        &[
            WAN,
            CLOSED,
            "/interface/pptp-server/server/set enabled=yes\n",
        ],
        &[
            WAN,
            "/ip/firewall/filter/add chain=input action=accept protocol=tcp dst-port=1723\n",
            "/ip/firewall/filter/add chain=input action=accept protocol=gre\n",
            CLOSED,
            "/interface/pptp-server/server/set enabled=yes\n",
        ],
    ),
    (
        "sstp-server-blocked",
        &[
            WAN,
            CLOSED,
            "/interface/sstp-server/server/set enabled=yes port=8443\n",
        ],
        &[
            WAN,
            "/ip/firewall/filter/add chain=input action=accept protocol=tcp dst-port=8443\n",
            CLOSED,
            "/interface/sstp-server/server/set enabled=yes port=8443\n",
        ],
    ),
    (
        "ovpn-server-blocked",
        &[
            WAN,
            CLOSED,
            "/interface/ovpn-server/server/add name=o1 protocol=udp port=1195 disabled=no\n",
        ],
        &[
            WAN,
            "/ip/firewall/filter/add chain=input action=accept protocol=udp dst-port=1195\n",
            CLOSED,
            "/interface/ovpn-server/server/add name=o1 protocol=udp port=1195 disabled=no\n",
        ],
    ),
];
