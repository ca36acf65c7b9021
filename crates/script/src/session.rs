//! What lasts from one command of a console to the next.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use menu::{Caller, Id, Policies, Rights};

use crate::environment::Environment;
use crate::job::Scripting;
use crate::site::Interrupt;

/// The items of the last `print` of each menu, by number.
pub(crate) type Numbers = BTreeMap<&'static str, Vec<Id>>;

/// Numbers for sessions: none is used twice.
static SERIALS: AtomicU64 = AtomicU64::new(1);

/// How much a script may use before it is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Statements and expressions that are evaluated.
    pub steps: u64,
    /// Bytes of values that are made, whether or not they are kept.
    pub bytes: usize,
    /// Calls and brackets within each other.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: 20_000_000,
            bytes: 256 << 20,
            depth: 60,
        }
    }
}

/// A user at a console, or a script that runs: the current menu, the numbers of the last `print`,
/// global variables.
#[derive(Clone, Debug)]
pub struct Session {
    /// Whose commands these are.
    pub user: String,
    /// The menu that relative commands are of, `/` at first.
    pub path: String,
    /// The most that the user may do here.
    pub policies: Policies,
    /// What the user may do at every moment: [`Session::may`] is what both have.
    pub rights: Rights,
    /// The login that the session belongs to; 0 for none.
    pub login: u64,
    /// What a command may use.
    pub limits: Limits,
    /// What the scripts of the router share.
    pub scripting: Scripting,
    /// The global variables of the user.
    pub(crate) globals: Environment,
    /// The global variables that were declared here: others of the user are not seen.
    pub(crate) declared: BTreeSet<String>,
    /// What is at the other end: `console`, `api`.
    pub via: &'static str,
    /// Tells it from all other sessions; the sessions of one login share it.
    pub serial: u64,
    /// Whether a script or an event gives the commands: see [`Caller::is_script`].
    pub(crate) is_script: bool,
    /// Files that run, each imported by the one before.
    pub(crate) imports: usize,
    pub(crate) numbers: Numbers,
    pub(crate) interrupt: Arc<Interrupt>,
}

impl Session {
    /// A session at the root that may do everything, without numbers, with variables of its own.
    pub fn new(user: impl Into<String>) -> Self {
        Self::sharing(user, Scripting::default())
    }

    /// A session at the root, without numbers, with the global variables of the user.
    pub fn sharing(user: impl Into<String>, scripting: Scripting) -> Self {
        let user = user.into();
        let globals = scripting.environment(&user);
        Self {
            user,
            scripting,
            path: "/".to_owned(),
            policies: Policies::ALL,
            rights: Rights::FULL,
            login: 0,
            limits: Limits::default(),
            globals,
            declared: BTreeSet::new(),
            via: "console",
            serial: SERIALS.fetch_add(1, Ordering::Relaxed),
            is_script: false,
            imports: 0,
            numbers: BTreeMap::new(),
            interrupt: Arc::default(),
        }
    }

    /// Whether a program is at the other end: it reads answers, and not what is printed meanwhile.
    pub(crate) fn is_program(&self) -> bool {
        matches!(self.via, "api" | "api-ssl" | "rest-api")
    }

    /// The session as those see it who carry out its commands.
    pub fn caller(&self) -> Caller<'_> {
        Caller {
            user: &self.user,
            session: self.serial,
            via: self.via,
            login: self.login,
            policies: self.may(),
            rights: &self.rights,
            is_script: self.is_script,
        }
    }

    /// What may be done here at this moment.
    pub fn may(&self) -> Policies {
        self.policies.and(self.rights.now())
    }

    /// The prompt of the console, without the name of the router: ` /ip/address`, empty at the root.
    pub fn prompt_path(&self) -> &str {
        if self.path == "/" { "" } else { &self.path }
    }

    /// A switch that stops the command that runs, from another thread.
    pub fn interrupter(&self) -> Arc<Interrupt> {
        Arc::clone(&self.interrupt)
    }

    /// The names of the global variables that commands see here.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.declared.iter().map(String::as_str)
    }
}
