//! Requests for commands that the router executes: tools, measurements and menu actions.

use menu::{Id, Menu, Refusal, Row};
use tool::Tool;

use super::manner::Manner;
use super::{Done, Request, Rows, command, taken, unknown_parameter};
use crate::ast::{Command, Target};
use crate::machine::{self, Collected, Machine};
use crate::ready::{Loan, Ready};
use crate::spec;
use crate::tools::{Begun, INTERVAL, Limits};

/// Arguments that control the answer, even where the command declares them.
const ABOUT: [&str; 5] = [".proplist", "as-value", "duration", "once", "proplist"];

/// Arguments for the screen, a file or script code, which requests must not use.
const OF_CONSOLES: [&str; 3] = ["append", "do", "file"];

impl Machine<'_> {
    /// Runs a command that the router executes. A command that repeats runs until the client cancels it.
    pub(super) fn request_action(
        &mut self,
        (menu, name): (&'static Menu, &'static str),
        target: Target,
        known: &[spec::Parameter],
        request: &Request,
        rows: &mut dyn Rows,
    ) -> machine::Result<Done> {
        self.permit(menu, name)?;
        let tool = self.tool_of(menu, name)?;
        let own = |name: &str| known.iter().any(|parameter| parameter.name == name);
        let (mut manner, mut rest) = (Manner::default(), request.clone());
        let mut fault: Option<Refusal> = None;
        rest.arguments.retain(|(name, text)| {
            if tool.is_some() && OF_CONSOLES.contains(&&**name) {
                fault = fault.take().or(Some(unknown_parameter(name)));
            }
            if own(name) && !(tool.is_some() && ABOUT.contains(&&**name)) {
                return true;
            }
            let took = manner.take(name, text);
            let keep = matches!(took, Ok(false)) && name != "as-value";
            fault = fault.take().or(took.err());
            keep
        });
        if let Some(refusal) = fault {
            return Err(refusal.into());
        }
        let command = command(target, &rest, known, own("numbers"))?;
        if let Some(tool) = tool {
            return self.request_tool(tool, (menu, name), &command, &manner, rows);
        }
        let ready = self.ready(&command)?;
        let made = self.labour(menu, name, &ready)?;
        let with = (&ready, made.as_deref());
        let made = self.act_for_rows(menu, name, with, &manner, rows)?;
        Ok(made.map_or(Done::Nothing, |id| Done::Ret(id.to_string())))
    }

    /// Runs a repeating command. Passes on the rows of each check, with the number of the check.
    fn request_tool(
        &mut self,
        tool: &'static dyn Tool,
        (menu, name): (&'static Menu, &'static str),
        command: &Command,
        manner: &Manner,
        rows: &mut dyn Rows,
    ) -> machine::Result<Done> {
        let ready = self.ready(command)?;
        let interval = manner.interval.unwrap_or(INTERVAL);
        let begun = self.begin(tool, (menu, name), &ready, interval)?;
        let Some(Begun { mut run, count }) = begun else {
            return Ok(Done::Nothing);
        };
        let limits = Limits {
            once: manner.once,
            count,
            until: manner
                .duration
                .map(|span| self.site.now().saturating_add(span)),
        };
        let mut section = 0_u64;
        self.drive(&mut *run, &limits, false, &mut |_, _, found| {
            for row in &found {
                let mut fields = fields(row, manner);
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
        with: (&Ready<'_>, Option<&[u8]>),
        manner: &Manner,
        rows: &mut dyn Rows,
    ) -> machine::Result<Option<Id>> {
        let checking = self.checking;
        let mut said = Collected::new(usize::MAX);
        let run = |loan: &mut Loan<'_>| loan.act(menu, name, with, checking, &mut said);
        let (reply, scripts) = self.with(run)?;
        self.print(&said.text)?;
        for script in &scripts {
            self.run_script(menu.path, script)?;
        }
        for row in &reply.rows {
            taken(rows.row(&fields(row, manner)))?;
        }
        Ok(reply.made)
    }
}

/// Returns the requested fields of a row.
fn fields(row: &Row, manner: &Manner) -> Vec<(&'static str, String)> {
    let wanted = manner.wanted();
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
