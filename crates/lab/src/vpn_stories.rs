//! Stories about tunnels between two routers: NAT before IPsec, and an address of yesterday.

use crate::layout::{Layout, ROUTER, ROUTER_HOST, by, end, host, wire};
use crate::site::Site;
use crate::story::{BRIDGE_RULES, Flow, Story};

const FAR: &str = "far";

/// Two sites with a client and a server, and a wire between their routers.
const TWO_SITES: Layout = Layout {
    name: "",
    summary: "",
    hosts: &[
        host("client", &[by("10.1.202.1")]),
        host("server", &[by("10.1.101.1")]),
        host(FAR, &[]),
        ROUTER_HOST,
    ],
    links: &[
        wire(end(ROUTER, "ether1", &[]), end(FAR, "ether1", &[])),
        wire(
            end(ROUTER, "ether2", &[]),
            end("client", "eth0", &["10.1.202.10/24"]),
        ),
        wire(
            end(FAR, "ether2", &[]),
            end("server", "eth0", &["10.1.101.10/24"]),
        ),
    ],
    config: "",
};

const TO_SERVER: Flow = Flow {
    name: "client to server",
    from: "client",
    to: "server",
    address: "10.1.101.10",
    datagrams: 500,
    mbps: 10,
    welcome: true,
};

pub(crate) const NAT_BEFORE_IPSEC: Layout = Layout {
    name: "nat-before-ipsec",
    summary: "story: masquerade changes addresses before IPsec policies see them, and the tunnel carries nothing",
    config: include_str!("../configs/nat-before-ipsec.rsc"),
    ..TWO_SITES
};

/// The other end of the IPsec tunnel.
pub(crate) const IPSEC_SITES: &[Site] = &[Site {
    host: FAR,
    config: include_str!("../configs/nat-before-ipsec-far.rsc"),
}];

pub(crate) const NAT_BEFORE_IPSEC_STORY: Story = Story {
    layout: &NAT_BEFORE_IPSEC,
    source: "MikroTik, \"Most underused features\", 2018: the problem \"IPSec tunnel doesn't work\"",
    finding: Some("masquerade-ipsec"),
    rules: BRIDGE_RULES,
    board: None,
    tale: "\
The tunnel between two sites is up, and carries nothing. Source NAT comes before IPsec: masquerade replaces the source\n\
address of packets for the other site, so that no policy matches them, and they leave in clear. The other site drops\n\
them. Packets between both networks must pass untracked: then NAT leaves them alone.\n",
    looks: &[
        ("/ip/ipsec/installed-sa/print", "bytes of the tunnel"),
        ("/ip/firewall/nat/print stats", "what masquerade translated"),
        ("/system/doctor/print", "cause and cure"),
    ],
    right: include_str!("../configs/nat-before-ipsec-right.rsc"),
    flows: &[TO_SERVER],
    chip: None,
};

pub(crate) const VPN_WAN_CHANGE: Layout = Layout {
    name: "vpn-wan-change",
    summary: "story: a tunnel keeps the local-address of an uplink that has another address today",
    config: include_str!("../configs/vpn-wan-change.rsc"),
    ..TWO_SITES
};

/// The other end of the IPIP tunnel.
pub(crate) const IPIP_SITES: &[Site] = &[Site {
    host: FAR,
    config: include_str!("../configs/vpn-wan-change-far.rsc"),
}];

pub(crate) const VPN_WAN_CHANGE_STORY: Story = Story {
    layout: &VPN_WAN_CHANGE,
    source: "a common question: the VPN is dead since the provider changed the address",
    finding: Some("tunnel-local-address"),
    rules: BRIDGE_RULES,
    board: None,
    tale: "\
The provider gave the router another address, and the tunnel to the other site is dead, although that site knows the\n\
new address. The tunnel still has the old one as local-address: its packets carry it as source, and the other end does\n\
not accept them. Without local-address, the router uses the address of the interface by which the packets leave.\n",
    looks: &[
        ("/interface/ipip/print", "the ends of the tunnel"),
        ("/ip/address/print", "the router's addresses"),
        ("/system/doctor/print", "cause and cure"),
    ],
    right: include_str!("../configs/vpn-wan-change-right.rsc"),
    flows: &[TO_SERVER],
    chip: None,
};
