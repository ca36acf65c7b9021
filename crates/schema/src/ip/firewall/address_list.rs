//! `/ip/firewall/address-list`: IPv4 address lists.

use std::net::IpAddr;

use ipnet::IpNet;
use menu::{Draft, Family, Item, Kind, Menu, MenuShape, OldProperty, Unique, Value};

use crate::declare::{DISABLED_DYNAMIC, no, optional, property, seconds, shown};
use crate::firewall::LIST_NAMES;
use crate::fragment::COMMENT_DISABLED;

/// Duplicate entries are refused, unless disabled.
pub(crate) const DISTINCT: &[Unique] = &[Unique {
    properties: &["list", "address"],
    failure: "already have such entry",
}];

/// True for temporary entries: entries with a timeout, and dynamic entries, which last until a restart.
pub(crate) fn passing(item: &Item) -> bool {
    item.get("timeout").is_some() || item.is("dynamic")
}

/// RouterOS: an entry with timeout 0 lasts until a restart, as entries added by rules with `none-dynamic` do. A
/// range that equals a prefix becomes that prefix.
pub(crate) fn settle(draft: &mut Draft<'_>) {
    if let Some(Value::Tuple("-", ends)) = draft.get("address")
        && let [Value::Address(first), Value::Address(last)] = ends[..]
        && let Some(net) = prefix_of(first, last)
    {
        draft.set("address", Some(Value::Prefix(net)));
    }
    if draft.get("timeout").and_then(Value::as_nanos) == Some(0) {
        draft.set("timeout", None);
        draft.set("dynamic", Some(Value::Bool(true)));
    }
}

/// Returns the prefix that equals an address range, if there is one.
fn prefix_of(first: IpAddr, last: IpAddr) -> Option<IpNet> {
    let (from, to, bits) = match (first, last) {
        (IpAddr::V4(from), IpAddr::V4(to)) => (from.to_bits().into(), to.to_bits().into(), 32),
        (IpAddr::V6(from), IpAddr::V6(to)) => (from.to_bits(), to.to_bits(), 128),
        _ => return None,
    };
    // The differing bits must be the host bits: all 0 in the first address, all 1 in the last.
    let hosts: u128 = from ^ to;
    let all_ones = hosts & hosts.wrapping_add(1) == 0;
    let len = bits - u8::try_from(u128::BITS - hosts.leading_zeros()).ok()?;
    (all_ones && from & hosts == 0).then(|| IpNet::new(first, len).ok())?
}

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            property("list", Kind::Name, "Name of the list")
                .required()
                .bare()
                .shared(LIST_NAMES),
            property(
                "address",
                Kind::Either(&Kind::Addresses(Family::V4), &Kind::Host),
                "IP address, range, prefix, or DNS name",
            )
            .default("0.0.0.0"),
            shown("creation-time", Kind::Text, "Creation time of the entry").bare(),
            optional(
                "timeout",
                seconds(0, 21_474_836),
                "Time after which the entry is removed",
            )
            .runs_down(),
            no("dynamic", "Entry does not survive a restart"),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_DYNAMIC,
    columns: &["list", "address", "creation-time", "timeout"],
    distinct: DISTINCT,
    passing: Some(passing),
    clashes_with_rows: true,
    derive: Some(settle),
    // Accepts pasted output of `print terse`; the creation time is set anew.
    old: &[OldProperty::gone("creation-time")],
    ..Menu::new(
        "/ip/firewall/address-list",
        MenuShape::List,
        "Lists of addresses",
    )
};
