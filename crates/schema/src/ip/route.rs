//! `/ip/route`: IPv4 routes.

use menu::{Argument, Command, Family, Flag, Kind, Menu, MenuShape, OldProperty, Property};

use crate::declare::{ONCE, argument, command};
use crate::fragment::{COMMENT_DISABLED, ROUTE, route};

const GATEWAY: Kind = Kind::Gateway(Family::V4);
const WAY: &[Property] = &route(Family::V4, "0.0.0.0/0", &GATEWAY);
const ADDRESS: Kind = Kind::Address(Family::V4);

/// Flags of routes: origin and state.
pub(crate) const FLAGS: &[Flag] = &[
    Flag::new('D', "dynamic", 0),
    Flag::new('X', "disabled", 1),
    Flag::new('I', "inactive", 1),
    Flag::new('A', "active", 1),
    Flag::new('c', "connect", 2),
    Flag::new('s', "static", 2),
    Flag::new('r', "rip", 2),
    Flag::new('b', "bgp", 2),
    Flag::new('o', "ospf", 2),
    Flag::new('i', "is-is", 2),
    Flag::new('d', "dhcp", 2),
    Flag::new('v', "vpn", 2),
    Flag::new('m', "modem", 2),
    Flag::new('g', "slaac", 2),
    Flag::new('y', "bgp-mpls-vpn", 2),
    Flag::new('H', "hw-offloaded", 3),
    Flag::new('+', "ecmp", 4),
];

/// Older properties of routes.
pub(crate) const OLD: &[OldProperty] = &[
    OldProperty::gone("route-tag"),
    OldProperty::gone("bgp-as-path"),
    OldProperty::gone("bgp-atomic-aggregate"),
    OldProperty::gone("bgp-communities"),
    OldProperty::gone("bgp-local-pref"),
    OldProperty::gone("bgp-med"),
    OldProperty::gone("bgp-origin"),
    OldProperty::gone("bgp-prepend"),
    // RouterOS 6: a routing mark created its table implicitly.
    OldProperty {
        name: "routing-mark",
        value: None,
        becomes: "routing-table",
        with: None,
        makes: Some(&[("fib", "yes")]),
    },
    OldProperty {
        name: "type",
        value: Some("unicast"),
        becomes: "",
        with: None,
        makes: None,
    },
    OldProperty {
        name: "type",
        value: Some("blackhole"),
        becomes: "blackhole",
        with: Some("yes"),
        makes: None,
    },
];

pub(crate) static MENU: Menu = Menu {
    properties: &[WAY, ROUTE, COMMENT_DISABLED],
    flags: FLAGS,
    columns: &["dst-address", "gateway", "routing-table", "distance"],
    sort: &["dst-address", "distance"],
    commands: &[Command {
        // RouterOS: repeats until stopped.
        repeats: true,
        ..command(
            "check",
            "Show the route that a packet would take",
            &[
                Argument {
                    required: true,
                    unnamed: true,
                    ..argument("dst-ip", ADDRESS, "Destination address")
                },
                argument("src-ip", ADDRESS, "Source address"),
                ONCE,
            ],
        )
    }],
    old: OLD,
    unnumbered_dynamic: true,
    conditions: crate::conditions::ROUTE,
    ..Menu::new("/ip/route", MenuShape::List, "Route management")
};
