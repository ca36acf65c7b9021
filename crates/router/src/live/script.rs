//! Scripts: what is kept, what runs, and the global variables.

use std::ops::ControlFlow;

use menu::{Call, Id, Item, Menu, Reason, Reply, Row, RowFilter, Script, Store, Value};
use script::{Environment, Job};

use super::{DYNAMIC, give, number};
use crate::drive::Control;
use crate::drive::schedule::EVENTS;

/// The menu of scripts.
const SCRIPTS: &str = "/system/script";

impl Control {
    pub(super) fn environment_rows(
        &self,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for (user, environment) in self.scripting.environments() {
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

    pub(super) fn job_rows(
        &self,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for (id, job) in self.scripting.jobs() {
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

    pub(super) fn annotate_script(&self, menu: &'static Menu, id: Id, row: &mut Row) {
        let runs = self.scripting.runs(menu.path, id);
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
        if let Some(next) = self.schedule.next(id).filter(|_| menu.path == EVENTS) {
            row.set("next-run", Value::text(next.date_time()));
        }
    }

    /// The scripts of `/system/script/run`.
    pub(super) fn scripts_of(&self, store: &Store, call: &Call<'_>) -> Result<Vec<Script>, Reason> {
        if (call.menu.path, call.command) != (SCRIPTS, "run") {
            return Ok(Vec::new());
        }
        let scripts = call.items.iter().map(|id| {
            let item = store.item(SCRIPTS, *id).ok_or(Reason::NoItem)?;
            Ok(script_of(item))
        });
        scripts.collect()
    }

    /// Removes or changes global variables.
    pub(super) fn change_variables(&self, call: &Call<'_>) -> Result<Reply, Reason> {
        for id in call.items {
            let (environment, name) = self.variable(*id).ok_or(Reason::NoItem)?;
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

    /// Stops all of these jobs. Some may have ended since they were listed: that is no error, unless
    /// all have.
    pub(super) fn stop_jobs(&self, items: &[Id]) -> Result<Reply, Reason> {
        let stopped = items.iter().filter(|job| self.scripting.stop(**job));
        if stopped.count() > 0 || items.is_empty() {
            return Ok(Reply::default());
        }
        Err(Reason::NoItem)
    }

    fn variable(&self, id: Id) -> Option<(Environment, String)> {
        self.scripting
            .environments()
            .into_iter()
            .find_map(|(user, environment)| {
                let mut names = environment.all().into_iter().map(|(name, _)| name);
                let name = names.find(|name| variable(&user, name) == id)?;
                Some((environment, name))
            })
    }

    /// The jobs of the events whose time has come.
    pub(crate) fn due_jobs(&mut self, store: &Store) -> Vec<Job> {
        let clock = self.log.clock;
        let mut jobs = Vec::new();
        for id in self.schedule.due(clock) {
            let Some(item) = store.item(EVENTS, id) else {
                continue;
            };
            self.scripting.ran(EVENTS, id, clock);
            match Job::of_event(&self.scripting, "scheduler", &event_of(store, item), clock) {
                Ok(mut job) => {
                    job.restrict(policies_of(item));
                    jobs.push(job);
                }
                Err(reason) => {
                    let text = format!("{} not run: {reason}", item.text("name"));
                    self.log.add("script,error", text);
                }
            }
        }
        jobs
    }
}

fn policies_of(item: &Item) -> menu::Policies {
    item.get("policy")
        .map(menu::Policies::from_value)
        .unwrap_or_default()
}

fn script_of(item: &Item) -> Script {
    Script {
        id: item.id,
        name: item.text("name").to_owned(),
        source: item.text("source").to_owned(),
        owner: item.text("owner").to_owned(),
    }
}

/// What an event runs: the script that it names, or its own text.
fn event_of(store: &Store, item: &Item) -> Script {
    let text = item.text("on-event");
    let named = store.menu(SCRIPTS).and_then(|menu| {
        let id = store.by_name(menu, text.trim())?;
        store.item(SCRIPTS, id)
    });
    Script {
        id: item.id,
        name: named.map_or_else(String::new, |script| script.text("name").to_owned()),
        source: named
            .map_or(text, |script| script.text("source"))
            .to_owned(),
        owner: item.text("owner").to_owned(),
    }
}

/// The id of a variable's row: it follows from the names alone.
fn variable(user: &str, name: &str) -> Id {
    let bytes = user.bytes().chain([0]).chain(name.bytes());
    // FNV-1a (Fowler, Noll, Vo). Two variables hardly ever share it; then both rows have one id.
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    Id(DYNAMIC | hash)
}

#[cfg(test)]
mod tests;
