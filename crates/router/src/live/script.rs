//! Scripts: what is kept, what runs, and the global variables.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use menu::{
    Call, Id, Item, Menu, Policies, Reason, Reply, Rights, Row, RowFilter, Script, Store, Value,
};
use script::{Environment, Job};

use super::{DYNAMIC, give, number};
use crate::drive::Control;
use crate::drive::schedule::EVENTS;
use crate::probe::argument;

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
            self.script_of(store, item, call)
        });
        scripts.collect()
    }

    /// Removes or changes global variables.
    pub(super) fn change_variables(&self, call: &Call<'_>) -> Result<Reply, Reason> {
        let found = call.items.iter().map(|id| {
            let (user, environment, name) = self.variable(*id).ok_or(Reason::NoItem)?;
            match self.asking.may_change_of(&user) {
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

    /// Stops all of these jobs, and what came of them. Some may have ended since they were listed: that is no
    /// error, unless all have.
    pub(super) fn stop_jobs(&self, items: &[Id]) -> Result<Reply, Reason> {
        let jobs: BTreeSet<Id> = items.iter().copied().collect();
        let owners = jobs.iter().filter_map(|job| self.scripting.owner(*job));
        if owners
            .into_iter()
            .any(|owner| !self.asking.may_change_of(&owner))
        {
            return Err(Reason::Denied);
        }
        if self.scripting.stop(&jobs) > 0 || items.is_empty() {
            return Ok(Reply::default());
        }
        Err(Reason::NoItem)
    }

    fn variable(&self, id: Id) -> Option<(String, Environment, String)> {
        self.scripting
            .environments()
            .into_iter()
            .find_map(|(user, environment)| {
                let mut names = environment.all().into_iter().map(|(name, _)| name);
                let name = names.find(|name| variable(&user, name) == id)?;
                Some((user, environment, name))
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
            let job = self.event_of(store, item);
            let job =
                job.and_then(|event| Job::of_event(&self.scripting, "scheduler", &event, clock));
            match job {
                Ok(job) => jobs.push(job),
                Err(reason) => {
                    let text = format!("{} not run: {reason}", item.text("name"));
                    self.log.add("script,error", text);
                }
            }
        }
        jobs
    }

    /// What a script or an event may do by itself.
    fn rights_of(&self, store: &Store, item: &Item) -> Rights {
        let owner = self.access.grant(store, item.text("owner"));
        Rights::of(policies_of(item), owner)
    }

    /// A script that somebody runs.
    fn script_of(&self, store: &Store, item: &Item, call: &Call<'_>) -> Result<Script, Reason> {
        let lends = item.is("dont-require-permissions");
        let whole = argument(call, "use-script-permissions").is_some();
        // RouterOS: to have it run with all that it may do, one has to have that.
        if whole && !lends && !self.asking.policies.contains(policies_of(item)) {
            return Err(Reason::Denied);
        }
        Ok(Script {
            id: item.id,
            name: item.text("name").to_owned(),
            source: item.text("source").to_owned(),
            owner: item.text("owner").to_owned(),
            rights: self.rights_of(store, item),
            lends,
        })
    }

    /// What an event runs: the script that it names, or its own text. Whoever adds a script of this
    /// name later gives it no rights that they have not themselves.
    fn event_of(&self, store: &Store, item: &Item) -> Result<Script, Reason> {
        let (text, owner) = (item.text("on-event"), item.text("owner"));
        let named = store.menu(SCRIPTS).and_then(|menu| {
            let id = store.by_name(menu, text.trim())?;
            store.item(SCRIPTS, id).map(|item| &**item)
        });
        let mut rights = self.rights_of(store, item);
        for (what, item) in [("", Some(item)), ("script's ", named)] {
            let Some(owner) = item.map(|item| item.text("owner")) else {
                continue;
            };
            if self.access.grant(store, owner).now() == Policies::NONE {
                let why = format!("the {what}owner {owner} is no user here, or may do nothing");
                return Err(Reason::failure(why));
            }
        }
        if let Some(script) = named {
            let own = self.rights_of(store, script);
            rights = match script.is("dont-require-permissions") {
                true => own,
                false => rights.and(&own),
            };
        }
        Ok(Script {
            id: item.id,
            name: named.map_or_else(String::new, |script| script.text("name").to_owned()),
            source: named
                .map_or(text, |script| script.text("source"))
                .to_owned(),
            owner: owner.to_owned(),
            rights,
            lends: false,
        })
    }
}

fn policies_of(item: &Item) -> Policies {
    item.get("policy")
        .map(Policies::from_value)
        .unwrap_or_default()
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
mod rights;
#[cfg(test)]
mod tests;
