//! Actions for matching packets, and their arguments.

use menu::{Family, Kind, Property, Shared};

use super::kind::{LIST_TIMEOUT, MARK, NEW_HOPS, SIX_BITS};
use super::names::{CONNECTION_MARKS, LIST_NAMES, PACKET_MARKS};
use crate::declare::{PORT, optional, property};

/// Actions that are accepted without effect.
fn is_idle_action(word: &str) -> bool {
    word == "socksify"
}

/// Chain and action; `chains` and `actions` list the table's words.
pub(crate) const fn head(
    chains: &'static Shared,
    actions: &'static [&'static str],
) -> [Property; 3] {
    [
        property("chain", Kind::Name, "The chain that the rule is in")
            .required()
            .bare()
            .shared(chains),
        property(
            "action",
            Kind::Words(actions),
            "Action for packets that match",
        )
        .inert_for(is_idle_action),
        optional("jump-target", Kind::Name, "Target chain of the action jump")
            .bare()
            .shared(chains),
    ]
}

/// Arguments of the actions that add addresses to a list.
pub(crate) const LISTS: &[Property] = &[
    optional("address-list", Kind::Name, "Address list for the new entry")
        .bare()
        .shared(LIST_NAMES),
    optional(
        "address-list-timeout",
        LIST_TIMEOUT,
        "Lifetime of the address list entry",
    ),
];

/// Arguments of mangle actions. `hops` is name and help of the property that sets TTL or hop limit.
pub(crate) const fn changes(hops: (&'static str, &'static str)) -> [Property; 11] {
    [
        optional("new-packet-mark", MARK, "Mark for the packet")
            .bare()
            .shared(PACKET_MARKS),
        optional("new-connection-mark", MARK, "Mark for the connection")
            .bare()
            .shared(CONNECTION_MARKS),
        optional(
            "new-routing-mark",
            Kind::Reference("routing-table"),
            "Routing table for the packet",
        ),
        optional(
            "new-mss",
            Kind::Or(&["clamp-to-pmtu"], &PORT),
            "TCP maximum segment size",
        ),
        optional(
            "new-dscp",
            Kind::Or(
                &["from-priority", "from-priority-to-high-3-bits"],
                &SIX_BITS,
            ),
            "Differentiated services code point",
        ),
        optional(
            "new-priority",
            Kind::Or(
                &["from-dscp", "from-dscp-high-3-bits", "from-ingress"],
                &SIX_BITS,
            ),
            "Priority for queues and tags",
        ),
        optional(hops.0, NEW_HOPS, hops.1),
        optional(
            "passthrough",
            Kind::Bool,
            "Whether later rules see the packet too",
        ),
        optional("sniff-id", crate::declare::U32, "CALEA case identifier"),
        optional(
            "sniff-target",
            Kind::Address(Family::V4),
            "Address to which copies of packets are sent",
        ),
        optional(
            "sniff-target-port",
            PORT,
            "UDP port to which copies of packets are sent",
        ),
    ]
}
