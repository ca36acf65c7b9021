//! The state of a console session between commands.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use menu::{Caller, Id, Policies, Rights};

use crate::environment::Environment;
use crate::job::Scripting;
use crate::site::Interrupt;

/// The items of the last `print` of each menu, in order of their numbers.
pub(crate) type Numbers = BTreeMap<&'static str, Vec<Id>>;

/// Source of session serial numbers; a number is never reused.
static SERIALS: AtomicU64 = AtomicU64::new(1);

/// Resource limits of a script run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of evaluated statements and expressions.
    pub steps: u64,
    /// Maximum bytes of values.
    pub bytes: usize,
    /// Maximum nesting of calls and brackets.
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

/// A console user or a running script: the current menu, the numbers of the last `print`, global variables.
#[derive(Clone, Debug)]
pub struct Session {
    /// The user who runs the commands.
    pub user: String,
    /// The current menu, initially `/`.
    pub path: String,
    /// Upper limit of the user's policies in this session.
    pub policies: Policies,
    /// The user's current rights. [`Session::may`] combines both.
    pub rights: Rights,
    /// The login that the session belongs to; 0 if none.
    pub login: u64,
    /// Resource limits.
    pub limits: Limits,
    /// State shared by all scripts of the router.
    pub scripting: Scripting,
    /// The user's global variables.
    pub(crate) globals: Environment,
    /// The global variables declared in this session. Others are not visible.
    pub(crate) declared: BTreeSet<String>,
    /// The client's protocol: `console`, `api` and others.
    pub via: &'static str,
    /// Unique number of the session. Sessions of one login share it.
    pub serial: u64,
    /// True if a script or an event runs the commands: see [`Caller::is_script`].
    pub(crate) is_script: bool,
    /// Nesting depth of running imports.
    pub(crate) imports: usize,
    pub(crate) numbers: Numbers,
    pub(crate) interrupt: Arc<Interrupt>,
}

impl Session {
    /// Creates a session in the root menu with all rights and its own global variables.
    pub fn new(user: impl Into<String>) -> Self {
        Self::sharing(user, Scripting::default())
    }

    /// Creates a session in the root menu with the global variables of the user.
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

    /// True if the client is a program, which reads answers but no console output.
    pub(crate) fn is_program(&self) -> bool {
        matches!(self.via, "api" | "api-ssl" | "rest-api" | "web")
    }

    /// Returns the caller information for code that executes commands.
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

    /// Returns the policies that the user has now.
    pub fn may(&self) -> Policies {
        self.policies.and(self.rights.now())
    }

    /// The menu path for the console prompt, ` /ip/address`; empty at the root.
    pub fn prompt_path(&self) -> &str {
        if self.path == "/" { "" } else { &self.path }
    }

    /// Returns a switch that stops the running command from another thread.
    pub fn interrupter(&self) -> Arc<Interrupt> {
        Arc::clone(&self.interrupt)
    }

    /// The names of the global variables that are visible in this session.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.declared.iter().map(String::as_str)
    }
}
