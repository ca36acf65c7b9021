//! What interfaces that carry packets within packets have in common.

use menu::{Family, Item, Kind, Menu, Property, Shape, Value};

use super::{FLAGS, RESET_COUNTERS};
use crate::declare::{HOST, no, secret, shown, words, yes};
use crate::fragment::{INTERFACE_STATS, name_mtu};

/// Name, MTU and what came of it.
pub(crate) const NAME: &[Property] = &name_mtu("auto");

/// The MTU in force.
pub(crate) const ACTUAL: &[Property] = &[shown(
    "actual-mtu",
    Kind::COUNTER,
    "The transmission unit in force",
)];

/// The ends of a tunnel over one family.
pub(crate) const fn ends(family: Family, nowhere: &'static str) -> [Property; 2] {
    [
        Property::new(
            "local-address",
            Kind::Address(family),
            "Address of this end",
        )
        .default(nowhere),
        Property::new("remote-address", HOST, "Address of the other end").default(nowhere),
    ]
}

/// The ends of a tunnel over IPv4.
pub(crate) const ENDS4: &[Property] = &ends(Family::V4, "0.0.0.0");
/// The ends of a tunnel over IPv6.
pub(crate) const ENDS6: &[Property] = &ends(Family::V6, "::");

/// What the outer header says, and how the other end is watched.
pub(crate) const OUTER: &[Property] = &[
    Property::new(
        "keepalive",
        Kind::Tuple(",", &[Kind::SPAN, Kind::COUNTER]),
        "How often the other end is asked, and how many times before it is given up",
    )
    .default("10s,10")
    .optional(),
    Property::new(
        "dscp",
        Kind::Or(&["inherit"], &Kind::Number { min: 0, max: 63 }),
        "DSCP of the outer header",
    )
    .default("inherit"),
    yes(
        "clamp-tcp-mss",
        "Lowers the segment size of TCP to what fits",
    ),
    words(
        "dont-fragment",
        &["inherit", "no"],
        "The outer header's DF bit",
    )
    .default("no"),
    secret(
        "ipsec-secret",
        "Secret of an IPsec transport around the tunnel",
    ),
];

/// Whether the fast path may carry the tunnel.
pub(crate) const FAST: &[Property] = &[yes("allow-fast-path", "Allows FastPath")];

/// Whether the fast path may carry the tunnel: not by default.
pub(crate) const SLOW: &[Property] = &[no("allow-fast-path", "Allows FastPath")];

/// Tunnels of a kind.
pub(crate) const fn tunnels(path: &'static str, kind: &'static str, help: &'static str) -> Menu {
    Menu {
        flags: FLAGS,
        stats: INTERFACE_STATS,
        space: Some("interface"),
        key: Some("name"),
        kind,
        commands: &[RESET_COUNTERS],
        idle: Some(has_no_end),
        ..Menu::new(path, Shape::List, help)
    }
}

/// What a tunnel asks for that is not done.
fn has_no_end(item: &Item) -> Option<&'static str> {
    let remote = item.get("remote-address");
    match remote.and_then(Value::as_address) {
        Some(address) if !address.is_unspecified() => None,
        None if remote.is_some_and(|remote| !remote.is_empty()) => {
            Some("another end by its name (remote-address)")
        }
        _ => Some("a tunnel without another end (remote-address)"),
    }
}
