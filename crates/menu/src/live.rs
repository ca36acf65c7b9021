//! Interface to the running router: dynamic rows, read-only values, commands.

use std::ops::ControlFlow;

use crate::print::text_of;
use crate::{Changes, Id, Menu, Output, Policies, Reason, Rights, Store, Value};

/// A displayed row: an item with values added by the router, or a dynamic row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// The id of the item or the dynamic row.
    pub id: Option<Id>,
    /// Cells by property name. Flags are Boolean cells.
    pub cells: Vec<(&'static str, Value)>,
}

impl Row {
    /// Cell with a problem of the item. RouterOS: the name of the value in API rows; `print` shows it as a
    /// comment line.
    pub const ABOUT: &'static str = ".about";

    /// Cell with the missing feature of an item without effect. RouterOS has no such cell; the leading dot lets
    /// clients ignore it.
    pub const NO_EFFECT: &'static str = ".no-effect";

    /// The lines printed above the values: the comment, a problem, and the missing feature.
    pub(crate) fn remarks(&self) -> impl Iterator<Item = String> {
        let remarks = ["comment", Self::ABOUT].into_iter();
        let remarks = remarks.filter_map(|name| self.get(name));
        let remarks = remarks.filter(|remark| !remark.is_empty()).map(text_of);
        let lack = self.get(Self::NO_EFFECT);
        remarks.chain(lack.map(|lack| format!("no effect: {}", text_of(lack))))
    }

    /// Returns the value of a cell.
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

    /// True if a flag is set.
    pub fn is(&self, name: &str) -> bool {
        self.get(name).and_then(Value::as_bool).unwrap_or(false)
    }
}

/// Selects rows.
///
/// A provider of many rows uses `equals` for lookups (a host by address, a route by destination), and must
/// still check each row with [`RowFilter::accepts`].
#[derive(Default)]
pub struct RowFilter<'a> {
    /// Cells that must have these values; usable for lookups.
    pub equals: Vec<(&'static str, Value)>,
    /// The complete condition, if it is more than equality.
    pub test: Option<&'a dyn Fn(&Row) -> bool>,
    /// True to remove secrets from rows before the condition is evaluated.
    pub without_secrets: bool,
}

impl RowFilter<'_> {
    /// True if the row is selected.
    pub fn accepts(&self, row: &Row) -> bool {
        self.equals
            .iter()
            .all(|(name, value)| row.get(name) == Some(value))
            && self.test.is_none_or(|test| test(row))
    }
}

/// Progress of [`Live::rows_from`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scan {
    /// More rows may follow.
    More,
    /// No rows follow.
    Over,
}

/// A command for the running router to execute.
#[derive(Debug)]
pub struct Call<'a> {
    /// The menu.
    pub menu: &'static Menu,
    /// The command.
    pub command: &'static str,
    /// The selected items; empty if the command takes none.
    pub items: &'a [Id],
    /// The other arguments.
    pub arguments: &'a [(&'static str, Value)],
    /// The result of [`Live::preparation`].
    pub made: Option<&'a [u8]>,
}

/// Long-running work that needs no access to the router.
pub type Preparation = Box<dyn FnOnce() -> Result<Vec<u8>, Reason>>;

/// The session that a command comes from.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'a> {
    /// The user name.
    pub user: &'a str,
    /// Unique number of the session.
    pub session: u64,
    /// The client's protocol: `console`, `api` and others.
    pub via: &'static str,
    /// The login of the session; 0 if none.
    pub login: u64,
    /// The current policies of the session.
    pub policies: Policies,
    /// The rights of the session, which may change at any time.
    pub rights: &'a Rights,
    /// True if a script or an event runs the command rather than a user. A file that such a command imports
    /// runs with at most the rights of the file's owner.
    pub is_script: bool,
}

/// The router's file store. A `/` in a name separates folders.
pub trait Files {
    /// Returns the contents of a file.
    ///
    /// # Errors
    /// The file does not exist or cannot be read.
    fn read(&self, name: &str) -> Result<Vec<u8>, Reason>;

    /// Creates or replaces a file atomically.
    ///
    /// # Errors
    /// The name is invalid, the disk is full, or the file cannot be written.
    fn write(&mut self, name: &str, contents: &[u8]) -> Result<(), Reason>;

    /// Creates or replaces a file without secrets, which users without the `sensitive` policy may read.
    ///
    /// # Errors
    /// As for [`Self::write`].
    fn write_plain(&mut self, name: &str, contents: &[u8]) -> Result<(), Reason>;
}

/// The answer of a router command.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// Result rows, such as one page of a monitor.
    pub rows: Vec<Row>,
    /// The id of a created row.
    pub made: Option<Id>,
}

/// A stored script to run.
#[derive(Clone, Debug)]
pub struct Script {
    /// The item that contains the script.
    pub id: Id,
    /// The name; empty if it has none.
    pub name: String,
    /// The source text.
    pub source: String,
    /// The owner.
    pub owner: String,
    /// The rights of the script: the script's policies limited to those of the owner.
    pub rights: Rights,
    /// True if the caller may lack the script's rights.
    pub lends: bool,
}

/// A wall clock time in the configured time zone. There is no default: each creator must know the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// Seconds since 1970-01-01 00:00:00 UTC.
    pub unix_seconds: i64,
    /// Nanoseconds within the second.
    pub nanos: u32,
    /// Offset of local time from UTC in seconds.
    pub offset_seconds: i32,
    /// True if the offset includes daylight saving time.
    pub daylight: bool,
}

impl Clock {
    /// Creates a time in UTC from Unix seconds.
    pub const fn utc(unix_seconds: i64) -> Self {
        Self {
            unix_seconds,
            nanos: 0,
            offset_seconds: 0,
            daylight: false,
        }
    }

    /// Formats local date and time: `2026-11-21 18:57:57`.
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

    /// Formats the offset from UTC: `+02:00`.
    pub fn offset(self) -> String {
        let sign = if self.offset_seconds < 0 { '-' } else { '+' };
        let minutes = self.offset_seconds.unsigned_abs() / 60;
        format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }

    /// Returns local year, month and day, and the second of the day.
    pub const fn local(self) -> ((i64, i64, i64), i64) {
        let seconds = self.unix_seconds.saturating_add(self.offset_seconds as i64);
        let days = seconds.div_euclid(86_400).saturating_add(719_468);
        // Converts days to a civil date, using eras of 400 years that begin on 1 March.
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

/// The running router.
pub trait Live {
    /// Passes the menu's dynamic rows that the filter accepts to `each`, in the menu's order.
    ///
    /// Stops when `each` returns `Break`. Rows are generated one at a time.
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

    /// Passes rows of a menu without items that may have millions of rows. `place` is 0 at first, and stores
    /// the position for the next call. Each call examines only so many rows that other tasks are not delayed.
    /// Returns `None` for all other menus.
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

    /// Returns the number of rows of a menu without items, if it is known without generating them.
    fn count(&self, menu: &'static Menu) -> Option<u64> {
        let _ = menu;
        None
    }

    /// Adds read-only cells and flags to the row of an item. For settings, `id` is the id of the menu's single
    /// item. For a status menu, creates all cells.
    fn annotate(&self, store: &Store, menu: &'static Menu, id: Id, row: &mut Row) {
        let _ = (store, menu, id, row);
    }

    /// Executes a command that does not change the configuration.
    ///
    /// # Errors
    /// The reason of the failure.
    fn action(&mut self, store: &Store, call: &Call<'_>) -> Result<Reply, Reason> {
        let _ = store;
        Err(Reason::failure(format!(
            "{} needs a running router",
            call.command
        )))
    }

    /// Returns the scripts that a command runs; the script crate then runs them. Empty for other commands.
    ///
    /// # Errors
    /// The reason why the command cannot run.
    fn scripts(&self, store: &Store, call: &Call<'_>) -> Result<Vec<Script>, Reason> {
        let _ = (store, call);
        Ok(Vec::new())
    }

    /// Returns long-running work that must precede a command. It runs while other tasks may use the router; its
    /// result is passed in the call.
    ///
    /// # Errors
    /// The reason why the command cannot run.
    fn preparation(&self, store: &Store, call: &Call<'_>) -> Result<Option<Preparation>, Reason> {
        let _ = (store, call);
        Ok(None)
    }

    /// Executes a command on the configuration as a whole, such as `/safe-mode/take`. Writes progress to `out`.
    /// Returns `None` for other commands.
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

    /// Sets the session of the command that runs next.
    fn asked_by(&mut self, caller: &Caller<'_>) {
        let _ = caller;
    }

    /// Returns the current rights of the owner of a file; full rights for a file that no user wrote.
    ///
    /// # Errors
    /// The owner was removed or has no rights.
    fn rights_of_file(&self, store: &Store, name: &str) -> Result<Rights, Reason> {
        let _ = (store, name);
        Ok(Rights::FULL)
    }

    /// The router's file store, if it has one.
    fn files(&mut self) -> Option<&mut dyn Files> {
        None
    }

    /// Called for each committed transaction, before the command is acknowledged.
    fn changed(&mut self, store: &Store, changes: &Changes) {
        let _ = (store, changes);
    }

    /// Returns the wall clock time.
    fn clock(&self) -> Clock;

    /// Returns 32 random bytes.
    ///
    /// # Errors
    /// The system has no random numbers.
    fn new_key(&self) -> Result<[u8; 32], Reason> {
        let mut key = [0; 32];
        match getrandom::fill(&mut key) {
            Ok(()) => Ok(key),
            Err(error) => Err(Reason::failure(format!("no random numbers: {error}"))),
        }
    }

    /// Writes a log entry, as `:log info` does.
    fn log(&mut self, topics: &str, message: &str) {
        let _ = (topics, message);
    }
}

/// A router that does nothing, for checks of configurations and for tests. Its clock stands at the beginning of
/// 1970 UTC.
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
