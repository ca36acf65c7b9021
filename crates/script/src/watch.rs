//! What goes on until it is stopped: `print` with `follow` or `interval`, and monitors.
//!
//! The router is looked at now and then, never held; each look is a page that is drawn over the one
//! before, or the rows that are new or have changed.

use std::ops::ControlFlow;
use std::time::Duration;

use menu::{Menu, Reason, RowFilter, print};

use crate::machine::{Machine, Result};
use crate::ready::Ready;
use crate::seen::Seen;
use crate::value::Value;

/// RouterOS: nothing is shown more often than this.
const SHORTEST: Duration = Duration::from_millis(200);

impl Machine<'_> {
    /// `print interval=`: the same page again and again.
    pub(crate) fn print_again(
        &mut self,
        menu: &'static Menu,
        options: &print::Options,
        filter: &RowFilter<'_>,
        interval: Duration,
    ) -> Result<Value> {
        loop {
            self.repaint()?;
            self.print_rows(menu, options.clone(), filter)?;
            self.pause(interval)?;
        }
    }

    /// `print follow`: the rows, then those that are new or have changed. With `follow-only`
    /// nothing but the latter.
    pub(crate) fn follow(
        &mut self,
        menu: &'static Menu,
        options: print::Options,
        filter: &RowFilter<'_>,
        from_now_on: bool,
    ) -> Result<Value> {
        let mut printer = print::Printer::new(menu, options);
        let mut seen = Seen::new(menu, !from_now_on);
        loop {
            seen.look(self, filter, |machine, rows| {
                broken(printer.rows(rows, machine.out))
            })?;
            // Rows that are printed anew have no numbers to be called by.
            printer.numbers.clear();
            seen.wait(self)?;
        }
    }

    /// Draws what follows over what was shown last, where the terminal can.
    pub(crate) fn repaint(&mut self) -> Result<()> {
        broken(self.out.repaint())
    }

    /// Lets time pass between two looks; `Q` ends it, as Ctrl-C does.
    pub(crate) fn pause(&mut self, span: Duration) -> Result<()> {
        self.session.interrupt.watch();
        self.wait(span)
    }
}

/// How long to wait between two pages: what `interval` says.
pub(crate) fn interval(ready: &Ready<'_>) -> Result<Option<Duration>> {
    let Some(text) = ready.text("interval") else {
        return Ok(None);
    };
    let nanos = menu::time::parse(&text).and_then(|nanos| u64::try_from(nanos).ok());
    let span = nanos.map(Duration::from_nanos);
    match span.filter(|span| *span >= SHORTEST) {
        Some(span) => Ok(Some(span)),
        None => {
            let text = "invalid time value for argument interval".to_owned();
            Err(Reason::BadValue(text).nowhere().into())
        }
    }
}

fn broken(flow: ControlFlow<()>) -> Result<()> {
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Reason::Interrupted.nowhere().into()),
    }
}
