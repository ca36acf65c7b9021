//! Scripts that are to run, and with which rights.

use menu::{Call, Id, Item, Policies, Reason, Rights, Script, Store};
use script::Job;

use crate::drive::Control;
use crate::feature::schedule::EVENTS;
use crate::feature::scripting::SCRIPTS;
use crate::files::SYSTEM;
use crate::probe::argument;

impl Control {
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

    /// The jobs of the events whose time has come.
    pub(crate) fn due_jobs(&mut self, store: &Store) -> Vec<Job> {
        let clock = self.clock.now();
        let mut jobs = Vec::new();
        for id in self.features.schedule.due(clock) {
            let Some(item) = store.item(EVENTS, id) else {
                continue;
            };
            self.features.scripting.ran(EVENTS, id, clock);
            let job = self.event_of(store, item);
            let job = job.and_then(|event| {
                Job::of_event(&self.features.scripting, "scheduler", &event, clock)
            });
            match job {
                Ok(job) => jobs.push(job),
                Err(reason) => {
                    let text = format!("{} not run: {reason}", item.text("name"));
                    self.features.log.add("script,error", text);
                }
            }
        }
        self.features.schedule.watch(clock, self.now);
        while let Some((kind, text, before)) = self.scripts.pop_front() {
            let mut script = self.named_or_text(store, &text);
            script.source.insert_str(0, &before);
            match Job::of_event(&self.features.scripting, kind, &script, clock) {
                Ok(job) => jobs.push(job),
                Err(reason) => {
                    let text = format!("script of {kind} not run: {reason}");
                    self.features.log.add("script,error", text);
                }
            }
        }
        jobs
    }

    /// Notes a script that a feature wants run; the owner asks for the jobs.
    pub(crate) fn run_later(&mut self, kind: &'static str, text: String, before: String) {
        if self.scripts.len() < WAITING {
            self.scripts.push_back((kind, text, before));
        } else {
            let message = format!("script of {kind} not run: too many wait");
            self.features.log.add("script,error", message);
        }
    }

    /// What the router runs by itself: the script of this name, else this text.
    fn named_or_text(&self, store: &Store, text: &str) -> Script {
        let named = script_named(store, text);
        let own = Rights::fixed(SYSTEM_RIGHTS);
        let rights =
            named.map_or_else(|| own.clone(), |item| own.and(&self.rights_of(store, item)));
        Script {
            id: named.map_or(Id(0), |item| item.id),
            name: named.map_or_else(String::new, |item| item.text("name").to_owned()),
            source: named.map_or(text, |item| item.text("source")).to_owned(),
            owner: SYSTEM.to_owned(),
            rights,
            lends: false,
        }
    }

    /// What a script or an event may do by itself.
    fn rights_of(&self, store: &Store, item: &Item) -> Rights {
        let owner = self.features.access.grant(store, item.text("owner"));
        Rights::of(policies_of(item), owner)
    }

    /// The rights of the owner of a file. A file without an owner was put there by who owns the machine.
    ///
    /// # Errors
    /// The owner is no user any more, or may do nothing.
    pub(crate) fn rights_by_file(&self, store: &Store, name: &str) -> Result<Rights, Reason> {
        let Some(owner) = self.manage.files.owner(name) else {
            return Ok(Rights::FULL);
        };
        if owner == SYSTEM {
            return Ok(Rights::fixed(SYSTEM_RIGHTS));
        }
        let grant = self.features.access.grant(store, owner);
        match grant.now() {
            Policies::NONE => Err(Reason::failure(format!(
                "the owner {owner} of the file {name} is no user here, or may do nothing"
            ))),
            _ => Ok(Rights::of(Policies::ALL, grant)),
        }
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
        let named = script_named(store, text);
        let mut rights = self.rights_of(store, item);
        for (what, item) in [("", Some(item)), ("script's ", named)] {
            let Some(owner) = item.map(|item| item.text("owner")) else {
                continue;
            };
            if self.features.access.grant(store, owner).now() == Policies::NONE {
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

/// The script that has this text as its name.
fn script_named<'a>(store: &'a Store, text: &str) -> Option<&'a Item> {
    let menu = store.menu(SCRIPTS)?;
    let id = store.by_name(menu, text.trim())?;
    store.item(SCRIPTS, id).map(|item| &**item)
}

/// Scripts that may wait to be run.
const WAITING: usize = 256;
/// The policies of scripts that the router runs by itself (RouterOS: as of `/tool/netwatch`).
const SYSTEM_RIGHTS: Policies = Policies::READ
    .or(Policies::WRITE)
    .or(Policies::TEST)
    .or(Policies::REBOOT);

fn policies_of(item: &Item) -> Policies {
    item.get("policy")
        .map(Policies::from_value)
        .unwrap_or_default()
}

#[cfg(test)]
mod files;
#[cfg(test)]
mod rights;
#[cfg(test)]
mod tests;
