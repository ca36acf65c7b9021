//! Rows and commands of scripts, jobs and global variables.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use menu::{Call, Changes, Id, Menu, Reason, Reply, Row, RowFilter, Value};
use script::{Environment, Scripting};

use super::access::USERS;
use super::{Effects, Feature, View, concerns};
use crate::live::{DYNAMIC, give, number};

/// Menu of scripts.
pub(crate) const SCRIPTS: &str = "/system/script";

impl Feature for Scripting {
    fn menus(&self) -> &'static [&'static str] {
        &[
            "/environment",
            SCRIPTS,
            "/system/script/environment",
            "/system/script/job",
            "/system/scheduler",
            USERS[0],
            USERS[1],
        ]
    }

    fn follow(&mut self, _: &View<'_>, changes: Option<&Changes>, _: &mut Effects) {
        if concerns(&USERS, changes) {
            self.stop_without_rights();
        }
    }

    fn rows(
        &self,
        menu: &'static Menu,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match menu.path {
            "/environment" | "/system/script/environment" => environment_rows(self, filter, each),
            "/system/script/job" => job_rows(self, filter, each),
            _ => ControlFlow::Continue(()),
        }
    }

    fn annotate(&self, menu: &'static Menu, id: Id, row: &mut Row) {
        if ![SCRIPTS, "/system/scheduler"].contains(&menu.path) {
            return;
        }
        let runs = self.runs(menu.path, id);
        row.set("run-count", number(runs.count));
        if menu.path == SCRIPTS {
            let source = row
                .get("source")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let invalid = !script::is_readable(schema::ALL, source);
            row.flag("invalid", invalid);
            if let Some(last) = runs.last {
                row.set("last-started", Value::text(last.date_time()));
            }
        }
    }

    fn act(&mut self, view: &View<'_>, call: &Call<'_>) -> Option<Result<Reply, Reason>> {
        match (call.menu.path, call.command) {
            ("/environment" | "/system/script/environment", "remove" | "set") => {
                Some(change_variables(self, view, call))
            }
            ("/system/script/job", "remove") => Some(stop_jobs(self, view, call.items)),
            _ => None,
        }
    }
}

fn environment_rows(
    scripting: &Scripting,
    filter: &RowFilter<'_>,
    each: &mut dyn FnMut(Row) -> ControlFlow<()>,
) -> ControlFlow<()> {
    for (user, environment) in scripting.environments() {
        for (name, value) in environment.all() {
            let mut row = Row {
                id: Some(variable(&user, &name)),
                ..Row::default()
            };
            row.set("name", Value::text(name));
            row.set("user", Value::text(user.as_str()));
            row.set("value", Value::text(value.to_string()));
            give(row, filter, each)?;
        }
    }
    ControlFlow::Continue(())
}

fn job_rows(
    scripting: &Scripting,
    filter: &RowFilter<'_>,
    each: &mut dyn FnMut(Row) -> ControlFlow<()>,
) -> ControlFlow<()> {
    for (id, job) in scripting.jobs() {
        let mut row = Row {
            id: Some(id),
            ..Row::default()
        };
        row.set("type", Value::text(job.kind));
        if !job.script.is_empty() {
            row.set("script", Value::text(job.script));
        }
        row.set("owner", Value::text(job.owner));
        if let Some(parent) = job.parent {
            row.set("parent", Value::text(parent.to_string()));
        }
        row.set("started", Value::text(job.started.date_time()));
        give(row, filter, each)?;
    }
    ControlFlow::Continue(())
}

/// Removes or sets global variables.
fn change_variables(
    scripting: &Scripting,
    view: &View<'_>,
    call: &Call<'_>,
) -> Result<Reply, Reason> {
    let found = call.items.iter().map(|id| {
        let (user, environment, name) = variable_of(scripting, *id).ok_or(Reason::NoItem)?;
        match view.asking.may_change_of(&user) {
            true => Ok((environment, name)),
            false => Err(Reason::Denied),
        }
    });
    let found: Vec<_> = found.collect::<Result<_, _>>()?;
    for (environment, name) in found {
        match call.command {
            "remove" => _ = environment.remove(&name),
            _ => {
                let value = call.arguments.iter().find(|(own, _)| *own == "value");
                let text = value.map(|(_, value)| value.to_string());
                environment.set(&name, script::Value::str(text.unwrap_or_default()))?;
            }
        }
    }
    Ok(Reply::default())
}

/// Stops jobs and their child jobs. Jobs that have ended since they were listed are no error,
/// unless all have.
fn stop_jobs(scripting: &Scripting, view: &View<'_>, items: &[Id]) -> Result<Reply, Reason> {
    let jobs: BTreeSet<Id> = items.iter().copied().collect();
    let owners = jobs.iter().filter_map(|job| scripting.owner(*job));
    if owners
        .into_iter()
        .any(|owner| !view.asking.may_change_of(&owner))
    {
        return Err(Reason::Denied);
    }
    if scripting.stop(&jobs) > 0 || items.is_empty() {
        return Ok(Reply::default());
    }
    Err(Reason::NoItem)
}

fn variable_of(scripting: &Scripting, id: Id) -> Option<(String, Environment, String)> {
    scripting
        .environments()
        .into_iter()
        .find_map(|(user, environment)| {
            let mut names = environment.all().into_iter().map(|(name, _)| name);
            let name = names.find(|name| variable(&user, name) == id)?;
            Some((user, environment, name))
        })
}

/// Returns the id of a variable's row, derived from user and name.
fn variable(user: &str, name: &str) -> Id {
    let bytes = user.bytes().chain([0]).chain(name.bytes());
    // FNV-1a (Fowler, Noll, Vo). On the unlikely collision two rows share an id.
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    Id(DYNAMIC | hash)
}
