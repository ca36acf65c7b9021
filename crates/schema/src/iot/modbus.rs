//! `/iot/modbus`: a gateway to devices at serial ports.

use menu::{Effect, Family, Flag, Kind, Menu, Property, Shape};

use crate::fragment::COMMENT_DISABLED;
use crate::short::{
    APPEND, AS_VALUE, COUNT, DISABLED, DO, DURATION, FILE, FREEZE, INTERVAL, ONCE, PORT, PROPLIST,
    WITHOUT_PAGING, between, idle, may, switch,
};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new(
            "hardware-port",
            Kind::Or(&["none"], &Kind::Text),
            "The serial port",
        )
        .default("none"),
        Property::new("tcp-port", PORT, "TCP port").default("502"),
        Property::new("timeout", COUNT, "Timeout").default("1000"),
        Property::new(
            "rx-switch-offset",
            between(-1_000, 1_000),
            "Received switch offset",
        )
        .default("0"),
        Property::new("interframe-gap", COUNT, "Interframe gap").default("50"),
        switch("disable-security-rules", "yes", "Lets everybody ask"),
        DISABLED,
    ]],
    commands: &[
        idle(
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
                may("ip", Kind::Address(Family::V4), "IP"),
                may("num-regs", PORT, "Number of regs"),
                ONCE,
                may("port", PORT, "Port"),
                PROPLIST,
                may("reg-addr", PORT, "Reg address"),
                may("slave-id", between(0, 255), "Slave identifier"),
                may("timeout", COUNT, "Timeout"),
                WITHOUT_PAGING,
            ],
        ),
        idle(
            "transceive",
            "Send a message and wait for the answer",
            &[
                may("address", between(0, 255), "Address"),
                AS_VALUE,
                may("data", Kind::Text, "Data"),
                may("function", between(0, 255), "Function"),
                may(
                    "rx-switch-offset",
                    between(-1_000, 1_000),
                    "Received switch offset",
                ),
                may("values", Kind::List(&PORT), "Values"),
            ],
        ),
    ],
    effect: Effect::None,
    ..Menu::new("/iot/modbus", Shape::Settings, "Modbus gateway")
};

pub(crate) static RULES: Menu = Menu {
    properties: &[
        &[
            Property::new("ip-range", Kind::Addresses(Family::V4), "Who may ask")
                .default("0.0.0.0/0"),
            Property::new(
                "allowed-function-codes",
                Kind::List(&between(0, 255)),
                "What may be asked",
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
        Shape::List,
        "Who may ask what",
    )
};
