//! `/tool/mac-server`: sessions over layer 2 by MAC address.

use menu::{Effect, Kind, Menu, MenuShape, Property};

use crate::declare::yes;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[Property::new(
        "allowed-interface-list",
        Kind::Reference("interface-list"),
        "Interfaces on which sessions are accepted",
    )
    .default("all")]],
    effect: Effect::None,
    ..Menu::new("/tool/mac-server", MenuShape::Settings, "MAC Telnet server")
};

pub(crate) static MAC_WINBOX: Menu = Menu {
    properties: &[&[Property::new(
        "allowed-interface-list",
        Kind::Reference("interface-list"),
        "Interfaces on which sessions are accepted",
    )
    .default("all")]],
    effect: Effect::None,
    ..Menu::new(
        "/tool/mac-server/mac-winbox",
        MenuShape::Settings,
        "MAC WinBox server",
    )
};

pub(crate) static PING: Menu = Menu {
    properties: &[&[yes("enabled", "Answer MAC pings")]],
    ..Menu::new(
        "/tool/mac-server/ping",
        MenuShape::Settings,
        "MAC ping server",
    )
};

pub(crate) static SESSIONS: Menu = Menu {
    properties: &[&[
        Property::new("interface", Kind::Reference("interface"), "Interface"),
        Property::new("src-address", Kind::Mac, "Source address"),
        Property::new("uptime", Kind::SPAN, "Uptime"),
    ]],
    columns: &["interface", "src-address", "uptime"],
    effect: Effect::None,
    ..Menu::new(
        "/tool/mac-server/sessions",
        MenuShape::Rows,
        "MAC Telnet sessions",
    )
};
