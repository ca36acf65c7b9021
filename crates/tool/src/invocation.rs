//! Arguments and environment at the start of a command.

use std::net::IpAddr;
use std::time::Duration;

use menu::{Id, Menu, Reason, Store, Value};

use crate::Router;

/// Environment of a starting command: resolves names and lends the router.
pub trait Site {
    /// Parses or resolves an address. `families` lists the allowed address families, preferred first; `true` is IPv4.
    /// When a script is only checked, any address may be returned.
    ///
    /// # Errors
    /// Fails if the text is neither address nor resolvable name.
    fn resolve(&mut self, name: &str, families: &[bool]) -> Result<IpAddr, Reason>;

    /// Lends the router to `run`.
    ///
    /// # Errors
    /// Fails if the router is not available.
    fn lend(&mut self, run: &mut dyn FnMut(&Store, &mut dyn Router)) -> Result<(), Reason>;
}

/// Conditions by which the caller ends a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// After the first update with rows: `once`, and `as-value` of a command with a page.
    pub is_single: bool,
    /// After this duration.
    pub duration: Option<Duration>,
}

/// Arguments of a command, with the types that its menu declares.
pub struct Invocation<'a> {
    /// Menu.
    pub menu: &'static Menu,
    /// Command.
    pub command: &'static str,
    /// Selected items; empty if the command takes none.
    pub items: Vec<Id>,
    /// Other arguments that have a value.
    pub arguments: Vec<(&'static str, Value)>,
    /// Update interval, unless the command defines its own.
    pub interval: Duration,
    /// Conditions by which the caller ends the command.
    pub ends: Ends,
    /// Environment.
    pub site: &'a mut dyn Site,
}

impl Invocation<'_> {
    /// Value of an argument.
    pub fn value(&self, name: &str) -> Option<&Value> {
        let mut all = self.arguments.iter();
        all.find_map(|(own, value)| (*own == name).then_some(value))
    }

    /// Text of an argument.
    pub fn text(&self, name: &str) -> Option<String> {
        self.value(name).map(ToString::to_string)
    }

    /// Number of an argument; its declared type bounds it.
    pub fn number<T: TryFrom<i64>>(&self, name: &str) -> Option<T> {
        let number = self.value(name)?.as_number()?;
        T::try_from(number).ok()
    }

    /// Duration of an argument.
    pub fn span(&self, name: &str) -> Option<Duration> {
        let nanos = self.value(name)?.as_nanos()?;
        u64::try_from(nanos).ok().map(Duration::from_nanos)
    }

    /// True for `yes`, or for the bare name of an argument without value.
    pub fn is_set(&self, name: &str) -> bool {
        self.value(name)
            .is_some_and(|value| value.as_bool() != Some(false))
    }

    /// Queries the router before the command starts.
    ///
    /// # Errors
    /// Fails if the router is not available, or with the error of `look`.
    pub fn ask<T>(
        &mut self,
        look: impl FnOnce(&Store, &mut dyn Router) -> Result<T, Reason>,
    ) -> Result<T, Reason> {
        let (mut look, mut found) = (Some(look), None);
        self.site.lend(&mut |store, router| {
            if let Some(look) = look.take() {
                found = Some(look(store, router));
            }
        })?;
        found.unwrap_or(Err(Reason::Interrupted))
    }
}
