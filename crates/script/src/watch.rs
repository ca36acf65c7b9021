//! `print` that goes on until it is stopped: with `follow` or `interval`.
//!
//! The router is looked at now and then, never held; each look is a page that is drawn over the one
//! before, or the rows that are new or have changed.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use menu::{Menu, Reason, Row, RowFilter, print};

use crate::ast::Block;
use crate::machine::{Machine, Result, Stop, Variable};
use crate::ready::Ready;
use crate::seen::Seen;
use crate::value::Value;

/// RouterOS: nothing is shown more often than this.
const SHORTEST: Duration = Duration::from_millis(200);

/// How `print` goes on when it follows.
pub(crate) struct Following {
    /// Whether what is there already is not shown.
    pub(crate) from_now_on: bool,
    /// Whether the time stands before what is shown.
    pub(crate) timed: bool,
    /// What is run for each row that is shown.
    pub(crate) event: Option<Arc<Block>>,
}

impl Machine<'_> {
    /// Runs code that sees a row's values, and the variables around it.
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

    /// `print interval=`: the same page again and again, with the time above it if `timed`.
    pub(crate) fn print_again(
        &mut self,
        menu: &'static Menu,
        options: &print::Options,
        filter: &RowFilter<'_>,
        (interval, timed): (Duration, bool),
    ) -> Result<Value> {
        loop {
            self.repaint()?;
            self.print_time(timed)?;
            self.print_rows(menu, options.clone(), filter)?;
            self.linger()?;
            self.pause(interval)?;
        }
    }

    /// `print follow`: the rows, then those that are new or have changed.
    pub(crate) fn follow(
        &mut self,
        menu: &'static Menu,
        options: print::Options,
        filter: &RowFilter<'_>,
        following: &Following,
    ) -> Result<Value> {
        let mut printer = print::Printer::new(menu, options).following();
        // Who follows does not turn pages.
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
        let mut seen = Seen::new(menu, !following.from_now_on);
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

    /// `timestamp`: the time before what is shown.
    pub(crate) fn print_time(&mut self, timed: bool) -> Result<()> {
        if !timed {
            return Ok(());
        }
        let time = self.clock()?.date_time();
        self.print(&format!("{time}\n"))
    }

    /// Draws what follows over what was shown last, where the terminal can.
    pub(crate) fn repaint(&mut self) -> Result<()> {
        broken(self.out.repaint())
    }

    /// Lets what was shown stay, with the keys that end it.
    pub(crate) fn linger(&mut self) -> Result<()> {
        broken(self.out.linger())
    }

    /// Lets what follows go out without stopping at full pages.
    pub(crate) fn go_on(&mut self) -> Result<()> {
        broken(self.out.go_on())
    }

    /// Lets time pass between two looks; `Q` ends it, as Ctrl-C does.
    pub(crate) fn pause(&mut self, span: Duration) -> Result<()> {
        self.session.interrupt.watch();
        self.wait(span)
    }
}

/// How long to wait between two pages: what `interval` says.
pub(crate) fn interval(ready: &Ready<'_>) -> Result<Option<Duration>> {
    match span(ready, "interval")? {
        Some(span) if span < SHORTEST => Err(bad_time("interval")),
        span => Ok(span),
    }
}

/// The span of time of an argument.
pub(crate) fn span(ready: &Ready<'_>, name: &str) -> Result<Option<Duration>> {
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
