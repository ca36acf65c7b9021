//! Scripts to run, and their rights.

use menu::{Call, Id, Item, Policies, Reason, Rights, Script, Store};
use script::Job;

use crate::drive::Control;
use crate::feature::schedule::EVENTS;
use crate::feature::scripting::SCRIPTS;
use crate::files::SYSTEM;
use crate::probe::argument;

impl Control {
    /// Returns the scripts of `/system/script/run`.
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

    /// Returns the jobs of due events.
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

    /// Queues a script of a feature; the owner collects the jobs.
    pub(crate) fn run_later(&mut self, kind: &'static str, text: String, before: String) {
        if self.scripts.len() < WAITING {
            self.scripts.push_back((kind, text, before));
        } else {
            let message = format!("script of {kind} not run: too many are waiting");
            self.features.log.add("script,error", message);
        }
    }

    /// Returns the script with this name, else this text as a script, for triggers of the router itself.
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

    /// Returns the rights of a script or an event by itself.
    fn rights_of(&self, store: &Store, item: &Item) -> Rights {
        let owner = self.features.access.grant(store, item.text("owner"));
        Rights::of(policies_of(item), owner)
    }

    /// Returns the rights of a file's owner. A file without an owner belongs to the administrator of the machine.
    ///
    /// # Errors
    /// The owner no longer exists, or has no policies.
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
                "the owner {owner} of the file {name} does not exist or has no rights"
            ))),
            _ => Ok(Rights::of(Policies::ALL, grant)),
        }
    }

    /// Returns the script that a caller runs.
    fn script_of(&self, store: &Store, item: &Item, call: &Call<'_>) -> Result<Script, Reason> {
        let lends = item.is("dont-require-permissions");
        let whole = argument(call, "use-script-permissions").is_some();
        // RouterOS: the caller must hold every policy of the script.
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

    /// Returns the script of an event: a named script, or the event's own text. Adding a script with this name later
    /// grants no rights beyond those of the user who adds it.
    fn event_of(&self, store: &Store, item: &Item) -> Result<Script, Reason> {
        let (text, owner) = (item.text("on-event"), item.text("owner"));
        let named = script_named(store, text);
        let mut rights = self.rights_of(store, item);
        for (what, item) in [("", Some(item)), ("script's ", named)] {
            let Some(owner) = item.map(|item| item.text("owner")) else {
                continue;
            };
            if self.features.access.grant(store, owner).now() == Policies::NONE {
                let why = format!("the {what}owner {owner} does not exist or has no rights");
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

/// Returns the script whose name equals this text.
fn script_named<'a>(store: &'a Store, text: &str) -> Option<&'a Item> {
    let menu = store.menu(SCRIPTS)?;
    let id = store.by_name(menu, text.trim())?;
    store.item(SCRIPTS, id).map(|item| &**item)
}

/// Maximum number of queued scripts.
const WAITING: usize = 256;
/// Policies of scripts that the router runs by itself (RouterOS: as for `/tool/netwatch`).
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
