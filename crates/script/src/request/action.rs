//! What another program lets the router do: pings, measurements, commands of the router's own.

use std::time::Duration;

use menu::{Id, Menu};

use super::manner::Manner;
use super::{Done, Request, Rows, command, taken};
use crate::ast::Target;
use crate::machine::{self, Collected, Machine};
use crate::ready::{Loan, Ready};
use crate::spec;
use crate::traceroute;

/// The pause between two samples of what is sampled.
const INTERVAL: Duration = Duration::from_secs(1);

impl Machine<'_> {
    /// `ping`: a row for each request that is sent.
    pub(super) fn request_ping(
        &mut self,
        target: Target,
        known: &[spec::Parameter],
        request: &Request,
        rows: &mut dyn Rows,
    ) -> machine::Result<Done> {
        let (mut manner, mut rest) = (Manner::default(), request.clone());
        let mut fault = None;
        rest.arguments.retain(|(name, text)| {
            // How often is its own business.
            let about = ["proplist", ".proplist"].contains(&name.as_str());
            let took = if about {
                manner.take(name, text)
            } else {
                Ok(false)
            };
            let keep = matches!(took, Ok(false)) && !["as-value", "once"].contains(&name.as_str());
            fault = fault.take().or(took.err());
            keep
        });
        if let Some(refusal) = fault {
            return Err(refusal.into());
        }
        let command = command(target, &rest, known, false)?;
        let wanted = manner.wanted();
        let each = |fields: &[(&'static str, String)]| {
            let mut fields: Vec<_> = fields.iter().map(|(n, v)| (*n, v.clone())).collect();
            fields.retain(|(name, _)| wanted.is_empty() || wanted.contains(name));
            taken(rows.row(&fields))?;
            taken(rows.rest())
        };
        match target {
            Target::Menu(_, traceroute::NAME) => self.traceroute_for_rows(&command, each)?,
            _ => self.ping_for_rows(&command, each)?,
        }
        Ok(Done::Nothing)
    }

    /// A command of the router's own; one that measures goes on until somebody breaks it off.
    pub(super) fn request_action(
        &mut self,
        menu: &'static Menu,
        name: &'static str,
        request: &Request,
        rows: &mut dyn Rows,
    ) -> machine::Result<Done> {
        self.permit(menu, name)?;
        let known = spec::of_menu(menu, name);
        let own = |name: &str| known.iter().any(|parameter| parameter.name == name);
        let (mut manner, mut rest) = (Manner::default(), request.clone());
        let mut fault = None;
        rest.arguments.retain(|(name, text)| {
            if own(name) {
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
        let target = Target::Menu(menu, name);
        let command = command(target, &rest, &known, own("numbers"))?;
        let ready = self.ready(&command)?;
        let measures = spec::repeats(menu, name);
        // What nothing does is not done again, though it was for no item.
        let once = manner.once || ready.flag("once") || menu.is_idle(name);
        if measures && !once {
            let interval = manner.interval.unwrap_or(INTERVAL);
            return self.sample(interval, &manner, |machine, section| {
                let with = (&ready, None);
                let did = machine.act_for_rows(menu, name, with, &manner, Some(section), rows);
                did.map(|(rows, _)| rows)
            });
        }
        let section = measures.then_some(0);
        let made = self.labour(menu, name, &ready)?;
        let with = (&ready, made.as_deref());
        let (_, made) = self.act_for_rows(menu, name, with, &manner, section, rows)?;
        Ok(made.map_or(Done::Nothing, |id| Done::Ret(id.to_string())))
    }

    fn act_for_rows(
        &mut self,
        menu: &'static Menu,
        name: &'static str,
        with: (&Ready<'_>, Option<&[u8]>),
        manner: &Manner,
        section: Option<usize>,
        rows: &mut dyn Rows,
    ) -> machine::Result<(usize, Option<Id>)> {
        let checking = self.checking;
        let mut said = Collected::new(usize::MAX);
        let run = |loan: &mut Loan<'_>| loan.act(menu, name, with, checking, &mut said);
        let (reply, scripts) = self.with(run)?;
        self.print(&said.text)?;
        for script in &scripts {
            self.run_script(menu.path, script)?;
        }
        let wanted = manner.wanted();
        for row in &reply.rows {
            let texts = row.cells.iter().map(|(name, value)| (*name, text(value)));
            let mut fields: Vec<_> = texts
                .filter(|(name, _)| wanted.is_empty() || wanted.contains(name))
                .collect();
            fields.extend(section.map(|number| (".section", number.to_string())));
            taken(rows.row(&fields))?;
        }
        Ok((reply.rows.len(), reply.made))
    }
}

fn text(value: &menu::Value) -> String {
    match value {
        menu::Value::Bool(value) => value.to_string(),
        value => format!("{value:#}"),
    }
}
