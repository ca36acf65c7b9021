//! What goes on until it is stopped: `print` with `follow` or `interval`, and monitors.
//!
//! The router is looked at now and then, never held; each look is a page that is drawn over the one
//! before, or the rows that are new or have changed.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use menu::{Menu, Reason, Row, RowFilter, print};

use crate::ast::{Block, Command};
use crate::machine::{Machine, Result, Stop, Variable};
use crate::ready::Ready;
use crate::seen::Seen;
use crate::spec;
use crate::value::Value;

/// RouterOS: nothing is shown more often than this.
const SHORTEST: Duration = Duration::from_millis(200);

/// How often a monitor looks, unless it is told.
const SECOND: Duration = Duration::from_secs(1);

/// How a command shows what it sees.
pub(crate) struct Watching {
    /// Whether it looks no more than once.
    pub(crate) once: bool,
    /// Whether it gives its page as a value and shows none.
    pub(crate) as_value: bool,
    /// The time between two looks.
    pub(crate) every: Duration,
    /// When it ends by itself, on the site's clock.
    until: Option<Duration>,
    /// What is shown; everything if empty.
    wanted: Vec<String>,
    /// What is run for each item and look.
    each: Option<Arc<Block>>,
}

/// How `print` goes on when it follows.
pub(crate) struct Following {
    /// Whether what is there already is not shown.
    pub(crate) from_now_on: bool,
    /// Whether the time stands before what is shown.
    pub(crate) timed: bool,
    /// What is run for each row that is shown.
    pub(crate) event: Option<Arc<Block>>,
}

impl Watching {
    /// Whether there is no time for another look.
    pub(crate) fn is_over(&self, now: Duration) -> bool {
        self.until.is_some_and(|until| now + self.every > until)
    }

    /// Whether a value is shown.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.wanted.is_empty() || self.wanted.iter().any(|wanted| wanted == name)
    }
}

impl Machine<'_> {
    /// How a command of a menu shows what it sees. RouterOS: a monitor shows its page again and
    /// again, unless it is to do so once.
    pub(crate) fn watching(
        &mut self,
        menu: &'static Menu,
        name: &str,
        command: &Command,
        ready: &Ready<'_>,
    ) -> Result<Watching> {
        let as_value = ready.flag("as-value");
        let mut watching = Watching {
            once: true,
            as_value,
            every: SECOND,
            until: None,
            wanted: Vec::new(),
            each: None,
        };
        if !spec::repeats(menu, name) {
            return Ok(watching);
        }
        watching.once = ready.flag("once") || as_value || self.checking;
        if let Some(every) = interval(ready)? {
            watching.every = every;
        }
        let span = span(ready, "duration")?;
        watching.until = span.map(|span| self.site.now().saturating_add(span));
        let wanted = ready.text("proplist").unwrap_or_default();
        let wanted = wanted.split(',').map(str::trim);
        watching.wanted = wanted
            .filter(|n| !n.is_empty())
            .map(str::to_owned)
            .collect();
        if ready.has("do") {
            watching.each = Some(self.code_of(command, "do")?);
        }
        Ok(watching)
    }

    /// Runs what is to be run for an item that was looked at; it sees the item's values, and the
    /// variables around it.
    pub(crate) fn run_each(&mut self, watching: &Watching, row: &Row) -> Result<()> {
        match &watching.each {
            Some(code) => self.run_for(code, row),
            None => Ok(()),
        }
    }

    /// Runs code that sees a row's values, and the variables around it.
    fn run_for(&mut self, code: &Block, row: &Row) -> Result<()> {
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
            seen.wait(self)?;
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
