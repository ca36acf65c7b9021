//! Stories about rules: Layer7 patterns for all traffic, and what FastTrack hides.

use crate::layout::{Layout, ROUTER, ROUTER_HOST, by, end, host, wire};
use crate::story::{Flow, Story};

/// A client behind a router with NAT, and a host in the internet.
const BEHIND_NAT: Layout = Layout {
    name: "",
    summary: "",
    hosts: &[
        host("client", &[by("192.168.88.1")]),
        host("internet", &[by("203.0.113.2")]),
        ROUTER_HOST,
    ],
    links: &[
        wire(
            end(ROUTER, "ether1", &[]),
            end("internet", "eth0", &["203.0.113.1/24"]),
        ),
        wire(
            end(ROUTER, "ether2", &[]),
            end("client", "eth0", &["192.168.88.10/24"]),
        ),
    ],
    config: "",
};

const fn upload(datagrams: u32, mbps: u32) -> Flow {
    Flow {
        name: "client to internet",
        from: "client",
        to: "internet",
        address: "203.0.113.1",
        datagrams,
        mbps,
        welcome: true,
    }
}

const FILTER_STATS: (&str, &str) = (
    "/ip/firewall/filter/print stats",
    "the packets of each rule; rules that see nothing stay at 0",
);
const PROFILE: (&str, &str) = (
    "/tool/profile",
    "activities of the processor; any key ends it",
);
const DOCTOR: (&str, &str) = ("/system/doctor/print", "cause and cure");

pub(crate) const LAYER7: Layout = Layout {
    name: "layer7",
    summary: "story: Layer7 patterns search all traffic for the names of sites, which TLS encrypts",
    config: include_str!("../configs/layer7.rsc"),
    ..BEHIND_NAT
};

pub(crate) const LAYER7_STORY: Story = Story {
    layout: &LAYER7,
    source: "MikroTik, \"Most underused features\", 2018: the problem \"High Layer7 load\"",
    finding: Some("l7-host-name"),
    rules: "/ip/firewall/filter/print where action=drop",
    board: None,
    tale: "\
The router's processor is busy, latency rises, and employees still watch videos. An administrator dropped two sites by\n\
Layer7 patterns: these search the begin of every connection, of all protocols. The sites use TLS, so their names are\n\
encrypted and the patterns find nothing. The name that a browser sends in the TLS handshake is in clear: tls-host\n\
matches it, in connections to TCP port 443 alone.\n",
    looks: &[PROFILE, FILTER_STATS, DOCTOR],
    right: include_str!("../configs/layer7-right.rsc"),
    flows: &[upload(20_000, 100)],
    chip: None,
};

pub(crate) const FASTTRACK_BLIND: Layout = Layout {
    name: "fasttrack-blind",
    summary: "story: behind a FastTrack rule, Layer7 and tls-host see too little of each connection",
    config: include_str!("../configs/fasttrack-blind.rsc"),
    ..BEHIND_NAT
};

pub(crate) const FASTTRACK_BLIND_STORY: Story = Story {
    layout: &FASTTRACK_BLIND,
    source: "MikroTik, \"Most underused features\", 2018: the problem \"Layer7 and TLS-Host stopped\"",
    finding: Some("tls-after-fasttrack"),
    rules: "/ip/firewall/filter/print where comment=deep",
    board: None,
    tale: "\
Since FastTrack speeds the router up, the rule with a Layer7 pattern counts nothing. Layer7 needs several packets of a\n\
connection, and the FastTrack rule lets only the first one pass. With connection-bytes=10000-0 in the FastTrack rule\n\
and in the accept rule behind it, the first 10,000 bytes of each connection pass all rules, and the rest is fast.\n",
    looks: &[FILTER_STATS, DOCTOR],
    right: include_str!("../configs/fasttrack-blind-right.rsc"),
    flows: &[upload(4_000, 40)],
    chip: None,
};

pub(crate) const FASTTRACK: Layout = Layout {
    name: "fasttrack",
    summary: "story: the default home router with and without its FastTrack rule",
    config: include_str!("../configs/fasttrack.rsc"),
    ..BEHIND_NAT
};

pub(crate) const FASTTRACK_STORY: Story = Story {
    layout: &FASTTRACK,
    source: "MikroTik, \"Understanding throughput\", 2019: 358 Mbps with 44 % for the firewall, and 890 Mbps with 6 %",
    finding: None,
    rules: "/ip/firewall/filter/print where comment=established",
    board: None,
    tale: "\
A home router passes its firewall for every packet of a download, although all packets of a connection fare alike. The\n\
FastTrack rule of the default configuration lets the packets of established connections skip rules, queues and\n\
connection tracking. (The talk measures one TCP connection through an RB2011; this lab sends datagrams.)\n",
    looks: &[
        PROFILE,
        FILTER_STATS,
        ("/ip/settings/print", "packets and bytes of FastTrack"),
    ],
    right: include_str!("../configs/fasttrack-right.rsc"),
    flows: &[upload(40_000, 200)],
    chip: None,
};

pub(crate) const BLIND_QUEUE: Layout = Layout {
    name: "blind-queue",
    summary: "story: a simple queue limits nothing, as FastTrack bypasses it",
    config: include_str!("../configs/blind-queue.rsc"),
    ..BEHIND_NAT
};

pub(crate) const BLIND_QUEUE_STORY: Story = Story {
    layout: &BLIND_QUEUE,
    source: "MikroTik, \"Most underused features\", 2018: FastTracked traffic is invisible to queues",
    finding: Some("fasttrack-bypasses-queues"),
    rules: "/ip/firewall/filter/print where chain=forward",
    board: None,
    tale: "\
The LAN should get 10 Mbit/s, and gets all. The simple queue shows a few packets: FastTrack takes the packets of\n\
established connections past it. Rules that accept the traffic of the queue's target before the FastTrack rule keep it\n\
on the slow path, where the queue limits it.\n",
    looks: &[
        (
            "/queue/simple/print stats",
            "the traffic that the simple queue saw",
        ),
        FILTER_STATS,
        DOCTOR,
    ],
    right: include_str!("../configs/blind-queue-right.rsc"),
    flows: &[upload(4_000, 20)],
    chip: None,
};
