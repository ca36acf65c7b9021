//! DHCPv6 servers of all interfaces (RFC 8415, 18.3): prefixes (IA_PD), addresses (IA_NA) and options.
//!
//! ```text
//! Solicit ─▶ Advertise: nothing is stored          Solicit with rapid commit, Request ─▶ Reply: bound
//! bound ─ Renew, Rebind ─▶ bound      bound ─ Release, Decline, end of the lifetime, end of the server ─▶ gone
//! ```
//! A binding belongs to the DUID and IAID of a client. An advertisement previews the subnet that a request would get
//! and stores nothing, so solicitations take no memory. A client that renews a binding that this server does not know,
//! for example one whose record was lost, keeps its subnet if it is free (RFC 8415, 18.3.4).

mod binding;
mod config;
mod request;
#[cfg(test)]
mod tests;

use core::net::Ipv6Addr;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use machine::{Duration, Instant, Machine};
use wire::Mac;

use super::message::Message;
use super::pool::{User, first};
use super::pools::Pools;
pub use binding::{Binding, DYNAMIC, Identity, Record, hex};
pub use config::{Config, Static};

/// Number of a server: its configuration item, or a number with [`DYNAMIC`].
pub type ServerId = u64;

/// Maximum number of dynamic bindings of all servers.
const MAX_BINDINGS: usize = 1 << 18;
/// Time for which a declined address is not assigned.
const DECLINED: Duration = Duration::from_secs(3_600);
/// Maximum number of declined addresses that are held back.
const MAX_DECLINED: usize = 256;

/// A message of a client.
#[derive(Clone, Debug)]
pub struct Request {
    /// Server of the ingress interface.
    pub server: ServerId,
    /// The message.
    pub message: Message,
    /// Source address: link-local.
    pub from: Ipv6Addr,
    /// Source link address, to which the reply goes.
    pub mac: Mac,
    /// Addresses of the ingress interface with the lengths of their networks.
    pub local: Vec<(Ipv6Addr, u8)>,
    /// DUID of this router.
    pub duid: Vec<u8>,
    /// DNS servers for the client.
    pub dns: Vec<Ipv6Addr>,
}

/// Answer to a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The server.
    pub server: ServerId,
    /// Address of the client.
    pub to: Ipv6Addr,
    /// Link address of the client.
    pub mac: Mac,
    /// The encoded message.
    pub message: Vec<u8>,
}

/// Events of the servers.
#[derive(Debug)]
pub enum Event<'a> {
    /// A server was added, changed or removed.
    Server(ServerId, Option<Config>),
    /// A static binding was added, changed or removed, by its item.
    Static(u64, Option<Static>),
    /// A message arrived.
    Received(&'a Request),
    /// Restores a binding from before a restart.
    Recall(&'a Record),
    /// Ends a dynamic binding.
    Remove(u64),
    /// Pools may have lost their prefixes ([`Pools::version`]): ends the bindings of lost subnets.
    PoolsChanged,
}

/// Actions that the owner carries out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send this reply.
    Send(Box<Reply>),
    /// The subnet of the binding is new or has changed.
    Bound(u64),
    /// The binding was extended or restored.
    Extended(u64),
    /// The binding ended; it is passed with its last state.
    Unbound(Box<Binding>),
}

/// Reason why a message gets no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Messages of this type are not for servers.
    Type,
    /// A required identifier is missing, or one is present that must not be (RFC 8415, 16).
    Malformed,
    /// The message is for another server.
    OtherServer,
    /// The server knows nothing about the client's addresses.
    Unknown,
    /// No subnet is left.
    Exhausted,
}

/// All servers and their bindings.
#[derive(Debug)]
pub struct Servers {
    pools: Pools,
    servers: BTreeMap<ServerId, Config>,
    statics: BTreeMap<u64, Static>,
    /// Subnets of static bindings: first address, length, binding.
    static_subnets: BTreeSet<(Ipv6Addr, u8, u64)>,
    /// Static bindings of clients with an earlier one, which take its place when it goes.
    shadowed: BTreeMap<u64, Static>,
    shadows: BTreeSet<(Identity, u64)>,
    bindings: BTreeMap<u64, Binding>,
    by_identity: BTreeMap<Identity, u64>,
    /// Bound bindings by their server.
    active: BTreeSet<(ServerId, u64)>,
    expiry: BTreeSet<(Instant, u64)>,
    /// Number of the last dynamic binding.
    last: u64,
    dynamic: usize,
    /// Pool allocations of subnets that are not assigned: the router's own and those of static bindings.
    withheld: BTreeSet<(Box<str>, User)>,
    declined: VecDeque<(Instant, Box<str>, User)>,
}

impl Machine for Servers {
    type Event<'a> = Event<'a>;
    type Action = Action;
    type Timer = ();

    fn handle(&mut self, event: Event<'_>, now: Instant, out: &mut Vec<Action>) {
        match event {
            Event::Server(id, config) => self.configure(id, config, out),
            Event::Static(id, fixed) => self.set_static(id, fixed, out),
            Event::Received(request) => _ = self.receive(request, now, out),
            Event::Recall(record) => self.recall(record, now, out),
            Event::Remove(id) if id & DYNAMIC != 0 => self.end(id, out),
            Event::Remove(_) => {}
            Event::PoolsChanged => self.check_pools(out),
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Action>) {
        while let Some((at, id)) = self.expiry.first().copied()
            && at <= now
        {
            self.end(id, out);
        }
        while self.declined.front().is_some_and(|(at, ..)| *at <= now) {
            if let Some((_, pool, user)) = self.declined.pop_front() {
                self.pools.release(&pool, &user);
            }
        }
    }

    fn deadline(&self) -> Option<(Instant, ())> {
        let expiry = self.expiry.first().map(|(at, _)| *at);
        let declined = self.declined.front().map(|(at, ..)| *at);
        let at = expiry.into_iter().chain(declined).min()?;
        Some((at, ()))
    }
}

impl Servers {
    /// Creates an instance without servers that assigns subnets of these pools.
    pub fn new(pools: Pools) -> Self {
        Self {
            pools,
            servers: BTreeMap::new(),
            statics: BTreeMap::new(),
            static_subnets: BTreeSet::new(),
            shadowed: BTreeMap::new(),
            shadows: BTreeSet::new(),
            bindings: BTreeMap::new(),
            by_identity: BTreeMap::new(),
            active: BTreeSet::new(),
            expiry: BTreeSet::new(),
            last: 0,
            dynamic: 0,
            withheld: BTreeSet::new(),
            declined: VecDeque::new(),
        }
    }

    /// Returns all bindings, configured ones first.
    pub const fn bindings(&self) -> &BTreeMap<u64, Binding> {
        &self.bindings
    }

    /// Returns a binding.
    pub fn binding(&self, id: u64) -> Option<&Binding> {
        self.bindings.get(&id)
    }

    /// Returns the bindings that a server assigned.
    pub fn of_server(&self, server: ServerId) -> impl Iterator<Item = &Binding> {
        let of = self.active.range((server, 0)..=(server, u64::MAX));
        of.filter_map(|(_, id)| self.bindings.get(id))
    }

    fn configure(&mut self, id: ServerId, config: Option<Config>, out: &mut Vec<Action>) {
        let Some(config) = config else {
            if self.servers.remove(&id).is_some() {
                let of: Vec<_> = self.of_server(id).map(|binding| binding.id).collect();
                of.into_iter().for_each(|binding| self.end(binding, out));
            }
            return;
        };
        self.servers.insert(id, config);
    }

    /// Adds, changes or removes a static binding.
    fn set_static(&mut self, id: u64, fixed: Option<Static>, out: &mut Vec<Action>) {
        let before = self.statics.get(&id).or_else(|| self.shadowed.get(&id));
        if before == fixed.as_ref() {
            return;
        }
        if let Some(before) = self.shadowed.remove(&id) {
            self.shadows.remove(&(before.identity(), id));
        }
        let freed = self.remove_static(id, out);
        self.forget_withheld();
        if let Some(fixed) = fixed {
            self.add_static(id, fixed, out);
        }
        if let Some(freed) = freed {
            self.reveal(&freed, out);
        }
    }

    /// Removes a static binding; returns its identity.
    fn remove_static(&mut self, id: u64, out: &mut Vec<Action>) -> Option<Identity> {
        let before = self.statics.remove(&id)?;
        if let Some((address, len)) = before.subnet {
            self.static_subnets.remove(&(first(address, len), len, id));
        }
        self.end(id, out);
        let identity = self.bindings.remove(&id)?.identity;
        self.by_identity.remove(&identity);
        Some(identity)
    }

    /// Adds the first static binding that was shadowed by another one of its client, if none has taken its place.
    fn reveal(&mut self, identity: &Identity, out: &mut Vec<Action>) {
        let its = (identity.clone(), 0)..=(identity.clone(), u64::MAX);
        let next = self.shadows.range(its).next().cloned();
        let is_free = !self.has_static(identity);
        if let Some((identity, id)) = next.filter(|_| is_free)
            && let Some(fixed) = self.shadowed.remove(&id)
        {
            self.shadows.remove(&(identity, id));
            self.add_static(id, fixed, out);
        }
    }

    fn has_static(&self, identity: &Identity) -> bool {
        let id = self.by_identity.get(identity);
        id.is_some_and(|id| id & DYNAMIC == 0)
    }

    /// Adds a static binding. A dynamic binding of the same client continues as static. Of two items for one client
    /// the first one counts; the second one is shadowed.
    fn add_static(&mut self, id: u64, fixed: Static, out: &mut Vec<Action>) {
        let identity = fixed.identity();
        if self.has_static(&identity) {
            self.shadows.insert((identity, id));
            self.shadowed.insert(id, fixed);
            return;
        }
        let dynamic = self.dynamic_of(&identity);
        dynamic.iter().for_each(|(id, _)| self.end(*id, out));
        let before = dynamic.into_iter().map(|(_, binding)| binding).next();
        self.by_identity.insert(identity.clone(), id);
        let mut binding = Binding::new(id, identity);
        let before = before.filter(|of| fixed.subnet.is_none() || of.subnet == fixed.subnet);
        if let Some((address, len)) = fixed.subnet {
            self.static_subnets.insert((first(address, len), len, id));
        }
        self.statics.insert(id, fixed);
        let Some(before) = before else {
            self.bindings.insert(id, binding);
            return;
        };
        let user = binding.identity.user();
        if let (Some(pool), Some(subnet)) = (&before.pool, before.subnet) {
            self.pools
                .reserve(pool, &user, &hex(&before.identity.duid), subnet);
        }
        binding = Binding {
            id,
            identity: binding.identity,
            ..before
        };
        self.insert_bound(binding);
        out.push(Action::Bound(id));
    }

    /// Returns the dynamic bindings of an identity: at its server, or at all servers.
    fn dynamic_of(&self, identity: &Identity) -> Vec<(u64, Binding)> {
        let servers: Vec<_> = match identity.server {
            Some(server) => vec![server],
            None => self.servers.keys().copied().collect(),
        };
        let ids = servers.into_iter().filter_map(|server| {
            let server = Some(server);
            self.by_identity.get(&Identity {
                server,
                ..identity.clone()
            })
        });
        ids.filter(|id| **id & DYNAMIC != 0)
            .filter_map(|id| Some((*id, self.bindings.get(id)?.clone())))
            .collect()
    }

    fn recall(&mut self, record: &Record, now: Instant, out: &mut Vec<Action>) {
        if !self.servers.contains_key(&record.server()) {
            return;
        }
        let identity = match record.id & DYNAMIC {
            0 => self.bindings.get(&record.id).map(|of| of.identity.clone()),
            _ => Some(record.identity().clone()),
        };
        let same = |of: &Identity| {
            let own = record.identity();
            (&of.duid, of.iaid, of.is_prefix) == (&own.duid, own.iaid, own.is_prefix)
        };
        let Some(identity) = identity.filter(same) else {
            return;
        };
        if self
            .by_identity
            .get(&identity)
            .is_some_and(|id| *id != record.id)
        {
            return;
        }
        let mut binding = record.restore(identity, now);
        let Some(subnet) = binding.subnet else { return };
        let pool = self.pools.pool_of(subnet);
        let pool = pool.or_else(|| self.pool_for(&binding.identity, record.server(), record.id));
        let user = binding.identity.user();
        let info = hex(&binding.identity.duid);
        if let Some(pool) = pool {
            // A pool that a client makes from its delegation comes later.
            let is_there = self.pools.has(&pool);
            if is_there && !self.pools.reserve(&pool, &user, &info, subnet) {
                return;
            }
            binding.pool = Some(pool);
        }
        if binding.is_dynamic() {
            self.dynamic += usize::from(!self.bindings.contains_key(&binding.id));
            self.last = self.last.max(binding.id & !DYNAMIC);
        }
        let id = binding.id;
        self.insert_bound(binding);
        out.push(Action::Extended(id));
    }

    /// Stores a bound binding, and replaces its earlier state.
    fn insert_bound(&mut self, binding: Binding) {
        let id = binding.id;
        if let Some(before) = self.bindings.get(&id) {
            let before = (before.active_server, before.until);
            self.remove_from_indices(id, before.0, before.1);
        }
        self.by_identity.insert(binding.identity.clone(), id);
        self.active
            .extend(binding.active_server.map(|server| (server, id)));
        self.expiry.extend(binding.until.map(|until| (until, id)));
        self.bindings.insert(id, binding);
    }

    fn remove_from_indices(&mut self, id: u64, server: Option<ServerId>, until: Option<Instant>) {
        if let Some(server) = server {
            self.active.remove(&(server, id));
        }
        if let Some(until) = until {
            self.expiry.remove(&(until, id));
        }
    }

    /// Ends a binding: a dynamic one is removed, a static one waits for its client again.
    fn end(&mut self, id: u64, out: &mut Vec<Action>) {
        let Some(binding) = self.bindings.remove(&id) else {
            return;
        };
        self.remove_from_indices(id, binding.active_server, binding.until);
        if let Some(pool) = &binding.pool {
            self.pools.release(pool, &binding.identity.user());
        }
        if binding.is_dynamic() {
            self.by_identity.remove(&binding.identity);
            self.dynamic -= 1;
        } else {
            let mut idle = Binding::new(id, binding.identity.clone());
            idle.seen = binding.seen;
            self.bindings.insert(id, idle);
        }
        if binding.is_bound() {
            out.push(Action::Unbound(Box::new(binding)));
        }
    }

    fn check_pools(&mut self, out: &mut Vec<Action>) {
        self.forget_withheld();
        let of_pools = self.bindings.values().filter_map(|binding| {
            let (pool, subnet) = (binding.pool.as_deref()?, binding.subnet?);
            let (user, info) = (binding.identity.user(), hex(&binding.identity.duid));
            let is_lost = self.pools.has(pool) && !self.pools.reserve(pool, &user, &info, subnet);
            is_lost.then_some(binding.id)
        });
        let lost: Vec<_> = of_pools.collect();
        lost.into_iter().for_each(|id| self.end(id, out));
    }

    /// Releases the withheld subnets. The next allocation that meets such a subnet withholds it again.
    fn forget_withheld(&mut self) {
        for (pool, user) in core::mem::take(&mut self.withheld) {
            self.pools.release(&pool, &user);
        }
    }

    /// Returns the pool of a binding.
    fn pool_for(&self, identity: &Identity, server: ServerId, id: u64) -> Option<Box<str>> {
        let config = self.servers.get(&server)?;
        if let Some(fixed) = self.statics.get(&id) {
            if let Some(subnet) = fixed.subnet {
                return self.pools.pool_of(subnet);
            }
            if fixed.pool.is_some() {
                return fixed.pool.clone();
            }
        }
        match identity.is_prefix {
            true => config.prefix_pool.clone(),
            false => config.address_pool.clone(),
        }
    }
}
