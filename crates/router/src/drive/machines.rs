//! Creates, changes and removes neighbour machines with their interfaces.

use std::collections::{BTreeMap, BTreeSet};

use frame::InterfaceId;
use machine::Duration;
use service::neighbour::{Config, Event};

use super::Control;
use super::half::{Half, Side};
use crate::compile::{Layout, LayoutEntry, LayoutUpdate, Moved};
use crate::intent::{Items, Neighbour};
use crate::plan::{Step, plan};
use crate::recompute_set::RecomputeSet;
use crate::rib::Family;

impl Control {
    /// Creates, changes and removes the neighbour machines of interfaces.
    pub(super) fn change_machines(&mut self, update: &LayoutUpdate) {
        for id in &update.seen {
            match self.layout.interfaces.get(id).cloned() {
                None => self.end_machines(*id),
                Some(laid) => {
                    self.configure_machines(*id, &laid);
                    let before = update.before.get(id).map(Option::as_ref);
                    let before = before.unwrap_or(Some(&laid));
                    if before.is_some_and(|before| before.link.running) != laid.link.running {
                        self.turn_link(*id, &laid);
                    }
                    if before.is_some_and(resolves_by_arp) != resolves_by_arp(&laid) {
                        self.turn_arp(*id, &laid);
                    }
                }
            }
        }
    }

    fn end_machines(&mut self, id: InterfaceId) {
        let (half, mut means) = self.arp();
        half.remove(id, &mut means);
        let (half, mut means) = self.discovery();
        half.remove(id, &mut means);
        self.v4.rib.forget_interface(id);
        self.v6.rib.forget_interface(id);
        self.links.remove(&id);
        self.reset.remove(&id);
    }

    fn configure_machines(&mut self, id: InterfaceId, laid: &LayoutEntry) {
        let is_new = !self.v6.machines.contains_key(&id);
        let seed = if is_new { self.rng.next_u64() } else { 0 };
        let settings = &self.intent.ipv4;
        let config4 = Config {
            mode: laid.arp,
            reachable_time: laid.arp_timeout.unwrap_or(settings.arp_timeout),
            entries_max: settings.max_neighbours,
            ..Config::new(laid.link.mac)
        };
        let settings = &self.intent.ipv6;
        let config6 = Config {
            router: settings.forward,
            entries_max: settings.max_neighbours,
            stale_check: settings.stale_check.max(Duration::from_secs(1)),
            stale_timeout: settings.stale_timeout,
            ..Config::new(laid.link.mac)
        };
        // Neighbour resolution needs link addresses.
        if laid.link.ethernet {
            let (half, mut means) = self.arp();
            let upcalls = half.configure(id, config4, seed, &mut means);
            self.answer4(id, upcalls);
        }
        if is_new {
            let address = self.fallback;
            self.feed4(id, Event::FallbackSource { address });
        }
        let (half, mut means) = self.discovery();
        let upcalls = half.configure(id, config6, seed ^ 1, &mut means);
        self.answer6(id, upcalls);
    }

    fn turn_link(&mut self, id: InterfaceId, laid: &LayoutEntry) {
        let up = laid.link.running;
        let state = if up { "up" } else { "down" };
        let clock = self.clock.now();
        let times = self.links.entry(id).or_default();
        if up {
            times.up = Some(clock);
        } else {
            times.down = Some(clock);
            times.downs += 1;
            self.purge_masquerade(id, None);
        }
        self.features
            .log
            .add("interface,info", format!("{} link {state}", laid.name));
        let (half, mut means) = self.discovery();
        let event = if up { Event::LinkUp } else { Event::LinkDown };
        let upcalls = half.feed(id, event, &mut means);
        self.answer6(id, upcalls);
    }

    /// Starts or stops ARP on an interface. A session's interface has a machine from the time before the session, which
    /// stays stopped on a link without Ethernet headers.
    fn turn_arp(&mut self, id: InterfaceId, laid: &LayoutEntry) {
        let event = match resolves_by_arp(laid) {
            true => Event::LinkUp,
            false => Event::LinkDown,
        };
        let (half, mut means) = self.arp();
        let upcalls = half.feed(id, event, &mut means);
        self.answer4(id, upcalls);
    }

    /// Updates the sender address of ARP requests on interfaces without an address: the router's first address.
    pub(super) fn change_fallback(
        &mut self,
        update: &LayoutUpdate,
        moved: &BTreeMap<InterfaceId, Moved>,
    ) {
        for id in update.seen.iter().chain(moved.keys()) {
            let has_none = self.addresses.of4(*id).next().is_none();
            match has_none && self.v4.machines.contains_key(id) {
                true => _ = self.unnumbered.insert(*id),
                false => _ = self.unnumbered.remove(id),
            }
        }
        let address = self.addresses.ipv4.keys().next().map(|(_, addr)| *addr);
        let mut ask = BTreeSet::new();
        if core::mem::replace(&mut self.fallback, address) != address {
            ask.extend(&self.unnumbered);
        }
        // Interfaces that just lost their last address missed this event.
        let lost = moved.iter().filter(|(_, moved)| moved.now4.is_empty());
        ask.extend(lost.map(|(id, _)| *id));
        for id in ask {
            self.feed4(id, Event::FallbackSource { address });
        }
    }

    /// Applies changes of configured neighbours.
    pub(super) fn change_statics(&mut self, touched: &RecomputeSet, update: &LayoutUpdate) {
        let named = { update.names.iter() }.filter_map(|name| self.layout.by_name.get(name));
        let others: BTreeSet<_> = named.chain(update.before.keys()).copied().collect();
        for (name, address) in &touched.neighbours4 {
            let wanted = configured(&self.intent.neighbours4, name, *address);
            if let Some(id) = self.layout.by_name.get(name).copied()
                && let Some(event) = change_static(&mut self.v4, id, *address, wanted)
            {
                self.feed4(id, event);
            }
        }
        for (name, address) in &touched.neighbours6 {
            let wanted = configured(&self.intent.neighbours6, name, *address);
            if let Some(id) = self.layout.by_name.get(name).copied()
                && let Some(event) = change_static(&mut self.v6, id, *address, wanted)
            {
                self.feed6(id, event);
            }
        }
        for id in others {
            let items = &self.intent.neighbours4;
            for event in change_statics(&mut self.v4, id, items, &self.layout) {
                self.feed4(id, event);
            }
            let items = &self.intent.neighbours6;
            for event in change_statics(&mut self.v6, id, items, &self.layout) {
                self.feed6(id, event);
            }
        }
    }
}

/// Returns true if an interface runs and its frames have Ethernet headers.
const fn resolves_by_arp(laid: &LayoutEntry) -> bool {
    laid.link.running && laid.link.ethernet
}

type StaticEvent<F> = Event<'static, <F as Family>::Addr, super::half::Waiting>;

/// Applies changes of the configured neighbours of one interface; returns the events for its neighbour machine.
fn change_statics<S: Side>(
    half: &mut Half<S>,
    id: InterfaceId,
    items: &Items<Neighbour<S::Net>>,
    layout: &Layout,
) -> Vec<StaticEvent<S::Net>> {
    let running = half.statics_of(id);
    let laid = layout.interfaces.get(&id);
    let laid = laid.filter(|laid| layout.by_name.get(&laid.name) == Some(&id));
    let on = laid.into_iter().flat_map(|laid| items.on(&laid.name));
    let mut wanted = BTreeMap::new();
    for (_, neighbour) in on.filter(|(_, neighbour)| !neighbour.disabled) {
        wanted
            .entry(neighbour.addr)
            .or_insert_with(|| neighbour.clone());
    }
    for address in running.keys() {
        half.statics.remove(&(id, *address));
    }
    let now = wanted
        .iter()
        .map(|(address, of)| ((id, *address), of.clone()));
    half.statics.extend(now);
    let event = |step| match step {
        Step::Remove(address, _) => static_event::<S>(*address, None),
        Step::Add(address, neighbour) | Step::Change(address, _, neighbour) => {
            static_event::<S>(*address, Some(neighbour))
        }
    };
    plan(&running, &wanted).into_iter().map(event).collect()
}

/// Returns the configured neighbour with this address on an interface. Of several items the first counts: configured
/// items precede those of features.
fn configured<F: Family>(
    items: &Items<Neighbour<F>>,
    interface: &str,
    address: F::Addr,
) -> Option<Neighbour<F>> {
    let mut at = items.at(interface, F::bits(address));
    let found = at.find(|(_, neighbour)| !neighbour.disabled);
    found.map(|(_, neighbour)| neighbour.clone())
}

/// Sets or removes one configured neighbour; returns the event for the neighbour machine.
fn change_static<S: Side>(
    half: &mut Half<S>,
    id: InterfaceId,
    address: S::Address,
    wanted: Option<Neighbour<S::Net>>,
) -> Option<StaticEvent<S::Net>> {
    let key = (id, address);
    if half.statics.get(&key) == wanted.as_ref() {
        return None;
    }
    let event = static_event::<S>(address, wanted.as_ref());
    match wanted {
        Some(wanted) => _ = half.statics.insert(key, wanted),
        None => _ = half.statics.remove(&key),
    }
    Some(event)
}

/// Returns the event for the neighbour machine of a configured neighbour; `None` for a removed one.
fn static_event<S: Side>(
    address: S::Address,
    neighbour: Option<&Neighbour<S::Net>>,
) -> StaticEvent<S::Net> {
    match neighbour {
        Some(neighbour) => Event::StaticAdded {
            address,
            mac: neighbour.mac,
            published: neighbour.published,
        },
        None => Event::StaticRemoved { address },
    }
}
