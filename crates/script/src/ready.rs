//! A command that is ready to run: its arguments are computed, and no script runs from here on.

use menu::{Caller, Policies, Refusal, Store};
use tool::Router;

use crate::ast::{Argument, Command, Expr, Node, Target};
use crate::machine::{Machine, Result};
use crate::session::Numbers;
use crate::site::Site;
use crate::value::Value;

/// A command with the values of its arguments.
pub(crate) struct Ready<'c> {
    pub(crate) command: &'c Command,
    values: Vec<Option<Value>>,
}

impl<'c> Ready<'c> {
    /// The arguments with their values; none where a bare name stands, or a condition.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = (&'c Argument, Option<&Value>)> {
        self.command
            .arguments
            .iter()
            .zip(self.values.iter().map(Option::as_ref))
    }

    /// The argument of this name.
    pub(crate) fn argument(&self, name: &str) -> Option<(&'c Argument, Option<&Value>)> {
        self.arguments().find(|(argument, _)| argument.name == name)
    }

    /// Whether the argument stands there.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.argument(name).is_some()
    }

    /// Whether the command adds an item.
    pub(crate) fn command_is_add(&self) -> bool {
        matches!(self.command.target, Target::Menu(_, "add"))
    }

    /// Whether the bare name stands there and is not negated.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.argument(name)
            .is_some_and(|(argument, _)| !argument.negated)
    }

    /// The text of an argument's value.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.argument(name)
            .and_then(|(argument, value)| text(argument, value))
    }
}

/// The text of an argument's value as menus read it; none for `!name`.
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

/// The router, lent for one command.
pub(crate) struct Loan<'a> {
    pub(crate) store: &'a mut Store,
    pub(crate) live: &'a mut dyn Router,
    pub(crate) numbers: &'a Numbers,
    pub(crate) caller: Caller<'a>,
    /// What the user may do.
    pub(crate) policies: Policies,
    /// Whether the user may not see secrets.
    pub(crate) without_secrets: bool,
    /// Whether a file says it, which may be of an older version.
    pub(crate) in_file: bool,
}

impl Machine<'_> {
    /// Computes the arguments of a menu's command.
    pub(crate) fn ready<'c>(&mut self, command: &'c Command) -> Result<Ready<'c>> {
        let mut values = Vec::with_capacity(command.arguments.len());
        for argument in &command.arguments {
            values.push(match &argument.value {
                // A condition is prepared for rows instead.
                _ if argument.name == "where" || argument.negated => None,
                None => None,
                // A word is taken as it stands: `007` is no number here.
                Some(Expr {
                    node: Node::Word(word),
                    ..
                }) => Some(Value::str(word.as_str())),
                Some(expr) => Some(self.eval(expr)?),
            });
        }
        Ok(Ready { command, values })
    }

    /// Runs a piece of a command with the router in its hands.
    pub(crate) fn with<T>(
        &mut self,
        run: impl FnOnce(&mut Loan<'_>) -> std::result::Result<T, Refusal>,
    ) -> Result<T> {
        let in_file = self.session.imports > 0;
        let (session, needed) = (&*self.session, self.needed());
        let run = |store: &mut Store, live: &mut dyn Router| {
            // Users change only while somebody has the router: what holds now does until the end.
            let (numbers, caller) = (&session.numbers, session.caller());
            let policies = caller.policies;
            if !policies.contains(needed) {
                return Err(menu::Reason::Denied.nowhere());
            }
            let without_secrets = !policies.contains(Policies::SENSITIVE);
            live.asked_by(&caller);
            let done = run(&mut Loan {
                store: &mut *store,
                live: &mut *live,
                numbers,
                caller,
                policies,
                without_secrets,
                in_file,
            });
            // A file that is one transaction has the router until its end.
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

/// Runs something with the router of a site.
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
    // A router that is gone runs nothing.
    result.ok_or_else(|| menu::Reason::Interrupted.nowhere())
}
