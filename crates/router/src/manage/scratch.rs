//! A configuration beside the running one: the result of a file on a factory-fresh router.

use std::time::Duration;

use menu::{Change, Menu, MenuShape, Offline, Reason, Refusal, Store, bytes, describe};
use script::{Interrupt, Session, Site};
use tool::Router;

use super::CommandContext;
use crate::replace::replace;

/// A site where nothing runs, so that commands never wait.
struct Scratch {
    store: Store,
    waited: Duration,
}

impl Site for Scratch {
    fn menus(&self) -> &'static [&'static Menu] {
        self.store.menus()
    }

    fn lend(&mut self, run: &mut dyn FnMut(&mut Store, &mut dyn Router)) {
        run(&mut self.store, &mut Offline);
    }

    fn now(&self) -> Duration {
        self.waited
    }

    fn wait(&mut self, until: Duration, _: &Interrupt) -> Result<(), Reason> {
        self.waited = self.waited.max(until);
        Ok(())
    }
}

impl CommandContext<'_> {
    /// Returns the configuration that a file creates, with the present ports.
    pub(super) fn made_by(&self, name: &str) -> Result<Store, Reason> {
        let contents = self.read(name, ".rsc")?;
        let mut scratch = Scratch {
            store: self.fresh()?,
            waited: Duration::ZERO,
        };
        let mut session = Session::new(self.caller.user);
        let (text, mut out) = (bytes::from_bytes(&contents), String::new());
        script::import_at(&mut scratch, &mut session, &text, &mut out).map_err(in_file)?;
        Ok(scratch.store)
    }

    /// Returns a factory configuration with the present ports.
    pub(super) fn fresh(&self) -> Result<Store, Reason> {
        let mut fresh = schema::store();
        let mark = fresh.begin();
        let fixed = self.store.menus().iter();
        for menu in fixed.filter(|menu| menu.shape == MenuShape::Fixed) {
            let names = self.store.items(menu.path).map(|i| i.text("default-name"));
            for name in names.filter(|name| self.store.port_kind(name).is_some()) {
                fresh.ensure_port(name, None)?;
            }
        }
        fresh.commit(mark)?;
        Ok(fresh)
    }

    /// Returns the changes to reach another configuration, without making them.
    pub(super) fn needed_for(&mut self, wanted: &Store) -> Result<Vec<Change>, Reason> {
        let mark = self.store.begin();
        let done = replace(self.store, wanted, &|_| true);
        let list = self.store.changes_since(mark);
        self.store.rollback(mark);
        done.map(|()| list)
    }

    /// Prints changes, one line for each side of each item.
    pub(super) fn show(&mut self, list: &[Change]) -> Result<(), Reason> {
        let lines = describe::diff(self.store, list);
        lines.iter().try_for_each(|line| self.say(line))
    }
}

/// Adds the position in the file to a refusal.
fn in_file(refusal: Refusal) -> Reason {
    match refusal.at {
        Some(at) if !refusal.reason.is_located() => {
            Reason::Script(format!("{} {at}", refusal.reason))
        }
        _ => Reason::Script(refusal.to_string()),
    }
}
