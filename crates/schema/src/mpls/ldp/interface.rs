//! `/mpls/ldp/interface`: LDP interfaces.

use menu::{Flag, Menu, OldProperty, Property};

use super::ADDRESSES;
use crate::declare::{list, maybe, span};
use crate::dynamic_routing::{FAMILIES, INTERFACES};
use crate::fragment::{COMMENT_SAID, idle_list};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("interface", INTERFACES, "The interface").required(),
            span("hello-interval", "Interval of hello messages").optional(),
            span(
                "hold-time",
                "Time after which a silent neighbour is removed",
            )
            .optional(),
            list(
                "transport-addresses",
                &ADDRESSES,
                "Local transport addresses",
            )
            .optional(),
            list("afi", &FAMILIES, "Address families").optional(),
            maybe(
                "accept-dynamic-neighbors",
                "Accept neighbours that are not configured",
            ),
        ],
        COMMENT_SAID,
    ],
    flags: &[Flag::new('X', "disabled", 0), Flag::new('I', "inactive", 0)],
    columns: &["interface", "hello-interval", "hold-time"],
    old: &[OldProperty::renamed(
        "transport-address",
        "transport-addresses",
    )],
    ..idle_list("/mpls/ldp/interface", "Interfaces of LDP")
};
