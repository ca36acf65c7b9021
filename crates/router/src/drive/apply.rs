//! Applies a whole configuration, or the changes of one transaction.

use std::collections::BTreeMap;

use menu::{Changes, Item, Origin, Store};

use super::Control;
use crate::feature::{concerns, switch};
use crate::firewall::{Around, Firewall};
use crate::intent::{ItemId, Route};
use crate::plan::{Step, plan};
use crate::read::{self, ROUTES4, ROUTES6};
use crate::recompute_set::RecomputeSet;
use crate::rib::Family;

/// Routes that changed, by item: the old and the new route.
type Rerouted<F> = BTreeMap<ItemId, (Option<Route<F>>, Option<Route<F>>)>;

impl Control {
    /// Applies the configuration of the store with as few changes as possible. Callers load before features create
    /// objects.
    pub fn load(&mut self, store: &Store) {
        let wanted = read::intent(store);
        let running = core::mem::replace(&mut self.intent, wanted);
        self.read_offload(store, None);
        self.mount_disks(store, None);
        let pending = self.follow_features(store, None);
        self.plan_offload();
        let mut touched = RecomputeSet::default();
        touched.everything(&running);
        touched.everything(&self.intent);
        self.reconcile(
            &touched,
            Some(&mut |firewall, around| {
                firewall.load(store, around);
                true
            }),
        );
        self.change_made_routes(pending);
        let routes = self.intent.routes4.clone();
        for step in plan(&running.routes4, &routes) {
            self.change_route4(step);
        }
        let routes = self.intent.routes6.clone();
        for step in plan(&running.routes6, &routes) {
            self.change_route6(step);
        }
        self.settle();
        self.tell_learned();
        self.publish_offload();
        self.complain();
    }

    /// Applies the changes of one transaction. The cost is proportional to the changes, except for settings.
    pub(crate) fn apply_changes(&mut self, store: &Store, changes: &Changes) {
        // RouterOS: the log names the user of each change.
        let user = &changes.by.user;
        if changes.origin != Origin::Router && !user.is_empty() {
            let said = format!("{} by {user}", changes.action());
            self.features.log.add("system,info", said);
        }
        let routes4 = touched(changes, ROUTES4, &mut self.intent.routes4);
        let routes6 = touched(changes, ROUTES6, &mut self.intent.routes6);
        let mut touched = read::follow(store, changes, &mut self.intent);
        let offload = self.read_offload(store, Some(changes));
        self.mount_disks(store, Some(changes));
        let mut pending = self.follow_features(store, Some(changes));
        if concerns(switch::MENUS, Some(changes)) {
            self.plan_offload();
        }
        touched.merge(core::mem::take(&mut pending.touched));
        if !touched.is_empty() {
            let mut follow = |firewall: &mut Firewall, around: &Around<'_>| {
                firewall.follow(store, changes, around)
            };
            self.reconcile(&touched, Some(&mut follow));
        } else if self.follow_firewall(store, changes) | self.due.snapshot {
            self.publish();
        }
        self.complain();
        self.change_made_routes(pending);
        self.follow_made_rules();
        for (item, change) in &routes4 {
            if let Some(step) = step_of(item, change) {
                self.change_route4(step);
            }
        }
        for (item, change) in &routes6 {
            if let Some(step) = step_of(item, change) {
                self.change_route6(step);
            }
        }
        self.settle();
        self.tell_learned();
        if offload || concerns(switch::MENUS, Some(changes)) {
            self.publish_offload();
        }
    }
}

impl Control {
    /// Logs the parts of the firewall configuration that cannot be applied.
    fn complain(&mut self) {
        for complaint in self.firewall.take_complaints() {
            self.features.log.add("firewall,warning", complaint);
        }
    }

    /// Updates the firewall alone, if the transaction changed nothing else that the firewall depends on.
    fn follow_firewall(&mut self, store: &Store, changes: &Changes) -> bool {
        let around = Around {
            intent: &self.intent,
            layout: &self.layout,
            tables: &self.tables,
            now: self.now,
        };
        self.firewall.follow(store, changes, &around)
    }
}

/// Updates the routes of one menu; returns the old and the new route of each item that changed.
fn touched<F: Family>(
    changes: &Changes,
    path: &str,
    routes: &mut BTreeMap<ItemId, Route<F>>,
) -> Rerouted<F> {
    let read = |item: Option<&Item>| item.and_then(read::route::<F>);
    let mut touched = Rerouted::new();
    for change in changes.of(path) {
        let after = read(change.after.as_deref());
        match &after {
            Some(route) => routes.insert(change.id.0, route.clone()),
            None => routes.remove(&change.id.0),
        };
        touched.insert(change.id.0, (read(change.before.as_deref()), after));
    }
    touched
}

fn step_of<'a, F: Family>(
    item: &'a ItemId,
    change: &'a (Option<Route<F>>, Option<Route<F>>),
) -> Option<Step<'a, ItemId, Route<F>>> {
    match change {
        (Some(before), Some(after)) if before == after => None,
        (Some(before), Some(after)) => Some(Step::Change(item, before, after)),
        (Some(before), None) => Some(Step::Remove(item, before)),
        (None, Some(after)) => Some(Step::Add(item, after)),
        (None, None) => None,
    }
}
