//! Dynamic objects of features: they come and go by effects, and are followed like items that changed.

use menu::{Id, Reason, Reply};

use super::Control;
use crate::feature::NewObject;
use crate::firewall::Around;
use crate::intent::{ItemId, Route, Wanted};
use crate::object::{Made, Owner};
use crate::plan::Step;
use crate::rib::{V4, V6};
use crate::touched::Touched;

/// What effects have put into the intent and taken out of it, and nobody has followed yet.
#[derive(Debug, Default)]
pub(super) struct Pending {
    pub(super) touched: Touched,
    /// Routes with what they were.
    routes4: Vec<(ItemId, Option<Route<V4>>)>,
    routes6: Vec<(ItemId, Option<Route<V6>>)>,
}

impl Control {
    /// How many dynamic objects there are.
    pub fn object_count(&self) -> usize {
        self.objects.len()
    }

    /// How many next hops routes of both families use.
    pub fn next_hops(&self) -> usize {
        self.v4.rib.lines().in_use() + self.v6.rib.lines().in_use()
    }

    /// An object of a feature comes.
    pub(super) fn take_object(&mut self, object: NewObject, pending: &mut Pending) {
        let NewObject {
            owner,
            made,
            cells,
            removable,
        } = object;
        let menu = made.menu();
        let values = cells.clone();
        let Some(id) = self.objects.add(owner, menu, cells, removable) else {
            let message = format!("no room for an object of {menu}");
            self.features.log.add("system,error", message);
            return;
        };
        let (intent, touched) = (&mut self.intent, &mut pending.touched);
        match made {
            Made::Interface(_, made) => intent.put(id, Wanted::Interface(Some(made)), touched),
            Made::Address4(made) => intent.put(id, Wanted::Address4(Some(made)), touched),
            Made::Address6(made) => intent.put(id, Wanted::Address6(Some(made)), touched),
            Made::Route4(route) => {
                intent.routes4.insert(id, route);
                pending.routes4.push((id, None));
            }
            Made::Route6(route) => {
                intent.routes6.insert(id, route);
                pending.routes6.push((id, None));
            }
            Made::Rule(path) => self.firewall.make(path, Id(id), &values),
        }
    }

    /// All that somebody owns goes.
    pub(super) fn drop_objects(&mut self, owner: Owner, pending: &mut Pending) {
        let owned: Vec<_> = self.objects.owned_by(owner).collect();
        for id in owned {
            self.drop_object(id, pending);
        }
    }

    fn drop_object(&mut self, id: ItemId, pending: &mut Pending) {
        let Some(object) = self.objects.remove(id) else {
            return;
        };
        let (intent, touched) = (&mut self.intent, &mut pending.touched);
        match object.menu {
            "/ip/address" => intent.put(id, Wanted::Address4(None), touched),
            "/ipv6/address" => intent.put(id, Wanted::Address6(None), touched),
            "/ip/route" => pending.routes4.push((id, intent.routes4.remove(&id))),
            "/ipv6/route" => pending.routes6.push((id, intent.routes6.remove(&id))),
            path if self.firewall.desk(path).is_some() => self.firewall.unmake(path, id),
            _ => intent.put(id, Wanted::Interface(None), touched),
        }
    }

    /// Follows what effects have changed: all of it at once.
    pub(super) fn follow_objects(&mut self, pending: Pending) {
        if !pending.touched.is_empty() {
            self.reconcile(&pending.touched, None);
        }
        let are_others = !(pending.routes4.is_empty() && pending.routes6.is_empty());
        self.change_made_routes(pending);
        self.follow_made_rules();
        if self.due.snapshot {
            // No transaction publishes what was wanted outside of one.
            self.publish();
        }
        if are_others {
            self.settle();
        }
    }

    /// Has workers follow the rules that features have made.
    pub(super) fn follow_made_rules(&mut self) {
        let around = Around {
            intent: &self.intent,
            layout: &self.layout,
            tables: &self.tables,
            now: self.now,
        };
        if self.firewall.follow_made(&around) {
            self.publish();
        }
    }

    /// Changes the routes of effects. `settle` follows.
    pub(super) fn change_made_routes(&mut self, pending: Pending) {
        for (id, before) in pending.routes4 {
            let now = self.intent.routes4.get(&id).cloned();
            if let Some(step) = step(&id, &before, &now) {
                self.change_route4(step);
            }
        }
        for (id, before) in pending.routes6 {
            let now = self.intent.routes6.get(&id).cloned();
            if let Some(step) = step(&id, &before, &now) {
                self.change_route6(step);
            }
        }
    }

    /// Removes dynamic rows, as a user wants it.
    ///
    /// # Errors
    /// RouterOS: what the router makes by itself stays as it is, but for what it lets one remove.
    pub(crate) fn remove_objects(&mut self, items: &[Id]) -> Result<Reply, Reason> {
        let is_removable = |id: &Id| self.objects.get(id.0).is_some_and(|of| of.removable);
        if !items.iter().all(is_removable) {
            return Err(Reason::failure("can not remove dynamic"));
        }
        let mut pending = Pending::default();
        for Id(id) in items {
            self.drop_object(*id, &mut pending);
        }
        self.follow_objects(pending);
        Ok(Reply::default())
    }
}

fn step<'a, R>(
    id: &'a ItemId,
    before: &'a Option<R>,
    now: &'a Option<R>,
) -> Option<Step<'a, ItemId, R>> {
    match (before, now) {
        (None, Some(now)) => Some(Step::Add(id, now)),
        (Some(before), _) => Some(Step::Remove(id, before)),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests;
