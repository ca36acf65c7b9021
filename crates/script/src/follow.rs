//! Repeated `print`: `follow` and `interval`.
//!
//! The router is held only during each check. A check redraws the page (`interval`) or prints new and changed
//! rows (`follow`).

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use menu::{Menu, Reason, Row, RowFilter, print};

use crate::ast::Block;
use crate::evaluated_command::EvaluatedCommand;
use crate::machine::{Machine, Result, Stop, Variable};
use crate::row_tracker::RowTracker;
use crate::value::Value;

/// RouterOS: minimum `interval`.
const MIN_INTERVAL: Duration = Duration::from_millis(200);

/// Options of `print follow`.
pub(crate) struct Following {
    /// True to omit rows that already exist.
    pub(crate) from_now_on: bool,
    /// True to print the time before the rows.
    pub(crate) timed: bool,
    /// Code to run for each printed row.
    pub(crate) event: Option<Arc<Block>>,
}

impl Machine<'_> {
    /// Runs code with the row's values as local variables.
    pub(crate) fn run_for(&mut self, code: &Block, row: &Row) -> Result<()> {
        let values = row.cells.iter();
        let values = values.map(|(n, v)| ((*n).to_owned(), Variable::Local(v.into())));
        let id = row
            .id
            .map(|id| (".id".to_owned(), Variable::Local(Value::Id(id))));
        self.scopes.push(values.chain(id).collect());
        let done = self.deeper(|machine| machine.block(code));
        self.scopes.pop();
        done.map(drop)
    }

    /// `print interval=`: redraws the page, with the time above it if `timed`.
    pub(crate) fn print_again(
        &mut self,
        menu: &'static Menu,
        options: &print::Options,
        filter: &RowFilter<'_>,
        interval: Duration,
        timed: bool,
    ) -> Result<Value> {
        loop {
            self.repaint()?;
            self.print_time(timed)?;
            self.print_rows(menu, options.clone(), filter)?;
            self.linger()?;
            self.pause(interval)?;
        }
    }

    /// `print follow`: prints the rows, then new and changed rows.
    pub(crate) fn follow(
        &mut self,
        menu: &'static Menu,
        options: print::Options,
        filter: &RowFilter<'_>,
        following: &Following,
    ) -> Result<Value> {
        let mut printer = print::Printer::new(menu, options).following();
        // A pager would block the output of changes.
        self.out.stop_at_pages(false);
        let followed = self.follow_rows(&mut printer, menu, filter, following);
        self.session.numbers.insert(menu.path, printer.numbers);
        followed
    }

    fn follow_rows(
        &mut self,
        printer: &mut print::Printer,
        menu: &'static Menu,
        filter: &RowFilter<'_>,
        following: &Following,
    ) -> Result<Value> {
        let mut seen = RowTracker::new(menu, !following.from_now_on);
        loop {
            let gone = seen.look(self, filter, |machine, rows| {
                machine.print_time(following.timed)?;
                let events = following.event.as_ref().map(|code| (code, rows.clone()));
                broken(printer.rows(rows, machine.out))?;
                let Some((code, rows)) = events else {
                    return Ok(());
                };
                rows.iter().try_for_each(|row| machine.run_for(code, row))
            })?;
            broken(printer.gone(&gone, self.out))?;
            self.linger()?;
            seen.pause().wait(self)?;
        }
    }

    /// `timestamp`: prints the current time.
    pub(crate) fn print_time(&mut self, timed: bool) -> Result<()> {
        if !timed {
            return Ok(());
        }
        let time = self.clock()?.date_time();
        self.print(&format!("{time}\n"))
    }

    /// Draws the next output over the previous page, if the terminal can.
    pub(crate) fn repaint(&mut self) -> Result<()> {
        broken(self.out.repaint())
    }

    /// Keeps the output on the screen, with a line that names the keys that end the command.
    pub(crate) fn linger(&mut self) -> Result<()> {
        broken(self.out.linger())
    }

    /// Disables the pager for the output that follows.
    pub(crate) fn go_on(&mut self) -> Result<()> {
        broken(self.out.go_on())
    }

    /// Waits between two checks. `Q` ends the command, as Ctrl-C does.
    pub(crate) fn pause(&mut self, span: Duration) -> Result<()> {
        self.session.interrupt.watch();
        self.wait(span)
    }
}

/// Returns the `interval` argument.
pub(crate) fn interval(ready: &EvaluatedCommand<'_>) -> Result<Option<Duration>> {
    match span(ready, "interval")? {
        Some(span) if span < MIN_INTERVAL => Err(bad_time("interval")),
        span => Ok(span),
    }
}

/// Returns the duration given as an argument.
pub(crate) fn span(ready: &EvaluatedCommand<'_>, name: &str) -> Result<Option<Duration>> {
    let Some(text) = ready.text(name) else {
        return Ok(None);
    };
    let nanos = menu::time::parse(&text).and_then(|nanos| u64::try_from(nanos).ok());
    let span = nanos.ok_or_else(|| bad_time(name))?;
    Ok(Some(Duration::from_nanos(span)))
}

fn bad_time(name: &str) -> Stop {
    let text = format!("invalid time value for argument {name}");
    Reason::BadValue(text).nowhere().into()
}

fn broken(flow: ControlFlow<()>) -> Result<()> {
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Reason::Interrupted.nowhere().into()),
    }
}
