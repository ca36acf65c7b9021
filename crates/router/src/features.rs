//! The list of features, in the order in which they depend on each other.
//!
//! A new feature has its file in `feature/`, a field here, and a line in each of the two lists.

use machine::Instant;
use menu::{Call, Changes, Reason, Reply};

use crate::drive::log::Log;
use crate::feature::address::Addresses;
use crate::feature::names::Names;
use crate::feature::schedule::Schedule;
use crate::feature::services::Services;
use crate::feature::vlan::Vlans;
use crate::feature::{Effects, Feature, View, concerns};

/// How many features there are.
const COUNT: usize = 8;

/// The features of a router.
#[derive(Debug)]
pub(crate) struct Features {
    /// The log.
    pub(crate) log: Log,
    /// Users, and who is logged in.
    pub(crate) access: access::Access,
    /// What scripts share; a job ends with the rights of its owner.
    pub(crate) scripting: script::Scripting,
    /// When scripts run by themselves.
    pub(crate) schedule: Schedule,
    /// Names in address lists.
    pub(crate) names: Names,
    /// Services that are to listen and cannot.
    pub(crate) services: Services,
    /// VLAN interfaces.
    vlans: Vlans,
    /// Addresses of interfaces.
    addresses: Addresses,
}

impl Features {
    pub(crate) fn new() -> Self {
        Self {
            log: Log::new(),
            access: access::Access::default(),
            scripting: script::Scripting::default(),
            schedule: Schedule::default(),
            names: Names::default(),
            services: Services::default(),
            vlans: Vlans,
            addresses: Addresses,
        }
    }

    fn list(&self) -> [&dyn Feature; COUNT] {
        [
            &self.log,
            &self.access,
            &self.scripting,
            &self.schedule,
            &self.names,
            &self.services,
            &self.vlans,
            &self.addresses,
        ]
    }

    fn list_mut(&mut self) -> [&mut dyn Feature; COUNT] {
        [
            &mut self.log,
            &mut self.access,
            &mut self.scripting,
            &mut self.schedule,
            &mut self.names,
            &mut self.services,
            &mut self.vlans,
            &mut self.addresses,
        ]
    }

    /// The features that have a part in a menu.
    pub(crate) fn of(&self, path: &str) -> impl Iterator<Item = &dyn Feature> {
        let features = self.list().into_iter();
        features.filter(move |feature| feature.menus().contains(&path))
    }

    /// Lets those follow whose menus a transaction changed; all of them where everything is new.
    pub(crate) fn follow(&mut self, view: &View<'_>, changes: Option<&Changes>, out: &mut Effects) {
        for feature in self.list_mut() {
            if concerns(feature.menus(), changes) {
                feature.follow(view, changes, out);
            }
        }
    }

    /// Lets those tick whose time has come.
    pub(crate) fn tick(&mut self, now: Instant, out: &mut Effects) {
        for feature in self.list_mut() {
            if feature.deadline().is_some_and(|at| at <= now) {
                feature.tick(now, out);
            }
        }
    }

    /// When `tick` is next worth calling.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let features = self.list().into_iter();
        features.filter_map(Feature::deadline).min()
    }

    /// Runs a command, if it is a feature's.
    pub(crate) fn act(
        &mut self,
        view: &View<'_>,
        call: &Call<'_>,
    ) -> Option<Result<Reply, Reason>> {
        let features = self.list_mut().into_iter();
        let mut its = features.filter(|feature| feature.menus().contains(&call.menu.path));
        its.find_map(|feature| feature.act(view, call))
    }
}

/// All that a configuration wants, as a load has it.
#[cfg(test)]
pub(crate) fn intent(store: &menu::Store) -> crate::intent::Intent {
    let (mut features, mut out) = (Features::new(), Effects::default());
    let view = View {
        store,
        asking: &crate::drive::asking::Asking::default(),
        now: Instant::ZERO,
        clock: menu::Clock::default(),
    };
    features.follow(&view, None, &mut out);
    let mut intent = crate::read::intent(store);
    for effect in out {
        if let crate::feature::Effect::Item(item, wanted) = effect {
            intent.put(item, wanted, &mut crate::touched::Touched::default());
        }
    }
    intent
}

#[cfg(test)]
mod tests;
