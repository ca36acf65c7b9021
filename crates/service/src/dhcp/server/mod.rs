//! DHCP servers of the router (RFC 2131, 4.3) and their leases.
//!
//! ```text
//!            DISCOVER        0.5 s, nobody there       REQUEST
//! nothing ──▶ testing ─────────────▶ offered ────────────────▶ bound ──▶ nothing
//!                │ somebody is there     └ 30 s ▶ nothing        │ time, RELEASE
//!                └▶ conflict                                     └ DECLINE ▶ declined
//! ```
//! A static lease exists as long as its configuration; where a dynamic lease is removed, a static one goes to
//! `waiting`. An address in `conflict` or `declined` stays blocked for the duration of a lease.
//!
//! One machine holds the leases of all servers, so that no address is leased twice. Each request names its server.
//! The owner must store the lease that `Action::Keep` names on disk before it sends the ACK.

mod assign;
mod config;
mod grant;
mod lease;
mod lifecycle;
mod record;
mod reply;
mod request;
#[cfg(test)]
mod tests;

use core::net::Ipv4Addr;
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

use machine::Instant;
use wire::Mac;

use super::{Message, MessageType, code};
use crate::pool::{Pools, Use};

pub use config::{
    Assigned, Authoritative, Bootp, Config, Identifiers, MatchedPool, Matcher, Network,
    OptionValue, Part, ServerId, Static, client_id, client_id_text,
};
pub use grant::Grant;
pub use lease::{Client, DYNAMIC, Lease, State};
pub use record::Record;

use lease::Leases;

/// Lifetime of an offer.
const OFFER: Duration = Duration::from_secs(30);
/// Time that a host has to answer an ARP probe.
const PROBE: Duration = Duration::from_millis(500);
/// Maximum number of pool addresses tried for one client.
const TRIES: usize = 16;
/// Owner name of leased addresses in `/ip/pool/used`.
const OWNER: &str = "DHCP";

/// A received request with its ingress context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Server that the request is for.
    pub server: ServerId,
    /// DHCP message.
    pub message: Message,
    /// Source MAC address of the frame.
    pub src_mac: Mac,
    /// Addresses of the ingress interface, with prefix lengths.
    pub own: Vec<(Ipv4Addr, u8)>,
    /// Terms that an authority granted for the request.
    pub grant: Option<Arc<Grant>>,
}

/// Events of [`Servers`].
#[derive(Clone, Debug)]
pub enum Event {
    /// A server was added, changed or removed.
    Server(ServerId, Option<Config>),
    /// A static lease was added, changed or removed.
    Static(u64, Option<Static>),
    /// The complete list of networks.
    Networks(Vec<Network>),
    /// The complete list of matchers, in order.
    Matchers(Vec<Matcher>),
    /// A request was received, or an authority granted it.
    Request(Box<Request>),
    /// The authority denied a request.
    Denied(Box<Request>),
    /// The authority did not answer about a request.
    Unanswered(Box<Request>),
    /// A host answered from this address.
    AddressInUse(Ipv4Addr),
    /// Restores a stored lease. The number is the current time in seconds since 1970.
    Recall(Box<Record>, i64),
    /// A user removed a dynamic lease.
    Remove(u64),
    /// A user wants to probe the client of a lease (`check-status`); without an answer the lease ends.
    Check(u64),
}

/// Actions that the owner of [`Servers`] carries out.
#[derive(Clone, Debug)]
pub enum Action {
    /// Send an answer.
    Send(Box<Reply>),
    /// Store the current state of a lease, or delete its record.
    Keep(u64),
    /// A lease was bound.
    Bound(u64),
    /// A lease ended; holds its last state.
    Unbound(Box<Lease>),
    /// Send an ARP probe for this address on the server's interface.
    Probe(ServerId, Ipv4Addr),
    /// Log this message; the flag selects severity warning.
    Log(bool, String),
    /// The request was ignored.
    Ignored(Why),
}

/// Answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Server.
    pub server: ServerId,
    /// Source address.
    pub from: Ipv4Addr,
    /// Destination.
    pub to: To,
    /// Encoded message.
    pub message: Vec<u8>,
    /// Send only after the preceding [`Action::Keep`] is on disk.
    pub waits: bool,
}

/// Destination of an answer (RFC 2131, 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// Broadcast on the link.
    All,
    /// Unicast to a client on the link, possibly before the client configured the address.
    Client(Mac, Ipv4Addr),
    /// Unicast to a client behind routers.
    Routed(Ipv4Addr),
    /// Unicast to a relay agent.
    Relay(Ipv4Addr),
}

/// Reason why a request is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Not a request, or a message type that servers do not handle.
    Type,
    /// The request selects another server.
    OtherServer,
    /// The `secs` field is below the threshold.
    Early,
    /// The client is blocked.
    Blocked,
    /// The client has no static lease and the server has no pool for it.
    Unknown,
    /// No free address.
    NoAddress,
    /// The MAC address reached its limit of leases.
    MacLimit,
    /// The address is being probed; the answer follows.
    Testing,
    /// The authority does not answer.
    NoGrant,
}

/// All DHCP servers of the router with their leases.
#[derive(Clone, Debug, Default)]
pub struct Servers {
    servers: BTreeMap<ServerId, Config>,
    networks: BTreeMap<(u8, u32), Network>,
    matchers: Vec<Matcher>,
    leases: Leases,
    /// Deadlines of the running probes of bound leases.
    checked: BTreeMap<u64, Instant>,
    pools: Pools,
}

impl Servers {
    /// Creates the machine. It allocates addresses from `pools`.
    pub fn new(pools: Pools) -> Self {
        Self {
            pools,
            ..Self::default()
        }
    }

    /// All leases by id.
    pub fn leases(&self) -> &BTreeMap<u64, Lease> {
        self.leases.all()
    }

    /// Returns a lease.
    pub fn lease(&self, id: u64) -> Option<&Lease> {
        self.leases.get(id)
    }

    /// Finds the lease that uses an address.
    pub fn lease_at(&self, address: Ipv4Addr) -> Option<&Lease> {
        self.leases.at(address)
    }

    /// True while an ARP probe for this address is running.
    pub fn is_asked_for(&self, address: Ipv4Addr) -> bool {
        let lease = self.leases.at(address);
        lease.is_some_and(|lease| {
            lease.state == State::Testing || self.checked.contains_key(&lease.id)
        })
    }

    /// Returns the configuration of a server.
    pub fn server(&self, id: ServerId) -> Option<&Config> {
        self.servers.get(&id)
    }

    /// Returns the smallest configured network that contains an address.
    pub fn network(&self, address: Ipv4Addr) -> Option<&Network> {
        (0..=32).rev().find_map(|len| {
            let net = address.to_bits() & mask(len);
            self.networks.get(&(len, net))
        })
    }

    /// Handles an event.
    pub fn handle(&mut self, event: Event, now: Instant, out: &mut Vec<Action>) {
        match event {
            Event::Server(id, Some(config)) => {
                self.servers.insert(id, config);
            }
            Event::Server(id, None) => self.forget_server(id, now, out),
            Event::Static(id, fixed) => self.set_static(id, fixed, now, out),
            Event::Networks(networks) => {
                let by_prefix = networks.into_iter().map(|network| {
                    let (net, len) = network.prefix;
                    ((len, net & mask(len)), network)
                });
                self.networks = by_prefix.collect();
            }
            Event::Matchers(matchers) => self.matchers = matchers,
            Event::Request(asked) => {
                if let Err(why) = self.handle_request(*asked, now, out) {
                    out.push(Action::Ignored(why));
                }
            }
            Event::Denied(asked) => self.denied(&asked, now, out),
            Event::Unanswered(asked) => {
                if let Err(why) = self.unanswered(*asked, now, out) {
                    out.push(Action::Ignored(why));
                }
            }
            Event::AddressInUse(address) => self.seen(address, now, out),
            Event::Recall(record, unix_seconds) => self.recall(&record, unix_seconds, now),
            Event::Remove(id) if id & DYNAMIC != 0 => self.end(id, now, out),
            Event::Remove(_) => {}
            Event::Check(id) => self.check(id, now, out),
        }
    }

    /// Handles expired probes and leases.
    pub fn tick(&mut self, now: Instant, out: &mut Vec<Action>) {
        let silent = self.checked.extract_if(.., |_, at| *at <= now);
        let silent: Vec<_> = silent.map(|(id, _)| id).collect();
        silent.into_iter().for_each(|id| self.end(id, now, out));
        while let Some(id) = self.leases.due(now) {
            let state = self.leases.get(id).map(|lease| lease.state);
            let asked = self.leases.change(id, |lease| lease.asked.take()).flatten();
            match (state, asked) {
                (Some(State::Testing), Some(asked)) => self.offer(id, &asked, now, out),
                _ => self.end(id, now, out),
            }
        }
    }

    /// Time of the next call of `tick`.
    pub fn deadline(&self) -> Option<Instant> {
        let checked = self.checked.values().copied();
        checked.chain(self.leases.deadline()).min()
    }

    fn matchers_of(&self, asked: &Request) -> impl Iterator<Item = &Matcher> {
        self.matchers.iter().filter(|matcher| {
            let is_of = matcher.server.is_none_or(|server| server == asked.server);
            let value = asked.message.options.get(matcher.code).unwrap_or_default();
            let matches = match matcher.is_substring {
                true => value
                    .windows(matcher.value.len().max(1))
                    .any(|part| part == matcher.value),
                false => value == matcher.value,
            };
            is_of && matches
        })
    }

    fn name(&self, server: ServerId) -> String {
        let config = self.servers.get(&server);
        config
            .map(|config| config.name.to_string())
            .unwrap_or_default()
    }
}

/// Network mask of a prefix length.
fn mask(len: u8) -> u32 {
    u32::MAX
        .checked_shl(32 - u32::from(len.min(32)))
        .unwrap_or(0)
}

fn is_same_net(one: Ipv4Addr, other: Ipv4Addr, len: u8) -> bool {
    (one.to_bits() ^ other.to_bits()) & mask(len) == 0
}
