//! `/ip/firewall/address-list`: named sets of IPv4 addresses.

use menu::{Draft, Family, Item, Kind, Menu, Old, Shape, Unique, Value};

use crate::brief::{DISABLED_DYNAMIC, may, no, read, seconds, some};
use crate::firewall::LIST_NAMES;
use crate::fragment::COMMENT_DISABLED;

/// An entry that is there already.
pub(crate) const UNIQUE: &[Unique] = &[Unique {
    properties: &["list", "address"],
    failure: "already have such entry",
}];

/// Entries with a timeout are there for a while, and those that were made dynamic until a restart.
pub(crate) fn passing(item: &Item) -> bool {
    item.get("timeout").is_some() || item.is("dynamic")
}

/// RouterOS: an entry whose timeout is 0 is there until a restart, as what rules add with `none-dynamic`.
pub(crate) fn until_restart(draft: &mut Draft<'_>) {
    if draft.get("timeout").and_then(Value::as_nanos) == Some(0) {
        draft.set("timeout", None);
        draft.set("dynamic", Some(Value::Bool(true)));
    }
}

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            some("list", Kind::Name, "Name of the list")
                .required()
                .bare()
                .shared(LIST_NAMES),
            some(
                "address",
                Kind::Either(&Kind::Addresses(Family::V4), &Kind::Host),
                "An address, several of them, or the name of a host",
            )
            .default("0.0.0.0"),
            read("creation-time", Kind::Text, "When the entry was made").bare(),
            may(
                "timeout",
                seconds(0, 21_474_836),
                "How long the entry is kept",
            ),
            no("dynamic", "Whether the entry is gone after a restart"),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_DYNAMIC,
    columns: &["list", "address", "creation-time", "timeout"],
    unique: UNIQUE,
    passing: Some(passing),
    clashes_with_rows: true,
    derive: Some(until_restart),
    // What `print terse` shows is pasted; an entry is as old as it is here.
    old: &[Old::gone("creation-time")],
    rank: 448,
    ..Menu::new(
        "/ip/firewall/address-list",
        Shape::List,
        "Lists of addresses",
    )
};
