//! `/routing/bfd/interface`: BFD interfaces of RouterOS 6.

use menu::{Builtin, ExportSelector, Flag, Menu, Property};

use crate::declare::{between, optional, span};
use crate::dynamic_routing::INTERFACES;
use crate::fragment::{COMMENT_DISABLED, idle_list};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("interface", INTERFACES, "The interface").required(),
            span("interval", "Minimum interval of sent messages").default("200ms"),
            span("min-rx", "Minimum interval of received messages").default("200ms"),
            optional(
                "multiplier",
                between(1, 255),
                "Number of missed messages after which the neighbour is down",
            )
            .default("5"),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[Flag::new('X', "disabled", 0), Flag::new('*', "default", 1)],
    columns: &["interface", "interval", "min-rx", "multiplier"],
    builtin: &[Builtin {
        values: &[("interface", "all")],
    }],
    pick: ExportSelector::Default,
    older: true,
    ..idle_list("/routing/bfd/interface", "Version 6: interfaces of BFD")
};
