//! `/system/scheduler`: scripts that run at a time, periodically, or at startup.

use menu::{
    AutoValue, Draft, Flag, Kind, Menu, MenuShape, Property, Reason, Store, Unique, Value, time,
};

use super::script::OWNER;
use crate::fragment::COMMENT_DISABLED;

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("name", Kind::Name, "Name of the event"),
            Property::new("start-date", Kind::Text, "The date of the first run"),
            Property::new(
                "start-time",
                Kind::Text,
                "The time of the first run, or startup",
            ),
            Property::new(
                "interval",
                Kind::SPAN,
                "Interval between runs; 0s for one run only",
            )
            .default("0s"),
            Property::new(
                "on-event",
                Kind::Text,
                "The name of a script, or a script itself",
            )
            .default("")
            .script(),
        ],
        OWNER,
        &[
            Property::new("run-count", Kind::COUNTER, "Number of runs").read_only(),
            Property::new("next-run", Kind::Text, "Time of the next run").read_only(),
        ],
        COMMENT_DISABLED,
    ],
    columns: &[
        "name",
        "start-date",
        "start-time",
        "interval",
        "on-event",
        "run-count",
    ],
    space: Some("scheduler"),
    key: Some("name"),
    kind: "schedule",
    unique: &[Unique {
        properties: &["name"],
        failure: "item with this name already exists",
    }],
    flags: &[Flag {
        letter: 'X',
        name: "disabled",
        group: 0,
    }],
    filled: &[
        ("start-date", AutoValue::Date),
        ("start-time", AutoValue::Time),
        ("owner", AutoValue::User),
    ],
    check: Some(begins),
    ..Menu::new("/system/scheduler", MenuShape::List, "Scheduled scripts")
};

/// Refuses an invalid start date or time.
fn begins(draft: &Draft<'_>, _: &Store) -> Result<(), Reason> {
    let text = |name| draft.get(name).and_then(Value::as_str).unwrap_or_default();
    let (date, at) = (text("start-date"), text("start-time"));
    if !date.is_empty() && time::date(date).is_none() {
        return Err(Reason::BadValue("invalid date".to_owned()));
    }
    if !at.is_empty() && at != "startup" && time::of_day(at).is_none() {
        return Err(Reason::BadValue(
            "invalid time value for argument start-time".to_owned(),
        ));
    }
    Ok(())
}
