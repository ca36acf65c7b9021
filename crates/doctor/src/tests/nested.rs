//! Tunnels inside tunnels with a mistake, and similar correct ones.

use super::Case;

/// An SSTP client that reaches its server by an address of the uplink, and a route into its tunnel.
const OUTER: &str = "/interface/sstp-client/add name=sstp-out1 connect-to=192.0.2.2 user=u disabled=no\n\
                     /ip/route/add dst-address=198.51.100.0/24 gateway=sstp-out1\n";
/// A WireGuard tunnel, and a route into it by an address of its network.
const WIREGUARD: &str = "/interface/wireguard/add name=wg1\n\
    /interface/wireguard/peers/add interface=wg1 endpoint-address=192.0.2.9 allowed-address=0.0.0.0/0 \
    public-key=\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\"\n\
    /ip/address/add address=10.9.0.1/24 interface=wg1\n\
    /ip/route/add dst-address=203.0.113.0/24 gateway=10.9.0.2\n";

/// Per rule the wrong and the correct configuration, in parts.
pub(super) const CASES: &[Case] = &[
    (
        "tcp-in-tcp",
        &[
            OUTER,
            "/interface/ovpn-client/add name=o connect-to=198.51.100.7 user=u disabled=no\n",
        ],
        &[
            OUTER,
            "/interface/ovpn-client/add name=o connect-to=198.51.100.7 protocol=udp max-mtu=1440 user=u disabled=no\n",
            "/interface/ovpn-client/add name=p connect-to=192.0.2.7 user=u disabled=no\n",
        ],
    ),
    (
        "tunnel-mtu-chain",
        &[
            WIREGUARD,
            "/interface/l2tp-client/add name=l connect-to=203.0.113.7 user=u disabled=no\n",
        ],
        &[
            WIREGUARD,
            "/interface/l2tp-client/add name=l connect-to=203.0.113.7 max-mtu=1380 user=u disabled=no\n",
            "/interface/sstp-client/add name=s connect-to=203.0.113.8 user=u disabled=no\n",
        ],
    ),
    (
        "tunnels-too-deep",
        &["/interface/gre/add name=a remote-address=198.51.100.1\n\
             /interface/gre/add name=b remote-address=198.51.100.2 mtu=1452\n\
             /ip/route/add dst-address=198.51.100.1/32 gateway=b\n\
             /ip/route/add dst-address=198.51.100.2/32 gateway=a\n"],
        &[
            "/interface/gre/add name=a remote-address=198.51.100.1 mtu=1452\n\
             /interface/gre/add name=b remote-address=198.51.100.2\n\
             /ip/route/add dst-address=198.51.100.1/32 gateway=b\n\
             /ip/route/add dst-address=198.51.100.2/32 gateway=192.0.2.1\n",
        ],
    ),
];
