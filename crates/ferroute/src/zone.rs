//! Local time: what `/system/clock` says of the time zone, and the time zone database.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{Dst, TimeZone};
use menu::Store;

/// Local time at some moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Local {
    /// Seconds that it is ahead of UTC.
    pub(crate) offset_seconds: i32,
    /// Whether daylight saving time is in force.
    pub(crate) daylight: bool,
}

/// Local time of the configured zone. A zone that the database does not have is UTC.
pub(crate) fn local(store: &Store, unix_seconds: i64) -> Local {
    let clock = store.settings("/system/clock");
    match clock.map(|item| item.text("time-zone-name")) {
        Some("manual") | None => manual(store, unix_seconds),
        Some(name) => named(name, unix_seconds).unwrap_or_default(),
    }
}

fn named(name: &str, unix_seconds: i64) -> Option<Local> {
    let zone = TimeZone::get(name).ok()?;
    let info = zone.to_offset_info(Timestamp::from_second(unix_seconds).ok()?);
    Some(Local {
        offset_seconds: info.offset().seconds(),
        daylight: info.dst() == Dst::Yes,
    })
}

/// Local time of a zone that is described, not named.
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

/// The seconds of an offset such as `+02:00`.
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
    use super::*;

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

        let winter = with(riga, 1_795_287_477);
        let summer = with(riga, 1_782_000_000);

        assert_eq!((winter.offset_seconds, winter.daylight), (7_200, false));
        assert_eq!((summer.offset_seconds, summer.daylight), (10_800, true));
    }

    #[test]
    fn a_described_zone_has_daylight_saving_time_between_two_moments() {
        let zone = "/system clock manual set time-zone=-03:30 dst-delta=+01:00 \
                    dst-start=\"2026-03-01 02:00:00\" dst-end=\"2026-10-01 02:00:00\"";

        assert_eq!(with(zone, 1_795_287_477).offset_seconds, -12_600);
        assert_eq!(with(zone, 1_782_000_000).offset_seconds, -9_000);
    }

    #[test]
    fn every_zone_that_can_be_named_is_in_the_database() {
        let menu = schema::ALL.iter().find(|menu| menu.path == "/system/clock");
        let zone = menu.and_then(|menu| menu.property("time-zone-name"));
        let names = zone.map_or(&[][..], |zone| zone.kind.words());
        let unknown: Vec<_> = names
            .iter()
            .filter(|name| **name != "manual" && named(name, 0).is_none())
            .collect();

        assert!(names.len() > 400, "{}", names.len());
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
