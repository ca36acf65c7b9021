//! `/iot/lora`: LoRaWAN gateways.

use menu::{Builtin, Effect, ExportSelector, Flag, Kind, Menu, MenuShape, Property};

use crate::declare::{
    DISABLED_SWITCH, PORT, U32, argument, between, idle_command, nanoseconds, no, shown, text,
};
use crate::fragment::SECOND;
use crate::spelling::{DECIMAL, HOST};

const LOGGING: Kind = Kind::Bool;
const FILTER_TYPE: Kind = Kind::Words(&["blacklist", "whitelist"]);
const FREQUENCY: Kind = between(0, 1_000_000_000);

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        text("gateway-id", "Gateway identifier"),
        Property::new("name", Kind::Name, "Name"),
        Property::new(
            "servers",
            Kind::List(&Kind::Reference("lora-server")),
            "Servers to which packets are forwarded",
        )
        .default(""),
        Property::new(
            "tx-immediate-delay-us",
            U32,
            "Transmit delay of immediate packets in microseconds",
        )
        .default("0"),
        Property::new(
            "channel-plan",
            Kind::Words(&[
                "au-915-928-1",
                "au-915-928-2",
                "as-923",
                "custom",
                "eu-868",
                "in-865-867",
                "kr-920-923",
                "ru-864-870",
                "us-902-928-1",
                "us-902-928-2",
            ]),
            "Channel plan",
        )
        .default("eu-868"),
        Property::new("antenna-gain", between(0, 30), "Antenna gain").default("0"),
        Property::new(
            "forward",
            Kind::List(&Kind::Words(&[
                "crc-disabled",
                "crc-error",
                "crc-valid",
                "crc-validation",
                "dev-addr-validation",
                "proprietary-traffic",
            ])),
            "Forwarded packet types",
        )
        .default("crc-valid"),
        Property::new("network", Kind::Words(&["private", "public"]), "Network").default("public"),
        no("lbt-enabled", "Listen before talk enabled"),
        Property::new("listen-time", between(0, 10_000), "Listen time").default("128"),
        Property::new("rssi-threshold", between(-150, 0), "RSSI threshold").default("-80"),
        no("spoof-gps", "Report a configured GPS position"),
        Property::new("lat", DECIMAL, "Latitude").default("0"),
        Property::new("long", DECIMAL, "Longitude").default("0"),
        Property::new("alt", between(-1_000, 100_000), "Height in metres").default("0"),
        Property::new(
            "antenna",
            Kind::Words(&[
                "external-antenna",
                "internal",
                "internal-antenna",
                "uFL",
                "uFL-or-N",
            ]),
            "Antenna",
        )
        .optional(),
        shown("status", Kind::Text, "Status"),
        shown("firmware-id", Kind::Text, "Firmware identifier"),
        shown("version", Kind::Text, "Version"),
        shown("rx-packets", U32, "Received packets"),
        shown("tx-packets", U32, "Transmitted packets"),
        shown("tx-toa", U32, "Transmit time on air"),
        shown(
            "band",
            Kind::Words(&["unknown", "863-870", "902-928", "2.4-ghz"]),
            "Band",
        ),
        DISABLED_SWITCH,
    ]],
    flags: &[Flag::new('X', "disabled", 1)],
    columns: &["name", "gateway-id", "network", "servers"],
    space: Some("lora"),
    key: Some("name"),
    kind: "lora",
    parts: 8,
    commands: &[
        idle_command("reset-devices", "Restart the gateways", &[]),
        idle_command(
            "send",
            "Send a packet",
            &[
                argument("bandwidth", FREQUENCY, "Bandwidth"),
                argument("device-id", U32, "Device identifier"),
                argument("frequency", FREQUENCY, "Frequency"),
                argument("inverted", Kind::Bool, "Inverted"),
                argument("modulation", Kind::Words(&["fsk", "lora"]), "Modulation"),
                argument("payload", Kind::Text, "Payload"),
                argument("power", between(0, 30), "Power"),
                argument("preamble", U32, "Preamble"),
                argument("spread-factor", between(5, 12), "Spreading factor"),
            ],
        ),
    ],
    effect: Effect::None,
    old_paths: &["/lora"],
    ..Menu::new("/iot/lora", MenuShape::Fixed, "Gateways")
};

pub(crate) static CHANNELS: Menu = Menu {
    properties: &[&[
        text("radio", "Radio"),
        Property::new(
            "freq-off",
            between(-1_000_000, 1_000_000_000),
            "Frequency offset",
        )
        .default("0"),
        Property::new("bandwidth", between(-1_000_000, 1_000_000_000), "Bandwidth")
            .default("125000"),
        text("spread-factor", "Spreading factor"),
        Property::new("datarate", U32, "Datarate").default("0"),
        shown("name", Kind::Text, "Name"),
        shown("type", Kind::Words(&["MSF", "LoRa", "FSK"]), "Type"),
        shown("freq", U32, "Frequency"),
        DISABLED_SWITCH,
    ]],
    flags: &[Flag::new('X', "disabled", 1)],
    effect: Effect::None,
    old_paths: &["/lora/channels"],
    ..Menu::new("/iot/lora/channels", MenuShape::Fixed, "Channels")
};

pub(crate) static JOINEUI: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name").required(),
        Property::new("logging", LOGGING, "Logging").default("no"),
        Property::new("type", FILTER_TYPE, "Type").default("whitelist"),
        Property::new("joineuis", Kind::List(&Kind::Text), "Joineuis").required(),
    ]],
    columns: &["name", "type", "joineuis"],
    space: Some("lora-joineui"),
    key: Some("name"),
    effect: Effect::None,
    old_paths: &["/lora/joineui"],
    ..Menu::new("/iot/lora/joineui", MenuShape::List, "Filters by join EUI")
};

pub(crate) static NETID: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name").required(),
        Property::new("logging", LOGGING, "Logging").default("no"),
        Property::new("type", FILTER_TYPE, "Type").default("whitelist"),
        Property::new("netids", Kind::List(&Kind::Text), "Netids").required(),
    ]],
    columns: &["name", "type", "netids"],
    space: Some("lora-netid"),
    key: Some("name"),
    effect: Effect::None,
    old_paths: &["/lora/netid"],
    ..Menu::new("/iot/lora/netid", MenuShape::List, "Filters by network")
};

pub(crate) static RADIOS: Menu = Menu {
    properties: &[&[
        Property::new("center-freq", FREQUENCY, "Center frequency").optional(),
        Property::new("tx-freq-min", FREQUENCY, "Minimum transmit frequency").optional(),
        Property::new("tx-freq-max", FREQUENCY, "Maximum transmit frequency").optional(),
        shown("name", Kind::Text, "Name"),
        shown(
            "type",
            Kind::Words(&["SX1255", "SX1257", "SX1272", "SX1276", "SX1280", "SX1250"]),
            "Type",
        ),
        shown("rssi-off", U32, "RSSI offset"),
        shown("tx-enabled", Kind::Bool, "Enable transmission"),
        DISABLED_SWITCH,
    ]],
    flags: &[Flag::new('X', "disabled", 1)],
    effect: Effect::None,
    old_paths: &["/lora/radios"],
    ..Menu::new("/iot/lora/radios", MenuShape::Fixed, "Radios")
};

pub(crate) static SERVERS: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name").required(),
        Property::new("address", HOST, "Address").required(),
        Property::new("up-port", PORT, "UDP port for uplink").default("1700"),
        Property::new("down-port", PORT, "UDP port for downlink").default("1700"),
        text("key", "Key").sensitive(),
        Property::new("port", PORT, "Port").default("0"),
        Property::new("interval", nanoseconds(SECOND, i64::MAX), "Interval").default("30s"),
        no("ssl", "TLS"),
        Property::new(
            "certificate",
            Kind::Or(&["none"], &Kind::Reference("certificate")),
            "Certificate",
        )
        .default("none"),
        Property::new("protocol", Kind::Words(&["CUPS", "LNS", "UDP"]), "Protocol").default("UDP"),
        Property::new("netid", Kind::List(&Kind::Reference("lora-netid")), "Netid").default(""),
        Property::new(
            "joineui",
            Kind::List(&Kind::Reference("lora-joineui")),
            "Joineui",
        )
        .default(""),
    ]],
    columns: &["name", "up-port", "down-port", "address"],
    space: Some("lora-server"),
    key: Some("name"),
    pick: ExportSelector::Name,
    builtin: &[
        Builtin {
            values: &[
                ("name", "TTN-EU"),
                ("address", "eu.mikrotik.thethings.industries"),
            ],
        },
        Builtin {
            values: &[
                ("name", "TTN-US"),
                ("address", "us.mikrotik.thethings.industries"),
            ],
        },
    ],
    commands: &[idle_command(
        "reset-servers",
        "Restore the default servers",
        &[],
    )],
    effect: Effect::None,
    old_paths: &["/lora/servers"],
    ..Menu::new("/iot/lora/servers", MenuShape::List, "Servers")
};

pub(crate) static TRAFFIC: Menu = Menu {
    properties: &[&[
        shown("time", Kind::Text, "Time"),
        shown("gwid", Kind::Text, "Gwid"),
        shown("msgtype", Kind::Text, "Msgtype"),
        shown("devaddr", Kind::Text, "Devaddr"),
        shown("mver", Kind::Text, "Mver"),
        shown("fcnt", U32, "Fcnt"),
        shown("type", Kind::Text, "Type"),
        shown("netid", Kind::Text, "Netid"),
        shown("joineui", Kind::Text, "Joineui"),
        shown("deveui", Kind::Text, "Deveui"),
        shown("devnonce", Kind::Text, "Devnonce"),
        shown("joinnonce", Kind::Text, "Joinnonce"),
        shown("freqhz", U32, "Freqhz"),
        shown("mod", Kind::Text, "Mod"),
        shown("band", Kind::Text, "Band"),
        shown("datarate", Kind::Text, "Datarate"),
        shown("coderate", Kind::Text, "Coderate"),
        shown("ifchain", Kind::Text, "Ifchain"),
        shown("crc", Kind::Text, "Crc"),
        shown("txmode", Kind::Text, "Txmode"),
        shown("counter", Kind::Text, "Counter"),
        shown("rfchain", Kind::Text, "Rfchain"),
        shown("rssi", Kind::Text, "Rssi"),
        shown("snr", Kind::Text, "Snr"),
        shown("snrmin", Kind::Text, "Snrmin"),
        shown("snrmax", Kind::Text, "Snrmax"),
        shown("rxcrc", Kind::Text, "Rxcrc"),
        shown("rfpow", Kind::Text, "Rfpow"),
        shown("invertpol", Kind::Text, "Invertpol"),
        shown("freq", Kind::Text, "Frequency"),
        shown("preamblen", Kind::Text, "Preamblen"),
        shown("nocrc", Kind::Text, "Nocrc"),
        shown("noheader", Kind::Text, "Noheader"),
        shown("size", Kind::Text, "Size"),
        shown("data", Kind::Text, "Data"),
    ]],
    commands: &[idle_command("clear", "Clear the list", &[])],
    effect: Effect::None,
    old_paths: &["/lora/traffic"],
    ..Menu::new("/iot/lora/traffic", MenuShape::Rows, "Packets")
};

pub(crate) static OPTIONS: Menu = Menu {
    properties: &[&[
        no("crc-errors", "Crc errors"),
        Property::new(
            "pckt-limit",
            between(0, 10_000),
            "Maximum number of packets kept",
        )
        .default("100"),
    ]],
    effect: Effect::None,
    old_paths: &["/lora/traffic/options"],
    ..Menu::new(
        "/iot/lora/traffic/options",
        MenuShape::Settings,
        "Packet filter",
    )
};
