//! DHCP clients, `/ip/dhcp-client`: each requests an address for its interface, by `service::dhcp::client`.
//! `results.rs` makes dynamic objects (the address, routes) and learned servers of the lease.

mod overlap;
mod read;
mod record;
mod results;

use std::collections::{BTreeMap, BTreeSet};

use dataplane::DropReason;
use dataplane::service::{Match, Rate, Scope, Service};
use frame::InterfaceId;
use machine::{Instant, Machine, Rng};
use menu::{Call, Changes, Id, Item, Menu, Reason, Reply, Row};
use service::dhcp::Message;
use service::dhcp::client::{Action, Client, Event, Fault, Lease, Why};
use wire::{EtherType, Mac, arp, ipv4, udp};

use super::hear::{How, Outgoing, ReceiveOutcome, ReceivedPacket};
use super::neighbours::{self, ARP};
use super::{Effect, Effects, Feature, View, concerns, each_item};
use crate::drive::timers::Timers;
use crate::intent::{ItemId, Name};
use crate::records::{Key, Kind, Recalled};
use crate::running::Running;

use overlap::{Conflict, Networks};
use read::Wish;
pub(in crate::feature) use read::{check, tables};
use record::Record;

const MENU: &str = "/ip/dhcp-client";
const OPTIONS: &str = "/ip/dhcp-client/option";
const IDENTITY: &str = "/system/identity";
pub(crate) const SERVICE: &str = "dhcp-client";
/// Limit of received packets per worker: one server's answers for a hundred transactions per
/// second.
const RATE: Rate = Rate {
    per_second: 400,
    burst: 128,
};
/// Maximum number of queued commands.
const COMMANDS: usize = 1_024;

/// All DHCP clients.
#[derive(Debug)]
pub(crate) struct DhcpClients {
    all: BTreeMap<ItemId, DhcpClient>,
    /// Clients by the name of their interface.
    near: BTreeSet<(Name, ItemId)>,
    /// Clients by interface, while it exists.
    at: BTreeMap<InterfaceId, ItemId>,
    /// Commands of users: the client, and true for `release` or false for `renew`.
    commands: Vec<(ItemId, bool)>,
    /// Host name of this router.
    hostname: String,
    timers: Timers<ItemId>,
    rng: Rng,
    /// Time of the last event.
    now: Instant,
    /// Networks of the other interfaces, which leases must not take over.
    networks: Networks,
}

/// A client.
#[derive(Debug)]
struct DhcpClient {
    wish: Wish,
    machine: Client,
    /// Interface of the client, while it exists and can have an address.
    at: Option<InterfaceId>,
    /// Link address of the last answer's sender: a server or a relay agent.
    by: Option<Mac>,
    /// The lease from which its objects were made.
    told: Option<Box<Lease>>,
    /// The stored record of its lease.
    record: Option<Record>,
    /// Lease from before a restart, until the interface's link address is known.
    recalled: Option<Record>,
    /// Conflict of the lease's network, if any.
    conflict: Option<Conflict>,
}

impl Feature for DhcpClients {
    fn menus(&self) -> &'static [&'static str] {
        &[MENU, OPTIONS, IDENTITY]
    }

    fn follow(&mut self, view: &View<'_>, changes: Option<&Changes>, out: &mut Effects) {
        self.now = view.now;
        if concerns(&[OPTIONS, IDENTITY], changes) {
            let identity = view.store.settings(IDENTITY);
            self.hostname = identity.map_or_else(String::new, |item| item.text("name").to_owned());
            // A changed host name or option may concern every client.
            for item in view.store.items(MENU) {
                self.put(item, view, out);
            }
        }
        each_item(view, MENU, changes, |id, item| match item {
            Some(item) => self.put(item, view, out),
            None => self.take_away(id, view.now, out),
        });
    }

    fn tick(&mut self, now: Instant, out: &mut Effects) {
        self.now = now;
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
            if let Some(one) = self.all.get_mut(&id) {
                one.machine.tick(now, &mut actions);
            }
            self.do_(id, actions, out);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        match self.commands.is_empty() {
            true => self.timers.deadline(),
            false => Some(Instant::ZERO),
        }
    }

    fn annotate_at(&self, menu: &'static Menu, id: Id, now: Instant, row: &mut Row) {
        if let Some(one) = self.all.get(&id.0).filter(|_| menu.path == MENU) {
            one.annotate(now, row);
        }
    }

    fn act(&mut self, _: &View<'_>, call: &Call<'_>) -> Option<Result<Reply, Reason>> {
        if call.menu.path != MENU {
            return None;
        }
        let releases = match call.command {
            "release" => true,
            "renew" => false,
            _ => return None,
        };
        let room = COMMANDS.saturating_sub(self.commands.len());
        let asked = call.items.iter().take(room);
        self.commands.extend(asked.map(|id| (id.0, releases)));
        Some(Ok(Reply::default()))
    }

    fn services(&self) -> Vec<Service> {
        if self.all.is_empty() {
            return Vec::new();
        }
        let port = Match::Udp {
            ipv6: false,
            port: service::dhcp::CLIENT_PORT,
        };
        let offers = Service {
            meets_rules: false,
            scope: Scope::Asked,
            ..Service::new(SERVICE, [port], RATE).by_link()
        };
        vec![offers, neighbours::arp()]
    }

    fn hear(
        &mut self,
        heard: &ReceivedPacket<'_>,
        running: &Running<'_>,
        out: &mut Effects,
    ) -> ReceiveOutcome {
        self.now = running.now;
        let Some(id) = self.at.get(&heard.interface).copied() else {
            return ReceiveOutcome::NotMine;
        };
        match heard.service {
            ARP => {
                let probes = { self.all.get(&id) }.is_some_and(|one| one.machine.is_probing());
                if probes && let Ok(packet) = arp::Repr::parse(heard.packet()) {
                    self.feed(id, Event::Arp(&packet), running.now, out);
                }
                ReceiveOutcome::NotMine
            }
            _ => self.hear_answer(id, heard, running.now, out),
        }
    }

    fn lay_out(
        &mut self,
        others: &BTreeSet<InterfaceId>,
        running: &Running<'_>,
        out: &mut Effects,
    ) {
        self.networks.update(others, running);
        if self.all.is_empty() {
            return;
        }
        self.now = running.now;
        let mut items = BTreeSet::new();
        for id in others {
            items.extend(self.at.get(id));
            if let Some(laid) = running.layout.interfaces.get(id) {
                items.extend(self.near(&laid.name));
            }
        }
        for item in items {
            self.bring_up_to_date(item, running, out);
        }
        self.look_for_conflicts(out);
    }

    fn recall(&mut self, record: &Recalled<'_>, now: Instant) -> bool {
        let own = record.key.kind == Kind::Dhcp4Lease;
        let one = self.all.get_mut(&record.key.item).filter(|_| own);
        let Some(one) = one.filter(|one| !one.wish.disabled) else {
            return false;
        };
        one.recalled = Record::read(record.bytes, record.age, now);
        one.record = one.recalled;
        one.recalled.is_some()
    }
}

impl DhcpClients {
    /// Returns an instance without clients. Unpredictable transaction ids come from `rng`.
    pub(crate) fn new(rng: Rng) -> Self {
        Self {
            all: BTreeMap::new(),
            near: BTreeSet::new(),
            at: BTreeMap::new(),
            commands: Vec::new(),
            hostname: String::new(),
            timers: Timers::default(),
            rng,
            now: Instant::ZERO,
            networks: Networks::default(),
        }
    }

    fn near(&self, name: &Name) -> impl Iterator<Item = ItemId> {
        let all = self
            .near
            .range((name.clone(), 0)..=(name.clone(), ItemId::MAX));
        all.map(|(_, item)| *item)
    }

    fn put(&mut self, item: &Item, view: &View<'_>, out: &mut Effects) {
        let id = item.id.0;
        let Some(wish) = read::wish(item, view.store) else {
            return self.take_away(id, view.now, out);
        };
        if let Some(one) = self.all.get(&id)
            && one.wish.interface != wish.interface
        {
            self.take_away(id, view.now, out);
        }
        // Requests a layout event for the client's interface.
        out.push(Effect::Look(wish.interface.clone()));
        self.near.insert((wish.interface.clone(), id));
        let Some(one) = self.all.get_mut(&id) else {
            let machine = Client::new(wish.config(Mac::ZERO, &self.hostname), self.rng.split());
            let one = DhcpClient {
                wish,
                machine,
                at: None,
                by: None,
                told: None,
                record: None,
                recalled: None,
                conflict: None,
            };
            self.all.insert(id, one);
            return;
        };
        let before = core::mem::replace(&mut one.wish, wish);
        if one.wish.disabled {
            one.recalled = None;
            self.feed(id, Event::Stop, view.now, out);
        } else if one.wish.tells_other(&before)
            && let Some(lease) = one.told.take()
        {
            self.tell(id, lease, out);
        }
    }

    fn take_away(&mut self, id: ItemId, now: Instant, out: &mut Effects) {
        if let Some(one) = self.all.get_mut(&id) {
            one.recalled = None;
        }
        self.feed(id, Event::Stop, now, out);
        self.leave(id, out);
        self.timers.set(id, None);
        if let Some(one) = self.all.remove(&id) {
            self.near.remove(&(one.wish.interface, id));
        }
    }

    /// Stops the reception on the interface that a client leaves.
    fn leave(&mut self, id: ItemId, out: &mut Effects) {
        let one = self.all.get_mut(&id);
        if let Some(interface) = one.and_then(|one| one.at.take()) {
            if self.at.get(&interface) == Some(&id) {
                self.at.remove(&interface);
            }
            out.push(hear(interface, false));
        }
    }

    /// Updates a client from the state of its interface.
    fn bring_up_to_date(&mut self, id: ItemId, running: &Running<'_>, out: &mut Effects) {
        let Some(one) = self.all.get(&id) else { return };
        let named = running.layout.named(&one.wish.interface);
        // RouterOS: a slave has no address; its master has.
        let named = named.filter(|(_, laid)| {
            !laid.disabled && !laid.invalid && !laid.loopback && laid.above.is_none()
        });
        let at = named.map(|(interface, _)| interface);
        if one.at != at {
            self.feed(id, Event::Down, running.now, out);
            self.leave(id, out);
        }
        let Some(one) = self.all.get_mut(&id) else {
            return;
        };
        if let Some(interface) = at.filter(|_| one.at.is_none()) {
            one.at = Some(interface);
            self.at.insert(interface, id);
            out.push(hear(interface, true));
        }
        let Some((_, laid)) = named else { return };
        let config = one.wish.config(laid.link.mac, &self.hostname);
        let event = match laid.link.running && !one.wish.disabled {
            true => Event::Up,
            false => Event::Down,
        };
        let recalled = one.recalled.filter(|_| laid.link.running);
        let recalled = recalled.filter(|record| record.mac == config.mac);
        if *one.machine.config() != config {
            self.feed(id, Event::Configure(config), running.now, out);
        }
        if let Some(record) = recalled {
            self.feed(id, Event::Remember(record.address), running.now, out);
        }
        if laid.link.running
            && let Some(one) = self.all.get_mut(&id)
        {
            one.recalled = None;
        }
        self.feed(id, event, running.now, out);
    }

    fn hear_answer(
        &mut self,
        id: ItemId,
        heard: &ReceivedPacket<'_>,
        now: Instant,
        out: &mut Effects,
    ) -> ReceiveOutcome {
        let Some(one) = self.all.get_mut(&id) else {
            return ReceiveOutcome::NotMine;
        };
        let Some(message) = message(heard.packet()) else {
            return ReceiveOutcome::Bad(DropReason::DhcpClientMalformed);
        };
        let mut actions = Vec::new();
        let taken = one.machine.receive(&message, now, &mut actions);
        if taken.is_ok() {
            one.by = Some(heard.source_mac());
        }
        self.do_(id, actions, out);
        match taken {
            Ok(()) => ReceiveOutcome::Taken,
            Err(Fault::Other) => ReceiveOutcome::Bad(DropReason::DhcpClientOther),
            Err(Fault::Unexpected) => ReceiveOutcome::Bad(DropReason::DhcpClientUnexpected),
            Err(Fault::Unusable) => ReceiveOutcome::Bad(DropReason::DhcpClientUnusable),
        }
    }

    fn feed(&mut self, id: ItemId, event: Event<'_>, now: Instant, out: &mut Effects) {
        let mut actions = Vec::new();
        if let Some(one) = self.all.get_mut(&id) {
            one.machine.handle(event, now, &mut actions);
        }
        self.do_(id, actions, out);
    }

    /// Carries out the actions of a client.
    fn do_(&mut self, id: ItemId, actions: Vec<Action>, out: &mut Effects) {
        for action in actions {
            let Some(one) = self.all.get_mut(&id) else {
                return;
            };
            let to_all = |bytes, kind| {
                one.at.map(|interface| Outgoing {
                    interface,
                    bytes,
                    how: How::Frame(Mac::BROADCAST, kind),
                })
            };
            let outgoing = match action {
                Action::Broadcast(packet) => to_all(packet, EtherType::IPV4),
                Action::Probe(packet) => to_all(packet.to_vec(), EtherType::ARP),
                // The server's link address is known, so no ARP is needed: a release still uses the
                // address that it gives up.
                Action::Send(packet) => one.at.map(|interface| match one.by {
                    Some(by) => Outgoing {
                        interface,
                        bytes: packet,
                        how: How::Frame(by, EtherType::IPV4),
                    },
                    None => Outgoing::packet(interface, packet),
                }),
                Action::Got(lease) => {
                    self.tell(id, lease, out);
                    None
                }
                Action::Lost(why) => {
                    one.forget(id, why, out);
                    None
                }
                Action::Failed(why) => {
                    one.warn(why, out);
                    None
                }
            };
            if let Some(outgoing) = outgoing {
                out.send(outgoing);
            }
        }
        let Some(one) = self.all.get_mut(&id) else {
            return;
        };
        one.keep(id, self.now, out);
        let deadline = one.machine.deadline();
        self.timers.set(id, deadline.map(|(at, _)| at));
    }

    /// Makes the objects of a new or changed lease.
    fn tell(&mut self, id: ItemId, lease: Box<Lease>, out: &mut Effects) {
        if let Some(one) = self.all.get_mut(&id) {
            let conflict = self.networks.conflict(one.at, lease.address, lease.len);
            one.tell(id, lease, conflict, out);
        }
    }

    /// Remakes the objects of leases whose conflicts with other interfaces changed.
    fn look_for_conflicts(&mut self, out: &mut Effects) {
        for (id, one) in &mut self.all {
            let Some(lease) = &one.told else { continue };
            let conflict = self.networks.conflict(one.at, lease.address, lease.len);
            if conflict != one.conflict {
                let lease = lease.clone();
                one.tell(*id, lease, conflict, out);
            }
        }
    }
}

impl DhcpClient {
    /// Stores the address for use after a restart, as long as the machine would request it again.
    fn keep(&mut self, id: ItemId, now: Instant, out: &mut Effects) {
        if self.recalled.is_some() {
            return;
        }
        let machine = &self.machine;
        let held = machine.lease();
        let held = held.map(|lease| Record::of(machine.config().mac, lease));
        let remembered = machine.remembered();
        let record = held.or_else(|| {
            self.record
                .filter(|record| remembered == Some(record.address))
        });
        if record != self.record {
            self.record = record;
            let key = Key {
                kind: Kind::Dhcp4Lease,
                item: id,
            };
            let bytes = record.map(|record| record.to_bytes(now));
            out.push(Effect::Keep(key, bytes));
        }
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

/// Returns the DHCP message of a packet.
fn message(packet: &[u8]) -> Option<Message> {
    let packet = ipv4::Packet::new_checked(packet).ok()?;
    let datagram = udp::Datagram::new_checked(packet.payload()).ok()?;
    datagram.verify_v4(packet.src(), packet.dst()).ok()?;
    Message::decode(datagram.payload()).ok()
}

/// Returns RouterOS's text for a lost address.
fn words(why: Why) -> String {
    match why {
        Why::Stopped => "lease stopped locally".to_owned(),
        Why::Expired => "lease expired".to_owned(),
        Why::Refused(server) => format!("received NAK from dhcp server {server}"),
        Why::Released => "lease released".to_owned(),
        Why::InUse(address, mac) => format!("{address} is in use by {mac}"),
    }
}
