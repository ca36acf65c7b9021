//! What goes on until it is stopped: `print` with `follow` or `interval`, and monitors.
//!
//! The router is looked at now and then, never held; each look is a page that is drawn over the one
//! before, or the rows that are new or have changed.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::ops::ControlFlow;
use std::time::Duration;

use menu::{Id, Menu, Reason, Row, RowFilter, print};

use crate::machine::{Machine, Result};
use crate::ready::Ready;
use crate::value::Value;

/// How often it is looked for new rows.
const LOOK: Duration = Duration::from_millis(250);

/// A look that takes long is made more seldom: at most this part of the time goes into looking.
const SHARE: u32 = 10;

/// Rows that are followed.
const FOLLOWED: usize = 1_000_000;

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
        let mut seen = BTreeMap::new();
        let mut shown = !from_now_on;
        loop {
            let begun = self.site.now();
            let mut present = BTreeMap::new();
            self.each_slice(menu, filter, |machine, rows| {
                if present.len() > FOLLOWED {
                    return Err(Reason::Limit("rows").nowhere().into());
                }
                let fresh = rows
                    .into_iter()
                    .filter(|row| is_fresh(menu, row, &seen, &mut present))
                    .collect();
                let flow = match shown {
                    true => printer.rows(fresh, machine.out),
                    false => ControlFlow::Continue(()),
                };
                broken(flow)
            })?;
            seen = present;
            shown = true;
            // Rows that are printed anew have no numbers to be called by.
            printer.numbers.clear();
            let took = self.site.now().saturating_sub(begun);
            self.pause(LOOK.max(took.saturating_mul(SHARE)))?;
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

/// Whether a row is new or has changed; counters change all the time and do not count.
fn is_fresh(
    menu: &Menu,
    row: &Row,
    seen: &BTreeMap<Option<Id>, u64>,
    present: &mut BTreeMap<Option<Id>, u64>,
) -> bool {
    let mut hasher = DefaultHasher::new();
    for (name, value) in &row.cells {
        if menu.property(name).is_none_or(|property| !property.stats) {
            (name, value).hash(&mut hasher);
        }
    }
    let print = hasher.finish();
    present.insert(row.id, print);
    seen.get(&row.id) != Some(&print)
}

fn broken(flow: ControlFlow<()>) -> Result<()> {
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Reason::Interrupted.nowhere().into()),
    }
}
