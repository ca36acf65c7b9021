//! Detects which rows of a menu changed since the previous check, for `follow` and `listen`.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use menu::{Id, Kind, Menu, Property, Reason, Row, RowFilter};

use crate::machine::{self, Machine};

/// Interval of checks for a changed configuration revision.
const REVISION_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Interval of checks of the running state: links, routes, neighbours.
const STATE_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Minimum interval between checks, as a multiple of the duration of a check: long menus are checked less
/// often.
const CHECK_TIME_FACTOR: u32 = 10;

/// Maximum number of rows that are tracked.
const MAX_TRACKED_ROWS: usize = 1_000_000;

/// When the next check is due, on the site's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// No check before this time.
    pub soonest: Duration,
    /// A check is due from this time on, whatever has changed.
    pub latest: Duration,
    /// The configuration revision of the previous check. A newer revision makes a check due.
    pub revision: u64,
}

impl Pause {
    /// Waits until the next check is due.
    pub(crate) fn wait(self, machine: &mut Machine<'_>) -> machine::Result<()> {
        loop {
            machine.pause(REVISION_CHECK_INTERVAL)?;
            let now = machine.site.now();
            let revision = machine.with(|access| Ok(access.store.revision()))?;
            if now >= self.latest || (now >= self.soonest && self.revision != revision) {
                return Ok(());
            }
        }
    }
}

/// The rows at the previous check.
pub(crate) struct RowTracker {
    menu: &'static Menu,
    /// True if the first check reports all existing rows.
    all: bool,
    /// State of each row; `None` before the first check.
    rows: Option<BTreeMap<Id, Observed>>,
    revision: Option<u64>,
    /// Start and duration of the previous check.
    looked: (Duration, Duration),
}

impl RowTracker {
    /// Creates a tracker. If `all` is set, the first check reports all existing rows, otherwise none.
    pub(crate) const fn new(menu: &'static Menu, all: bool) -> Self {
        Self {
            menu,
            all,
            rows: None,
            revision: None,
            looked: (Duration::ZERO, Duration::ZERO),
        }
    }

    /// Passes new and changed rows to `each`, and returns the ids of removed rows.
    pub(crate) fn look(
        &mut self,
        machine: &mut Machine<'_>,
        filter: &RowFilter<'_>,
        mut each: impl FnMut(&mut Machine<'_>, Vec<Row>) -> machine::Result<()>,
    ) -> machine::Result<Vec<Id>> {
        machine.renew();
        let began = machine.site.now();
        self.revision = Some(machine.with(|access| Ok(access.store.revision()))?);
        let mut now = BTreeMap::new();
        let (menu, seen) = (self.menu, self.rows.take());
        let first = seen.is_none();
        let seen = seen.unwrap_or_default();
        let all = self.all || !first;
        machine.each_slice(menu, filter, |machine, rows| {
            if now.len() > MAX_TRACKED_ROWS {
                return Err(Reason::Limit("rows").nowhere().into());
            }
            let fresh = rows.into_iter().filter(|row| {
                let (id, observed) = (row.id.unwrap_or(Id::SETTINGS), Observed::of(menu, row));
                let changed = seen.get(&id).is_none_or(|before| observed.differs(before));
                now.insert(id, observed);
                all && changed
            });
            let fresh: Vec<_> = fresh.collect();
            match fresh.is_empty() {
                true => Ok(()),
                false => each(machine, fresh),
            }
        })?;
        let gone = seen.keys().filter(|id| !now.contains_key(id)).copied();
        let gone = gone.collect();
        self.rows = Some(now);
        self.looked = (began, machine.site.now().saturating_sub(began));
        Ok(gone)
    }

    /// Returns when the next check is due.
    pub(crate) fn pause(&self) -> Pause {
        let (began, took) = self.looked;
        let soonest = began + REVISION_CHECK_INTERVAL.max(took * CHECK_TIME_FACTOR);
        Pause {
            soonest,
            latest: soonest.max(began + STATE_CHECK_INTERVAL),
            revision: self.revision.unwrap_or(0),
        }
    }

    /// Number of tracked rows.
    pub(crate) fn len(&self) -> usize {
        self.rows.as_ref().map_or(0, BTreeMap::len)
    }
}

/// The state of a row for change detection.
#[derive(Clone, Copy)]
struct Observed {
    /// Digest of all cells except those that change on their own, such as counters.
    digest: u64,
    /// Remaining time in nanoseconds, if the row has a countdown cell.
    left: Option<i64>,
}

impl Observed {
    fn of(menu: &'static Menu, row: &Row) -> Self {
        let mut hasher = DefaultHasher::new();
        let mut left = None;
        for (name, value) in &row.cells {
            match menu.property(name) {
                Some(property) if property.runs_down => left = value.as_nanos(),
                Some(property) if runs_on(property) => {}
                _ => (name, value).hash(&mut hasher),
            }
        }
        Self {
            digest: hasher.finish(),
            left,
        }
    }

    /// True if the row changed by more than the passage of time.
    fn differs(&self, before: &Self) -> bool {
        let extended = match (self.left, before.left) {
            (Some(now), Some(before)) => now > before,
            (now, before) => now.is_some() != before.is_some(),
        };
        self.digest != before.digest || extended
    }
}

/// True if the value changes without an event: a counter or an age.
fn runs_on(property: &Property) -> bool {
    property.stats || (property.read_only && matches!(property.kind, Kind::Time { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use menu::{MenuShape, Value};

    static MENU: Menu = Menu {
        properties: &[&[
            Property::new("address", Kind::Text, "Address"),
            Property::new("timeout", Kind::SPAN, "Time that is left").runs_down(),
        ]],
        ..Menu::new("/entries", MenuShape::List, "Entries")
    };

    fn observed(address: &'static str, timeout: Option<i64>) -> Observed {
        let mut row = Row::default();
        row.set("address", Value::text(address));
        if let Some(seconds) = timeout {
            row.set("timeout", Value::Time(seconds * 1_000_000_000));
        }
        Observed::of(&MENU, &row)
    }

    #[test]
    fn a_decreasing_timeout_is_no_change_and_an_extended_one_is() {
        let before = observed("a", Some(60));
        assert!(!observed("a", Some(59)).differs(&before));
        assert!(observed("a", Some(61)).differs(&before));
        assert!(observed("b", Some(59)).differs(&before));
        assert!(observed("a", None).differs(&before));
        assert!(before.differs(&observed("a", None)));
    }
}
