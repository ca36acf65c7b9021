//! `/iot/wiliot`: Wiliot battery-free tags.

use menu::{Effect, Kind, Menu, MenuShape, Property};

use crate::declare::{PORT, U32, between, idle_command, no, shown, yes};
use crate::spelling::{DECIMAL, HOST};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        no("spoof-gps", "Report a configured GPS position"),
        Property::new("lat", DECIMAL, "Latency").default("0"),
        Property::new("long", DECIMAL, "Long").default("0"),
        Property::new("server", Kind::Or(&["none"], &Kind::Text), "Server").default("none"),
        Property::new(
            "scanner",
            Kind::Or(&["none"], &Kind::Reference("bluetooth")),
            "Scanner",
        )
        .default("none"),
        Property::new(
            "advertiser",
            Kind::Or(&["none"], &Kind::Reference("bluetooth")),
            "Advertiser",
        )
        .default("none"),
        no("wi-fi", "Wi-Fi"),
        Property::new(
            "features",
            Kind::List(&Kind::Words(&["bridge", "gateway"])),
            "Features",
        )
        .default("gateway"),
        shown("status", Kind::Text, "Status"),
        shown("gateway-id", Kind::Text, "Gateway identifier"),
        shown("type", Kind::Text, "Type"),
        shown("owner", Kind::Text, "Owner"),
    ]],
    commands: &[idle_command("clear", "Clear received data", &[])],
    effect: Effect::None,
    ..Menu::new("/iot/wiliot", MenuShape::Settings, "Wiliot tags")
};

pub(crate) static BLUETOOTH: Menu = Menu {
    properties: &[&[
        shown("time", Kind::Text, "Time"),
        shown("address", Kind::Mac, "Address"),
        shown("rssi", U32, "Rssi"),
        shown("payload", Kind::Text, "Payload"),
    ]],
    commands: &[idle_command("clear", "Clear the list", &[])],
    effect: Effect::None,
    ..Menu::new(
        "/iot/wiliot/bluetooth-traffic",
        MenuShape::Rows,
        "Messages of tags",
    )
};

pub(crate) static MQTT: Menu = Menu {
    properties: &[&[
        shown("time", Kind::Text, "Time"),
        shown("topic", Kind::Text, "Topic"),
        shown("data", Kind::Text, "Data"),
    ]],
    commands: &[idle_command("clear", "Clear the list", &[])],
    effect: Effect::None,
    ..Menu::new(
        "/iot/wiliot/mqtt-traffic",
        MenuShape::Rows,
        "Messages to servers",
    )
};

pub(crate) static OPTIONS: Menu = Menu {
    properties: &[&[
        Property::new("token-refresh-handicap", U32, "Token refresh handicap").default("0"),
        Property::new(
            "pckt-limit",
            between(0, 10_000),
            "Maximum number of packets kept",
        )
        .default("100"),
    ]],
    effect: Effect::None,
    ..Menu::new("/iot/wiliot/options", MenuShape::Settings, "Message filter")
};

pub(crate) static SERVERS: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name").required(),
        Property::new("address", HOST, "Address").required(),
        Property::new("port", PORT, "Port").default("8883"),
        yes("ssl", "TLS"),
        Property::new(
            "certificate",
            Kind::Or(&["none"], &Kind::Reference("certificate")),
            "Certificate",
        )
        .default("none"),
    ]],
    columns: &["name", "address", "port"],
    commands: &[idle_command("defaults", "Restore the default servers", &[])],
    effect: Effect::None,
    ..Menu::new("/iot/wiliot/servers", MenuShape::Fixed, "Servers")
};
