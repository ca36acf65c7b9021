//! DHCPv6: clients (`/ipv6/dhcp-client`), servers (`/ipv6/dhcp-server`), prefix pools (`/ipv6/pool`), and addresses
//! from pools (`/ipv6/address` with `from-pool`).
//!
//! ```text
//! client ─ prefix ─▶ pools ─ piece ─▶ addresses ─▶ router advertisements
//!                      └───── piece ─▶ bindings of servers ─▶ routes
//! ```
//! They are one feature, because addresses and bindings change with their pool. `service::dhcp6` has the protocol
//! machines.

mod address;
mod client;
mod pools;
mod read;
mod record;
mod results;
pub(crate) mod server;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use dataplane::DropReason;
use dataplane::service::{Match, Rate, Scope, Service};
use frame::InterfaceId;
use machine::{Instant, Rng};
use menu::{Call, Changes, Id, Menu, Reason, Reply, Row, RowFilter};
use service::dhcp6::pools::Pools as SharedPools;
use service::dhcp6::{CLIENT_PORT, Message};
use wire::{ipv6, udp};

use super::hear::{ReceiveOutcome, ReceivedPacket};
use super::{Effects, Feature, View, concerns, each_item};
use crate::drive::timers::Timers;
use crate::intent::{ItemId, Name};
use crate::learned::Learned;
use crate::records::Recalled;
use crate::running::Running;

use address::FromPool;
use client::Dhcp6Client;
use pools::Pools;
pub(crate) use results::route_without_gateway;
use server::{Dhcp6Servers, SessionServer};

const CLIENTS: &str = "/ipv6/dhcp-client";
const OPTIONS: &str = "/ipv6/dhcp-client/option";
const POOLS: &str = "/ipv6/pool";
const USED: &str = "/ipv6/pool/used";
const ADDRESSES: &str = "/ipv6/address";
const SERVICE: &str = "dhcp6-client";
/// Limit of received packets per worker: one server's answers for a hundred transactions per
/// second.
const RATE: Rate = Rate {
    per_second: 400,
    burst: 128,
};
/// Maximum number of queued commands.
const COMMANDS: usize = 1_024;

/// DHCPv6 clients, prefix pools, and addresses from pools.
#[derive(Debug)]
pub(crate) struct Dhcp6 {
    clients: BTreeMap<ItemId, Dhcp6Client>,
    /// Clients by the name of their interface.
    near: BTreeSet<(Name, ItemId)>,
    /// Clients by interface, while it exists. An interface may have several clients.
    at: BTreeSet<(InterfaceId, ItemId)>,
    /// Servers and their bindings.
    pub(crate) servers: Dhcp6Servers,
    commands: Vec<(ItemId, bool)>,
    timers: Timers<ItemId>,
    pools: Pools,
    addresses: BTreeMap<ItemId, FromPool>,
    /// The DUID of this router, derived once from the link address of its first port.
    duid: Vec<u8>,
    rng: Rng,
    /// Time of the last event.
    now: Instant,
}

impl Feature for Dhcp6 {
    fn menus(&self) -> &'static [&'static str] {
        &[
            CLIENTS,
            OPTIONS,
            POOLS,
            USED,
            ADDRESSES,
            server::MENU,
            server::BINDINGS,
            server::OPTIONS,
            server::SETS,
        ]
    }

    fn follow(&mut self, view: &View<'_>, changes: Option<&Changes>, out: &mut Effects) {
        self.now = view.now;
        each_item(view, POOLS, changes, |id, item| {
            self.pools.configure(id, item);
        });
        each_item(view, ADDRESSES, changes, |id, item| {
            self.put_address(id, item.and_then(address::read), out);
        });
        if concerns(&[OPTIONS], changes) {
            for item in view.store.items(CLIENTS) {
                self.put_client(item, view, out);
            }
        }
        each_item(view, CLIENTS, changes, |id, item| match item {
            Some(item) => self.put_client(item, view, out),
            None => self.take_client(id, view.now, out),
        });
        self.settle_pools(out);
        self.servers.apply_changes(view, changes, out);
    }

    fn tick(&mut self, now: Instant, out: &mut Effects) {
        self.now = now;
        self.tick_clients(now, out);
        self.settle_pools(out);
        self.servers.tick(now, out);
    }

    fn deadline(&self) -> Option<Instant> {
        match self.commands.is_empty() {
            true => {
                let clients = self.timers.deadline().into_iter();
                clients.chain(self.servers.deadline()).min()
            }
            false => Some(Instant::ZERO),
        }
    }

    fn rows(
        &self,
        menu: &'static Menu,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match menu.path {
            POOLS => self.pools.dynamic_rows(self.now, filter, each),
            USED => self.pools.used_rows(filter, each),
            server::MENU => self.servers.dynamic_rows(&self.duid, filter, each),
            _ => ControlFlow::Continue(()),
        }
    }

    fn rows_at(
        &self,
        menu: &'static Menu,
        filter: &RowFilter<'_>,
        now: Instant,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match menu.path {
            server::BINDINGS => self.servers.binding_rows(now, filter, each),
            _ => self.rows(menu, filter, each),
        }
    }

    fn annotate_at(&self, menu: &'static Menu, id: Id, now: Instant, row: &mut Row) {
        match menu.path {
            CLIENTS => {
                if let Some(one) = self.clients.get(&id.0) {
                    one.annotate(now, row);
                }
            }
            POOLS => self.pools.annotate(id, row),
            server::MENU => self.servers.annotate(id, &self.duid, row),
            server::BINDINGS => self.servers.annotate_binding(id, now, row),
            _ => {}
        }
    }

    fn act(&mut self, view: &View<'_>, call: &Call<'_>) -> Option<Result<Reply, Reason>> {
        if call.menu.path == server::BINDINGS {
            return self.servers.act(view.now, call);
        }
        let releases = match (call.menu.path, call.command) {
            (CLIENTS, "release") => true,
            (CLIENTS, "renew") => false,
            _ => return None,
        };
        let room = COMMANDS.saturating_sub(self.commands.len());
        let asked = call.items.iter().take(room);
        self.commands.extend(asked.map(|id| (id.0, releases)));
        Some(Ok(Reply::default()))
    }

    fn services(&self) -> Vec<Service> {
        let mut services = vec![server::service()];
        if !self.clients.is_empty() {
            let port = Match::Udp {
                ipv6: true,
                port: CLIENT_PORT,
            };
            // RouterOS: answers pass the rules of `input`; the default configuration accepts them.
            services.push(Service {
                scope: Scope::Asked,
                ..Service::new(SERVICE, [port], RATE).by_link()
            });
        }
        services
    }

    fn hear(
        &mut self,
        heard: &ReceivedPacket<'_>,
        running: &Running<'_>,
        out: &mut Effects,
    ) -> ReceiveOutcome {
        self.now = running.now;
        if heard.service == server::SERVICE {
            return self.servers.receive(heard, &self.duid, running, out);
        }
        let Some((message, from)) = message(heard.packet()) else {
            return ReceiveOutcome::Bad(DropReason::DhcpClientMalformed);
        };
        let hearing = self.hear_answer(heard.interface, &message, from, running.now, out);
        self.settle_pools(out);
        hearing
    }

    fn lay_out(
        &mut self,
        others: &BTreeSet<InterfaceId>,
        running: &Running<'_>,
        out: &mut Effects,
    ) {
        self.now = running.now;
        if !self.clients.is_empty() || self.servers.has_any() {
            self.make_duid(running, out);
        }
        self.servers.interfaces_changed(others, running, out);
        if self.clients.is_empty() {
            return;
        }
        self.lay_out_clients(others, running, out);
        self.settle_pools(out);
    }

    fn learn(&mut self, learned: &Learned, _: Instant, _: &mut Effects) {
        self.servers.learn(learned);
    }

    fn recall(&mut self, record: &Recalled<'_>, now: Instant) -> bool {
        self.take_up(record, now)
    }
}

impl Dhcp6 {
    /// Returns an instance without clients and pools. Unpredictable transaction ids come from
    /// `rng`.
    pub(crate) fn new(rng: Rng) -> Self {
        let pools = Pools::default();
        Self {
            servers: Dhcp6Servers::new(pools.shared().clone()),
            clients: BTreeMap::new(),
            near: BTreeSet::new(),
            at: BTreeSet::new(),
            commands: Vec::new(),
            timers: Timers::default(),
            pools,
            addresses: BTreeMap::new(),
            duid: Vec::new(),
            rng,
            now: Instant::ZERO,
        }
    }

    /// Returns a shared handle to the prefix pools.
    pub(crate) fn share_pools(&self) -> SharedPools {
        self.pools.shared().clone()
    }

    /// Adds, changes or removes the server of a PPP session, by the session's number.
    pub(crate) fn set_session_server(
        &mut self,
        session: u64,
        server: Option<SessionServer>,
        now: Instant,
        out: &mut Effects,
    ) {
        self.servers.set_session_server(session, server, now, out);
    }

    /// Updates the addresses and bindings of pools whose prefix changed.
    fn settle_pools(&mut self, out: &mut Effects) {
        let others = self.pools.settle();
        if others.is_empty() {
            return;
        }
        self.servers.check_pools(self.now, out);
        let users = self
            .addresses
            .iter()
            .filter(|(_, of)| others.contains(&of.pool));
        let users: Vec<_> = users.map(|(id, _)| *id).collect();
        for id in users {
            self.place_address(id, out);
        }
    }
}

/// Returns the DHCPv6 message of a packet and its sender.
fn message(packet: &[u8]) -> Option<(Message, core::net::Ipv6Addr)> {
    let packet = ipv6::Packet::new_checked(packet).ok()?;
    let (from, to) = (packet.src(), packet.dst());
    let upper = packet.upper().ok()?;
    let datagram = udp::Datagram::new_checked(upper.payload).ok()?;
    datagram.verify_v6(from, to).ok()?;
    Some((Message::decode(datagram.payload()).ok()?, from))
}
