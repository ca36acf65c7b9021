//! Labs with a story: a slow or broken configuration, its correction, and traffic that shows the difference.
//! Each is a lab of [`crate::LAYOUTS`] as well.

use crate::layout::{Layout, ROUTER, ROUTER_HOST, Route, by, end, host, wire};

/// Story of a lab, beside its hosts and wires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Story {
    /// The lab; its configuration has the fault.
    pub layout: &'static Layout,
    /// RouterBOARD that the router imitates; `None` for the local machine.
    pub board: Option<&'static str>,
    /// Complaint of a user and its explanation; lines of text.
    pub tale: &'static str,
    /// Console commands that show the cause, each with an explanation.
    pub looks: &'static [(&'static str, &'static str)],
    /// Console commands that correct the configuration, one per line.
    pub right: &'static str,
    /// Traffic to measure, all at once; flows that must not arrive come last.
    pub flows: &'static [Flow],
    /// Host that represents the board's switch chip, between ports and hosts. Its devices `p1`, `p2` … lead to
    /// the hosts, its devices `c1`, `c2` … to `ether1`, `ether2` …
    pub chip: Option<&'static str>,
}

/// A stream of datagrams between two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Name of the flow.
    pub name: &'static str,
    /// Sending host.
    pub from: &'static str,
    /// Receiving host.
    pub to: &'static str,
    /// IPv4 address of the receiver.
    pub address: &'static str,
    /// Number of datagrams.
    pub datagrams: u32,
    /// Frame rate in Mbit/s.
    pub mbps: u32,
    /// True if the datagrams should arrive.
    pub welcome: bool,
}

/// Returns the story of a lab.
pub fn story(lab: &str) -> Option<&'static Story> {
    STORIES.iter().find(|story| story.layout.name == lab)
}

/// All stories.
pub const STORIES: &[Story] = &[
    Story {
        layout: &SLOW_BRIDGING,
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
    },
    Story {
        layout: &SHARED_LANE,
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
    },
    Story {
        layout: &TRANSPARENT_QUEUING,
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
    },
];

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

/// Returns a script for the chip that joins each port wire with its host wire.
pub(crate) fn joined(story: &Story) -> String {
    let chip = story.chip.unwrap_or_default();
    let ends = story.layout.links.iter().flat_map(|link| &link.ends);
    let numbers = ends.filter(|end| end.host == chip);
    let numbers = numbers.filter_map(|end| end.device.strip_prefix('p'));
    let join = |number: &str| {
        format!(
            "ip link add name b{number} type bridge mcast_snooping 0\n\
             ip link set dev p{number} master b{number}\n\
             ip link set dev c{number} master b{number}\n\
             ip link set dev b{number} up\n"
        )
    };
    numbers.map(join).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::End;

    #[test]
    fn every_flow_has_hosts_of_its_lab_and_a_receivers_address() {
        for story in STORIES {
            assert!(crate::LAYOUTS.contains(story.layout));
            for flow in story.flows {
                assert!(story.layout.host(flow.from).is_some(), "{flow:?}");
                let mut ends = story.layout.links.iter().flat_map(|link| &link.ends);
                let has = |end: &&End| end.host == flow.to;
                let own = ends.find(has).expect("a wire").addresses;
                assert!(
                    own[0].starts_with(&format!("{}/", flow.address)),
                    "{flow:?}"
                );
            }
        }
    }

    #[test]
    fn a_chip_joins_every_port_to_its_host() {
        for story in STORIES.iter().filter(|story| story.chip.is_some()) {
            let script = joined(story);
            for number in 1..=story.layout.ports().len() {
                let line = format!("ip link set dev c{number} master b{number}\n");
                assert!(script.contains(&line), "{script}");
            }
        }
    }
}
