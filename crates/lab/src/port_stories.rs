//! Stories about ports: two cables on one lane, a DHCP client on a port of a bridge.

use crate::daemons::{Daemon, PROVIDER};
use crate::layout::{Layout, ROUTER, ROUTER_HOST, by, end, host, wire};
use crate::story::{BRIDGE_RULES, Flow, Story};

pub(crate) const ONE_LANE: Layout = Layout {
    name: "one-lane",
    summary: "story: ether2 and ether4 of a hEX share a lane to its processor, and the other lane is idle",
    hosts: &[
        host("south", &[by("10.9.2.1")]),
        host("database", &[by("10.9.3.1")]),
        host("chip", &[]),
        host("idle", &[]),
        ROUTER_HOST,
    ],
    links: &[
        wire(end(ROUTER, "ether1", &[]), end("chip", "c1", &[])),
        wire(end(ROUTER, "ether2", &[]), end("chip", "c2", &[])),
        wire(end(ROUTER, "ether3", &[]), end("chip", "c3", &[])),
        wire(end(ROUTER, "ether4", &[]), end("chip", "c4", &[])),
        wire(end("chip", "p1", &[]), end("idle", "eth0", &[])),
        wire(
            end("chip", "p2", &[]),
            end("south", "eth0", &["10.9.2.2/24"]),
        ),
        wire(
            end("chip", "p4", &[]),
            end("database", "eth0", &["10.9.4.2/24"]),
        ),
        wire(
            end("chip", "p3", &[]),
            end("database", "eth1", &["10.9.3.2/24"]),
        ),
    ],
    config: include_str!("../configs/one-lane.rsc"),
};

pub(crate) const ONE_LANE_STORY: Story = Story {
    layout: &ONE_LANE,
    source: "MikroTik, \"Most underused features\", 2018: Dave's problem 1, \"RB750Gr3 block diagram 1\"",
    finding: Some("shared-lane"),
    rules: BRIDGE_RULES,
    board: Some("hEX"),
    tale: "\
The daily exchange with the database stays at half of the expected rate, and the router's processor is idle. The\n\
traffic uses ether2 and ether4 of a hEX, which share a lane of 1 Gbit/s to the processor. The second cable of the\n\
database is in ether3, on the other lane: the router should reach the database by that one.\n\
(Each lane of this lab carries 50 Mbit/s each way instead of 1000, so that any machine can show the effect.)\n",
    looks: &[
        ("/system/routerboard/print", "the imitated board"),
        ("/interface/print stats", "which ports carry the traffic"),
        ("/tool/profile", "an idle processor; any key ends it"),
    ],
    right: include_str!("../configs/one-lane-right.rsc"),
    flows: &[
        Flow {
            name: "south to database",
            from: "south",
            to: "database",
            address: "10.9.4.2",
            datagrams: 8_000,
            mbps: 45,
            welcome: true,
        },
        Flow {
            name: "database to south",
            from: "database",
            to: "south",
            address: "10.9.2.2",
            datagrams: 8_000,
            mbps: 45,
            welcome: true,
        },
    ],
    chip: Some("chip"),
};

pub(crate) const DHCP_ON_PORT: Layout = Layout {
    name: "dhcp-on-port",
    summary: "story: a DHCP client on a port of a bridge gets no address",
    hosts: &[
        host("client", &[by("192.168.88.1")]),
        host("server", &[]),
        ROUTER_HOST,
    ],
    links: &[
        wire(
            end(ROUTER, "ether1", &[]),
            end("server", "eth0", &["203.0.113.1/24"]),
        ),
        wire(
            end(ROUTER, "ether2", &[]),
            end("client", "eth0", &["192.168.88.10/24"]),
        ),
    ],
    config: include_str!("../configs/dhcp-on-port.rsc"),
};

/// The provider's DHCP server.
pub(crate) const DAEMONS: &[Daemon] = &[PROVIDER];

pub(crate) const DHCP_ON_PORT_STORY: Story = Story {
    layout: &DHCP_ON_PORT,
    source: "MikroTik's manual, \"Layer2 misconfiguration\"",
    finding: Some("ip-on-slave-interface"),
    rules: BRIDGE_RULES,
    board: None,
    tale: "\
The router has no address from its provider. All its ports are in the bridge, the one to the provider as well: for IP,\n\
packets arrive by the bridge, and the DHCP client on the port hears nothing. The port to the provider does not belong\n\
into the bridge.\n",
    looks: &[
        ("/ip/dhcp-client/print", "the client's status"),
        ("/interface/bridge/port/print", "the ports of the bridge"),
        ("/system/doctor/print", "cause and cure"),
    ],
    right: include_str!("../configs/dhcp-on-port-right.rsc"),
    flows: &[Flow {
        name: "client to internet",
        from: "client",
        to: "server",
        address: "203.0.113.1",
        datagrams: 200,
        mbps: 10,
        welcome: true,
    }],
    chip: None,
};
