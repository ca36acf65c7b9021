//! `/ip/cloud`: MikroTik's cloud services for DNS names and time.

pub(crate) mod advanced;
pub(crate) mod back_to_home_file;
pub(crate) mod back_to_home_user;

use menu::{Effect, Kind, Menu, MenuShape};

use crate::declare::{IPV4, IPV6, command, seconds, shown, text, with_default, yes};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        with_default(
            "ddns-enabled",
            Kind::Words(&["auto", "no", "yes"]),
            "auto",
            "Whether the router has a name",
        ),
        with_default(
            "ddns-update-interval",
            Kind::Or(&["none"], &seconds(60, 4_294_967_295)),
            "none",
            "Update interval of the name's address",
        ),
        text(
            "vpn-prefer-relay-code",
            "The relay that users' connections prefer",
        ),
        yes("update-time", "Whether the clock is set"),
        with_default(
            "back-to-home-vpn",
            Kind::Words(&["disabled", "enabled", "revoked-and-disabled"]),
            "revoked-and-disabled",
            "Whether users reach the router through the service",
        ),
        shown(
            "public-address",
            IPV4,
            "The router's address as the service sees it",
        ),
        shown(
            "public-address-ipv6",
            IPV6,
            "The router's IPv6 address as the service sees it",
        ),
        shown("dns-name", Kind::Text, "The router's name"),
        shown("status", Kind::Text, "Last message of the service"),
        shown("warning", Kind::Text, "Warning of the service"),
    ]],
    commands: &[command("force-update", "Tell the address now", &[])],
    effect: Effect::None,
    ..Menu::new("/ip/cloud", MenuShape::Settings, "Cloud services")
};
