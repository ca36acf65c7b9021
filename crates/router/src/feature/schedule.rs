//! The scheduler, `/system/scheduler`: computes when events run.
//!
//! Times are local times of day in nanoseconds since 1970. After a change of the clock events may
//! run early or late, but no event runs twice because of it.

use std::collections::BTreeMap;

use machine::{Duration, Instant};
use menu::{Changes, Clock, Id, Item, Menu, Row, Store, Value, time};

use super::{Effects, Feature, View};

/// The menu of events.
pub(crate) const EVENTS: &str = "/system/scheduler";

/// Delay of `startup` events after the router's start (RouterOS: 3 seconds).
const STARTUP: i64 = 3 * time::SECOND;

/// Enabled events and their next runs.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    events: BTreeMap<Id, Event>,
    loaded: bool,
    /// Time at which the owner asks for due events.
    wake: Option<Instant>,
}

impl Feature for Schedule {
    fn menus(&self) -> &'static [&'static str] {
        &[EVENTS]
    }

    fn follow(&mut self, view: &View<'_>, _: Option<&Changes>, _: &mut Effects) {
        self.take(view.store, view.clock);
        self.watch(view.clock, view.now);
    }

    fn tick(&mut self, _: Instant, _: &mut Effects) {
        // The owner is awake and asks for the due events.
        self.wake = None;
    }

    fn deadline(&self) -> Option<Instant> {
        self.wake
    }

    fn annotate(&self, _: &'static Menu, id: Id, row: &mut Row) {
        if let Some(next) = self.next(id) {
            row.set("next-run", Value::text(next.date_time()));
        }
    }
}

/// An enabled event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Event {
    /// First run; `None` means the router's start.
    first: Option<i64>,
    interval: i64,
    /// Next run, if any.
    next: Option<i64>,
}

impl Schedule {
    /// Reads the events. Unchanged events keep their next run.
    fn take(&mut self, store: &Store, clock: Clock) {
        let now = nanos(clock);
        let before = std::mem::take(&mut self.events);
        for item in store.items(EVENTS).filter(|item| !item.is("disabled")) {
            let mut event = Event::of(item, now);
            event.next = match before.get(&item.id) {
                Some(old) if (old.first, old.interval) == (event.first, event.interval) => old.next,
                _ => event.begin(now, self.loaded),
            };
            self.events.insert(item.id, event);
        }
        self.loaded = true;
    }

    /// Returns the nanoseconds until the next run of any event.
    fn wait(&self, clock: Clock) -> Option<i64> {
        let next = self.events.values().filter_map(|event| event.next).min()?;
        Some(next.saturating_sub(nanos(clock)).max(0))
    }

    /// Sets the wake-up time to the next run of any event.
    pub(crate) fn watch(&mut self, clock: Clock, now: Instant) {
        let wait = self.wait(clock);
        let wait = wait.and_then(|nanos| u64::try_from(nanos).ok());
        self.wake = wait.map(|nanos| now + Duration::from_nanos(nanos));
    }

    /// Returns the next run of an event.
    fn next(&self, id: Id) -> Option<Clock> {
        let next = self.events.get(&id)?.next?;
        Some(Clock {
            unix_seconds: next.div_euclid(time::SECOND),
            nanos: u32::try_from(next.rem_euclid(time::SECOND)).unwrap_or(0),
            offset_seconds: 0,
            daylight: false,
        })
    }

    /// Returns the due events, each once, however late it is.
    pub(crate) fn due(&mut self, clock: Clock) -> Vec<Id> {
        let now = nanos(clock);
        let mut due = Vec::new();
        for (id, event) in &mut self.events {
            if event.next.is_some_and(|next| next <= now) {
                event.next = event.after(now);
                due.push(*id);
            }
        }
        due
    }
}

impl Event {
    fn of(item: &Item, now: i64) -> Self {
        let at = item.text("start-time");
        let day = time::date(item.text("start-date"));
        let today = now.div_euclid(86_400 * time::SECOND);
        let first = day
            .unwrap_or(today)
            .saturating_mul(86_400 * time::SECOND)
            .saturating_add(time::of_day(at).unwrap_or(0));
        let interval = match item.get("interval") {
            Some(Value::Time(nanos)) => Some(*nanos),
            _ => None,
        };
        Self {
            first: (at != "startup").then_some(first),
            interval: interval.unwrap_or(0),
            next: None,
        }
    }

    /// Returns the first run of a new event; `running` is false while the router starts.
    fn begin(&self, now: i64, running: bool) -> Option<i64> {
        match self.first {
            Some(first) if first > now => Some(first),
            None if !running => now.checked_add(STARTUP),
            _ => self.after(now),
        }
    }

    /// Returns the next run after `now`.
    fn after(&self, now: i64) -> Option<i64> {
        if self.interval <= 0 {
            return None;
        }
        // An event that ran at the router's start repeats from now on.
        let first = self.first.unwrap_or(now).min(now);
        let past = now.saturating_sub(first) / self.interval;
        first.checked_add(past.checked_add(1)?.checked_mul(self.interval)?)
    }
}

/// Returns the local time in nanoseconds since 1970.
fn nanos(clock: Clock) -> i64 {
    clock
        .unix_seconds
        .saturating_add(clock.offset_seconds.into())
        .saturating_mul(time::SECOND)
        .saturating_add(clock.nanos.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Clock {
        let (date, of_day) = text.split_once(' ').expect("a date and a time");
        let days = time::date(date).expect("a date");
        let of_day = time::of_day(of_day).expect("a time");
        Clock {
            unix_seconds: days * 86_400 + of_day / time::SECOND,
            ..Clock::utc(0)
        }
    }

    fn event(date: &str, start: &str, interval: i64) -> Store {
        let mut store = schema::store();
        let menu = store.menu(EVENTS).expect("declared");
        let given = [
            ("name", Some(Value::text("x"))),
            ("start-date", Some(Value::text(date))),
            ("start-time", Some(Value::text(start))),
            ("interval", Some(Value::Time(interval * time::SECOND))),
        ];
        let mark = store.begin();
        store.add(menu, &given, None).expect("good values");
        store.commit(mark).expect("nothing is journaled");
        store
    }

    /// Returns the runs of the event in `store` if the router starts at `start` and checks every
    /// second.
    fn runs(store: &Store, start: &str, seconds: i64) -> Vec<String> {
        let mut clock = at(start);
        let mut schedule = Schedule::default();
        schedule.take(store, clock);
        let mut runs = Vec::new();
        for _ in 0..seconds {
            if !schedule.due(clock).is_empty() {
                runs.push(clock.date_time());
            }
            clock.unix_seconds += 1;
        }
        runs
    }

    #[test]
    fn an_event_runs_at_its_time_and_then_by_its_interval() {
        let daily = event("2026-01-01", "03:30:00", 86_400);
        assert_eq!(
            runs(&daily, "2026-11-22 03:29:58", 86_410),
            ["2026-11-22 03:30:00", "2026-11-23 03:30:00"]
        );
        let once = event("2026-11-22", "12:00:00", 0);
        assert_eq!(
            runs(&once, "2026-11-22 11:59:59", 90_000),
            ["2026-11-22 12:00:00"]
        );
        assert!(
            runs(&once, "2026-11-22 12:00:01", 90_000).is_empty(),
            "it is past"
        );
        let start = event("2026-11-22", "startup", 10);
        assert_eq!(
            runs(&start, "2026-11-22 00:00:00", 20),
            ["2026-11-22 00:00:03", "2026-11-22 00:00:13"]
        );
    }

    #[test]
    fn a_clock_that_jumps_makes_an_event_late_and_not_run_often() {
        let minute = event("2026-01-01", "00:00:00", 60);
        let mut schedule = Schedule::default();
        schedule.take(&minute, at("2026-11-22 00:00:30"));

        assert_eq!(schedule.due(at("2026-11-22 05:00:10")).len(), 1);
        assert!(schedule.due(at("2026-11-22 05:00:11")).is_empty());
        assert_eq!(
            schedule.wait(at("2026-11-22 05:00:11")),
            Some(49 * time::SECOND)
        );
    }

    #[test]
    fn a_change_elsewhere_does_not_begin_an_event_anew() {
        let store = event("2026-11-22", "startup", 100);
        let mut schedule = Schedule::default();
        schedule.take(&store, at("2026-11-22 00:00:00"));
        schedule.take(&store, at("2026-11-22 00:00:02"));

        assert_eq!(schedule.due(at("2026-11-22 00:00:03")).len(), 1);
        assert!(schedule.due(at("2026-11-22 00:00:05")).is_empty());
    }
}
