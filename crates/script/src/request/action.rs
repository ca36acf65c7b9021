//! Requests for commands that the router executes: tools, measurements and menu actions.

use menu::{Id, Menu, Refusal, Row};
use tool::{Ends, Tool};

use super::answer_options::AnswerOptions;
use super::{Done, Request, Rows, command, taken, unknown_parameter};
use crate::ast::{Command, Target};
use crate::evaluated_command::RouterAccess;
use crate::items::router_commands::PreparedCommand;
use crate::machine::{self, CollectedOutput, Machine};
use crate::spec;
use crate::tools::{INTERVAL, Limits, MenuCommand, StartedTool};

/// Arguments that control the answer, even where the command declares them.
const ANSWER_ARGUMENTS: [&str; 5] = [".proplist", "as-value", "duration", "once", "proplist"];

/// Arguments for the screen, a file or script code, which requests must not use.
const CONSOLE_ARGUMENTS: [&str; 3] = ["append", "do", "file"];

impl Machine<'_> {
    /// Runs a command that the router executes. A command that repeats runs until the client cancels it.
    pub(super) fn request_action(
        &mut self,
        invoked: MenuCommand,
        target: Target,
        known: &[spec::Parameter],
        request: &Request,
        rows: &mut dyn Rows,
    ) -> machine::Result<Done> {
        let MenuCommand { menu, name } = invoked;
        self.permit(menu, name)?;
        let tool = self.tool_of(menu, name)?;
        let own = |name: &str| known.iter().any(|parameter| parameter.name == name);
        let (mut answer_options, mut rest) = (AnswerOptions::default(), request.clone());
        let mut fault: Option<Refusal> = None;
        rest.arguments.retain(|(name, text)| {
            if tool.is_some() && CONSOLE_ARGUMENTS.contains(&&**name) {
                fault = fault.take().or(Some(unknown_parameter(name)));
            }
            if own(name) && !(tool.is_some() && ANSWER_ARGUMENTS.contains(&&**name)) {
                return true;
            }
            let took = answer_options.take(name, text);
            let keep = matches!(took, Ok(false)) && name != "as-value";
            fault = fault.take().or(took.err());
            keep
        });
        if let Some(refusal) = fault {
            return Err(refusal.into());
        }
        let command = command(target, &rest, known, own("numbers"))?;
        if let Some(tool) = tool {
            return self.request_tool(tool, invoked, &command, &answer_options, rows);
        }
        let ready = self.ready(&command)?;
        let data = self.preparation(menu, name, &ready)?;
        let prepared = PreparedCommand {
            command: &ready,
            data: data.as_deref(),
        };
        let added = self.act_for_rows(menu, name, prepared, &answer_options, rows)?;
        Ok(added.map_or(Done::Nothing, |id| Done::Ret(id.to_string())))
    }

    /// Runs a repeating command. Passes on the rows of each check, with the number of the check.
    fn request_tool(
        &mut self,
        tool: &'static dyn Tool,
        invoked: MenuCommand,
        command: &Command,
        answer_options: &AnswerOptions,
        rows: &mut dyn Rows,
    ) -> machine::Result<Done> {
        let ready = self.ready(command)?;
        let interval = answer_options.interval.unwrap_or(INTERVAL);
        let ends = Ends {
            is_single: answer_options.once,
            duration: answer_options.duration,
        };
        let started_tool = self.begin(tool, invoked, &ready, interval, ends)?;
        let Some(StartedTool { mut run, count }) = started_tool else {
            return Ok(Done::Nothing);
        };
        let limits = Limits {
            once: answer_options.once,
            count,
            until: answer_options
                .duration
                .map(|span| self.site.now().saturating_add(span)),
        };
        let mut section = 0_u64;
        self.drive(&mut *run, &limits, false, &mut |_, _, found| {
            for row in &found {
                let mut fields = fields(row, answer_options);
                fields.push((".section", section.to_string()));
                taken(rows.row(&fields))?;
            }
            section += 1;
            taken(rows.rest())
        })?;
        Ok(Done::Nothing)
    }

    fn act_for_rows(
        &mut self,
        menu: &'static Menu,
        name: &'static str,
        prepared: PreparedCommand<'_>,
        answer_options: &AnswerOptions,
        rows: &mut dyn Rows,
    ) -> machine::Result<Option<Id>> {
        let checking = self.checking;
        let mut said = CollectedOutput::new(usize::MAX);
        let run =
            |access: &mut RouterAccess<'_>| access.act(menu, name, prepared, checking, &mut said);
        let (reply, scripts) = self.with(run)?;
        self.print(&said.text)?;
        for script in &scripts {
            self.run_script(menu.path, script)?;
        }
        for row in &reply.rows {
            taken(rows.row(&fields(row, answer_options)))?;
        }
        Ok(reply.made)
    }
}

/// Returns the requested fields of a row.
fn fields(row: &Row, answer_options: &AnswerOptions) -> Vec<(&'static str, String)> {
    let wanted = answer_options.wanted();
    let wants = |name: &&str| wanted.is_empty() || wanted.contains(name);
    let cells = row.cells.iter().filter(|(name, _)| wants(name));
    cells.map(|(name, value)| (*name, text(value))).collect()
}

fn text(value: &menu::Value) -> String {
    match value {
        menu::Value::Bool(value) => value.to_string(),
        value => format!("{value:#}"),
    }
}
