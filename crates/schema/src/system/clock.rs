//! `/system/clock`: date, time and time zone.

use menu::{Kind, Menu, MenuShape, OldProperty, Property};

use crate::declare::{shown, yes};
use crate::spelling::{DATE_TIME, OFFSET};

/// Refusal of commands that set the clock.
const MACHINE: &str =
    "the clock belongs to the machine: set it there (timedatectl set-time), or enable NTP there";

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("time", Kind::Text, "Time of day"),
        shown("date", Kind::Text, "Date"),
        yes(
            "time-zone-autodetect",
            "Detect the time zone by the public address",
        )
        .inert(),
        Property::new(
            "time-zone-name",
            Kind::Words(super::zones::ZONES),
            "Name of the time zone; manual: as in /system/clock/manual",
        )
        .default("manual"),
        shown("gmt-offset", OFFSET, "Offset of local time from UTC"),
        shown(
            "dst-active",
            Kind::Bool,
            "Whether daylight saving time is in force",
        ),
    ]],
    old: &[
        OldProperty::refused("date", MACHINE),
        OldProperty::refused("time", MACHINE),
    ],
    ..Menu::new(
        "/system/clock",
        MenuShape::Settings,
        "Date, time and time zone",
    )
};

pub(crate) static MANUAL: Menu = Menu {
    properties: &[&[
        Property::new(
            "time-zone",
            OFFSET,
            "Offset of local time from UTC, without daylight saving time",
        )
        .default("+00:00"),
        Property::new("dst-delta", OFFSET, "Offset added by daylight saving time")
            .default("+00:00"),
        Property::new("dst-start", DATE_TIME, "Start of daylight saving time")
            .default("1970-01-01 00:00:00"),
        Property::new("dst-end", DATE_TIME, "End of daylight saving time")
            .default("1970-01-01 00:00:00"),
    ]],
    ..Menu::new(
        "/system/clock/manual",
        MenuShape::Settings,
        "Manual time zone and daylight saving time",
    )
};
