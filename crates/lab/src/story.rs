//! Story of a lab: a slow or broken configuration, its correction, and traffic that shows the difference.

use crate::layout::Layout;

/// Command that prints the rules of bridges.
pub(crate) const BRIDGE_RULES: &str = "/interface/bridge/filter/print";

/// Story of a lab, beside its hosts and wires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Story {
    /// The lab; its configuration has the fault.
    pub layout: &'static Layout,
    /// Place in MikroTik's talks, or in other material.
    pub source: &'static str,
    /// Rule of the doctor that finds the fault, and is silent after the correction; `None` if the fault is none of the
    /// configuration alone.
    pub finding: Option<&'static str>,
    /// Console command that prints the rules whose packets count as matched.
    pub rules: &'static str,
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
