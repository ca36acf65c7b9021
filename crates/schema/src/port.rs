//! `/port`: serial ports.

use menu::{
    Builtin, Effect, ExportSelector, Family, Flag, Kind, Menu, MenuShape, OldProperty, Property,
};

use crate::declare::{PORT, U32, no, shown, text, yes};
use crate::fragment::COMMENT_DISABLED;
use crate::spelling::HOST;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name of the port"),
        Property::new(
            "baud-rate",
            Kind::Words(&[
                "auto", "50", "75", "110", "134", "150", "200", "300", "600", "1200", "1800",
                "2400", "4800", "9600", "19200", "38400", "57600", "115200", "230400", "460800",
                "500000", "576000", "921600", "1000000", "1152000", "1500000", "2000000",
                "2500000", "3000000", "3500000", "4000000",
            ]),
            "Speed",
        )
        .default("auto"),
        Property::new("data-bits", Kind::Words(&["7", "8"]), "Data bits").default("8"),
        Property::new("parity", Kind::Words(&["none", "odd", "even"]), "Parity").default("none"),
        Property::new("stop-bits", Kind::Words(&["1", "2"]), "Stop bits").default("1"),
        Property::new(
            "flow-control",
            Kind::Words(&["xon-xoff", "hardware", "none"]),
            "Flow control",
        )
        .default("none"),
        yes("rts", "State of the RTS line"),
        yes("dtr", "State of the DTR line"),
        shown("used-by", Kind::Text, "Used by"),
        shown("device", Kind::Text, "Device"),
        shown("channels", U32, "Channels"),
        shown("line-state", Kind::Text, "Line state"),
    ]],
    flags: &[Flag::new('I', "inactive", 1)],
    columns: &["name", "channels", "used-by", "baud-rate"],
    space: Some("port"),
    key: Some("name"),
    parts: 16,
    pick: ExportSelector::Number,
    builtin: &[
        Builtin {
            values: &[("name", "serial0")],
        },
        Builtin {
            values: &[("name", "serial1")],
        },
    ],
    effect: Effect::None,
    ..Menu::new("/port", MenuShape::Fixed, "Serial ports")
};

pub(crate) static FIRMWARE: Menu = Menu {
    properties: &[&[
        Property::new("directory", Kind::Text, "Folder of the firmware").default("firmware"),
        no("ignore-directip-modem", "Ignore DirectIP modems"),
    ]],
    effect: Effect::None,
    ..Menu::new("/port/firmware", MenuShape::Settings, "Firmware of modems")
};

pub(crate) static REMOTE_ACCESS: Menu = Menu {
    properties: &[
        &[
            Property::new("port", Kind::Reference("port"), "The serial port").required(),
            Property::new("channel", U32, "The channel of the port").default("0"),
            Property::new(
                "remote-addresses",
                Kind::List(&HOST),
                "Allowed clients, or the address to connect to",
            )
            .default(""),
            Property::new(
                "local-address",
                Kind::Address(Family::Any),
                "Address of the connection",
            )
            .optional(),
            Property::new("ip-port", PORT, "TCP or UDP port").default("0"),
            Property::new(
                "protocol",
                Kind::Words(&["tcp-server", "rfc2217", "tcp-client", "udp"]),
                "Protocol",
            )
            .default("rfc2217"),
            text("log-file", "File in which data is stored"),
            shown("active-peer", Kind::Address(Family::V6), "Active peer"),
            shown("active-peer-port", U32, "Active peer port"),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[
        Flag::new('X', "disabled", 1),
        Flag::new('I', "inactive", 1),
        Flag::new('A', "active", 1),
        Flag::new('B', "busy", 1),
        Flag::new('L', "logging-active", 1),
    ],
    columns: &["port", "channel", "protocol", "ip-port"],
    old: &[OldProperty::renamed(
        "allowed-addresses",
        "remote-addresses",
    )],
    effect: Effect::None,
    ..Menu::new(
        "/port/remote-access",
        MenuShape::List,
        "Serial ports accessible over TCP and UDP",
    )
};
