//! `/interface/pppoe-server/server`: PPPoE servers (RFC 2516).

use menu::{Kind, Menu, MenuShape, Property};

use crate::declare::{no, number, yes};
use crate::fragment::{COMMENT_WAITING, DISABLED_INVALID};
use crate::interface::bridge::port::PORT;
use crate::interface::dial::{UNIT_OR_AUTO, authentication, keepalive, profile, units};

const VLANS: Kind = Kind::List(&Kind::Range("-", &Kind::Number { min: 1, max: 4_095 }));

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("service-name", Kind::Name, "Name of the service"),
            Property::new(
                "interface",
                PORT,
                "Interface of the clients, or list of interfaces",
            )
            .required(),
        ],
        &units(UNIT_OR_AUTO, "auto"),
        &[
            authentication("pap,chap,mschap1,mschap2"),
            keepalive("10"),
            no("one-session-per-host", "One session per host"),
            Property::new(
                "max-sessions",
                Kind::Or(
                    &["unlimited"],
                    &Kind::Number {
                        min: 0,
                        max: 65_535,
                    },
                ),
                "Maximum number of sessions",
            )
            .default("unlimited"),
            number("pado-delay", 0, 65_535, "Milliseconds before an offer").default("0"),
            profile("default-profile", "default"),
            yes(
                "accept-empty-service",
                "Accept clients that request any service",
            ),
            yes("accept-untagged", "Serves clients without a VLAN"),
            Property::new(
                "pppoe-over-vlan-range",
                VLANS,
                "VLANs of clients, which need no VLAN interfaces",
            )
            .default(""),
        ],
        COMMENT_WAITING,
    ],
    flags: DISABLED_INVALID,
    columns: &[
        "service-name",
        "interface",
        "default-profile",
        "authentication",
    ],
    key: Some("service-name"),
    kind: "service",
    check: Some(crate::interface::has_a_link),
    ..Menu::new(
        "/interface/pppoe-server/server",
        MenuShape::List,
        "PPPoE services",
    )
};
