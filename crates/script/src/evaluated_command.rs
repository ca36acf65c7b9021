//! A command with evaluated arguments, and exclusive access to the router to run it. No script code runs while
//! it is held.

use menu::{Caller, Policies, Refusal, Store};
use tool::Router;

use crate::ast::{Argument, Command, Expr, Node, Target};
use crate::machine::{Machine, Result};
use crate::session::Numbers;
use crate::site::Site;
use crate::value::Value;

/// A command with evaluated arguments.
pub(crate) struct EvaluatedCommand<'c> {
    pub(crate) command: &'c Command,
    values: Vec<Option<Value>>,
}

impl<'c> EvaluatedCommand<'c> {
    /// The arguments and their values; `None` for bare names and conditions.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = (&'c Argument, Option<&Value>)> {
        self.command
            .arguments
            .iter()
            .zip(self.values.iter().map(Option::as_ref))
    }

    /// Returns the argument with this name.
    pub(crate) fn argument(&self, name: &str) -> Option<(&'c Argument, Option<&Value>)> {
        self.arguments().find(|(argument, _)| argument.name == name)
    }

    /// True if the argument is present.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.argument(name).is_some()
    }

    /// True if the command is `add`.
    pub(crate) fn command_is_add(&self) -> bool {
        matches!(self.command.target, Target::Menu(_, "add"))
    }

    /// True if the bare name is present and not negated.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.argument(name)
            .is_some_and(|(argument, _)| !argument.negated)
    }

    /// Returns the text of an argument's value.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.argument(name)
            .and_then(|(argument, value)| text(argument, value))
    }
}

/// Converts an argument's value to the text that menus parse; `None` for `!name`.
pub(crate) fn text(argument: &Argument, value: Option<&Value>) -> Option<String> {
    match value {
        _ if argument.negated => None,
        None => Some("yes".to_owned()),
        Some(value) => Some(match value {
            Value::Time(nanos) => menu::time::units(*nanos),
            Value::Bool(value) => (if *value { "yes" } else { "no" }).to_owned(),
            Value::Array(values) => {
                let texts: Vec<_> = values.iter().map(|(_, v)| v.to_string()).collect();
                texts.join(",")
            }
            other => other.to_string(),
        }),
    }
}

/// Exclusive access to the router, for one command.
pub(crate) struct RouterAccess<'a> {
    pub(crate) store: &'a mut Store,
    pub(crate) live: &'a mut dyn Router,
    pub(crate) numbers: &'a Numbers,
    pub(crate) caller: Caller<'a>,
    /// The policies of the user.
    pub(crate) policies: Policies,
    /// True if secrets are hidden from the user.
    pub(crate) without_secrets: bool,
    /// True if the command comes from a file, which an older version may have written.
    pub(crate) in_file: bool,
}

impl Machine<'_> {
    /// Evaluates the arguments of a menu command.
    pub(crate) fn ready<'c>(&mut self, command: &'c Command) -> Result<EvaluatedCommand<'c>> {
        let mut values = Vec::with_capacity(command.arguments.len());
        for argument in &command.arguments {
            values.push(match &argument.value {
                // The condition is prepared separately, by `Machine::condition`.
                _ if argument.name == "where" || argument.negated => None,
                None => None,
                // A bare word is taken literally: `007` is not converted to a number.
                Some(Expr {
                    node: Node::Word(word),
                    ..
                }) => Some(Value::str(word.as_str())),
                Some(expr) => Some(self.eval(expr)?),
            });
        }
        Ok(EvaluatedCommand { command, values })
    }

    /// Calls `run` with exclusive access to the router.
    pub(crate) fn with<T>(
        &mut self,
        run: impl FnOnce(&mut RouterAccess<'_>) -> std::result::Result<T, Refusal>,
    ) -> Result<T> {
        let in_file = self.session.imports > 0;
        let (session, needed) = (&*self.session, self.needed());
        let run = |store: &mut Store, live: &mut dyn Router| {
            // Rights change only with exclusive access to the router, so this check holds until `run` returns.
            let (numbers, caller) = (&session.numbers, session.caller());
            let policies = caller.policies;
            if !policies.contains(needed) {
                return Err(menu::Reason::Denied.nowhere());
            }
            let without_secrets = !policies.contains(Policies::SENSITIVE);
            live.asked_by(&caller);
            let done = run(&mut RouterAccess {
                store: &mut *store,
                live: &mut *live,
                numbers,
                caller,
                policies,
                without_secrets,
                in_file,
            });
            // A file that runs as one transaction holds the router until its end: let urgent work run in
            // between.
            if store.is_open() {
                live.breathe();
            }
            done
        };
        let reads = needed.and(Policies::READ | Policies::SENSITIVE) == needed;
        let lent = match reads {
            true => lend_to_read(self.site, run),
            false => lend(self.site, run),
        };
        lent?.map_err(Into::into)
    }
}

/// Calls `run` with exclusive access to the router of a site.
///
/// # Errors
/// [`menu::Reason::Interrupted`] if the router has shut down.
pub(crate) fn lend<T>(
    site: &mut dyn Site,
    run: impl FnOnce(&mut Store, &mut dyn Router) -> T,
) -> std::result::Result<T, Refusal> {
    result_of(run, |run| site.lend(run))
}

/// As [`lend`], for a `run` that changes nothing in the configuration.
fn lend_to_read<T>(
    site: &mut dyn Site,
    run: impl FnOnce(&mut Store, &mut dyn Router) -> T,
) -> std::result::Result<T, Refusal> {
    result_of(run, |run| site.lend_to_read(run))
}

/// Calls `run` through `lend` and returns its result.
fn result_of<T>(
    run: impl FnOnce(&mut Store, &mut dyn Router) -> T,
    lend: impl FnOnce(&mut dyn FnMut(&mut Store, &mut dyn Router)),
) -> std::result::Result<T, Refusal> {
    let mut run = Some(run);
    let mut result = None;
    lend(&mut |store, live| {
        if let Some(run) = run.take() {
            result = Some(run(store, live));
        }
    });
    // The site does not call `run` if the router has shut down.
    result.ok_or_else(|| menu::Reason::Interrupted.nowhere())
}
