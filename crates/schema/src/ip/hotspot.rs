//! `/ip/hotspot`: hotspots: network access after login.

pub(crate) mod active;
pub(crate) mod cookie;
pub(crate) mod host;
pub(crate) mod ip_binding;
pub(crate) mod profile;
pub(crate) mod service_port;
pub(crate) mod user;
pub(crate) mod walled_garden;

use menu::{Effect, Flag, Kind, Menu, MenuShape, Property};

use crate::declare::{
    INTERFACE, NONE_OR_SPAN, argument, between, command, on_items, shown, with_default,
};
use crate::fragment::{COMMENT, interface};

/// An address pool, or none.
pub(crate) const POOL: Kind = Kind::Or(&["none"], &Kind::Reference("pool"));
/// A hotspot server, or all.
pub(crate) const SERVER: Kind = Kind::Or(&["all"], &Kind::Reference("hotspot"));

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name of the server"),
        interface("Interface of the guests"),
        with_default(
            "address-pool",
            POOL,
            "none",
            "Address pool for translated guests",
        )
        .quiet(),
        with_default(
            "profile",
            Kind::Reference("hotspot-profile"),
            "default",
            "The profile",
        ),
        with_default("idle-timeout", NONE_OR_SPAN, "5m", "Idle timeout of guests"),
        with_default(
            "keepalive-timeout",
            NONE_OR_SPAN,
            "none",
            "Keepalive timeout of guests",
        ),
        with_default(
            "login-timeout",
            NONE_OR_SPAN,
            "none",
            "Login timeout of guests",
        ),
        with_default(
            "addresses-per-mac",
            Kind::Or(&["unlimited"], &between(1, 4_294_967_295)),
            "2",
            "Maximum number of addresses per hardware address",
        ),
        shown(
            "ip-of-dns-name",
            Kind::Text,
            "The address of the server's name",
        ),
        shown("proxy-status", Kind::Text, "State of the proxy"),
        COMMENT,
        crate::declare::no("disabled", "Defines whether item is ignored or used"),
    ]],
    flags: &[
        Flag::new('X', "disabled", 0),
        Flag::new('I', "invalid", 0),
        Flag::new('S', "HTTPS", 1),
    ],
    columns: &[
        "name",
        "interface",
        "address-pool",
        "profile",
        "idle-timeout",
    ],
    space: Some("hotspot"),
    key: Some("name"),
    kind: "hotspot",
    commands: &[
        on_items("reset-html", "Reset the pages to their defaults"),
        command(
            "setup",
            "Set up a server",
            &[argument("interface", INTERFACE, "Interface of the guests")],
        ),
    ],
    effect: Effect::None,
    ..Menu::new("/ip/hotspot", MenuShape::List, "HotSpot servers")
};
