//! Runs repeating commands such as `ping` and `torch`: the part that is common to all tools.
//!
//! The router is held only during each update. `once`, `count`, `duration` or a key end the command; in all
//! cases the tool then releases its resources in the router.

use std::net::IpAddr;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use menu::{Menu, Output, Reason, Row, Store, bytes};
use tool::{Column, Form, Given, Next, Router, Run, Tool, Turn};

use crate::ast::{Block, Command};
use crate::builtin;
use crate::items::row_value;
use crate::machine::{Collected, Machine, Result};
use crate::ready::{Ready, lend};
use crate::show::write_text;
use crate::spec;
use crate::value::Value;
use crate::watch;

/// Number of rows after which the summary and the headings are repeated.
const PAGE: u64 = 20;

/// Default interval between updates.
pub(crate) const INTERVAL: Duration = Duration::from_secs(1);

/// Conditions that end a repeating command.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    /// End after the first update with output.
    pub(crate) once: bool,
    /// End after this number of updates with output.
    pub(crate) count: Option<u64>,
    /// End at this time on the site's clock.
    pub(crate) until: Option<Duration>,
}

impl Limits {
    fn are_met(&self, shown: u64) -> bool {
        (self.once && shown > 0) || self.count.is_some_and(|count| shown >= count)
    }
}

/// A started tool.
pub(crate) struct Begun {
    pub(crate) run: Box<dyn Run>,
    /// The `count` argument.
    pub(crate) count: Option<u64>,
}

/// Receives the rows of each update.
type Each<'e, 'm> = dyn FnMut(&mut Machine<'m>, &dyn Run, Vec<Row>) -> Result<()> + 'e;

/// Output state of a repeating command in a console or a script.
struct Showing {
    form: Form,
    as_value: bool,
    once: bool,
    /// The properties to show; all if empty.
    wanted: Vec<String>,
    /// Code to run for each row.
    each: Option<Arc<Block>>,
    /// Minimum time between two pages.
    freeze: Duration,
    /// Time of the last page.
    drawn: Option<Duration>,
    /// Output file instead of the screen: name, whether to append, and text.
    file: Option<(String, bool, Collected)>,
    /// Number of rows shown, and the summary of all rows.
    lines: u64,
    so_far: String,
    /// Rows for the return value, and their size in bytes.
    kept: Vec<Value>,
    weight: usize,
}

impl<'m> Machine<'m> {
    /// Returns the tool for a repeating command.
    pub(crate) fn tool_of(
        &mut self,
        menu: &'static Menu,
        name: &str,
    ) -> Result<Option<&'static dyn Tool>> {
        if !spec::repeats(menu, name) || menu.is_idle(name) {
            return Ok(None);
        }
        self.with(|loan| Ok(loan.live.tool(menu, name)))
    }

    /// Runs a repeating command in a console or a script.
    pub(crate) fn run_tool(
        &mut self,
        tool: &'static dyn Tool,
        (menu, name): (&'static Menu, &'static str),
        command: &Command,
    ) -> Result<Value> {
        let ready = self.ready(command)?;
        let form = tool.form();
        let mut showing = self.showing(form, command, &ready)?;
        let own = spec::declares(menu, name, "interval");
        let interval = if own { None } else { watch::interval(&ready)? };
        let duration = watch::span(&ready, "duration")?;
        let begun = self.begin(tool, (menu, name), &ready, interval.unwrap_or(INTERVAL))?;
        let Some(Begun { mut run, count }) = begun else {
            return Ok(Value::list([]));
        };
        if self.passes_over() {
            return Ok(showing.value(&*run));
        }
        let limits = Limits {
            once: showing.once,
            count,
            until: duration.map(|span| self.site.now().saturating_add(span)),
        };
        let alone = showing.once || showing.as_value;
        if !alone {
            self.session.interrupt.watch();
        }
        let stays = !alone && !matches!(form, Form::Lines(_)) && showing.file.is_none();
        let done = self.drive(&mut *run, &limits, stays, &mut |machine, run, rows| {
            machine.show(&mut showing, run, rows)
        });
        let told = self.conclude(&mut showing, &*run);
        // A client that disconnected needs no summary.
        done.and(told)?;
        Ok(showing.value(&*run))
    }

    /// Starts a tool. Returns `None` if the command selects items and there are none.
    pub(crate) fn begin(
        &mut self,
        tool: &'static dyn Tool,
        (menu, name): (&'static Menu, &'static str),
        ready: &Ready<'_>,
        interval: Duration,
    ) -> Result<Option<Begun>> {
        let (items, mut arguments) = self.with(|loan| loan.own_arguments(menu, name, ready))?;
        // RouterOS: a command on an empty `find` does nothing.
        if items.is_empty() && ["numbers", "number"].iter().any(|name| ready.has(name)) {
            return Ok(None);
        }
        arguments.extend(older_arguments(menu, name, ready));
        let mut given = Given {
            menu,
            command: name,
            items,
            arguments,
            interval,
            site: &mut Beginning(self),
        };
        let run = tool.start(&mut given).map_err(Reason::nowhere)?;
        let count = given.number::<u64>("count").filter(|count| *count > 0);
        let counts = !matches!(tool.form(), Form::Page);
        Ok(Some(Begun {
            run,
            count: count.filter(|_| counts),
        }))
    }

    /// Updates until the command is done or ended. `each` receives the rows. With `stays`, the output remains
    /// on the screen with a line that names the keys.
    pub(crate) fn drive(
        &mut self,
        run: &mut dyn Run,
        limits: &Limits,
        stays: bool,
        each: &mut Each<'_, 'm>,
    ) -> Result<()> {
        let done = self.looks(run, limits, stays, each);
        let news = Waker::noop();
        let now = self.site.now();
        // After a shutdown of the router there is nothing to release.
        let _ = lend(self.site, |store, router| {
            run.stop(&mut Turn {
                store,
                router,
                now,
                news,
            });
        });
        done
    }

    fn looks(
        &mut self,
        run: &mut dyn Run,
        limits: &Limits,
        stays: bool,
        each: &mut Each<'_, 'm>,
    ) -> Result<()> {
        let news = Waker::from(Arc::clone(&self.session.interrupt));
        let mut shown = 0;
        loop {
            let now = self.site.now();
            let look = self.with(|loan| {
                let mut turn = Turn {
                    store: loan.store,
                    router: loan.live,
                    now,
                    news: &news,
                };
                run.look(&mut turn).map_err(Reason::nowhere)
            })?;
            let sees = look.rows.is_some();
            if let Some(rows) = look.rows {
                shown += 1;
                each(self, run, rows)?;
                if limits.are_met(shown) {
                    return Ok(());
                }
            }
            match look.next {
                Next::Over => return Ok(()),
                Next::At(then) if limits.until.is_some_and(|until| then > until) => return Ok(()),
                Next::At(then) => {
                    if stays && sees {
                        self.linger()?;
                    }
                    let rest = then.saturating_sub(self.site.now());
                    self.wait(rest)?;
                }
                Next::News(until) => _ = self.wait_for_news(until)?,
            }
            // A repeating command has no step limit; a command with a single update counts as one step.
            self.renew();
        }
    }

    fn showing(&mut self, form: Form, command: &Command, ready: &Ready<'_>) -> Result<Showing> {
        let as_value = ready.flag("as-value");
        let file = ready.text("file").filter(|name| !name.is_empty());
        let each = match ready.has("do") {
            true => Some(self.code_of(command, "do")?),
            false => None,
        };
        Ok(Showing {
            form,
            as_value,
            once: ready.flag("once") || as_value && matches!(form, Form::Page),
            wanted: names(&ready.text("proplist").unwrap_or_default()),
            each,
            freeze: watch::span(ready, "freeze-frame-interval")?.unwrap_or_default(),
            drawn: None,
            file: file.map(|name| (name, ready.flag("append"), Collected::new(80))),
            lines: 0,
            so_far: String::new(),
            kept: Vec::new(),
            weight: 0,
        })
    }

    /// Shows the rows of an update, or keeps them for the return value.
    fn show(&mut self, showing: &mut Showing, run: &dyn Run, mut rows: Vec<Row>) -> Result<()> {
        let wanted = &showing.wanted;
        if !wanted.is_empty() {
            for row in &mut rows {
                row.cells
                    .retain(|(name, _)| wanted.iter().any(|own| own == name));
            }
        }
        if !showing.as_value {
            self.draw(showing, run, &rows)?;
        }
        let values = rows.iter().map(row_value);
        match showing.form {
            Form::Lines(_) if showing.as_value => {
                let values: Vec<_> = values.collect();
                showing.weight += values.iter().map(Value::weight).sum::<usize>();
                self.charge(showing.weight)?;
                showing.kept.extend(values);
            }
            Form::Lines(_) => {}
            Form::Table(_) | Form::Page => showing.kept = values.collect(),
        }
        match &showing.each {
            Some(code) => rows.iter().try_for_each(|row| self.run_for(code, row)),
            None => Ok(()),
        }
    }

    fn draw(&mut self, showing: &mut Showing, run: &dyn Run, rows: &[Row]) -> Result<()> {
        let on_screen = showing.file.is_none();
        if let Form::Lines(columns) = showing.form {
            for row in rows {
                if showing.lines.is_multiple_of(PAGE) {
                    let headings = tool::line(showing.columns(columns), None);
                    let text = format!("{}{headings}", showing.so_far);
                    self.tell(showing, &text)?;
                }
                let text = tool::line(showing.columns(columns), Some(row));
                self.tell(showing, &text)?;
                showing.lines += 1;
                if on_screen {
                    self.go_on()?;
                }
            }
            showing.so_far = run.summary();
            return Ok(());
        }
        let now = self.site.now();
        let stays = |drawn: Duration| now < drawn.saturating_add(showing.freeze);
        if showing.drawn.is_some_and(stays) {
            return Ok(());
        }
        showing.drawn = Some(now);
        let text = match showing.form {
            Form::Table(columns) => tool::table(showing.columns(columns), rows),
            _ => tool::page(rows),
        };
        if on_screen && !showing.once {
            self.repaint()?;
        }
        self.tell(showing, &text)
    }

    fn tell(&mut self, showing: &mut Showing, text: &str) -> Result<()> {
        let Some((_, _, collected)) = &mut showing.file else {
            return self.print(text);
        };
        match collected.write(text).is_break() {
            true => Err(Reason::Limit("output").nowhere().into()),
            false => Ok(()),
        }
    }

    /// Shows the summary and writes the output file.
    fn conclude(&mut self, showing: &mut Showing, run: &dyn Run) -> Result<()> {
        if !showing.as_value {
            let summary = run.summary();
            self.tell(showing, &summary)?;
        }
        match showing.file.take() {
            Some((name, append, collected)) => {
                let contents = bytes::to_bytes(&collected.text);
                self.with(|loan| write_text(loan, &name, append, &contents))
            }
            None => Ok(()),
        }
    }
}

impl Showing {
    fn columns(&self, columns: &'static [Column]) -> impl Iterator<Item = &'static Column> {
        let wants = |name: &str| self.wanted.is_empty() || self.wanted.iter().any(|w| w == name);
        columns
            .iter()
            .filter(move |column| column.name.is_empty() || wants(column.name))
    }

    /// Returns the command's value.
    fn value(&mut self, run: &dyn Run) -> Value {
        let mut kept = std::mem::take(&mut self.kept);
        match (self.form, run.value()) {
            (Form::Lines(_) | Form::Table(_), Some(value)) if !self.as_value => (&value).into(),
            (Form::Lines(_) | Form::Table(_), None) if !self.as_value => Value::Nothing,
            (Form::Table(_), _) => Value::list(kept),
            // A single row is returned as an array with keys, so that scripts can index it with `->`.
            _ => match (kept.len(), kept.pop()) {
                (1, Some(only)) => only,
                (_, last) => Value::list(kept.into_iter().chain(last)),
            },
        }
    }
}

/// Splits a comma-separated list of names.
pub(crate) fn names(text: &str) -> Vec<String> {
    let names = text.split(',').map(str::trim);
    let names = names.filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

/// Returns the arguments that only the built-in command of this name takes, not the menu's command, as texts.
fn older_arguments(menu: &Menu, name: &str, ready: &Ready<'_>) -> Vec<(&'static str, menu::Value)> {
    let Some(builtin) = builtin::find(name) else {
        return Vec::new();
    };
    let own = builtin.parameters.iter().map(|parameter| parameter.name);
    let other = own.filter(|own| !spec::declares(menu, name, own));
    let given = other.filter_map(|own| Some((own, menu::Value::text(ready.text(own)?))));
    given.collect()
}

/// Name resolution at the start of a tool.
struct Beginning<'a, 'b>(&'a mut Machine<'b>);

impl tool::Site for Beginning<'_, '_> {
    fn resolve(&mut self, name: &str, families: &[bool]) -> std::result::Result<IpAddr, Reason> {
        match crate::value::address(name) {
            Some(address) => Ok(address),
            None if self.0.checking => Ok(std::net::Ipv4Addr::UNSPECIFIED.into()),
            None => self.0.address_of(name, None, families),
        }
    }

    fn lend(
        &mut self,
        run: &mut dyn FnMut(&Store, &mut dyn Router),
    ) -> std::result::Result<(), Reason> {
        let lent = lend(self.0.site, |store, router| run(store, router));
        lent.map_err(|refusal| refusal.reason)
    }
}
