//! The running router, as menus see it: dynamic rows, read-only values, actions.

use std::ops::ControlFlow;

use crate::print::text_of;
use crate::{Changes, Id, Menu, Output, Policies, Reason, Rights, Store, Value};

/// A row that is shown: an item with what the router adds to it, or a dynamic row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// The item's id, or that of the dynamic row.
    pub id: Option<Id>,
    /// The cells by property name; flags are Boolean cells.
    pub cells: Vec<(&'static str, Value)>,
}

impl Row {
    /// The cell that says what is wrong with an item. RouterOS: its name among the values of a row; what is
    /// printed shows it as a line, as a comment.
    pub const ABOUT: &'static str = ".about";

    /// The cell that says what is missing for an item to do what it says. Not RouterOS's: named so that
    /// programs pass it over that do not know it.
    pub const NO_EFFECT: &'static str = ".no-effect";

    /// The lines that stand before the values: the comment, what is wrong, and what has no effect.
    pub(crate) fn remarks(&self) -> impl Iterator<Item = String> {
        let remarks = ["comment", Self::ABOUT].into_iter();
        let remarks = remarks.filter_map(|name| self.get(name));
        let remarks = remarks.filter(|remark| !remark.is_empty()).map(text_of);
        let lack = self.get(Self::NO_EFFECT);
        remarks.chain(lack.map(|lack| format!("no effect: {}", text_of(lack))))
    }

    /// The value of a cell.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.cells
            .iter()
            .find(|(cell, _)| *cell == name)
            .map(|(_, value)| value)
    }

    /// Sets a cell.
    pub fn set(&mut self, name: &'static str, value: Value) {
        match self.cells.iter_mut().find(|(cell, _)| *cell == name) {
            Some((_, slot)) => *slot = value,
            None => self.cells.push((name, value)),
        }
    }

    /// Sets a flag.
    pub fn flag(&mut self, name: &'static str, on: bool) {
        self.set(name, Value::Bool(on));
    }

    /// Whether a flag is set.
    pub fn is(&self, name: &str) -> bool {
        self.get(name).and_then(Value::as_bool).unwrap_or(false)
    }
}

/// Which rows are asked for.
///
/// A provider of many rows uses `equals` to seek (a host by address, a route by destination) and
/// must then ask [`RowFilter::accepts`] about each row that it would give.
#[derive(Default)]
pub struct RowFilter<'a> {
    /// Cells that must have these values: what a provider can look up by.
    pub equals: Vec<(&'static str, Value)>,
    /// The whole condition, if there is more than equality.
    pub test: Option<&'a dyn Fn(&Row) -> bool>,
    /// Whether secrets are kept out of the rows, and so out of the condition's sight.
    pub without_secrets: bool,
}

impl RowFilter<'_> {
    /// Whether the row is asked for.
    pub fn accepts(&self, row: &Row) -> bool {
        self.equals
            .iter()
            .all(|(name, value)| row.get(name) == Some(value))
            && self.test.is_none_or(|test| test(row))
    }
}

/// How far [`Live::rows_from`] came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scan {
    /// There may be more rows.
    More,
    /// These were the last.
    Over,
}

/// A command for the running router.
#[derive(Debug)]
pub struct Call<'a> {
    /// The menu.
    pub menu: &'static Menu,
    /// The command.
    pub command: &'static str,
    /// The items that it is for; empty where the command takes none.
    pub items: &'a [Id],
    /// Its other arguments.
    pub arguments: &'a [(&'static str, Value)],
    /// What [`Live::labour`] has made for it.
    pub made: Option<&'a [u8]>,
}

/// Work that takes long and needs nothing of the router.
pub type Labour = Box<dyn FnOnce() -> Result<Vec<u8>, Reason>>;

/// The session that a command comes from.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'a> {
    /// Whose it is.
    pub user: &'a str,
    /// Tells it from all others.
    pub session: u64,
    /// What is at its other end: `console`, `api`.
    pub via: &'static str,
    /// The login that it belongs to; 0 for none.
    pub login: u64,
    /// What it may do now.
    pub policies: Policies,
    /// What it may do at every moment.
    pub rights: &'a Rights,
    /// Whether a script or an event gives the command, not a user by a line. A file that such a command runs
    /// has no more rights than its owner.
    pub is_script: bool,
}

/// Files that belong to the router, by name; a folder stands before a `/`.
pub trait Files {
    /// The contents of a file.
    ///
    /// # Errors
    /// There is none of this name, or it cannot be read.
    fn read(&self, name: &str) -> Result<Vec<u8>, Reason>;

    /// Makes a file, or replaces one, wholly or not at all.
    ///
    /// # Errors
    /// The name is none, there is no room, or it cannot be written.
    fn write(&mut self, name: &str, contents: &[u8]) -> Result<(), Reason>;

    /// As [`Self::write`], for what has no secrets in it, whoever writes it.
    ///
    /// # Errors
    /// As of [`Self::write`].
    fn write_plain(&mut self, name: &str, contents: &[u8]) -> Result<(), Reason>;
}

/// What a command of the router answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// Rows of values, such as one page of a monitor.
    pub rows: Vec<Row>,
    /// The row that it made.
    pub made: Option<Id>,
}

/// A script of the configuration that is to be run.
#[derive(Clone, Debug)]
pub struct Script {
    /// Whose it is: the item.
    pub id: Id,
    /// Its name; empty where it has none.
    pub name: String,
    /// Its text.
    pub source: String,
    /// The user who made it.
    pub owner: String,
    /// What it may do by itself: what its policies and its owner have in common.
    pub rights: Rights,
    /// Whether who runs it need not have these rights.
    pub lends: bool,
}

/// The time of day, as the configuration's clock shows it. There is no default: whoever makes one knows the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// Seconds since 1970-01-01 00:00:00 UTC.
    pub unix_seconds: i64,
    /// Nanoseconds of the second.
    pub nanos: u32,
    /// Seconds that local time is ahead of UTC.
    pub offset_seconds: i32,
    /// Whether daylight saving time is part of that.
    pub daylight: bool,
}

impl Clock {
    /// A time in UTC, in seconds since 1970.
    pub const fn utc(unix_seconds: i64) -> Self {
        Self {
            unix_seconds,
            nanos: 0,
            offset_seconds: 0,
            daylight: false,
        }
    }

    /// Local date and time: `2026-11-21 18:57:57`.
    pub fn date_time(self) -> String {
        let (date, seconds) = self.local();
        let (year, month, day) = date;
        format!(
            "{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}",
            seconds / 3_600,
            seconds / 60 % 60,
            seconds % 60
        )
    }

    /// What local time is ahead of UTC: `+02:00`.
    pub fn offset(self) -> String {
        let sign = if self.offset_seconds < 0 { '-' } else { '+' };
        let minutes = self.offset_seconds.unsigned_abs() / 60;
        format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }

    /// Local year, month and day, and the second of the day.
    pub const fn local(self) -> ((i64, i64, i64), i64) {
        let seconds = self.unix_seconds.saturating_add(self.offset_seconds as i64);
        let days = seconds.div_euclid(86_400).saturating_add(719_468);
        // Civil date from days, in eras of 400 years that begin on 1 March.
        let era = days.div_euclid(146_097);
        let of_era = days.rem_euclid(146_097);
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted = (5 * of_year + 2) / 153;
        let day = of_year - (153 * shifted + 2) / 5 + 1;
        let month = if shifted < 10 {
            shifted + 3
        } else {
            shifted - 9
        };
        let year = year_of_era + era * 400 + if month <= 2 { 1 } else { 0 };
        ((year, month, day), seconds.rem_euclid(86_400))
    }
}

/// The running router behind the menus.
pub trait Live {
    /// Gives the menu's dynamic rows that the filter accepts, one by one, in the menu's order.
    ///
    /// Stops when `each` breaks. Rows are made on the way: never all of them at once.
    fn rows(
        &self,
        store: &Store,
        menu: &'static Menu,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let _ = (store, menu, filter, each);
        ControlFlow::Continue(())
    }

    /// As [`Self::rows`], for a menu without items that may have millions: from `place` on, which is
    /// 0 at first and is left behind what was looked at. Looks at so few that others need not wait
    /// for it. `None` where the menu is none of these.
    fn rows_from(
        &self,
        menu: &'static Menu,
        filter: &RowFilter<'_>,
        place: &mut u64,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> Option<Scan> {
        let _ = (menu, filter, place, each);
        None
    }

    /// How many rows a menu without items has, if that is known without making them.
    fn count(&self, menu: &'static Menu) -> Option<u64> {
        let _ = menu;
        None
    }

    /// Adds the read-only cells and flags to an item's row. For settings the id is that of the
    /// menu's one item; for a menu of values to read it makes the whole row.
    fn annotate(&self, store: &Store, menu: &'static Menu, id: Id, row: &mut Row) {
        let _ = (store, menu, id, row);
    }

    /// Carries out a command that is not about configuration.
    ///
    /// # Errors
    /// Why it could not.
    fn action(&mut self, store: &Store, call: &Call<'_>) -> Result<Reply, Reason> {
        let _ = store;
        Err(Reason::failure(format!(
            "{} needs a running router",
            call.command
        )))
    }

    /// The scripts that a command runs, for the language to run them; none where it is no such
    /// command.
    ///
    /// # Errors
    /// Why it cannot be run.
    fn scripts(&self, store: &Store, call: &Call<'_>) -> Result<Vec<Script>, Reason> {
        let _ = (store, call);
        Ok(Vec::new())
    }

    /// Work that is to be done before a command can be carried out, with the router free for others;
    /// what it makes comes with the call.
    ///
    /// # Errors
    /// Why the command cannot be carried out.
    fn labour(&self, store: &Store, call: &Call<'_>) -> Result<Option<Labour>, Reason> {
        let _ = (store, call);
        Ok(None)
    }

    /// Carries out a command that concerns the configuration as a whole, such as `/safe-mode/take`;
    /// `None` if it is none. What it says while it works goes to `out`.
    fn manage(
        &mut self,
        store: &mut Store,
        call: &Call<'_>,
        caller: &Caller<'_>,
        out: &mut dyn Output,
    ) -> Option<Result<Reply, Reason>> {
        let _ = (store, call, caller, out);
        None
    }

    /// Hears which session the command is of that is run next.
    fn asked_by(&mut self, caller: &Caller<'_>) {
        let _ = caller;
    }

    /// What the owner of a file may do at every moment; everything for a file that no user wrote.
    ///
    /// # Errors
    /// The owner is no user any more, or may do nothing.
    fn rights_of_file(&self, store: &Store, name: &str) -> Result<Rights, Reason> {
        let _ = (store, name);
        Ok(Rights::FULL)
    }

    /// The router's files; `None` where there are none.
    fn files(&mut self) -> Option<&mut dyn Files> {
        None
    }

    /// Hears of a committed transaction, before the command is acknowledged.
    fn changed(&mut self, store: &Store, changes: &Changes) {
        let _ = (store, changes);
    }

    /// The time of day.
    fn clock(&self) -> Clock;

    /// 32 bytes that nobody can foretell.
    ///
    /// # Errors
    /// The system has none.
    fn new_key(&self) -> Result<[u8; 32], Reason> {
        let mut key = [0; 32];
        match getrandom::fill(&mut key) {
            Ok(()) => Ok(key),
            Err(error) => Err(Reason::failure(format!("no random numbers: {error}"))),
        }
    }

    /// Takes a line for the log, such as one of `:log info`.
    fn log(&mut self, topics: &str, message: &str) {
        let _ = (topics, message);
    }
}

/// No router: for checking a configuration, and for tests. Its clock stands at the beginning of 1970 UTC.
#[derive(Clone, Copy, Debug, Default)]
pub struct Offline;

impl Live for Offline {
    fn clock(&self) -> Clock {
        Clock::utc(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let at = |unix_seconds, offset_seconds| {
            Clock {
                unix_seconds,
                offset_seconds,
                ..Clock::utc(0)
            }
            .date_time()
        };

        assert_eq!(at(0, 0), "1970-01-01 00:00:00");
        assert_eq!(at(1_795_287_477, 0), "2026-11-21 18:57:57");
        assert_eq!(at(951_782_400, 0), "2000-02-29 00:00:00");
        assert_eq!(at(1_795_287_477, 2 * 3_600), "2026-11-21 20:57:57");
        let west = Clock {
            offset_seconds: -12_600,
            ..Clock::utc(0)
        };
        assert_eq!(west.offset(), "-03:30");
    }
}
