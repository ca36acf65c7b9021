//! Dynamic objects of features: effects add and remove them, and control applies them like changed items.

use menu::{Id, Reason, Reply};

use super::Control;
use crate::feature::{Effects, NewObject};
use crate::firewall::Around;
use crate::intent::{ItemId, ItemState, Route};
use crate::object::{DynamicBridgePort, DynamicName, DynamicQueue, Made, Owner};
use crate::plan::Step;
use crate::recompute_set::RecomputeSet;
use crate::rib::{V4, V6};

/// Changes of the intent by effects, still to be applied.
#[derive(Debug, Default)]
pub(super) struct Pending {
    pub(super) touched: RecomputeSet,
    /// Changed routes, with the route before the change.
    routes4: Vec<(ItemId, Option<Route<V4>>)>,
    routes6: Vec<(ItemId, Option<Route<V6>>)>,
}

impl Control {
    /// Returns the number of dynamic objects.
    pub fn object_count(&self) -> usize {
        self.objects.len()
    }

    /// Returns the number of next hops that routes of both families use.
    pub fn next_hops(&self) -> usize {
        self.v4.rib.lines().in_use() + self.v6.rib.lines().in_use()
    }

    /// Adds an object of a feature. An interface that its owner has already changes instead.
    pub(super) fn take_object(&mut self, object: NewObject, pending: &mut Pending) {
        let NewObject {
            owner,
            made,
            cells,
            removable,
        } = object;
        let menu = made.menu();
        let values = cells.clone();
        let known = match &made {
            Made::Interface(_, made) => self.owned_interface(owner, menu, &made.name),
            _ => None,
        };
        let add = || self.objects.add(owner, menu, cells, removable);
        let Some(id) = known.or_else(add) else {
            let message = format!("no room for an object of {menu}");
            self.features.log.add("system,error", message);
            return;
        };
        let (intent, touched) = (&mut self.intent, &mut pending.touched);
        match made {
            Made::Interface(_, made) => intent.put(id, ItemState::Interface(Some(made)), touched),
            Made::Address4(made) => intent.put(id, ItemState::Address4(Some(made)), touched),
            Made::Address6(made) => intent.put(id, ItemState::Address6(Some(made)), touched),
            Made::Route4(route) => {
                intent.routes4.insert(id, route);
                pending.routes4.push((id, None));
            }
            Made::Route6(route) => {
                intent.routes6.insert(id, route);
                pending.routes6.push((id, None));
            }
            Made::Rule(path) => self.firewall.make(path, Id(id), &values),
            Made::Member(made) => intent.put(id, ItemState::Member(Some(made)), touched),
            Made::Neighbour4(made) => intent.put(id, ItemState::Neighbour4(Some(made)), touched),
            Made::Neighbour6(made) => intent.put(id, ItemState::Neighbour6(Some(made)), touched),
            Made::ListEntry(entry) => self.firewall.add_entry(id, entry, self.now),
            Made::Queue(queue) => self.set_dynamic_queue(id, Some(*queue)),
            Made::Name(name) => self.set_dynamic_name(id, Some(name)),
            Made::BridgePort(port) => self.set_dynamic_port(id, Some(*port)),
        }
    }

    /// Returns the interface of this name that an owner has in a menu.
    fn owned_interface(&self, owner: Owner, menu: &str, name: &str) -> Option<ItemId> {
        let is_it = |id: &ItemId| {
            let object = self.objects.get(*id);
            let interface = self.intent.interfaces.get(id);
            object.is_some_and(|object| object.menu == menu)
                && interface.is_some_and(|interface| &*interface.name == name)
        };
        self.objects.owned_by(owner).find(is_it)
    }

    fn set_dynamic_queue(&mut self, id: ItemId, queue: Option<DynamicQueue>) {
        let mut out = Effects::default();
        { &mut self.features.queues }.set_dynamic(id, queue, self.now, &mut out);
        self.carry_out(out);
    }

    fn set_dynamic_name(&mut self, id: ItemId, name: Option<DynamicName>) {
        let mut out = Effects::default();
        { &mut self.features.dns }.set_dynamic(id, name, self.now, &mut out);
        self.carry_out(out);
    }

    fn set_dynamic_port(&mut self, id: ItemId, port: Option<DynamicBridgePort>) {
        let mut out = Effects::default();
        { &mut self.features.bridges }.set_dynamic_port(id, port, self.now, &mut out);
        self.carry_out(out);
    }

    /// Removes all objects of an owner.
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
            "/ip/address" => intent.put(id, ItemState::Address4(None), touched),
            "/ipv6/address" => intent.put(id, ItemState::Address6(None), touched),
            "/ip/route" => pending.routes4.push((id, intent.routes4.remove(&id))),
            "/ipv6/route" => pending.routes6.push((id, intent.routes6.remove(&id))),
            "/interface/list/member" => intent.put(id, ItemState::Member(None), touched),
            "/ip/arp" => intent.put(id, ItemState::Neighbour4(None), touched),
            "/ipv6/neighbor" => intent.put(id, ItemState::Neighbour6(None), touched),
            "/ip/firewall/address-list" | "/ipv6/firewall/address-list" => {
                self.firewall.remove_entry(id);
            }
            "/queue/simple" => self.set_dynamic_queue(id, None),
            "/ip/dns/static" => self.set_dynamic_name(id, None),
            "/interface/bridge/port" => self.set_dynamic_port(id, None),
            path if self.firewall.desk(path).is_some() => self.firewall.unmake(path, id),
            _ => intent.put(id, ItemState::Interface(None), touched),
        }
    }

    /// Applies the changes of effects, all at once.
    pub(super) fn follow_objects(&mut self, pending: Pending) {
        if !pending.touched.is_empty() {
            self.reconcile(&pending.touched, None);
        }
        let are_others = !(pending.routes4.is_empty() && pending.routes6.is_empty());
        self.change_made_routes(pending);
        self.follow_made_rules();
        if self.due.snapshot {
            // Outside of a transaction nobody else publishes these changes.
            self.publish();
        }
        if are_others {
            self.settle();
        }
    }

    /// Updates the firewall with rules that features added or removed, and publishes it.
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

    /// Applies the route changes of effects. The caller runs `settle` afterwards.
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

    /// Removes dynamic rows for a user.
    ///
    /// # Errors
    /// RouterOS: users cannot remove dynamic rows, except for those that their feature marks as removable.
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
