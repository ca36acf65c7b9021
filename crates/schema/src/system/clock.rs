//! `/system/clock`: date, time and time zone.

use menu::{Kind, Menu, MenuShape, OldProperty, Property};

use crate::declare::{shown, yes};
use crate::spelling::{DATE_TIME, OFFSET};

/// Refusal of commands that set the clock.
const MACHINE: &str = "the clock is the machine's: set it there (timedatectl set-time), or let the machine ask \
                       a time server";

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("time", Kind::Text, "Time of day"),
        shown("date", Kind::Text, "Date"),
        yes(
            "time-zone-autodetect",
            "Finds the time zone by the public address",
        )
        .inert(),
        Property::new(
            "time-zone-name",
            Kind::Words(super::zones::ZONES),
            "Name of the time zone; manual takes what the menu below says",
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
        Property::new("dst-start", DATE_TIME, "When daylight saving time begins")
            .default("1970-01-01 00:00:00"),
        Property::new("dst-end", DATE_TIME, "When daylight saving time ends")
            .default("1970-01-01 00:00:00"),
    ]],
    ..Menu::new(
        "/system/clock/manual",
        MenuShape::Settings,
        "The time zone and its daylight saving time, where none is named",
    )
};
