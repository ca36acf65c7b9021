//! `/tool/trace`: traces the path of a packet through the router. RouterOS has no such command.

use menu::{Argument, Command, Effect, Family, Kind};

use crate::declare::{AS_VALUE, INTERFACE, PORT, argument, between};
use crate::firewall::{BYTE, PROTOCOL};

const STATES: Kind = Kind::Words(&["established", "invalid", "new", "related", "untracked"]);
const NAT_STATES: Kind = Kind::Set(&["srcnat", "dstnat", "ein-snat", "ein-dnat"]);
const FLAGS: Kind = Kind::Set(&["fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr"]);

pub(crate) const TRACE: Command = Command {
    name: "trace",
    help: "Show the path that a packet would take, without sending it",
    arguments: &[
        AS_VALUE,
        needed(
            "in-interface",
            INTERFACE,
            "Interface on which the packet arrives",
        ),
        needed("src-address", Kind::Address(Family::Any), "Source address"),
        needed(
            "dst-address",
            Kind::Address(Family::Any),
            "Destination address",
        ),
        argument("protocol", PROTOCOL, "Protocol above IP; tcp if left out"),
        argument("src-port", PORT, "Source port; 40000 if left out"),
        argument("dst-port", PORT, "Destination port"),
        argument(
            "tcp-flags",
            FLAGS,
            "TCP flags; default: syn, or the next flags of the connection",
        ),
        argument("icmp-type", BYTE, "ICMP type; an echo request if left out"),
        argument("icmp-code", BYTE, "ICMP code"),
        argument(
            "icmp-id",
            between(0, 65_535),
            "Identifier of the ICMP request or reply; 1 if left out",
        ),
        argument(
            "packet-size",
            between(20, 65_535),
            "Length of the packet in bytes",
        ),
        argument("ttl", BYTE, "Time to live, or hop limit; 64 if left out"),
        argument("dscp", between(0, 63), "Differentiated services code point"),
        argument(
            "src-mac-address",
            Kind::Mac,
            "Hardware address of the sender",
        ),
        argument(
            "dst-mac-address",
            Kind::Mac,
            "Destination MAC address; default: that of the router or the other host",
        ),
        argument(
            "ipsec",
            Kind::Bool,
            "Packet was decrypted by IPsec on the interface; no if left out",
        ),
        argument(
            "vlan-id",
            between(1, 4_095),
            "VLAN of the frame on the interface",
        ),
        argument(
            "connection-state",
            STATES,
            "Assumed state of the connection, in place of the tracked one",
        ),
        argument(
            "connection-nat-state",
            NAT_STATES,
            "Assumed NAT state of the connection",
        ),
        argument(
            "connection-mark",
            Kind::Name,
            "Assumed mark of the connection",
        ),
        argument("packet-mark", Kind::Name, "Packet mark at the start"),
        argument(
            "routing-mark",
            Kind::Reference("routing-table"),
            "Routing mark at the start",
        ),
    ],
    effect: Effect::Full,
    repeats: false,
};

const fn needed(name: &'static str, kind: Kind, help: &'static str) -> Argument {
    Argument {
        required: true,
        ..argument(name, kind, help)
    }
}
