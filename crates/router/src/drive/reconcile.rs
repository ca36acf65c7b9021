//! Lays out interfaces and addresses after a change of the configuration or of a link, and carries out the
//! difference. Unchanged parts are not touched.

use core::net::{Ipv4Addr, Ipv6Addr};
use std::collections::BTreeMap;
use std::sync::Arc;

use dataplane::Command;
use dataplane::connection::Purge;
use dataplane::nat;
use dataplane::snapshot::Snapshot;
use frame::InterfaceId;
use frame::shortcut::Which;
use machine::Duration;
use service::icmp::Rate;
use service::neighbour::{Config, DuplicateDetection, Event};

use super::half::{Half, Side};
use super::sink::FibSink;
use super::{Control, Dad};
use crate::compile::address::OfferKey;
use crate::compile::{self, Addresses, Laid, Layout, Own4, Own6};
use crate::firewall::{Around, Firewall};
use crate::intent::{self, Name};
use crate::plan::{Step, plan};
use crate::rib::{Family, MAIN, Offer, RouteSink};

/// What the firewall follows when everything else is laid out; says whether it is other.
pub(super) type Follow<'a> = &'a mut dyn FnMut(&mut Firewall, &Around<'_>) -> bool;

impl Control {
    /// Lays everything out anew and carries out the difference.
    pub(crate) fn reconcile(&mut self) {
        self.reconcile_with(&mut |_, _| false);
    }

    /// The same, with what the firewall has to follow: workers see all of it at once.
    pub(super) fn reconcile_with(&mut self, firewall: Follow<'_>) {
        let tables = self.table_numbers();
        let tables_changed = tables != self.tables;
        self.tables = tables;
        let intent = &self.intent;
        self.numbers
            .keep_interfaces(|item| intent.interfaces.contains_key(item));
        let layout = Layout::new(intent, &self.ports, &self.mirrors, &mut self.numbers);
        let addresses = Addresses::new(intent, &layout);
        let names_changed = layout.by_name != self.layout.by_name;
        let before = core::mem::replace(&mut self.layout, layout);
        let before_addresses = core::mem::replace(&mut self.addresses, addresses);

        let around = Around {
            intent: &self.intent,
            layout: &self.layout,
            tables: &self.tables,
            now: self.now,
        };
        // Before a rule that comes gets the number of one that went.
        self.workers.settle(Which::All, self.now);
        self.firewall
            .lay_out(&around, names_changed, tables_changed);
        firewall(&mut self.firewall, &around);
        self.configure_families();
        self.change_links(&before);
        self.publish();
        self.change_machines(&before);
        self.change_addresses(&before_addresses);
        self.change_statics();
        self.change_fallback();
        self.lay_out_features();
        self.offer_dynamic();
        if names_changed || tables_changed {
            self.offer_named();
        }
        self.settle();
        if self.in_use6() != self.in_use6 {
            self.publish();
        }
    }

    /// The numbers of the routing tables that forward, by name.
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

    fn configure_families(&mut self) {
        self.errors4.set_rate(Rate {
            interval: self.intent.ipv4.icmp_rate_limit,
            mask: self.intent.ipv4.icmp_rate_mask,
            mask_all: self.intent.ipv4.icmp_rate_mask,
            ..Rate::V4
        });
        self.pieces4.configure(self.intent.ipv4.fragments());
        self.settle_pieces();
    }

    /// Tells the RIBs of every link that is new, other or gone.
    fn change_links(&mut self, before: &Layout) {
        for step in plan(&before.interfaces, &self.layout.interfaces) {
            match step {
                Step::Remove(id, laid) => {
                    self.mirror_needs.link_changed(*id, Some(laid), None);
                    self.v4.rib.set_link(*id, None);
                    self.v6.rib.set_link(*id, None);
                }
                Step::Add(id, laid) | Step::Change(id, _, laid) => {
                    let before = before.interfaces.get(id);
                    self.mirror_needs.link_changed(*id, before, Some(laid));
                    self.v4.rib.set_link(*id, Some(laid.link.clone()));
                    self.v6.rib.set_link(*id, Some(laid.link.clone()));
                }
            }
        }
    }

    /// Tells the workers what has changed of interfaces, and hands them a new snapshot if that is other.
    pub(super) fn publish(&mut self) {
        self.workers.make_room(self.numbers.last());
        self.in_use6 = self.in_use6();
        let others = self.publish_interfaces();
        self.map_endpoints();
        let compiled = compile::compile(
            self.epoch + 1,
            &self.intent,
            &self.layout,
            &self.addresses,
            &self.in_use6,
            &self.ports,
            &self.mirror_ports,
            &self.tables,
            self.firewall.compiled(),
        );
        let snapshot = Snapshot {
            zone_seconds: self.features.log.clock.offset_seconds,
            services: Arc::clone(self.services.table()),
            ..compiled
        };
        self.inactive_rules =
            compile::snapshot::inactive_rules(&self.intent, &self.layout, &self.tables);
        let is_other = !self.snapshot.load().is_like(&snapshot);
        if is_other {
            self.epoch += 1;
            let replaced = self.snapshot.swap(Arc::new(snapshot));
            self.retired.push(replaced);
        }
        if others || is_other {
            self.fib.forget_shortcuts();
        }
        self.change_tracking();
    }

    /// Tells the workers of the interfaces that are new, other or gone. Says whether one is other or gone.
    fn publish_interfaces(&mut self) -> bool {
        let wanted =
            compile::interfaces(&self.intent, &self.layout, &self.addresses, &self.in_use6);
        // A slot that is given again counts on from where its last interface was.
        let laid = self.layout.interfaces.keys();
        for id in laid.filter(|id| id.generation() > 0) {
            if self.published.get(*id).is_none() {
                let counted = self.workers.traffic(*id, self.now);
                self.reset.insert(*id, counted);
            }
        }
        self.published.become_these(wanted, &mut self.retired)
    }

    /// Endpoint-independent translation has memory from the first rule on that wants it.
    fn map_endpoints(&mut self) {
        let wants =
            |target: &nat::Target| matches!(target.action, nat::Action::EndpointIndependent);
        let targets = &self.firewall.compiled().targets;
        if self.connections.mappings().is_some() || !targets.iter().any(wants) {
            return;
        }
        match nat::Mappings::new(self.rng.next_u64()) {
            Ok(mappings) => self.connections.set_mappings(Arc::new(mappings)),
            // Such rules masquerade for as long.
            Err(error) => {
                let message = format!("no memory for endpoint-independent-nat: {error}");
                self.features.log.add("firewall,error", message);
            }
        }
    }

    /// Connections end when they are not tracked any more.
    fn change_tracking(&mut self) {
        let compiled = self.firewall.compiled();
        let tracks = compiled.tracks4 || compiled.tracks6;
        if core::mem::replace(&mut self.tracks, tracks) && !tracks {
            self.workers.send_all(|| Command::Purge(Purge::Everything));
        }
    }

    /// Connections end that were translated by what is gone.
    ///
    // RouterOS: masquerade's do, those of src-nat stay.
    fn purge_masquerade(&mut self, id: InterfaceId, address: Option<u128>) {
        if self.tracks {
            let purge = Purge::Masquerade(id, address);
            self.workers.send_all(|| Command::Purge(purge));
        }
    }

    /// The IPv6 addresses that have passed duplicate address detection.
    fn in_use6(&self) -> Vec<Ipv6Addr> {
        let done = self.dad.iter().filter(|(_, state)| **state == Dad::Done);
        done.map(|((_, addr), _)| *addr).collect()
    }

    /// Makes, changes and ends the neighbours of interfaces.
    fn change_machines(&mut self, before: &Layout) {
        let gone: Vec<_> = before
            .interfaces
            .keys()
            .filter(|id| !self.layout.interfaces.contains_key(id))
            .copied()
            .collect();
        for id in gone {
            let (half, mut means) = self.arp();
            half.remove(id, &mut means);
            let (half, mut means) = self.discovery();
            half.remove(id, &mut means);
            self.v4.rib.forget_interface(id);
            self.v6.rib.forget_interface(id);
            self.links.remove(&id);
            self.reset.remove(&id);
        }
        let laid: Vec<_> = self
            .layout
            .interfaces
            .iter()
            .map(|(id, laid)| (*id, laid.clone()))
            .collect();
        for (id, laid) in laid {
            self.configure_machines(id, &laid);
            let ran = before.interfaces.get(&id).is_some_and(|l| l.link.running);
            if ran != laid.link.running {
                self.turn_link(id, &laid);
            }
        }
    }

    fn configure_machines(&mut self, id: InterfaceId, laid: &Laid) {
        let is_new = !self.v4.machines.contains_key(&id);
        let seed = self.rng.next_u64();
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
        let (half, mut means) = self.arp();
        let upcalls = half.configure(id, config4, seed, &mut means);
        self.answer4(id, upcalls);
        if is_new {
            let address = self.fallback;
            self.feed4(id, Event::FallbackSource { address });
        }
        let (half, mut means) = self.discovery();
        let upcalls = half.configure(id, config6, seed ^ 1, &mut means);
        self.answer6(id, upcalls);
    }

    fn turn_link(&mut self, id: InterfaceId, laid: &Laid) {
        let up = laid.link.running;
        let state = if up { "up" } else { "down" };
        let clock = self.features.log.clock;
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
        let (half, mut means) = self.arp();
        let event = if up { Event::LinkUp } else { Event::LinkDown };
        let upcalls = half.feed(id, event, &mut means);
        self.answer4(id, upcalls);
        let (half, mut means) = self.discovery();
        let event = if up { Event::LinkUp } else { Event::LinkDown };
        let upcalls = half.feed(id, event, &mut means);
        self.answer6(id, upcalls);
    }

    /// Tells the neighbours of addresses that come and go.
    fn change_addresses(&mut self, before: &Addresses) {
        let wanted4 = self.addresses.ipv4.clone();
        for step in plan(&before.ipv4, &wanted4) {
            match step {
                Step::Remove(key, _) => self.lose4(*key),
                Step::Add(key, own) => self.gain4(*key, own),
                Step::Change(key, _, own) => {
                    self.lose4(*key);
                    self.gain4(*key, own);
                }
            }
        }
        let wanted6 = self.addresses.ipv6.clone();
        for step in plan(&before.ipv6, &wanted6) {
            match step {
                Step::Remove(key, _) => self.lose6(*key),
                Step::Add(key, own) => self.gain6(*key, own),
                // Only what the routes and advertisements say of it has changed.
                Step::Change(_, old, own) if (old.len, old.detect) == (own.len, own.detect) => {}
                Step::Change(key, _, own) => {
                    self.lose6(*key);
                    self.gain6(*key, own);
                }
            }
        }
    }

    fn gain4(&mut self, (id, address): (InterfaceId, Ipv4Addr), own: &Own4) {
        let event = Event::AddressAdded {
            address,
            prefix_len: own.len,
            detect: DuplicateDetection::Skip,
        };
        self.feed4(id, event);
        self.mirror_addresses(id);
    }

    fn lose4(&mut self, (id, address): (InterfaceId, Ipv4Addr)) {
        self.purge_masquerade(id, Some(u128::from(u32::from(address))));
        self.feed4(id, Event::AddressRemoved { address });
        self.mirror_addresses(id);
    }

    fn gain6(&mut self, (id, address): (InterfaceId, Ipv6Addr), own: &Own6) {
        let (detect, state) = match own.detect {
            true => (DuplicateDetection::Run, Dad::Tentative),
            false => (DuplicateDetection::Skip, Dad::Done),
        };
        self.dad.insert((id, address), state);
        let event = Event::AddressAdded {
            address,
            prefix_len: own.len,
            detect,
        };
        self.feed6(id, event);
        self.mirror_addresses(id);
    }

    fn lose6(&mut self, (id, address): (InterfaceId, Ipv6Addr)) {
        self.dad.remove(&(id, address));
        self.purge_masquerade(id, Some(u128::from(address)));
        self.feed6(id, Event::AddressRemoved { address });
        self.mirror_addresses(id);
    }

    /// Interfaces without an address ask with this router's first one.
    fn change_fallback(&mut self) {
        let first = self.addresses.ipv4.keys().next().map(|(_, addr)| *addr);
        if core::mem::replace(&mut self.fallback, first) == first {
            return;
        }
        let ids: Vec<_> = self.v4.machines.keys().copied().collect();
        for id in ids {
            self.feed4(id, Event::FallbackSource { address: first });
        }
    }

    /// Brings configured neighbours in force.
    fn change_statics(&mut self) {
        let wanted = statics(&self.intent.neighbours4, &self.layout);
        let running = core::mem::replace(&mut self.v4.statics, wanted.clone());
        for (id, event) in static_events(&running, &wanted) {
            self.feed4(id, event);
        }
        let wanted = statics(&self.intent.neighbours6, &self.layout);
        let running = core::mem::replace(&mut self.v6.statics, wanted.clone());
        for (id, event) in static_events(&running, &wanted) {
            self.feed6(id, event);
        }
    }

    /// Offers the routes that come with addresses.
    pub(super) fn offer_dynamic(&mut self) {
        let wanted = self.addresses.offers4();
        offer(&mut self.v4, wanted);
        let dad = &self.dad;
        let is = |state| move |id, addr| dad.get(&(id, addr)) == Some(&state);
        let wanted =
            self.addresses
                .offers6(self.intent.ipv6.forward, is(Dad::Done), is(Dad::Failed));
        offer(&mut self.v6, wanted);
    }

    pub(crate) fn settle(&mut self) {
        self.v4.settle(&mut self.fib, &mut self.features.log);
        self.v6.settle(&mut self.fib, &mut self.features.log);
        self.watch_gateways();
        self.ask_found();
    }

    /// A port that is configured and not there is warned about once. The owner has had the time to
    /// attach what there is when it first polls.
    pub(super) fn warn_of_missing(&mut self) {
        for laid in self.layout.interfaces.values() {
            if let Some(port) = &laid.port_name
                && !laid.disabled
                && !self.ports.contains_key(port)
                && self.missed.insert(port.clone())
            {
                let message = format!("{}: there is no device behind port {port}", laid.name);
                self.features.log.add("interface,warning", message);
            }
        }
    }
}

/// The configured neighbours that are in force.
fn statics<F: Family>(
    neighbours: &BTreeMap<intent::ItemId, intent::Neighbour<F>>,
    layout: &Layout,
) -> BTreeMap<(InterfaceId, F::Addr), intent::Neighbour<F>> {
    neighbours
        .values()
        .filter(|neighbour| !neighbour.disabled)
        .filter_map(|neighbour| {
            let (id, _) = layout.named(&neighbour.interface)?;
            Some(((id, neighbour.addr), neighbour.clone()))
        })
        .collect()
}

type StaticEvent<F> = (
    InterfaceId,
    Event<'static, <F as Family>::Addr, super::half::Waiting>,
);

fn static_events<F: Family>(
    running: &BTreeMap<(InterfaceId, F::Addr), intent::Neighbour<F>>,
    wanted: &BTreeMap<(InterfaceId, F::Addr), intent::Neighbour<F>>,
) -> Vec<StaticEvent<F>> {
    let event = |step| match step {
        Step::Remove((id, address), _) => (*id, Event::StaticRemoved { address: *address }),
        Step::Add((id, address), neighbour) | Step::Change((id, address), _, neighbour) => {
            let neighbour: &intent::Neighbour<F> = neighbour;
            let event = Event::StaticAdded {
                address: *address,
                mac: neighbour.mac,
                published: neighbour.published,
            };
            (*id, event)
        }
    };
    plan(running, wanted).into_iter().map(event).collect()
}

/// Offers what is wanted and takes the rest back.
fn offer<S: Side>(half: &mut Half<S>, wanted: BTreeMap<OfferKey<S::Net>, Offer<S::Net>>)
where
    for<'a> FibSink<'a>: RouteSink<S::Net>,
{
    let gone: Vec<_> = half
        .dynamic
        .iter()
        .filter(|(key, (offer, _))| wanted.get(key) != Some(offer))
        .map(|(key, (_, route))| (*key, *route))
        .collect();
    for (key, route) in gone {
        half.rib.remove(route);
        half.dynamic.remove(&key);
    }
    for (key, offer) in wanted {
        half.dynamic.entry(key).or_insert_with(|| {
            let route = half.rib.add(&offer);
            (offer, route)
        });
    }
}
