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
            "Dynamic DNS name of the router",
        ),
        with_default(
            "ddns-update-interval",
            Kind::Or(&["none"], &seconds(60, 4_294_967_295)),
            "none",
            "Update interval of the dynamic DNS address",
        ),
        text(
            "vpn-prefer-relay-code",
            "Preferred relay of VPN connections",
        ),
        yes("update-time", "Set the clock by the cloud service"),
        with_default(
            "back-to-home-vpn",
            Kind::Words(&["disabled", "enabled", "revoked-and-disabled"]),
            "revoked-and-disabled",
            "Back to Home VPN state",
        ),
        shown(
            "public-address",
            IPV4,
            "Public address seen by the cloud service",
        ),
        shown(
            "public-address-ipv6",
            IPV6,
            "Public IPv6 address seen by the cloud service",
        ),
        shown("dns-name", Kind::Text, "DNS name of the router"),
        shown("status", Kind::Text, "Status of the cloud service"),
        shown("warning", Kind::Text, "Warning of the cloud service"),
    ]],
    commands: &[command("force-update", "Update the address now", &[])],
    effect: Effect::None,
    ..Menu::new("/ip/cloud", MenuShape::Settings, "Cloud services")
};
