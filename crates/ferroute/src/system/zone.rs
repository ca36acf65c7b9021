//! Local time: the time zone of `/system/clock`, and the time zone database.
//!
//! The program embeds the database. The machine's may lack names that RouterOS knows: Debian 13 has
//! `Europe/Kiev`, `US/Eastern` and 111 others in a separate package.

use std::sync::Mutex;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{Dst, TimeZone, TimeZoneDatabase};
use menu::Store;

/// Local time offset at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Local {
    /// Offset from UTC in seconds.
    pub(crate) offset_seconds: i32,
    /// True during daylight saving time.
    pub(crate) daylight: bool,
}

/// Returns the offset of the configured time zone.
pub(crate) fn local(store: &Store, unix_seconds: i64) -> Local {
    let clock = store.settings("/system/clock");
    match clock.map(|item| item.text("time-zone-name")) {
        Some("manual") | None => manual(store, unix_seconds),
        Some(name) => match named(name) {
            Some(zone) => offset(&zone, unix_seconds),
            None => without_zone(name),
        },
    }
}

/// Looks up a time zone by name.
fn named(name: &str) -> Option<TimeZone> {
    TimeZoneDatabase::bundled().get(name).ok()
}

/// Returns the offset of a zone; UTC beyond the year 9999.
fn offset(zone: &TimeZone, unix_seconds: i64) -> Local {
    let Ok(moment) = Timestamp::from_second(unix_seconds) else {
        return Local::default();
    };
    let info = zone.to_offset_info(moment);
    Local {
        offset_seconds: info.offset().seconds(),
        daylight: info.dst() == Dst::Yes,
    }
}

/// Returns UTC and warns once per name. The menu refuses unknown names, so this concerns only states of
/// versions with another database.
fn without_zone(name: &str) -> Local {
    static WARNED: Mutex<String> = Mutex::new(String::new());
    let mut warned = WARNED
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    if *warned != name {
        name.clone_into(&mut warned);
        tracing::warn!("/system/clock: this version has no time zone {name}; times are UTC");
    }
    Local::default()
}

/// Returns the offset of a manually configured zone.
fn manual(store: &Store, unix_seconds: i64) -> Local {
    let Some(item) = store.settings("/system/clock/manual") else {
        return Local::default();
    };
    let standard = seconds(item.text("time-zone"));
    let moment = |name| item.text(name).parse::<DateTime>().ok();
    let now = Timestamp::from_second(unix_seconds.saturating_add(standard.into()));
    let now = now.map(|now| now.to_zoned(TimeZone::UTC).datetime()).ok();
    let daylight = match (moment("dst-start"), now, moment("dst-end")) {
        (Some(start), Some(now), Some(end)) => start <= now && now < end,
        _ => false,
    };
    let extra = if daylight {
        seconds(item.text("dst-delta"))
    } else {
        0
    };
    Local {
        offset_seconds: standard + extra,
        daylight,
    }
}

/// Parses an offset such as `+02:00` into seconds.
fn seconds(offset: &str) -> i32 {
    let (sign, rest) = match offset.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, offset.trim_start_matches('+')),
    };
    let (hours, minutes) = rest.split_once(':').unwrap_or((rest, "0"));
    let number = |text: &str| text.parse::<i32>().unwrap_or(0).clamp(0, 99);
    sign * (number(hours) * 3_600 + number(minutes) * 60)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const WINTER: i64 = 1_795_287_477;
    const SUMMER: i64 = 1_782_000_000;

    fn with(command: &str, unix_seconds: i64) -> Local {
        let mut store = schema::store();
        let mut session = script::Session::new("admin");
        let mut out = String::new();
        let done = script::import(
            &mut store,
            &mut menu::Offline,
            &mut session,
            command,
            &mut out,
        );
        assert!(done.is_ok(), "{command}: {done:?}");
        local(&store, unix_seconds)
    }

    #[test]
    fn a_named_zone_knows_when_daylight_saving_time_is() {
        let riga = "/system clock set time-zone-name=Europe/Riga";

        let winter = with(riga, WINTER);
        let summer = with(riga, SUMMER);

        assert_eq!((winter.offset_seconds, winter.daylight), (7_200, false));
        assert_eq!((summer.offset_seconds, summer.daylight), (10_800, true));
    }

    #[test]
    fn a_described_zone_has_daylight_saving_time_between_two_moments() {
        let zone = "/system clock manual set time-zone=-03:30 dst-delta=+01:00 \
                    dst-start=\"2026-03-01 02:00:00\" dst-end=\"2026-10-01 02:00:00\"";

        assert_eq!(with(zone, WINTER).offset_seconds, -12_600);
        assert_eq!(with(zone, SUMMER).offset_seconds, -9_000);
    }

    /// Debian 13 has these files only with the package `tzdata-legacy`.
    #[test]
    fn zones_with_an_old_name_are_not_utc() {
        for (name, offset_seconds) in [
            ("Europe/Kiev", 7_200),
            ("US/Eastern", -18_000),
            ("Asia/Calcutta", 19_800),
            ("CET", 3_600),
        ] {
            let set = format!("/system clock set time-zone-name={name}");

            assert_eq!(with(&set, WINTER).offset_seconds, offset_seconds, "{name}");
        }
    }

    #[test]
    fn the_permitted_zones_are_those_of_the_database() {
        let menu = schema::ALL.iter().find(|menu| menu.path == "/system/clock");
        let zone = menu.and_then(|menu| menu.property("time-zone-name"));
        let words = zone.map_or(&[][..], |zone| zone.kind.words());
        let named: BTreeSet<_> = words.iter().map(|name| (*name).to_owned()).collect();
        let database = TimeZoneDatabase::bundled();
        let mut known: BTreeSet<_> = database.available().map(|name| name.to_string()).collect();
        // RouterOS: `manual` selects the menu below; the database's `Factory` marks an unconfigured machine.
        known.insert("manual".to_owned());
        known.remove("Factory");

        assert_eq!(named, known);
    }

    #[test]
    fn a_zone_that_does_not_exist_is_refused() {
        let mut store = schema::store();
        let mut session = script::Session::new("admin");
        let set = "/system clock set time-zone-name=Europe/Atlantis";

        let done = script::import(
            &mut store,
            &mut menu::Offline,
            &mut session,
            set,
            &mut String::new(),
        );

        let refusal = done.expect_err("no such zone").to_string();
        assert!(refusal.contains("time-zone-name"), "{refusal}");
    }
}
