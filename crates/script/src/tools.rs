//! Runs repeating commands such as `ping` and `torch`: the part that is common to all tools.
//!
//! The router is held only during each update. `once`, `count`, `duration` or a key end the command; in all
//! cases the tool then releases its resources in the router.

use std::net::IpAddr;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use menu::{Menu, Output, Reason, Row, Store, bytes};
use tool::{Column, Ends, Form, Invocation, Next, Router, RunningTool, Tool, Turn};

use crate::ast::{Block, Command};
use crate::builtin;
use crate::evaluated_command::{EvaluatedCommand, lend};
use crate::follow;
use crate::items::row_value;
use crate::machine::{CollectedOutput, Machine, Result};
use crate::show::write_text;
use crate::spec;
use crate::value::Value;

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

/// A command of a menu.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MenuCommand {
    pub(crate) menu: &'static Menu,
    pub(crate) name: &'static str,
}

/// A started tool.
pub(crate) struct StartedTool {
    pub(crate) run: Box<dyn RunningTool>,
    /// The `count` argument.
    pub(crate) count: Option<u64>,
}

/// Receives the rows of each update.
type RowHandler<'e, 'm> =
    dyn FnMut(&mut Machine<'m>, &dyn RunningTool, Vec<Row>) -> Result<()> + 'e;

/// Output state of a repeating command in a console or a script.
struct OutputState {
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
    file: Option<(String, bool, CollectedOutput)>,
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
        let own = self.with(|access| Ok(access.live.tool(menu, name)))?;
        Ok(own.or_else(|| tool::of(menu, name)))
    }

    /// Runs a repeating command in a console or a script.
    pub(crate) fn run_tool(
        &mut self,
        tool: &'static dyn Tool,
        invoked: MenuCommand,
        command: &Command,
    ) -> Result<Value> {
        let ready = self.ready(command)?;
        let form = tool.form();
        let mut output_state = self.output_state(form, command, &ready)?;
        let own = spec::declares(invoked.menu, invoked.name, "interval");
        let interval = if own { None } else { follow::interval(&ready)? };
        let duration = follow::span(&ready, "duration")?;
        let ends = Ends {
            is_single: output_state.once,
            duration,
        };
        let started_tool = self.begin(tool, invoked, &ready, interval.unwrap_or(INTERVAL), ends)?;
        let Some(StartedTool { mut run, count }) = started_tool else {
            return Ok(Value::list([]));
        };
        if self.passes_over() {
            return Ok(output_state.value(&*run));
        }
        let limits = Limits {
            once: output_state.once,
            count,
            until: duration.map(|span| self.site.now().saturating_add(span)),
        };
        let alone = output_state.once || output_state.as_value;
        if !alone {
            self.session.interrupt.watch();
        }
        let stays = !alone && !matches!(form, Form::Lines(_)) && output_state.file.is_none();
        let done = self.drive(&mut *run, &limits, stays, &mut |machine, run, rows| {
            machine.show(&mut output_state, run, rows)
        });
        let told = self.conclude(&mut output_state, &*run);
        // A client that disconnected needs no summary.
        done.and(told)?;
        Ok(output_state.value(&*run))
    }

    /// Starts a tool. Returns `None` if the command selects items and there are none.
    pub(crate) fn begin(
        &mut self,
        tool: &'static dyn Tool,
        invoked: MenuCommand,
        ready: &EvaluatedCommand<'_>,
        interval: Duration,
        ends: Ends,
    ) -> Result<Option<StartedTool>> {
        let MenuCommand { menu, name } = invoked;
        let (items, mut arguments) = self.with(|access| access.own_arguments(menu, name, ready))?;
        // RouterOS: a command on an empty `find` does nothing.
        if items.is_empty() && ["numbers", "number"].iter().any(|name| ready.has(name)) {
            return Ok(None);
        }
        arguments.extend(older_arguments(menu, name, ready));
        let mut given = Invocation {
            menu,
            command: name,
            items,
            arguments,
            interval,
            ends,
            site: &mut ToolResolver(self),
        };
        let run = tool.start(&mut given).map_err(Reason::nowhere)?;
        let count = given.number::<u64>("count").filter(|count| *count > 0);
        let counts = !matches!(tool.form(), Form::Page);
        Ok(Some(StartedTool {
            run,
            count: count.filter(|_| counts),
        }))
    }

    /// Updates until the command is done or ended. `each` receives the rows. With `stays`, the output remains
    /// on the screen with a line that names the keys.
    pub(crate) fn drive(
        &mut self,
        run: &mut dyn RunningTool,
        limits: &Limits,
        stays: bool,
        each: &mut RowHandler<'_, 'm>,
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
        run: &mut dyn RunningTool,
        limits: &Limits,
        stays: bool,
        each: &mut RowHandler<'_, 'm>,
    ) -> Result<()> {
        let news = Waker::from(Arc::clone(&self.session.interrupt));
        let mut shown = 0;
        loop {
            let now = self.site.now();
            let look = self.with(|access| {
                let mut turn = Turn {
                    store: access.store,
                    router: access.live,
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

    fn output_state(
        &mut self,
        form: Form,
        command: &Command,
        ready: &EvaluatedCommand<'_>,
    ) -> Result<OutputState> {
        let as_value = ready.flag("as-value");
        let file = ready.text("file").filter(|name| !name.is_empty());
        let each = match ready.has("do") {
            true => Some(self.code_of(command, "do")?),
            false => None,
        };
        Ok(OutputState {
            form,
            as_value,
            once: ready.flag("once") || as_value && matches!(form, Form::Page),
            wanted: names(&ready.text("proplist").unwrap_or_default()),
            each,
            freeze: follow::span(ready, "freeze-frame-interval")?.unwrap_or_default(),
            drawn: None,
            file: file.map(|name| (name, ready.flag("append"), CollectedOutput::new(80))),
            lines: 0,
            so_far: String::new(),
            kept: Vec::new(),
            weight: 0,
        })
    }

    /// Shows the rows of an update, or keeps them for the return value.
    fn show(
        &mut self,
        output_state: &mut OutputState,
        run: &dyn RunningTool,
        mut rows: Vec<Row>,
    ) -> Result<()> {
        let wanted = &output_state.wanted;
        if !wanted.is_empty() {
            for row in &mut rows {
                row.cells
                    .retain(|(name, _)| wanted.iter().any(|own| own == name));
            }
        }
        if !output_state.as_value {
            self.draw(output_state, run, &rows)?;
        }
        let values = rows.iter().map(row_value);
        match output_state.form {
            Form::Lines(_) if output_state.as_value => {
                let values: Vec<_> = values.collect();
                output_state.weight += values.iter().map(Value::weight).sum::<usize>();
                self.charge(output_state.weight)?;
                output_state.kept.extend(values);
            }
            Form::Lines(_) => {}
            Form::Table(_) | Form::Page => output_state.kept = values.collect(),
        }
        match &output_state.each {
            Some(code) => rows.iter().try_for_each(|row| self.run_for(code, row)),
            None => Ok(()),
        }
    }

    fn draw(
        &mut self,
        output_state: &mut OutputState,
        run: &dyn RunningTool,
        rows: &[Row],
    ) -> Result<()> {
        let on_screen = output_state.file.is_none();
        if let Form::Lines(columns) = output_state.form {
            for row in rows {
                if output_state.lines.is_multiple_of(PAGE) {
                    let headings = tool::line(output_state.columns(columns), None);
                    let text = format!("{}{headings}", output_state.so_far);
                    self.tell(output_state, &text)?;
                }
                let text = tool::line(output_state.columns(columns), Some(row));
                self.tell(output_state, &text)?;
                output_state.lines += 1;
                if on_screen {
                    self.go_on()?;
                }
            }
            output_state.so_far = run.summary();
            return Ok(());
        }
        let now = self.site.now();
        let stays = |drawn: Duration| now < drawn.saturating_add(output_state.freeze);
        if output_state.drawn.is_some_and(stays) {
            return Ok(());
        }
        output_state.drawn = Some(now);
        let text = match output_state.form {
            Form::Table(columns) => tool::table(output_state.columns(columns), rows),
            _ => tool::page(rows),
        };
        if on_screen && !output_state.once {
            self.repaint()?;
        }
        self.tell(output_state, &text)
    }

    fn tell(&mut self, output_state: &mut OutputState, text: &str) -> Result<()> {
        let Some((_, _, collected)) = &mut output_state.file else {
            return self.print(text);
        };
        match collected.write(text).is_break() {
            true => Err(Reason::Limit("output").nowhere().into()),
            false => Ok(()),
        }
    }

    /// Shows the summary and writes the output file.
    fn conclude(&mut self, output_state: &mut OutputState, run: &dyn RunningTool) -> Result<()> {
        if !output_state.as_value {
            let summary = run.summary();
            self.tell(output_state, &summary)?;
        }
        match output_state.file.take() {
            Some((name, append, collected)) => {
                let contents = bytes::to_bytes(&collected.text);
                self.with(|access| write_text(access, &name, append, &contents))
            }
            None => Ok(()),
        }
    }
}

impl OutputState {
    fn columns(&self, columns: &'static [Column]) -> impl Iterator<Item = &'static Column> {
        let wants = |name: &str| self.wanted.is_empty() || self.wanted.iter().any(|w| w == name);
        columns
            .iter()
            .filter(move |column| column.name.is_empty() || wants(column.name))
    }

    /// Returns the command's value.
    fn value(&mut self, run: &dyn RunningTool) -> Value {
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
fn older_arguments(
    menu: &Menu,
    name: &str,
    ready: &EvaluatedCommand<'_>,
) -> Vec<(&'static str, menu::Value)> {
    let Some(builtin) = builtin::find(name) else {
        return Vec::new();
    };
    let own = builtin.parameters.iter().map(|parameter| parameter.name);
    let other = own.filter(|own| !spec::declares(menu, name, own));
    let given = other.filter_map(|own| Some((own, menu::Value::text(ready.text(own)?))));
    given.collect()
}

/// Name resolution at the start of a tool.
struct ToolResolver<'a, 'b>(&'a mut Machine<'b>);

impl tool::Site for ToolResolver<'_, '_> {
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
