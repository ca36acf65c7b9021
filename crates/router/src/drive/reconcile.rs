//! Applies a change: recomputes everything that depends on the changed items, and carries out the difference.
//!
//! ```text
//! RecomputeSet ─▶ layout ─▶ addresses ─▶ firewall ─▶ links ─▶ publish ─▶ machines ─▶ addresses added and removed
//!               └▶ names with another interface ─▶ routes, neighbours, rules that name them
//! ```
//! The cost depends on the changed items and their dependants, such as the VLANs and the addresses of an interface, and
//! not on other items. Loading a configuration marks everything as changed.

use std::collections::{BTreeMap, BTreeSet};

use dataplane::queueing::Change;
use frame::InterfaceId;
use frame::shortcut::LaneSelector;
use service::icmp::Rate;

use super::Control;
use crate::compile::address::OfferKey;
use crate::compile::{LayoutEntry, LayoutInputs, LayoutUpdate, Moved};
use crate::firewall::{Around, Firewall, Others};
use crate::intent::Name;
use crate::object::What;
use crate::recompute_set::RecomputeSet;
use crate::rib::MAIN;

/// Updates the firewall after the layout; returns whether the firewall changed.
pub(super) type Follow<'a> = &'a mut dyn FnMut(&mut Firewall, &Around<'_>) -> bool;

/// Changes to publish to workers and RIBs.
#[derive(Debug, Default)]
pub(super) struct PendingPublication {
    /// Interfaces that may have changed or were removed.
    pub(super) interfaces: BTreeSet<InterfaceId>,
    /// The snapshot may have changed.
    pub(super) snapshot: bool,
    /// The servers that networks announce have changed.
    pub(super) learned: bool,
}

impl Control {
    /// Applies an attached, detached or changed port.
    pub(super) fn port_changed(&mut self, name: &str) {
        let on = self.intent.interfaces.on(name);
        let touched = RecomputeSet {
            interfaces: on.map(|(item, _)| item).collect(),
            ..RecomputeSet::default()
        };
        self.due.snapshot = true;
        self.plan_offload();
        self.reconcile(&touched, None);
        self.publish_offload();
    }

    /// Applies created or removed mirrors of these interfaces.
    pub(crate) fn mirrors_changed(&mut self, ids: &[InterfaceId]) {
        let laid = ids.iter().filter_map(|id| self.layout.interfaces.get(id));
        let touched = RecomputeSet {
            interfaces: laid.map(|laid| laid.item).collect(),
            ..RecomputeSet::default()
        };
        self.due.snapshot = true;
        self.reconcile(&touched, None);
    }

    /// Recomputes the objects in `touched`, and carries out the difference. `firewall` updates the firewall in between,
    /// so that workers see all changes at once.
    pub(super) fn reconcile(&mut self, touched: &RecomputeSet, firewall: Option<Follow<'_>>) {
        let tables = touched.tables && self.number_tables();
        let update = self.lay_out(touched);
        let moved = self.place_addresses(touched, &update);
        self.due.interfaces.extend(&update.seen);
        self.due.interfaces.extend(moved.keys());
        self.follow_firewall_names(touched, &update, tables, firewall);
        if touched.settings {
            self.configure_families();
        }
        self.change_links(&update);
        self.publish();
        self.change_machines(&update);
        self.change_addresses(&update, &moved);
        if touched.of_all {
            self.claim_all6();
        }
        self.change_statics(touched, &update);
        self.change_fallback(&update, &moved);
        self.lay_out_features(&self.others(touched, &update, &moved));
        self.offer_dynamic();
        self.offer_named(&update.names, tables);
        self.settle();
        if !self.due.interfaces.is_empty() || self.due.snapshot {
            self.publish();
        }
    }

    /// Updates the numbers of routing tables. Returns whether a number changed.
    fn number_tables(&mut self) -> bool {
        let tables = self.table_numbers();
        let is_other = tables != self.tables;
        self.tables = tables;
        is_other
    }

    /// Returns the numbers of the routing tables that forward, by name.
    fn table_numbers(&mut self) -> BTreeMap<Name, u16> {
        let wanted = &self.intent.tables;
        self.numbers.keep_tables(|item| wanted.contains_key(item));
        let mut tables = BTreeMap::from([(Name::from("main"), MAIN)]);
        for (item, table) in &self.intent.tables {
            if table.disabled || !table.fib {
                continue;
            }
            match self.numbers.table(*item) {
                Some(number) => {
                    tables.insert(table.name.clone(), number);
                }
                None => {
                    let message = format!("no room for routing table {}", table.name);
                    self.features.log.add("route,error", message);
                }
            }
        }
        tables
    }

    fn lay_out(&mut self, touched: &RecomputeSet) -> LayoutUpdate {
        let ground = LayoutInputs {
            intent: &self.intent,
            ports: &self.ports,
            mirrors: &self.mirrors,
            shared_mirror: self.shared_mirror,
        };
        let items = touched.interfaces.clone();
        let update = self.layout.lay_out(items, &ground, &mut self.numbers);
        for (id, before) in &update.before {
            let now = self.layout.interfaces.get(id);
            let queued = now.and_then(|laid| laid.queued);
            if let Some(next) =
                queued.filter(|_| queued != before.as_ref().and_then(|laid| laid.queued))
            {
                // Before frames are sent there.
                self.workers.tell(&Change::Interface(*id, next));
            }
            // The shared mirror stays while its members change.
            let shared = self.shared_mirror;
            let own_mirror =
                |laid: &LayoutEntry| laid.mirror.filter(|mirror| Some(*mirror) != shared);
            let mirror = before.as_ref().and_then(own_mirror);
            if let Some((_, mirror)) = mirror
                && now.and_then(own_mirror).map(|(_, id)| id) != Some(mirror)
            {
                self.due.interfaces.insert(mirror);
            }
            let both = [before.as_ref(), now].into_iter().flatten();
            let mut both = both.map(|laid| laid.port_name.is_some() || own_mirror(laid).is_some());
            self.due.snapshot |= both.any(|is_bound| is_bound);
        }
        update
    }

    /// Updates the addresses of interfaces that changed, or whose addresses changed.
    fn place_addresses(
        &mut self,
        touched: &RecomputeSet,
        update: &LayoutUpdate,
    ) -> BTreeMap<InterfaceId, Moved> {
        self.addresses.forget(&touched.items4, &touched.items6);
        let mut ids = update.seen.clone();
        for name in update.names.iter().chain(&touched.addresses) {
            self.addresses
                .find_invalid(name, &self.intent, &self.layout);
            ids.extend(self.layout.by_name.get(name));
        }
        // Addresses of slaves belong to their master: update the old and the new master. A slave without addresses does
        // not affect its masters.
        let (intent, layout) = (&self.intent, &self.layout);
        let has_own = |name: &Name| {
            touched.addresses.contains(name)
                || intent.addresses4.on(name).next().is_some()
                || intent.addresses6.on(name).next().is_some()
        };
        let has_addresses = |name: &Name| has_own(name) || intent.slaves.of(name).any(has_own);
        let laid = { ids.iter() }.filter_map(|id| Some((*id, layout.interfaces.get(id)?)));
        let laid = laid.filter(|(_, laid)| laid.above.is_some() && has_addresses(&laid.name));
        let owners: Vec<_> = laid.map(|(id, _)| layout.owner(id)).collect();
        let before = update.before.values().flatten();
        let before = before.filter(|laid| has_addresses(&laid.name));
        let before: Vec<_> = before.filter_map(|laid| laid.above).collect();
        ids.extend(before.into_iter().map(|(_, id)| id));
        ids.extend(owners);
        let mut moved = BTreeMap::new();
        for id in ids {
            let of_one = self.addresses.work_out(id, &self.intent, &self.layout);
            if (&of_one.before4, &of_one.before6) != (&of_one.now4, &of_one.now6) {
                moved.insert(id, of_one);
            }
        }
        moved
    }

    fn follow_firewall_names(
        &mut self,
        touched: &RecomputeSet,
        update: &LayoutUpdate,
        tables: bool,
        firewall: Option<Follow<'_>>,
    ) {
        let names = !update.names.is_empty();
        self.due.snapshot |= touched.settings || touched.rules;
        self.due.snapshot |= (names || tables) && !self.intent.rules.is_empty();
        if firewall.is_some() {
            // Before a new rule gets the number of a removed rule.
            self.workers.settle(LaneSelector::All, self.now);
        }
        let around = Around {
            intent: &self.intent,
            layout: &self.layout,
            tables: &self.tables,
            now: self.now,
        };
        let named = update.names.iter().chain(&touched.members);
        let named = named.filter_map(|name| self.layout.by_name.get(name));
        let others = Others {
            interfaces: named.chain(&update.seen).copied().collect(),
            lists: touched.lists.clone(),
        };
        self.firewall.lay_out(&around, others, tables);
        if let Some(follow) = firewall {
            follow(&mut self.firewall, &around);
        }
    }

    fn configure_families(&mut self) {
        self.limits.errors4.set_rate(Rate {
            interval: self.intent.ipv4.icmp_rate_limit,
            mask: self.intent.ipv4.icmp_rate_mask,
            mask_all: self.intent.ipv4.icmp_rate_mask,
            ..Rate::V4
        });
        self.pieces4.configure(self.intent.ipv4.fragments());
        self.settle_pieces();
    }

    /// Passes links that were added, changed or removed to the RIBs.
    fn change_links(&mut self, update: &LayoutUpdate) {
        for (id, before) in &update.before {
            let now = self.layout.interfaces.get(id);
            self.mirror_needs.link_changed(*id, before.as_ref(), now);
            let link = now.map(LayoutEntry::link_of_routes);
            self.v4.rib.set_link(*id, link.clone());
            self.v6.rib.set_link(*id, link);
        }
    }

    /// Returns the interfaces that features are told about: interfaces with a change of their state, their addresses or
    /// their advertisements.
    fn others(
        &self,
        touched: &RecomputeSet,
        update: &LayoutUpdate,
        moved: &BTreeMap<InterfaceId, Moved>,
    ) -> BTreeSet<InterfaceId> {
        let named = touched.advertised.iter().chain(&update.names);
        let named = named.filter_map(|name| self.layout.by_name.get(name));
        let others = named.chain(&update.seen).chain(moved.keys());
        others.copied().collect()
    }

    /// Offers the routes that addresses claim.
    pub(super) fn offer_dynamic(&mut self) {
        for key in self.v4.offer_claimed() {
            if matches!(key, OfferKey::Connected(..)) {
                let is_there = self.v4.dynamic.contains_key(&key);
                self.objects.show(What::Connected4(key), is_there);
            }
        }
        for key in self.v6.offer_claimed() {
            if matches!(key, OfferKey::Connected(..)) {
                let is_there = self.v6.dynamic.contains_key(&key);
                self.objects.show(What::Connected6(key), is_there);
            }
        }
    }

    pub(crate) fn settle(&mut self) {
        self.settle_routes();
        self.watch_gateways();
        self.ask_found();
    }

    /// Logs one warning for a configured port without a device. The owner attaches existing devices before the first
    /// poll.
    pub(super) fn warn_of_missing(&mut self) {
        let missing = self.layout.wishes.iter().filter(|(port, wish)| {
            wish.up && !self.ports.contains_key(*port) && !self.missed.contains(*port)
        });
        let missing: Vec<_> = missing.map(|(port, _)| port.clone()).collect();
        for port in missing {
            let on = self.intent.interfaces.on(&port);
            let laid = on.filter_map(|(_, interface)| self.layout.named(&interface.name));
            let mut laid = laid.map(|(_, laid)| laid);
            if let Some(laid) = laid.find(|laid| laid.port_name.as_ref() == Some(&port)) {
                let message = format!("{}: there is no device behind port {port}", laid.name);
                self.features.log.add("interface,warning", message);
            }
            self.missed.insert(port.clone());
        }
    }
}

#[cfg(test)]
mod tests;
