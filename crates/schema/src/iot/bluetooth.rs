//! `/iot/bluetooth`: Bluetooth advertisements.

use menu::{Effect, Flag, Kind, Menu, MenuShape, Property};

use crate::declare::{
    AS_VALUE, DISABLED_SWITCH, NUMBERS, U32, argument, between, idle_command, no,
    required_argument, shown, text, yes,
};
use crate::fragment::COMMENT_DISABLED;

const DEVICE: Kind = Kind::Reference("bluetooth");
const PHY: Kind = Kind::Words(&["1M", "2M", "coded"]);
const OWN: Kind = Kind::Words(&[
    "public",
    "random-static",
    "rpa-fallback-to-public",
    "rpa-fallback-to-random",
]);
const ADDRESS_TYPE: Kind = Kind::Words(&["public", "random"]);
/// 20 ms to about 10 s, in milliseconds.
const INTERVAL_MS: Kind = between(20, 10_240);

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name of the device"),
        Property::new("random-static-address", Kind::Mac, "Random static address").optional(),
        Property::new("antenna", Kind::Words(&["external", "internal"]), "Antenna").optional(),
        shown("public-address", Kind::Mac, "Public address"),
        shown("rx-bytes", U32, "Received bytes"),
        shown("tx-bytes", U32, "Transmitted bytes"),
        shown("rx-errors", U32, "Receive errors"),
        shown("tx-errors", U32, "Transmit errors"),
        shown("rx-evt", U32, "Received events"),
        shown("tx-cmd", U32, "Transmitted commands"),
        shown("rx-acl", U32, "Received ACL packets"),
        shown("tx-acl", U32, "Transmitted ACL packets"),
    ]],
    flags: &[Flag::new('X', "offline", 1)],
    columns: &["name", "public-address"],
    space: Some("bluetooth"),
    key: Some("name"),
    kind: "bt",
    parts: 8,
    commands: &[
        idle_command(
            "decode-ad",
            "Decode an advertisement",
            &[
                AS_VALUE,
                argument("data", Kind::Text, "Data"),
                argument("key", Kind::Text, "Key"),
            ],
        ),
        idle_command("reset-counters", "Set the counters to zero", &[NUMBERS]),
    ],
    effect: Effect::None,
    ..Menu::new("/iot/bluetooth", MenuShape::Fixed, "Bluetooth devices")
};

pub(crate) static ADVERTISERS: Menu = Menu {
    properties: &[&[
        Property::new(
            "min-interval",
            INTERVAL_MS,
            "Minimum advertising interval in milliseconds",
        )
        .default("1280"),
        Property::new(
            "max-interval",
            INTERVAL_MS,
            "Maximum advertising interval in milliseconds",
        )
        .default("2560"),
        Property::new("own-address-type", OWN, "Own address type").default("public"),
        Property::new(
            "channel-map",
            Kind::List(&Kind::Words(&["37", "38", "39"])),
            "Channels",
        )
        .default("37,38,39"),
        Property::new("phy", PHY, "Phy").default("1M"),
        yes("legacy", "Legacy"),
        Property::new(
            "ad-structures",
            Kind::List(&Kind::Reference("bluetooth-ad")),
            "Advertised data",
        )
        .default(""),
        shown("device", Kind::Text, "Device"),
        shown("ad-size", U32, "Advertisement size"),
        DISABLED_SWITCH,
    ]],
    flags: &[Flag::new('X', "disabled", 1)],
    effect: Effect::None,
    ..Menu::new(
        "/iot/bluetooth/advertisers",
        MenuShape::Fixed,
        "Advertisers",
    )
};

pub(crate) static AD_STRUCTURES: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name").required(),
        Property::new(
            "type",
            Kind::Words(&[
                "complete-local-name",
                "complete-name",
                "manufacturer-data",
                "mfg-data",
                "service-data",
                "short-local-name",
                "short-name",
            ]),
            "Type",
        )
        .required(),
        text("data", "Data bytes, or the device name"),
    ]],
    columns: &["name", "type", "data"],
    space: Some("bluetooth-ad"),
    key: Some("name"),
    effect: Effect::None,
    ..Menu::new(
        "/iot/bluetooth/advertisers/ad-structures",
        MenuShape::List,
        "Advertising data structures",
    )
};

pub(crate) static CONNECTIONS: Menu = Menu {
    properties: &[&[
        shown("name", Kind::Text, "Name"),
        shown(
            "direction",
            Kind::Words(&["incoming", "outgoing"]),
            "Direction",
        ),
    ]],
    commands: &[
        idle_command(
            "connect",
            "Connect to a device",
            &[AS_VALUE, required_argument("pdev", Kind::Text, "Pdev")],
        ),
        idle_command(
            "disconnect",
            "Disconnect from a device",
            &[AS_VALUE, required_argument("pdev", Kind::Text, "Pdev")],
        ),
        idle_command(
            "read",
            "Read a value",
            &[
                AS_VALUE,
                required_argument("pdev", Kind::Text, "Pdev"),
                argument("uuid", Kind::Text, "UUID"),
            ],
        ),
        idle_command(
            "subscribe",
            "Subscribe to changes of a value",
            &[
                AS_VALUE,
                required_argument("pdev", Kind::Text, "Pdev"),
                argument("type", Kind::Words(&["indicate", "notify"]), "Type"),
                argument("uuid", Kind::Text, "UUID"),
            ],
        ),
        idle_command(
            "unsubscribe",
            "Unsubscribe from changes of a value",
            &[
                AS_VALUE,
                required_argument("pdev", Kind::Text, "Pdev"),
                argument("type", Kind::Words(&["indicate", "notify"]), "Type"),
                argument("uuid", Kind::Text, "UUID"),
            ],
        ),
        idle_command(
            "write",
            "Write a value",
            &[
                AS_VALUE,
                argument("data-bytes", Kind::List(&between(0, 255)), "Data bytes"),
                argument("data-hex", Kind::Text, "Data in hexadecimal"),
                argument("data-str", Kind::Text, "Data as text"),
                required_argument("pdev", Kind::Text, "Pdev"),
                argument("uuid", Kind::Text, "UUID"),
            ],
        ),
        idle_command(
            "write-no-resp",
            "Write a value without an answer",
            &[
                AS_VALUE,
                argument("data-bytes", Kind::List(&between(0, 255)), "Data bytes"),
                argument("data-hex", Kind::Text, "Data in hexadecimal"),
                argument("data-str", Kind::Text, "Data as text"),
                required_argument("pdev", Kind::Text, "Pdev"),
                argument("uuid", Kind::Text, "UUID"),
            ],
        ),
    ],
    effect: Effect::None,
    ..Menu::new("/iot/bluetooth/connections", MenuShape::Rows, "Connections")
};

pub(crate) static ASYNC_DATA: Menu = Menu {
    properties: &[&[
        shown("pdev", Kind::Text, "Pdev"),
        shown("uuid", Kind::Text, "UUID"),
        shown("data-text", Kind::Text, "Data as text"),
        shown("data-hex", Kind::Text, "Data in hexadecimal"),
        shown("data-bytes", Kind::List(&U32), "Data bytes"),
        shown("type", Kind::Words(&["notification", "indication"]), "Type"),
        shown("time", Kind::Text, "Time"),
    ]],
    commands: &[idle_command("clear", "Clear the list", &[])],
    effect: Effect::None,
    ..Menu::new(
        "/iot/bluetooth/connections/async-data",
        MenuShape::Rows,
        "Received notifications of value changes",
    )
};

pub(crate) static CHARACTERISTICS: Menu = Menu {
    properties: &[&[
        shown("name", Kind::Text, "Name"),
        shown("uuid", Kind::Text, "UUID"),
        shown("handle", U32, "Handle"),
        shown("service-name", Kind::Text, "Service name"),
        shown("service-uuid", Kind::Text, "Service UUID"),
        shown("props", Kind::Text, "Props"),
        shown("pdev", Kind::Text, "Pdev"),
    ]],
    effect: Effect::None,
    ..Menu::new(
        "/iot/bluetooth/connections/characteristics",
        MenuShape::Rows,
        "Characteristics of connected devices",
    )
};

pub(crate) static PERIPHERAL: Menu = Menu {
    properties: &[&[
        Property::new("address-type", ADDRESS_TYPE, "Address type").default("public"),
        Property::new("address", Kind::Mac, "Address").required(),
        text("name", "Name"),
        no("persist", "Persist"),
        text("mtik-key", "MikroTik tag key").sensitive(),
        shown("rssi", U32, "Rssi"),
        shown("last-data", Kind::Text, "Last data"),
        shown("last-seen", Kind::Text, "Last seen"),
        shown("beacon-types", Kind::Text, "Beacon types"),
        shown("mtik-version", U32, "MikroTik tag version"),
        shown(
            "mtik-encrypted",
            Kind::Bool,
            "MikroTik tag payload is encrypted",
        ),
        shown("mtik-acc-x", U32, "MikroTik tag acceleration, x axis"),
        shown("mtik-acc-y", U32, "MikroTik tag acceleration, y axis"),
        shown("mtik-acc-z", U32, "MikroTik tag acceleration, z axis"),
        shown("mtik-temperature", U32, "MikroTik tag temperature"),
        shown("mtik-battery", U32, "MikroTik tag battery level"),
        shown("mtik-uptime", U32, "MikroTik tag uptime"),
        shown("mtik-flags", Kind::Text, "MikroTik tag flags"),
        shown("ibeacon-uuid", Kind::Text, "iBeacon UUID"),
        shown("ibeacon-major", U32, "iBeacon major number"),
        shown("ibeacon-minor", U32, "iBeacon minor number"),
        shown("ibeacon-rssi-at-1m", U32, "iBeacon RSSI at 1 m"),
        shown("eddy-rssi-at-1m", U32, "Eddystone RSSI at 1 m"),
        shown("eddy-namespace", Kind::Text, "Eddystone namespace"),
        shown("eddy-instance", Kind::Text, "Eddystone instance"),
        shown("eddy-version", U32, "Eddystone version"),
        shown("eddy-battery-voltage", U32, "Eddystone battery voltage"),
        shown("eddy-temperature", U32, "Eddystone temperature"),
        shown("eddy-packet-count", U32, "Eddystone packet count"),
        shown("eddy-uptime", U32, "Eddystone uptime"),
        shown("eddy-tx-power", U32, "Eddystone transmit power"),
        shown("eddy-eid", Kind::Text, "Eddystone ephemeral identifier"),
    ]],
    effect: Effect::None,
    ..Menu::new(
        "/iot/bluetooth/peripheral-devices",
        MenuShape::Fixed,
        "Discovered devices",
    )
};

pub(crate) static SCANNERS: Menu = Menu {
    properties: &[&[
        Property::new("type", Kind::Words(&["active", "passive"]), "Type").default("passive"),
        Property::new("interval", INTERVAL_MS, "Interval").default("20"),
        Property::new("window", INTERVAL_MS, "Window").default("20"),
        Property::new("own-address-type", OWN, "Own address type").default("public"),
        Property::new(
            "filter-policy",
            Kind::Words(&["default", "whitelist"]),
            "Filter policy",
        )
        .default("default"),
        Property::new(
            "filter-duplicates",
            Kind::Or(&["keep-newest", "off", "on"], &Kind::SPAN),
            "Filter duplicates",
        )
        .default("off"),
        Property::new("phy", PHY, "Phy").default("1M"),
        shown("device", Kind::Text, "Device"),
        DISABLED_SWITCH,
    ]],
    flags: &[Flag::new('X', "disabled", 1)],
    effect: Effect::None,
    ..Menu::new(
        "/iot/bluetooth/scanners",
        MenuShape::Fixed,
        "Scanners for advertisements",
    )
};

pub(crate) static ADVERTISEMENTS: Menu = Menu {
    properties: &[&[
        shown("device", Kind::Text, "Device"),
        shown(
            "pdu-type",
            Kind::Words(&[
                "adv-ind",
                "adv-direct-ind",
                "adv-scan-ind",
                "adv-noconn-ind",
                "scan-rsp",
                "unknown",
            ]),
            "PDU type",
        ),
        shown("time", Kind::Text, "Time"),
        shown("epoch", U32, "Epoch"),
        shown(
            "address-type",
            Kind::Words(&["public", "random"]),
            "Address type",
        ),
        shown("address", Kind::Mac, "Address"),
        shown("rssi", U32, "Rssi"),
        shown("length", U32, "Length"),
        shown("data", Kind::Text, "Data"),
        shown(
            "phy",
            Kind::Words(&["1M", "2M", "CODED-S8", "CODED-S2", "NONE"]),
            "Phy",
        ),
        shown(
            "phy-secondary",
            Kind::Words(&["1M", "2M", "CODED-S8", "CODED-S2", "NONE"]),
            "Secondary PHY",
        ),
        shown("legacy", Kind::Bool, "Legacy"),
        shown("filter-comment", Kind::Text, "Filter comment"),
    ]],
    commands: &[idle_command("clear", "Clear the list", &[])],
    effect: Effect::None,
    ..Menu::new(
        "/iot/bluetooth/scanners/advertisements",
        MenuShape::Rows,
        "Received advertisements",
    )
};

pub(crate) static WHITELIST: Menu = Menu {
    properties: &[
        &[
            Property::new("device", DEVICE, "The Bluetooth device").required(),
            Property::new("address-type", ADDRESS_TYPE, "Address type").default("public"),
            Property::new("address", Kind::Mac, "Address").required(),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[Flag::new('X', "disabled", 1)],
    columns: &["device", "address-type", "address"],
    effect: Effect::None,
    ..Menu::new(
        "/iot/bluetooth/whitelist",
        MenuShape::List,
        "Devices whose advertisements are accepted",
    )
};
