//! `/iot/modbus`: Modbus gateway for serial devices.

use menu::{Effect, Family, Flag, Kind, Menu, MenuShape, Property};

use crate::declare::{
    APPEND, AS_VALUE, DISABLED_SWITCH, DO, DURATION, FILE, FREEZE, INTERVAL, ONCE, PORT, PROPLIST,
    U32, WITHOUT_PAGING, argument, between, idle_command, yes,
};
use crate::fragment::COMMENT_DISABLED;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new(
            "hardware-port",
            Kind::Or(&["none"], &Kind::Text),
            "The serial port",
        )
        .default("none"),
        Property::new("tcp-port", PORT, "TCP port").default("502"),
        Property::new("timeout", U32, "Timeout").default("1000"),
        Property::new(
            "rx-switch-offset",
            between(-1_000, 1_000),
            "Delay before switching to reception",
        )
        .default("0"),
        Property::new("interframe-gap", U32, "Gap between frames").default("50"),
        yes("disable-security-rules", "Allow requests of all hosts"),
        DISABLED_SWITCH,
    ]],
    commands: &[
        idle_command(
            "read-holding-registers",
            "Read registers",
            &[
                APPEND,
                AS_VALUE,
                DO,
                DURATION,
                FILE,
                FREEZE,
                INTERVAL,
                argument("ip", Kind::Address(Family::V4), "IP"),
                argument("num-regs", PORT, "Number of registers"),
                ONCE,
                argument("port", PORT, "Port"),
                PROPLIST,
                argument("reg-addr", PORT, "Register address"),
                argument("slave-id", between(0, 255), "Slave identifier"),
                argument("timeout", U32, "Timeout"),
                WITHOUT_PAGING,
            ],
        ),
        idle_command(
            "transceive",
            "Send a message and wait for the answer",
            &[
                argument("address", between(0, 255), "Address"),
                AS_VALUE,
                argument("data", Kind::Text, "Data"),
                argument("function", between(0, 255), "Function"),
                argument(
                    "rx-switch-offset",
                    between(-1_000, 1_000),
                    "Delay before switching to reception",
                ),
                argument("values", Kind::List(&PORT), "Values"),
            ],
        ),
    ],
    effect: Effect::None,
    ..Menu::new("/iot/modbus", MenuShape::Settings, "Modbus gateway")
};

pub(crate) static RULES: Menu = Menu {
    properties: &[
        &[
            Property::new("ip-range", Kind::Addresses(Family::V4), "Allowed hosts")
                .default("0.0.0.0/0"),
            Property::new(
                "allowed-function-codes",
                Kind::List(&between(0, 255)),
                "Allowed function codes",
            )
            .default(""),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[Flag::new('X', "disabled", 1)],
    columns: &["ip-range", "allowed-function-codes"],
    effect: Effect::None,
    ..Menu::new(
        "/iot/modbus/security-rules",
        MenuShape::List,
        "Access rules",
    )
};
