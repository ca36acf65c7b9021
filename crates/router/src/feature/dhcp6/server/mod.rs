//! DHCPv6 servers, `/ipv6/dhcp-server`, and servers of PPP sessions (`dhcpv6-pd-pool`). The machine
//! `service::dhcp6::server` decides which client gets which prefix or address.
//!
//! ```text
//! menus, sessions ─▶ machine ◀─ packets of UDP port 547 on the interfaces of servers
//!                       ├─▶ answers
//!                       └─▶ bound, unbound ─▶ route of the prefix, log, script, record
//! ```
//! Records of bindings survive a restart. Bindings of sessions have none: they end with their session.

mod objects;
mod read;
mod show;

use core::net::{IpAddr, Ipv6Addr};
use std::collections::{BTreeMap, BTreeSet};

use dataplane::DropReason;
use dataplane::service::{Match, Rate, Scope, Service};
use frame::InterfaceId;
use machine::{Duration, Instant, Machine};
use menu::{Call, Changes, Item, Reason, Reply};
use service::dhcp6::pools::Pools;
use service::dhcp6::server::{
    Action, Binding, Config, DYNAMIC, Event, Fault, Record, Request, Servers,
};
use service::dhcp6::{ALL_SERVERS, CLIENT_PORT, SERVER_PORT, packet};
use wire::EtherType;

use super::message;
use crate::feature::hear::{How, Outgoing, ReceiveOutcome, ReceivedPacket};
use crate::feature::{Effect, Effects, View, concerns, each_item};
use crate::intent::{ItemId, Name};
use crate::learned::{Learned, NameServers6};
use crate::records::{Key, Kind, Recalled};
use crate::running::Running;

pub(super) const MENU: &str = "/ipv6/dhcp-server";
pub(super) const BINDINGS: &str = "/ipv6/dhcp-server/binding";
pub(super) const OPTIONS: &str = "/ipv6/dhcp-server/option";
pub(super) const SETS: &str = "/ipv6/dhcp-server/option/sets";
/// Service of UDP port 547.
pub(super) const SERVICE: &str = "dhcp6-server";
/// Allows ten thousand clients a second, each with a solicitation and a request.
const RATE: Rate = Rate {
    per_second: 20_000,
    burst: 1_024,
};
/// Maximum number of bindings of a session: an address and a prefix for each of two routers.
const SESSION_BINDINGS: usize = 4;

/// Returns the service of UDP port 547. RouterOS: requests pass the rules of `input`.
pub(super) fn service() -> Service {
    let port = Match::Udp {
        ipv6: true,
        port: SERVER_PORT,
    };
    Service {
        scope: Scope::Asked,
        ..Service::new(SERVICE, [port], RATE).by_link()
    }
}

/// All servers.
#[derive(Debug)]
pub(crate) struct Dhcp6Servers {
    machine: Servers,
    all: BTreeMap<u64, Server>,
    /// Enabled servers by interface.
    on: BTreeSet<(Name, u64)>,
    /// Active servers by interface.
    at: BTreeMap<InterfaceId, u64>,
    name_servers: NameServers6,
    /// Restored bindings whose objects the next tick makes.
    restored: Vec<u64>,
    /// Effects of commands that the next tick emits.
    pending: Vec<Effect>,
}

/// A server.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Server {
    name: Name,
    interface: Name,
    disabled: bool,
    script: String,
    /// Distance of routes to delegated prefixes.
    distance: u8,
    config: Config,
}

/// Server of a PPP session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionServer {
    /// User of the session.
    pub(crate) user: Name,
    /// Interface of the session, which also names the server.
    pub(crate) interface: Name,
    /// Pool of delegated prefixes.
    pub(crate) pool: Option<Name>,
    /// Prefixes of the user, which come before those of the pool.
    pub(crate) prefixes: Vec<(Ipv6Addr, u8)>,
    /// Valid lifetime of the prefixes.
    pub(crate) lifetime: Duration,
}

impl SessionServer {
    fn into_server(self) -> Server {
        Server {
            name: self.interface.clone(),
            disabled: false,
            script: String::new(),
            distance: 1,
            config: Config {
                name: (&*self.interface).into(),
                prefix_pool: self.pool.as_deref().map(Into::into),
                prefixes: self.prefixes,
                lifetime: self.lifetime,
                rapid_commit: true,
                preference: u8::MAX,
                user: Some((&*self.user).into()),
                max_bindings: Some(SESSION_BINDINGS),
                ..Config::default()
            },
            interface: self.interface,
        }
    }
}

impl Dhcp6Servers {
    /// Returns an instance without servers that assigns subnets of `pools`.
    pub(super) fn new(pools: Pools) -> Self {
        Self {
            machine: Servers::new(pools),
            all: BTreeMap::new(),
            on: BTreeSet::new(),
            at: BTreeMap::new(),
            name_servers: NameServers6::default(),
            restored: Vec::new(),
            pending: Vec::new(),
        }
    }

    /// Whether there is a server.
    pub(super) fn has_any(&self) -> bool {
        !self.all.is_empty()
    }

    /// Applies the changes of a transaction; without `changes`, the whole configuration.
    pub(super) fn apply_changes(
        &mut self,
        view: &View<'_>,
        changes: Option<&Changes>,
        out: &mut Effects,
    ) {
        let now = view.now;
        // Options are part of each item that names them.
        if changes.is_some() && concerns(&[OPTIONS, SETS], changes) {
            for item in view.store.items(MENU) {
                self.put(item.id.0, Some(read::server(view.store, item)), now, out);
            }
            for item in view.store.items(BINDINGS) {
                self.put_binding(view, item.id.0, Some(item), out);
            }
        }
        each_item(view, MENU, changes, |id, item| {
            let server = item.map(|item| read::server(view.store, item));
            self.put(id, server, now, out);
        });
        each_item(view, BINDINGS, changes, |id, item| {
            self.put_binding(view, id, item, out);
        });
    }

    fn put(&mut self, id: u64, server: Option<Server>, now: Instant, out: &mut Effects) {
        if self.all.get(&id) == server.as_ref() {
            return;
        }
        let config = server.as_ref().filter(|server| !server.disabled);
        self.event(
            Event::Server(id, config.map(|server| server.config.clone())),
            now,
            out,
        );
        if let Some(before) = self.all.remove(&id) {
            self.on.remove(&(before.interface.clone(), id));
            out.push(Effect::Look(before.interface));
        }
        if let Some(server) = server {
            if !server.disabled {
                self.on.insert((server.interface.clone(), id));
            }
            out.push(Effect::Look(server.interface.clone()));
            self.all.insert(id, server);
            let bindings = self.machine.of_server(id).map(|binding| binding.id);
            bindings.for_each(|binding| self.make_objects(binding, out));
        }
    }

    fn put_binding(&mut self, view: &View<'_>, id: ItemId, item: Option<&Item>, out: &mut Effects) {
        let item = item.filter(|item| !item.is("disabled"));
        let fixed = item.and_then(|item| read::binding(view.store, item));
        self.event(Event::Static(id, fixed), view.now, out);
    }

    /// Adds, changes or removes the server of a PPP session.
    pub(super) fn set_session_server(
        &mut self,
        session: u64,
        server: Option<SessionServer>,
        now: Instant,
        out: &mut Effects,
    ) {
        let server = server.map(SessionServer::into_server);
        self.put(session | DYNAMIC, server, now, out);
    }

    /// Ends the bindings of lost subnets.
    pub(super) fn check_pools(&mut self, now: Instant, out: &mut Effects) {
        self.event(Event::PoolsChanged, now, out);
    }

    /// Notes the DNS servers that networks announce.
    pub(super) fn learn(&mut self, learned: &Learned) {
        self.name_servers = NameServers6::of(learned);
    }

    fn event(&mut self, event: Event<'_>, now: Instant, out: &mut Effects) {
        let mut actions = Vec::new();
        self.machine.handle(event, now, &mut actions);
        self.carry_out(actions, None, now, out);
    }

    /// Carries out the actions of the machine. Replies leave from this interface and address.
    fn carry_out(
        &mut self,
        actions: Vec<Action>,
        from: Option<(InterfaceId, Ipv6Addr)>,
        now: Instant,
        out: &mut Effects,
    ) {
        for action in actions {
            match action {
                Action::Send(reply) => {
                    if let Some((interface, from)) = from {
                        let message = &reply.message;
                        out.send(Outgoing {
                            interface,
                            bytes: packet(from, SERVER_PORT, reply.to, CLIENT_PORT, message),
                            how: How::Frame(reply.mac, EtherType::IPV6),
                        });
                    }
                }
                Action::Bound(id) => {
                    self.bound(id, out);
                    self.keep(id, now, out);
                }
                Action::Extended(id) => self.keep(id, now, out),
                Action::Unbound(binding) => {
                    self.unbound(&binding, out);
                    if !is_of_session(&binding) {
                        out.push(Effect::Keep(key(binding.id), None));
                    }
                }
            }
        }
    }

    /// Writes the record of a binding.
    fn keep(&self, id: u64, now: Instant, out: &mut Effects) {
        let binding = self.machine.binding(id);
        if let Some(record) = binding.and_then(|binding| binding.record(now)) {
            out.push(Effect::Keep(key(id), Some(record.to_bytes())));
        }
    }

    /// Restores a binding from before a restart.
    pub(super) fn recall(&mut self, record: &Recalled<'_>, now: Instant) -> bool {
        let Some(record) = Record::read(record.bytes, record.age) else {
            return false;
        };
        let mut actions = Vec::new();
        self.machine
            .handle(Event::Recall(&record), now, &mut actions);
        self.restored
            .extend((!actions.is_empty()).then_some(record.id));
        !actions.is_empty()
    }

    /// Handles due timers.
    pub(super) fn tick(&mut self, now: Instant, out: &mut Effects) {
        self.pending.drain(..).for_each(|effect| out.push(effect));
        for id in core::mem::take(&mut self.restored) {
            self.make_objects(id, out);
        }
        let mut actions = Vec::new();
        self.machine.tick(now, &mut actions);
        self.carry_out(actions, None, now, out);
    }

    /// Returns when [`Self::tick`] is due next.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match self.restored.is_empty() && self.pending.is_empty() {
            true => self.machine.deadline().map(|(at, ())| at),
            false => Some(Instant::ZERO),
        }
    }

    /// Activates servers on interfaces that appeared, and deactivates those on interfaces that went.
    pub(super) fn interfaces_changed(
        &mut self,
        others: &BTreeSet<InterfaceId>,
        running: &Running<'_>,
        out: &mut Effects,
    ) {
        if self.all.is_empty() && self.at.is_empty() {
            return;
        }
        for id in others {
            let laid = running.layout.interfaces.get(id);
            let laid = laid.filter(|laid| {
                !laid.disabled && !laid.invalid && !laid.loopback && laid.above.is_none()
            });
            let server = laid.and_then(|laid| self.server_on(&laid.name));
            let before = match server {
                Some(server) => self.at.insert(*id, server),
                None => self.at.remove(id),
            };
            if before.is_some() != server.is_some() {
                set_reception(*id, server.is_some(), out);
            }
        }
    }

    /// Returns the first enabled server of an interface.
    fn server_on(&self, interface: &Name) -> Option<u64> {
        let from = (interface.clone(), 0)..=(interface.clone(), u64::MAX);
        self.on.range(from).next().map(|(_, id)| *id)
    }

    /// Handles a packet to port 547.
    pub(super) fn receive(
        &mut self,
        heard: &ReceivedPacket<'_>,
        duid: &[u8],
        running: &Running<'_>,
        out: &mut Effects,
    ) -> ReceiveOutcome {
        let interface = heard.interface;
        let Some((message, from)) = message(heard.packet()) else {
            return ReceiveOutcome::Bad(DropReason::DhcpMalformed);
        };
        let server = self.at.get(&interface).copied();
        let Some((server, own)) = server.zip(running.link_local(interface)) else {
            return ReceiveOutcome::Bad(DropReason::DhcpOtherServer);
        };
        let local = running.addresses.of6(interface);
        let request = Request {
            server,
            message,
            from,
            mac: heard.source_mac(),
            local: local.map(|(address, of)| (address, of.len)).collect(),
            duid: duid.to_vec(),
            dns: self.name_servers.with(&running.intent.dns6),
        };
        let mut actions = Vec::new();
        let result = self.machine.receive(&request, running.now, &mut actions);
        self.carry_out(actions, Some((interface, own)), running.now, out);
        match result {
            Ok(()) => ReceiveOutcome::Taken,
            Err(fault) => ReceiveOutcome::Bad(match fault {
                Fault::Type => DropReason::DhcpType,
                Fault::Malformed => DropReason::DhcpMalformed,
                Fault::OtherServer => DropReason::DhcpOtherServer,
                Fault::Unknown => DropReason::DhcpUnknown,
                Fault::Exhausted => DropReason::DhcpNoAddress,
            }),
        }
    }

    /// Runs a command of the menu of bindings.
    pub(super) fn act(&mut self, now: Instant, call: &Call<'_>) -> Option<Result<Reply, Reason>> {
        match call.command {
            "remove" => {
                let mut out = Effects::default();
                if !call
                    .items
                    .iter()
                    .all(|id| self.machine.binding(id.0).is_some())
                {
                    return Some(Err(Reason::NoItem));
                }
                for id in call.items {
                    self.event(Event::Remove(id.0), now, &mut out);
                }
                self.pending.extend(out);
                Some(Ok(Reply::default()))
            }
            "send-reconfigure" => Some(Err(Reason::failure(
                "requests to clients to renew their bindings are not supported",
            ))),
            "comment" | "disable" | "enable" | "set" | "unset"
                if call.items.iter().any(|id| id.0 & DYNAMIC != 0) =>
            {
                Some(Err(Reason::failure(
                    "can not change dynamic binding - use make-static",
                )))
            }
            _ => None,
        }
    }
}

/// True if a binding ends with a PPP session.
fn is_of_session(binding: &Binding) -> bool {
    binding.active_server.is_some_and(|id| id & DYNAMIC != 0)
}

/// Starts or stops the reception of requests on an interface.
fn set_reception(interface: InterfaceId, on: bool, out: &mut Effects) {
    out.push(Effect::Hear {
        service: SERVICE,
        interface,
        on,
    });
    out.push(Effect::Join {
        group: IpAddr::V6(ALL_SERVERS),
        interface,
        on,
    });
}

/// Returns the key of a binding's record. Numbers of dynamic bindings get a bit that no item has.
const fn key(id: u64) -> Key {
    Key {
        kind: Kind::Dhcp6ServerBinding,
        item: match id & DYNAMIC {
            0 => id,
            _ => id & !DYNAMIC | 1 << 55,
        },
    }
}
