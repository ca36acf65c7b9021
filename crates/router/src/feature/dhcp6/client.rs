//! DHCPv6 clients: packets, and the state of their interfaces.

use core::net::Ipv6Addr;
use std::collections::BTreeSet;

use dataplane::DropReason;
use frame::InterfaceId;
use machine::{Instant, Machine};
use menu::Item;
use service::dhcp6::client::{Action, Binding, Client, Config, Event, Fault};
use service::dhcp6::{ALL_SERVERS, CLIENT_PORT, Message, SERVER_PORT, packet};
use wire::{EtherType, Mac};

use super::read::{self, Wish, duid_of};
use super::record::Record;
use super::{Dhcp6, SERVICE};
use crate::feature::hear::{How, Outgoing, ReceiveOutcome};
use crate::feature::{Effect, Effects, View};
use crate::intent::{ItemId, Name};
use crate::records::{Key, Kind, Recalled};
use crate::running::Running;

/// Link address of the multicast group of all servers and relay agents.
const TO_SERVERS: Mac = Mac([0x33, 0x33, 0, 1, 0, 2]);

/// Key of the stored DUID. It is created once and stays when ports change (RFC 8415, 11).
const DUID: Key = Key {
    kind: Kind::Duid,
    item: 0,
};

/// A client.
#[derive(Debug)]
pub(super) struct Dhcp6Client {
    pub(super) wish: Wish,
    pub(super) machine: Client,
    /// Interface of the client, while it exists.
    pub(super) at: Option<InterfaceId>,
    /// Source address of its packets.
    from: Option<Ipv6Addr>,
    /// The binding from which its objects were made.
    pub(super) told: Option<Box<Binding>>,
    /// The stored record of its binding.
    record: Option<Record>,
    /// Binding from before a restart, until the client's DUID and IAIDs are known.
    recalled: Option<Record>,
}

impl Dhcp6 {
    pub(super) fn put_client(&mut self, item: &Item, view: &View<'_>, out: &mut Effects) {
        let id = item.id.0;
        let Some(wish) = read::wish(item, view.store) else {
            return self.take_client(id, view.now, out);
        };
        let before = self.clients.get(&id).map(|one| one.wish.interface.clone());
        if before.is_some_and(|before| before != wish.interface) {
            self.take_client(id, view.now, out);
        }
        out.push(Effect::Look(wish.interface.clone()));
        self.near.insert((wish.interface.clone(), id));
        let Some(one) = self.clients.get_mut(&id) else {
            let one = Dhcp6Client {
                wish,
                machine: Client::new(Config::default(), self.rng.split()),
                at: None,
                from: None,
                told: None,
                record: None,
                recalled: None,
            };
            self.clients.insert(id, one);
            return;
        };
        let is_other = one.wish != wish;
        one.wish = wish;
        if one.wish.disabled {
            one.recalled = None;
            self.feed(id, Event::Stop, view.now, out);
        } else if is_other && let Some(binding) = one.told.take() {
            self.tell(id, binding, out);
        }
    }

    pub(super) fn take_client(&mut self, id: ItemId, now: Instant, out: &mut Effects) {
        if let Some(one) = self.clients.get_mut(&id) {
            one.recalled = None;
        }
        self.feed(id, Event::Stop, now, out);
        self.leave(id, out);
        self.timers.set(id, None);
        if let Some(one) = self.clients.remove(&id) {
            self.near.remove(&(one.wish.interface, id));
        }
    }

    fn leave(&mut self, id: ItemId, out: &mut Effects) {
        let one = self.clients.get_mut(&id);
        if let Some(interface) = one.and_then(|one| one.at.take()) {
            self.at.remove(&(interface, id));
            if self.clients_on(interface).next().is_none() {
                out.push(hear(interface, false));
            }
        }
    }

    fn clients_on(&self, interface: InterfaceId) -> impl Iterator<Item = ItemId> {
        let all = self.at.range((interface, 0)..=(interface, ItemId::MAX));
        all.map(|(_, item)| *item)
    }

    fn near(&self, name: &Name) -> impl Iterator<Item = ItemId> {
        let all = self
            .near
            .range((name.clone(), 0)..=(name.clone(), ItemId::MAX));
        all.map(|(_, item)| *item)
    }

    pub(super) fn lay_out_clients(
        &mut self,
        others: &BTreeSet<InterfaceId>,
        running: &Running<'_>,
        out: &mut Effects,
    ) {
        let mut items = BTreeSet::new();
        for id in others {
            items.extend(self.clients_on(*id));
            if let Some(laid) = running.layout.interfaces.get(id) {
                items.extend(self.near(&laid.name));
            }
        }
        if items.is_empty() {
            return;
        }
        for item in items {
            self.bring_up_to_date(item, running, out);
        }
    }

    /// Derives the DUID of this router from the first MAC address at the first call.
    pub(super) fn make_duid(&mut self, running: &Running<'_>, out: &mut Effects) {
        if self.duid.is_empty()
            && let Some(mac) = first_mac(running)
        {
            self.duid = duid_of(mac);
            out.push(Effect::Keep(DUID, Some(self.duid.clone())));
        }
    }

    /// Updates a client from the state of its interface.
    fn bring_up_to_date(&mut self, id: ItemId, running: &Running<'_>, out: &mut Effects) {
        let Some(one) = self.clients.get(&id) else {
            return;
        };
        let named = running.layout.named(&one.wish.interface);
        let named = named.filter(|(_, laid)| {
            !laid.disabled && !laid.invalid && !laid.loopback && laid.above.is_none()
        });
        let at = named.map(|(interface, _)| interface);
        if one.at != at {
            self.feed(id, Event::Down, running.now, out);
            self.leave(id, out);
        }
        let duid = self.duid.clone();
        let Some(one) = self.clients.get_mut(&id) else {
            return;
        };
        if let Some(interface) = at.filter(|_| one.at.is_none()) {
            one.at = Some(interface);
            self.at.insert((interface, id));
            out.push(hear(interface, true));
        }
        let Some((interface, laid)) = named else {
            return;
        };
        one.from = running.link_local(interface);
        let number = u32::try_from(laid.item).unwrap_or(u32::MAX);
        let config = one.wish.config(laid.link.mac, number, &duid);
        let speaks = laid.link.running && one.from.is_some() && !config.duid.is_empty();
        let event = match speaks && !one.wish.disabled {
            true => Event::Up,
            false => Event::Down,
        };
        let recalled = one.recalled.take_if(|_| matches!(event, Event::Up));
        let recalled = recalled.filter(|record| record.is_of(&config));
        if *one.machine.config() != config {
            self.feed(id, Event::Configure(config), running.now, out);
        }
        if let Some(record) = recalled {
            self.feed(id, Event::Recall(record.got), running.now, out);
        }
        self.feed(id, event, running.now, out);
    }

    pub(super) fn tick_clients(&mut self, now: Instant, out: &mut Effects) {
        for (id, releases) in core::mem::take(&mut self.commands) {
            let event = if releases {
                Event::Release
            } else {
                Event::Renew
            };
            self.feed(id, event, now, out);
        }
        while let Some(id) = self.timers.due(now) {
            let mut actions = Vec::new();
            if let Some(one) = self.clients.get_mut(&id) {
                one.machine.tick(now, &mut actions);
            }
            self.do_(id, actions, out);
        }
    }

    /// Passes an answer to the clients of an interface.
    pub(super) fn hear_answer(
        &mut self,
        interface: InterfaceId,
        message: &Message,
        from: Ipv6Addr,
        now: Instant,
        out: &mut Effects,
    ) -> ReceiveOutcome {
        let items: Vec<_> = self.clients_on(interface).collect();
        let mut fault = Fault::Other;
        for id in items {
            let Some(one) = self.clients.get_mut(&id) else {
                continue;
            };
            let mut actions = Vec::new();
            let taken = one.machine.receive(message, from, now, &mut actions);
            self.do_(id, actions, out);
            match taken {
                Ok(()) => return ReceiveOutcome::Taken,
                Err(other) => fault = other,
            }
        }
        ReceiveOutcome::Bad(match fault {
            Fault::Other => DropReason::DhcpClientOther,
            Fault::Unexpected => DropReason::DhcpClientUnexpected,
            Fault::Unusable => DropReason::DhcpClientUnusable,
        })
    }

    fn feed(&mut self, id: ItemId, event: Event<'_>, now: Instant, out: &mut Effects) {
        let mut actions = Vec::new();
        if let Some(one) = self.clients.get_mut(&id) {
            one.machine.handle(event, now, &mut actions);
        }
        self.do_(id, actions, out);
    }

    fn do_(&mut self, id: ItemId, actions: Vec<Action>, out: &mut Effects) {
        for action in actions {
            let Some(one) = self.clients.get_mut(&id) else {
                return;
            };
            match action {
                Action::Send(message) => one.send(&message, out),
                Action::Got(binding) => self.tell(id, binding, out),
                Action::Lost(why) => {
                    one.forget(id, why, out);
                    self.pools.make(id, None);
                }
                Action::Refused(status) => one.warn(status, out),
            }
        }
        let Some(one) = self.clients.get_mut(&id) else {
            return;
        };
        one.keep(id, self.now, out);
        let deadline = one.machine.deadline();
        self.timers.set(id, deadline.map(|(at, _)| at));
    }

    /// Restores a record from before a restart: the DUID, or the binding of a client.
    pub(super) fn take_up(&mut self, record: &Recalled<'_>, now: Instant) -> bool {
        match record.key.kind {
            Kind::Duid => {
                self.duid = record.bytes.to_vec();
                true
            }
            Kind::Dhcp6Binding => {
                let one = self.clients.get_mut(&record.key.item);
                let Some(one) = one.filter(|one| !one.wish.disabled) else {
                    return false;
                };
                one.recalled = Record::read(record.bytes, record.age, now);
                one.record.clone_from(&one.recalled);
                one.recalled.is_some()
            }
            Kind::Dhcp6ServerBinding => self.servers.recall(record, now),
            _ => false,
        }
    }

    /// Updates the pool and the objects of a binding.
    fn tell(&mut self, id: ItemId, binding: Box<Binding>, out: &mut Effects) {
        if let Some(one) = self.clients.get_mut(&id) {
            self.pools.make(id, one.pool(&binding));
            one.tell(id, binding, out);
        }
    }
}

impl Dhcp6Client {
    /// Stores the binding, for use after a restart.
    fn keep(&mut self, id: ItemId, now: Instant, out: &mut Effects) {
        if self.recalled.is_some() {
            return;
        }
        let (config, binding) = (self.machine.config(), self.machine.binding());
        let record = binding.and_then(|binding| Record::of(config, &binding.got));
        if record != self.record {
            let key = Key {
                kind: Kind::Dhcp6Binding,
                item: id,
            };
            let bytes = record.as_ref().map(|record| record.to_bytes(now));
            out.push(Effect::Keep(key, bytes));
            self.record = record;
        }
    }

    fn send(&self, message: &[u8], out: &mut Effects) {
        let (Some(interface), Some(from)) = (self.at, self.from) else {
            return;
        };
        out.send(Outgoing {
            interface,
            bytes: packet(from, CLIENT_PORT, ALL_SERVERS, SERVER_PORT, message),
            how: How::Frame(TO_SERVERS, EtherType::IPV6),
        });
    }
}

/// Returns the effect that starts or stops the reception of answers on an interface.
const fn hear(interface: InterfaceId, on: bool) -> Effect {
    Effect::Hear {
        service: SERVICE,
        interface,
        on,
    }
}

/// Returns the link address of the first port.
fn first_mac(running: &Running<'_>) -> Option<Mac> {
    let laid = running.layout.interfaces.values();
    let ports = laid.filter(|laid| laid.port_name.is_some() && laid.link.mac != Mac::ZERO);
    ports.min_by_key(|laid| laid.item).map(|laid| laid.link.mac)
}
