//! `/caps-man/manager/interface`: interfaces on which CAPs may connect.

use menu::{Builtin, ExportSelector, Flag, Kind, Menu, Property, Unique};

use crate::declare::no;
use crate::fragment::{COMMENT_DISABLED, idle_list};

const ALL: Kind = Kind::Or(&["all"], &Kind::Reference("interface"));

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("interface", ALL, "The interface").required(),
            no("forbid", "Reject devices on this interface"),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[
        Flag::new('X', "disabled", 0),
        Flag::new('D', "dynamic", 1),
        Flag::new('*', "default", 2),
    ],
    columns: &["interface", "forbid"],
    key: Some("interface"),
    unique: &[Unique {
        properties: &["interface"],
        failure: "already have such interface",
    }],
    builtin: &[Builtin {
        values: &[("interface", "all")],
    }],
    pick: ExportSelector::Default,
    ..idle_list(
        "/caps-man/manager/interface",
        "Interfaces on which CAPs may connect",
    )
};
