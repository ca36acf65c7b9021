//! Background scripts, and the state that all scripts of a router share: global variables, running jobs and run
//! counters.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use menu::{Clock, Id, Output, Policies, Reason, Refusal, Rights, bytes};
use tool::Router;

use crate::ast::Block;
use crate::environment::Environment;
use crate::evaluated_command::lend;
use crate::job_limits::{Budget, Budgets, Class, JobFamily, Reservation};
use crate::machine::{CollectedOutput, Machine, Stop, finish};
use crate::session::Session;
use crate::site::{Interrupt, Site};

/// Maximum number of ancestors that a job remembers. Stopping an ancestor stops the job.
const ANCESTORS: usize = 64;

/// The state that the scripts of a router share.
#[derive(Clone, Debug, Default)]
pub struct Scripting {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug, Default)]
struct Shared {
    environments: BTreeMap<String, Environment>,
    jobs: BTreeMap<Id, RunningJob>,
    last_job: u64,
    budgets: Budgets,
    runs: BTreeMap<(&'static str, Id), RunCount>,
}

/// A running job.
#[derive(Debug)]
struct RunningJob {
    entry: Entry,
    interrupt: Arc<Interrupt>,
    /// The rights of the job.
    rights: Rights,
    class: Class,
    /// The jobs that started this one, directly or indirectly, the direct parent last.
    ancestors: VecDeque<Id>,
    family: Arc<JobFamily>,
}

impl RunningJob {
    /// Asks the job to end.
    fn stop(&self) {
        // A script inside a session ends; the session continues.
        if self.entry.kind == "script" {
            self.interrupt.stop();
        } else {
            self.interrupt.close();
        }
    }
}

/// Run counter of a script or scheduler item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunCount {
    /// Number of runs since the router started.
    pub count: u64,
    /// Time of the last run.
    pub last: Option<Clock>,
}

/// A row of `/system/script/job`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The kind of job: `command`, `script` or `scheduler`.
    pub kind: &'static str,
    /// The name of the script; empty if it has none.
    pub script: String,
    /// The user who owns the job.
    pub owner: String,
    /// The job that started this one.
    pub parent: Option<Id>,
    /// Start time.
    pub started: Clock,
}

impl Scripting {
    /// Opens a session of a user in the root menu.
    pub fn session(&self, user: &str) -> Session {
        Session::sharing(user, self.clone())
    }

    /// Returns the global variables of a user.
    pub fn environment(&self, user: &str) -> Environment {
        let mut shared = self.lock();
        let environment = shared.environments.entry(user.to_owned());
        environment.or_default().clone()
    }

    /// Returns all users that have global variables, with their variables.
    pub fn environments(&self) -> Vec<(String, Environment)> {
        let shared = self.lock();
        let all = shared.environments.iter();
        all.map(|(user, environment)| (user.clone(), environment.clone()))
            .collect()
    }

    /// Returns the running jobs, oldest first.
    pub fn jobs(&self) -> Vec<(Id, Entry)> {
        let shared = self.lock();
        let jobs = shared.jobs.iter();
        jobs.map(|(id, place)| (*id, place.entry.clone())).collect()
    }

    /// Stops jobs and all jobs they started. Returns the number of stopped jobs.
    pub fn stop(&self, jobs: &BTreeSet<Id>) -> usize {
        let shared = self.lock();
        let meant = |(id, place): &(&Id, &RunningJob)| {
            jobs.contains(id) || place.ancestors.iter().any(|id| jobs.contains(id))
        };
        let found = shared.jobs.iter().filter(meant);
        found.map(|(_, place)| place.stop()).count()
    }

    /// Returns the owner of a job.
    pub fn owner(&self, job: Id) -> Option<String> {
        let shared = self.lock();
        shared.jobs.get(&job).map(|place| place.entry.owner.clone())
    }

    /// Stops the jobs of users without any rights: users that were removed or disabled.
    pub fn stop_without_rights(&self) {
        let shared = self.lock();
        let places = shared.jobs.values();
        let idle = places.filter(|place| place.rights.now() == Policies::NONE);
        idle.for_each(RunningJob::stop);
    }

    /// Returns the run counter of a script or scheduler item.
    pub fn runs(&self, path: &'static str, id: Id) -> RunCount {
        self.lock()
            .runs
            .get(&(path, id))
            .copied()
            .unwrap_or_default()
    }

    /// Counts a run of a script or scheduler item.
    pub fn ran(&self, path: &'static str, id: Id, at: Clock) {
        let mut shared = self.lock();
        let runs = shared.runs.entry((path, id)).or_default();
        runs.count += 1;
        runs.last = Some(at);
    }

    /// Removes the run counter of a removed item.
    pub fn forget(&self, path: &'static str, id: Id) {
        self.lock().runs.remove(&(path, id));
    }

    /// Registers a running job until the returned guard is dropped.
    pub(crate) fn begin(&self, entry: Entry, session: &Session) -> Result<JobGuard, Reason> {
        let mut shared = self.lock();
        let rights = Rights::fixed(session.policies).and(&session.rights);
        let class = Class::new(&session.user, rights.now());
        class.admit(shared.jobs.values().map(|place| &place.class))?;
        let parent = entry
            .parent
            .and_then(|id| Some((id, shared.jobs.get(&id)?)));
        let (mut ancestors, mut family) = (VecDeque::new(), Arc::default());
        if let Some((id, parent)) = parent {
            // A stopped job cannot start others.
            if parent.interrupt.is_on() {
                return Err(Reason::Interrupted);
            }
            ancestors.clone_from(&parent.ancestors);
            if ancestors.len() == ANCESTORS {
                ancestors.pop_front();
            }
            ancestors.push_back(id);
            family = Arc::clone(&parent.family);
            if entry.kind == "command" {
                family.grow(entry.started)?;
            }
        }
        let budget = shared.budgets.of(&class);
        shared.last_job += 1;
        let id = Id(shared.last_job);
        let place = RunningJob {
            entry,
            interrupt: session.interrupter(),
            rights,
            class,
            ancestors,
            family,
        };
        shared.jobs.insert(id, place);
        Ok(JobGuard {
            id,
            budget,
            scripting: self.clone(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Registration of a running job.
#[derive(Debug)]
pub(crate) struct JobGuard {
    pub(crate) id: Id,
    /// The memory budget that the job shares with the user's other jobs.
    budget: Arc<Budget>,
    scripting: Scripting,
}

impl Drop for JobGuard {
    fn drop(&mut self) {
        self.scripting.lock().jobs.remove(&self.id);
    }
}

/// Code of a job.
#[derive(Clone, Debug)]
pub(crate) enum Code {
    /// Source text, not parsed yet.
    Text(Arc<str>),
    /// Parsed code.
    Read(Arc<Block>),
}

/// A background job. The owner of the worker threads runs it.
#[derive(Debug)]
pub struct Job {
    session: Session,
    code: Code,
    /// Name of the script, for `:jobname` and the log.
    name: String,
    /// File that receives the output.
    file: Option<String>,
    working: JobGuard,
}

impl Job {
    /// Creates a job for a script that an event starts.
    ///
    /// # Errors
    /// The maximum number of jobs is running.
    pub fn of_event(
        scripting: &Scripting,
        kind: &'static str,
        script: &menu::Script,
        started: Clock,
    ) -> Result<Self, Reason> {
        let mut session = scripting.session(&script.owner);
        session.rights = script.rights.clone();
        session.is_script = true;
        let entry = Entry {
            kind,
            script: script.name.clone(),
            owner: script.owner.clone(),
            parent: None,
            started,
        };
        Self::new(session, entry, Code::Text(script.source.as_str().into()))
    }

    pub(crate) fn new(session: Session, entry: Entry, code: Code) -> Result<Self, Reason> {
        let name = entry.script.clone();
        let working = session.scripting.begin(entry, &session)?;
        Ok(Self {
            session,
            code,
            name,
            file: None,
            working,
        })
    }

    /// Redirects the output to a file. RouterOS: appends `.txt` to the name, unless the name ends with a null
    /// byte.
    pub(crate) fn write_to(&mut self, name: &str) {
        self.file = Some(match name.strip_suffix('\0') {
            Some(whole) => whole.to_owned(),
            None => format!("{name}.txt"),
        });
    }

    /// The job number.
    pub fn id(&self) -> Id {
        self.working.id
    }

    /// Runs the job to its end and logs a failure.
    pub fn run(mut self, site: &mut dyn Site) {
        let (mut nowhere, mut text) = (NullOutput, CollectedOutput::new(80));
        let out: &mut dyn Output = match &self.file {
            Some(_) => &mut text,
            None => &mut nowhere,
        };
        let result = {
            let _running = self.session.interrupt.running();
            let mut machine = Machine::new(site, &mut self.session, out);
            machine.job.clone_from(&self.name);
            machine.parent = Some(self.working.id);
            machine.share = Reservation::of(Some(Arc::clone(&self.working.budget)));
            let done = machine.in_groups(|machine| machine.code(&self.code));
            done.map_err(|refusal| machine.explained_with_place(&refusal))
        };
        let written = self.file.take().map_or(Ok(()), |file| {
            let session = &self.session;
            let written = lend(site, |_, live| {
                if !session.may().contains(Policies::WRITE) {
                    return Err(Reason::Denied.nowhere());
                }
                live.asked_by(&session.caller());
                write_file(live, &file, &text.text)
            });
            written.and_then(|done| done)
        });
        let written = written.map_err(|refusal| refusal.to_string());
        if let Err(text) = result.and(written) {
            let name = match &*self.name {
                "" => String::new(),
                name => format!("{name}: "),
            };
            let _ = lend(site, |_, live| {
                live.log("script,error", &format!("{name}script error: {text}"));
            });
        }
    }
}

impl Machine<'_> {
    /// Runs code at the top level to its end.
    fn code(&mut self, code: &Code) -> Result<(), Refusal> {
        let block = match code {
            Code::Read(block) => Ok(Arc::clone(block)),
            Code::Text(text) => self.parsed(text),
        };
        match block {
            Ok(block) => self.program(&block).map(drop),
            Err(stop) => finish(stop),
        }
    }

    /// Runs a stored script within another one. The script does not see the caller's variables, except global
    /// variables that it declares itself.
    pub(crate) fn run_script(
        &mut self,
        path: &'static str,
        script: &menu::Script,
    ) -> crate::machine::Result<()> {
        let started = self.clock()?;
        let entry = Entry {
            kind: "script",
            script: script.name.clone(),
            owner: self.session.user.clone(),
            parent: self.parent,
            started,
        };
        let working = self.session.scripting.begin(entry, self.session);
        let working = working.map_err(|reason| reason.nowhere())?;
        self.session.scripting.ran(path, script.id, started);
        let block = self.parsed(&script.source)?;
        let job = std::mem::replace(&mut self.job, script.name.clone());
        let parent = self.parent.replace(working.id);
        let menu = std::mem::replace(&mut self.session.path, "/".to_owned());
        let declared = std::mem::take(&mut self.session.declared);
        let caller = (self.session.policies, self.session.rights.clone());
        let nested = std::mem::replace(&mut self.session.is_script, true);
        if script.lends {
            (self.session.policies, self.session.rights) = (Policies::ALL, script.rights.clone());
        } else {
            self.session.rights = caller.1.and(&script.rights);
        }
        let result = self.apart(Default::default(), |machine| machine.block(&block));
        (self.session.policies, self.session.rights) = caller;
        self.session.is_script = nested;
        self.session.declared = declared;
        self.session.path = menu;
        (self.job, self.parent) = (job, parent);
        match result {
            Ok(_) | Err(Stop::Return(_) | Stop::Exit | Stop::Break | Stop::Continue) => Ok(()),
            Err(stop) => Err(stop),
        }
    }
}

/// Writes a file in the router's file store.
pub(crate) fn write_file(live: &mut dyn Router, name: &str, text: &str) -> Result<(), Refusal> {
    let files = live.files().ok_or_else(|| Reason::NoItem.nowhere())?;
    let written = files.write(name, &bytes::to_bytes(text));
    written.map_err(Reason::nowhere)
}

/// Discards all output.
struct NullOutput;

impl Output for NullOutput {
    fn write(&mut self, _text: &str) -> std::ops::ControlFlow<()> {
        std::ops::ControlFlow::Continue(())
    }
}
