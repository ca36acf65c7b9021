//! Menu commands that do not change configuration, such as `ping` or `monitor`: the router executes them.

use std::sync::Arc;

use menu::{Call, Id, Kind, Menu, Output, Preparation, Reason, Reply, Row, Script};

use super::{Result, no_effect, row_value};
use crate::ast::{Block, Command};
use crate::evaluated_command::{EvaluatedCommand, RouterAccess};
use crate::inspect::inspect;
use crate::machine::{self, CollectedOutput, Machine};
use crate::tools::MenuCommand;
use crate::trace::trace_text;
use crate::value::Value;

/// An evaluated command, with the result of its [`Live::preparation`](menu::Live::preparation).
#[derive(Clone, Copy)]
pub(crate) struct PreparedCommand<'a> {
    pub(crate) command: &'a EvaluatedCommand<'a>,
    pub(crate) data: Option<&'a [u8]>,
}

/// Arguments of a command that the router executes.
type CommandArguments = Vec<(&'static str, menu::Value)>;

impl Machine<'_> {
    /// Runs a menu command that the router executes.
    pub(super) fn act(
        &mut self,
        menu: &'static Menu,
        name: &'static str,
        command: &Command,
    ) -> machine::Result<Value> {
        if let Some(tool) = self.tool_of(menu, name)? {
            return self.run_tool(tool, MenuCommand { menu, name }, command);
        }
        let ready = self.ready(command)?;
        let data = self.preparation(menu, name, &ready)?;
        // In a check the router's answer is missing, so later errors may be consequences. Commands without
        // effect and the log have no answer.
        if !menu.is_idle(name) && menu.path != "/log" {
            self.passes_over();
        }
        let each = match ready.has("do") {
            true => Some(self.code_of(command, "do")?),
            false => None,
        };
        let prepared = PreparedCommand {
            command: &ready,
            data: data.as_deref(),
        };
        self.act_once(menu, name, prepared, each)
    }

    /// Does the slow part of a command before it takes exclusive access to the router, for example generating a
    /// key.
    pub(crate) fn preparation(
        &mut self,
        menu: &'static Menu,
        name: &'static str,
        ready: &EvaluatedCommand<'_>,
    ) -> machine::Result<Option<Vec<u8>>> {
        if self.checking || menu.is_idle(name) {
            return Ok(None);
        }
        let prepare = self.with(|access| access.preparation(menu, name, ready))?;
        let data = prepare.map(|prepare| prepare().map_err(Reason::nowhere));
        Ok(data.transpose()?)
    }

    fn act_once(
        &mut self,
        menu: &'static Menu,
        name: &'static str,
        prepared: PreparedCommand<'_>,
        each: Option<Arc<Block>>,
    ) -> machine::Result<Value> {
        let checking = self.checking;
        let mut text = CollectedOutput::new(self.out.width());
        let run = |access: &mut RouterAccess<'_>| {
            Ok(access.act(menu, name, prepared, checking, &mut text))
        };
        let reply = self.with(run)?;
        // Output before a refusal is printed as well.
        self.print(&text.text)?;
        let (reply, scripts) = reply?;
        for script in &scripts {
            self.run_script(menu.path, script)?;
        }
        if !prepared.command.flag("as-value") && (menu.path, name) == ("/tool", "trace") {
            self.show_trace(&reply.rows)?;
        } else if !prepared.command.flag("as-value") {
            // Print row by row: the rows of an answer are a sequence of steps.
            for row in &reply.rows {
                self.print(&tool::page(std::slice::from_ref(row)))?;
            }
        }
        if let Some(code) = each {
            for row in &reply.rows {
                self.run_for(&code, row)?;
            }
        }
        if let Some(id) = reply.made {
            return Ok(Value::Id(id));
        }
        // A single row is returned as an array with keys, so that scripts can index it with `->`.
        Ok(match &reply.rows[..] {
            [only] => row_value(only),
            rows => Value::list(rows.iter().map(row_value)),
        })
    }
}

impl Machine<'_> {
    /// Prints the steps of a packet trace, one page at a time.
    fn show_trace(&mut self, steps: &[Row]) -> machine::Result<()> {
        let value = |step: &Row, name: &str| step.get(name).map(ToString::to_string);
        self.out.stop_at_pages(true);
        let shown = self.print(&trace_text(steps, value));
        self.out.stop_at_pages(false);
        shown
    }
}

/// Returns the elements of an array given for a list of strings. Each element is one string, whatever
/// separators it contains.
fn elements(kind: &Kind, ready: &EvaluatedCommand<'_>, name: &str) -> Option<menu::Value> {
    let (Kind::Fields | Kind::List(Kind::Text), Some((_, Some(Value::Array(elements))))) =
        (kind, ready.argument(name))
    else {
        return None;
    };
    let texts = elements
        .iter()
        .map(|(_, element)| menu::Value::text(&*element.text()));
    Some(menu::Value::List(texts.collect()))
}

impl RouterAccess<'_> {
    /// Returns the selected items and the other arguments of a command that the router executes.
    pub(crate) fn own_arguments(
        &mut self,
        menu: &'static Menu,
        name: &'static str,
        ready: &EvaluatedCommand<'_>,
    ) -> Result<(Vec<Id>, CommandArguments)> {
        let Some(own) = menu.commands.iter().find(|own| own.name == name) else {
            return Err(Reason::BadCommand(name.to_owned()).nowhere());
        };
        let mut items = Vec::new();
        let mut arguments = Vec::new();
        for taken in own.arguments {
            if !ready.has(taken.name) {
                if taken.required {
                    return Err(Reason::Missing(vec![taken.name]).at(ready.command.at));
                }
                continue;
            }
            if matches!(taken.name, "numbers" | "number") {
                items = self.selected(menu, ready, taken.name)?;
                continue;
            }
            let text = ready.text(taken.name).unwrap_or_default();
            // A repeating command treats an empty optional value as not given.
            if text.is_empty() && own.repeats && !taken.required {
                continue;
            }
            let parsed = match elements(&taken.kind, ready, taken.name) {
                Some(list) => list,
                None => taken
                    .kind
                    .parse(taken.name, &text)
                    .map_err(Reason::nowhere)?,
            };
            arguments.push((taken.name, parsed));
        }
        Ok((items, arguments))
    }

    /// Returns the slow work that must precede [`RouterAccess::act`], if any.
    fn preparation(
        &mut self,
        menu: &'static Menu,
        name: &'static str,
        ready: &EvaluatedCommand<'_>,
    ) -> Result<Option<Preparation>> {
        let (items, arguments) = self.own_arguments(menu, name, ready)?;
        let call = Call {
            menu,
            command: name,
            items: &items,
            arguments: &arguments,
            made: None,
        };
        let preparation = self.live.preparation(self.store, &call);
        preparation.map_err(|reason| reason.nowhere())
    }

    /// Executes a menu command that does not change configuration.
    pub(crate) fn act(
        &mut self,
        menu: &'static Menu,
        name: &'static str,
        prepared: PreparedCommand<'_>,
        checking: bool,
        out: &mut dyn Output,
    ) -> Result<(Reply, Vec<Script>)> {
        let PreparedCommand {
            command: ready,
            data,
        } = prepared;
        let (items, arguments) = self.own_arguments(menu, name, ready)?;
        // RouterOS: a command on an empty `find` does nothing.
        let named = ["numbers", "number"].iter().any(|name| ready.has(name));
        if named && items.is_empty() {
            return Ok(Default::default());
        }
        // Refuse a command without implementation, also in a check: a script must not continue as if the
        // command had been executed.
        if menu.is_idle(name) {
            return Err(Reason::failure(no_effect::refusal(menu, name)).nowhere());
        }
        // A check has no router that could execute the command.
        if checking {
            return Ok(Default::default());
        }
        if menu.path == "/log" {
            let text = arguments
                .first()
                .map(|(_, value)| value.to_string())
                .unwrap_or_default();
            self.live.log(&format!("script,{name}"), &text);
            return Ok(Default::default());
        }
        if (menu.path, name) == ("/console", "inspect") {
            let text = |name: &str| ready.text(name).unwrap_or_default();
            let requests = ready.text("request").unwrap_or_else(|| "child".to_owned());
            let (path, input) = (text("path"), text("input"));
            let rows = requests
                .split(',')
                .flat_map(|request| inspect(self.store, request, &path, &input));
            let reply = Reply {
                rows: rows.collect(),
                made: None,
            };
            return Ok((reply, Vec::new()));
        }
        let call = Call {
            menu,
            command: name,
            items: &items,
            arguments: &arguments,
            made: data,
        };
        let scripts = self.live.scripts(self.store, &call);
        let scripts = scripts.map_err(|reason| reason.nowhere())?;
        if !scripts.is_empty() {
            return Ok((Reply::default(), scripts));
        }
        let managed = self.live.manage(self.store, &call, &self.caller, out);
        let reply = managed.unwrap_or_else(|| self.live.action(self.store, &call));
        Ok((reply.map_err(|reason| reason.nowhere())?, scripts))
    }
}
