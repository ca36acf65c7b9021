//! Stories about bridges: filters that slow them down, lanes of switched ports, queues on ports.

use crate::layout::{Layout, ROUTER, ROUTER_HOST, Route, by, end, host, wire};
use crate::story::{BRIDGE_RULES, Flow, Story};

pub(crate) const SLOW_BRIDGING_STORY: Story = Story {
    layout: &SLOW_BRIDGING,
    source: "MikroTik, \"Most underused features\", 2018: the problem \"Slow bridging performance\"",
    finding: Some("bridge-filter-slowpath"),
    rules: BRIDGE_RULES,
    board: None,
    tale: "\
The office complains: the connection between workstation and server is slow, and the router's processor is busy.\n\
To keep guests off the server, an administrator added bridge filter rules that inspect every frame, and switched\n\
hardware offload off for all ports. Frames that the switch forwards itself pass no rules and cost no processor time.\n\
So let the switch forward between the trusted ports, and apply rules only to the guests' port.\n",
    looks: &[
        (
            "/interface/bridge/settings/print",
            "why no frame takes the fast path",
        ),
        (
            "/interface/bridge/port/print",
            "flag H: the switch forwards; hw-offload-reason: why it does not",
        ),
        (
            "/interface/bridge/filter/print stats",
            "the number of frames that rules inspected",
        ),
        (
            "/tool/profile",
            "activities of the processor; any key ends it",
        ),
    ],
    right: include_str!("../configs/slow-bridging-right.rsc"),
    flows: &[
        Flow {
            name: "workstation to server",
            from: "workstation",
            to: "server",
            address: "192.168.88.10",
            datagrams: 20_000,
            mbps: 100,
            welcome: true,
        },
        Flow {
            name: "guest to server",
            from: "guest",
            to: "server",
            address: "192.168.88.10",
            datagrams: 100,
            mbps: 10,
            welcome: false,
        },
    ],
    chip: None,
};

pub(crate) const SHARED_LANE_STORY: Story = Story {
    layout: &SHARED_LANE,
    source: "MikroTik, \"Most underused features\", 2018: Dave's problem 2, \"RB750Gr3 block diagram 2\"",
    finding: Some("switched-lane"),
    rules: BRIDGE_RULES,
    board: Some("hEX"),
    tale: "\
The databases get half of their former traffic, and the router's processor is idle. An administrator put their two\n\
ports into a bridge, and the chip of a hEX switches such ports. All switched ports share one lane of 1 Gbit/s to the\n\
processor; ports that are not switched have two lanes. Traffic between switched ports is fast, but routed traffic\n\
shares the lane. If the processor bridges these ports (hw=no), each port has its own lane again. The processor then\n\
forwards the traffic between both as well.\n\
(Each lane of this lab carries 50 Mbit/s each way instead of 1000, so that any machine can show the effect.)\n",
    looks: &[
        (
            "/interface/bridge/port/print",
            "flag H: the chip switches the port",
        ),
        ("/system/routerboard/print", "the imitated board"),
        ("/tool/meter/print", "where the processor's clocks go"),
    ],
    right: include_str!("../configs/shared-lane-right.rsc"),
    flows: &[
        Flow {
            name: "south to db1",
            from: "south",
            to: "db1",
            address: "10.9.0.11",
            datagrams: 8_000,
            mbps: 45,
            welcome: true,
        },
        Flow {
            name: "north to db2",
            from: "north",
            to: "db2",
            address: "10.9.0.12",
            datagrams: 8_000,
            mbps: 45,
            welcome: true,
        },
    ],
    chip: Some("chip"),
};

pub(crate) const TRANSPARENT_QUEUING_STORY: Story = Story {
    layout: &TRANSPARENT_QUEUING,
    source: "MikroTik, \"Most underused features\", 2018: the problem \"Transparent queuing\"",
    finding: Some("queue-target-bridge-port"),
    rules: BRIDGE_RULES,
    board: None,
    tale: "\
Guests should get 10 Mbit/s in total, from the internet and from the server in their network. So an administrator\n\
enabled use-ip-firewall, and put a simple queue on the guests' port. But the queue does not limit routed packets: for\n\
IP, they leave by the bridge, not by one of its ports. And every bridged frame now costs connection tracking. Bridged\n\
and routed frames meet only in the port's own queue: a queue tree whose parent is the port limits both, without\n\
use-ip-firewall.\n",
    looks: &[
        ("/system/doctor/print", "what is wrong with the queue"),
        (
            "/queue/simple/print stats",
            "the traffic that the simple queue saw",
        ),
        (
            "/tool/torch ether4 src-address=0.0.0.0/0 dst-address=0.0.0.0/0",
            "the guests' traffic by source",
        ),
        (
            "/tool/profile",
            "activities of the processor; any key ends it",
        ),
    ],
    right: include_str!("../configs/transparent-queuing-right.rsc"),
    flows: &[
        Flow {
            name: "internet to guest",
            from: "internet",
            to: "guest",
            address: "192.168.88.200",
            datagrams: 4_000,
            mbps: 20,
            welcome: true,
        },
        Flow {
            name: "server to guest",
            from: "server",
            to: "guest",
            address: "192.168.88.200",
            datagrams: 4_000,
            mbps: 20,
            welcome: true,
        },
    ],
    chip: None,
};

pub(crate) const SLOW_BRIDGING: Layout = Layout {
    name: "slow-bridging",
    summary: "story: bridge filter rules for guests slow all bridged traffic down; the switch forwards trusted traffic",
    hosts: &[
        host("workstation", &[by("192.168.88.1")]),
        host("server", &[by("192.168.88.1")]),
        host("guest", &[by("192.168.88.1")]),
        ROUTER_HOST,
    ],
    links: &[
        wire(
            end(ROUTER, "ether2", &[]),
            end("server", "eth0", &["192.168.88.10/24"]),
        ),
        wire(
            end(ROUTER, "ether3", &[]),
            end("workstation", "eth0", &["192.168.88.20/24"]),
        ),
        wire(
            end(ROUTER, "ether4", &[]),
            end("guest", "eth0", &["192.168.88.200/24"]),
        ),
    ],
    config: include_str!("../configs/slow-bridging.rsc"),
};

pub(crate) const TRANSPARENT_QUEUING: Layout = Layout {
    name: "transparent-queuing",
    summary: "story: a simple queue on a bridge port misses routed traffic; the port's own queue limits all",
    hosts: &[
        host("internet", &[by("203.0.113.2")]),
        host("server", &[by("192.168.88.1")]),
        host("guest", &[by("192.168.88.1")]),
        ROUTER_HOST,
    ],
    links: &[
        wire(
            end(ROUTER, "ether1", &[]),
            end("internet", "eth0", &["203.0.113.1/24"]),
        ),
        wire(
            end(ROUTER, "ether2", &[]),
            end("server", "eth0", &["192.168.88.10/24"]),
        ),
        wire(
            end(ROUTER, "ether4", &[]),
            end("guest", "eth0", &["192.168.88.200/24"]),
        ),
    ],
    config: include_str!("../configs/transparent-queuing.rsc"),
};

const TO_DATA: &[Route] = &[by("10.9.0.1")];

pub(crate) const SHARED_LANE: Layout = Layout {
    name: "shared-lane",
    summary: "story: two ports that a hEX's chip switches share one lane to its processor, and get half the traffic",
    hosts: &[
        host("db1", TO_DATA),
        host("db2", TO_DATA),
        host("north", &[by("10.9.3.1")]),
        host("south", &[by("10.9.4.1")]),
        host("chip", &[]),
        ROUTER_HOST,
    ],
    links: &[
        wire(end(ROUTER, "ether1", &[]), end("chip", "c1", &[])),
        wire(end(ROUTER, "ether2", &[]), end("chip", "c2", &[])),
        wire(end(ROUTER, "ether3", &[]), end("chip", "c3", &[])),
        wire(end(ROUTER, "ether4", &[]), end("chip", "c4", &[])),
        wire(
            end("chip", "p1", &[]),
            end("db1", "eth0", &["10.9.0.11/24"]),
        ),
        wire(
            end("chip", "p2", &[]),
            end("db2", "eth0", &["10.9.0.12/24"]),
        ),
        wire(
            end("chip", "p3", &[]),
            end("north", "eth0", &["10.9.3.2/24"]),
        ),
        wire(
            end("chip", "p4", &[]),
            end("south", "eth0", &["10.9.4.2/24"]),
        ),
    ],
    config: include_str!("../configs/shared-lane.rsc"),
};
