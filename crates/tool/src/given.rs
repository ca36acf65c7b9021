//! What a command is begun with.

use std::net::IpAddr;
use std::time::Duration;

use menu::{Id, Menu, Reason, Store, Value};

use crate::Router;

/// Where a command begins: who knows names, and lends the router.
pub trait Site {
    /// The address that a text is or names: of a name one of these families, the better one first, where `true`
    /// stands for IPv4. In a check any will do.
    ///
    /// # Errors
    /// It is neither, or there is nobody to ask.
    fn resolve(&mut self, name: &str, families: &[bool]) -> Result<IpAddr, Reason>;

    /// Lends the router.
    ///
    /// # Errors
    /// It is not to be had.
    fn lend(&mut self, run: &mut dyn FnMut(&Store, &mut dyn Router)) -> Result<(), Reason>;
}

/// The arguments of a command, of the types that its menu declares.
pub struct Given<'a> {
    /// The menu.
    pub menu: &'static Menu,
    /// The command.
    pub command: &'static str,
    /// The items that it is for; empty where it takes none.
    pub items: Vec<Id>,
    /// The other arguments; those without a value are left out.
    pub arguments: Vec<(&'static str, Value)>,
    /// The time between two looks, where that is not the command's own business.
    pub interval: Duration,
    /// Where it begins.
    pub site: &'a mut dyn Site,
}

impl Given<'_> {
    /// The value of an argument.
    pub fn value(&self, name: &str) -> Option<&Value> {
        let mut all = self.arguments.iter();
        all.find_map(|(own, value)| (*own == name).then_some(value))
    }

    /// The text of an argument.
    pub fn text(&self, name: &str) -> Option<String> {
        self.value(name).map(ToString::to_string)
    }

    /// The number of an argument; the type that is declared bounds it.
    pub fn number<T: TryFrom<i64>>(&self, name: &str) -> Option<T> {
        let number = self.value(name)?.as_number()?;
        T::try_from(number).ok()
    }

    /// The span of time of an argument.
    pub fn span(&self, name: &str) -> Option<Duration> {
        let nanos = self.value(name)?.as_nanos()?;
        u64::try_from(nanos).ok().map(Duration::from_nanos)
    }

    /// Whether an argument is set: `yes`, or the bare name of one that has no value.
    pub fn is_set(&self, name: &str) -> bool {
        self.value(name)
            .is_some_and(|value| value.as_bool() != Some(false))
    }

    /// Looks at the router before anything begins.
    ///
    /// # Errors
    /// The router is not to be had, or what `look` finds wrong.
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
