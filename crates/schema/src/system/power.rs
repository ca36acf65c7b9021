//! `/system/ups` and `/system/watchdog`: power and restarts.

use menu::{Effect, Family, Flag, Kind, Menu, MenuShape, OldProperty, Property};

use crate::declare::{
    AS_VALUE, MONITORED_ITEMS, NUMBER, U32, argument, idle_command, nanoseconds, no, shown, text,
    yes,
};
use crate::fragment::{COMMENT_DISABLED, SECOND};
use crate::spelling::HOST;

pub(crate) static UPS: Menu = Menu {
    properties: &[
        &[
            Property::new("name", Kind::Name, "Name of the supply"),
            Property::new(
                "port",
                Kind::Or(&["none"], &Kind::Text),
                "Port of the supply",
            )
            .required(),
            Property::new(
                "offline-time",
                Kind::SPAN,
                "Time on battery after which the router stops",
            )
            .default("5m"),
            Property::new(
                "min-runtime",
                Kind::Or(&["never"], &Kind::SPAN),
                "Remaining time at which the router stops",
            )
            .default("never"),
            Property::new(
                "alarm-setting",
                Kind::Words(&["delayed", "immediate", "low-battery", "none"]),
                "Alarm setting of the supply",
            )
            .default("immediate"),
            yes(
                "check-capabilities",
                "Detect the capabilities of the supply",
            ),
            shown("model", Kind::Text, "Model"),
            shown("version", Kind::Text, "Version"),
            shown("serial", Kind::Text, "Serial"),
            shown("manufacture-date", Kind::Text, "Manufacture date"),
            shown("load", U32, "Load"),
            shown("on-line", Kind::Bool, "Running on mains power"),
            shown("nominal-battery-voltage", U32, "Nominal battery voltage"),
            shown("offline-after", Kind::SPAN, "Offline after"),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[Flag::new('X', "disabled", 1), Flag::new('I', "invalid", 1)],
    key: Some("name"),
    naming: "ups",
    columns: &["name", "port", "model"],
    commands: &[
        idle_command("beep", "Sound the alarm", &[AS_VALUE, NUMBER]),
        idle_command("monitor", "Show the state of supplies", MONITORED_ITEMS).repeating(),
        idle_command(
            "rtc",
            "Calibrate the runtime of the battery",
            &[AS_VALUE, NUMBER],
        ),
        idle_command(
            "self-test",
            "Start a self-test of the supply",
            &[
                AS_VALUE,
                argument(
                    "hid-test-type",
                    Kind::Words(&["quick", "deep", "abort"]),
                    "Type of the self-test",
                ),
                NUMBER,
            ],
        ),
    ],
    effect: Effect::None,
    ..Menu::new(
        "/system/ups",
        MenuShape::List,
        "Uninterruptible power supplies",
    )
};

pub(crate) static WATCHDOG: Menu = Menu {
    properties: &[&[
        Property::new(
            "watch-address",
            Kind::Or(&["none"], &Kind::Address(Family::Any)),
            "Address that must answer pings",
        )
        .default("none"),
        yes(
            "watchdog-timer",
            "Restart the router when its software hangs",
        ),
        Property::new(
            "ping-start-after-boot",
            Kind::SPAN,
            "Delay after the start before the address is first checked",
        )
        .default("5m"),
        Property::new(
            "ping-timeout",
            nanoseconds(10 * SECOND, 600 * SECOND),
            "Time without an answer after which the router restarts",
        )
        .default("1m"),
        yes("automatic-supout", "Write a support file after a crash"),
        no("auto-send-supout", "Send the support file by mail"),
        text("send-email-to", "Recipient of the mail"),
        text("send-email-from", "Sender of the mail"),
        Property::new("send-smtp-server", HOST, "The mail server").default("0.0.0.0"),
    ]],
    old: &[OldProperty::gone("no-ping-delay")],
    effect: Effect::None,
    ..Menu::new("/system/watchdog", MenuShape::Settings, "Watchdog settings")
};
