//! DHCP servers of a router (RFC 2131, 4.3), with the leases that they gave.
//!
//! ```text
//!            DISCOVER        0.5 s, nobody there       REQUEST
//! nothing ──▶ testing ─────────────▶ offered ────────────────▶ bound ──▶ nothing
//!                │ somebody is there     └ 30 s ▶ nothing        │ time, RELEASE
//!                └▶ conflict                                     └ DECLINE ▶ declined
//! ```
//! A static lease is there as long as its configuration, and waits where a dynamic one is nothing. An address in
//! `conflict` or `declined` stays out of its pool for as long as a lease holds.
//!
//! One machine has the leases of all servers, as an address is leased once. Which server a request is for is said with
//! it. An ACK is to be sent when what `Action::Keep` names is on disk, and not before.

mod assign;
mod config;
mod keep;
mod lease;
mod record;
mod reply;
mod request;
#[cfg(test)]
mod tests;

use core::net::Ipv4Addr;
use core::time::Duration;
use std::collections::BTreeMap;

use machine::Instant;
use wire::Mac;

use super::{Message, MessageType, code};
use crate::pool::{Pools, Use};

pub use config::{
    Assigned, Authoritative, Bootp, Config, Identifiers, MatchedPool, Matcher, Network,
    OptionValue, Part, ServerId, Static, client_id, client_id_text,
};
pub use lease::{Client, DYNAMIC, Lease, State};
pub use record::Record;

use lease::Leases;

/// How long an offer holds.
const OFFER: Duration = Duration::from_secs(30);
/// How long somebody at an address has to answer.
const PROBE: Duration = Duration::from_millis(500);
/// Addresses that are looked at for one client.
const TRIES: usize = 16;
/// The owner of addresses, as pools show it.
const OWNER: &str = "DHCP";

/// A request, and where it was heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The server that it is for.
    pub server: ServerId,
    /// It.
    pub message: Message,
    /// The source of its frame.
    pub src_mac: Mac,
    /// The addresses of the interface, with the lengths of their networks' prefixes.
    pub own: Vec<(Ipv4Addr, u8)>,
}

/// What happens to [`Servers`].
#[derive(Clone, Debug)]
pub enum Event {
    /// A server is configured, or is gone.
    Server(ServerId, Option<Config>),
    /// A static lease is configured, or is gone.
    Static(u64, Option<Static>),
    /// All networks.
    Networks(Vec<Network>),
    /// All matchers, in order.
    Matchers(Vec<Matcher>),
    /// A request was heard.
    Asked(Box<Asked>),
    /// Somebody has this address.
    Seen(Ipv4Addr),
    /// A lease that was kept, and the time of day in seconds since 1970.
    Recall(Box<Record>, i64),
    /// A user removes a dynamic lease.
    Remove(u64),
    /// A user wants to know whether the client of a lease is there: if not, the lease ends.
    Check(u64),
}

/// What [`Servers`] want done.
#[derive(Clone, Debug)]
pub enum Action {
    /// An answer is sent.
    Send(Box<Reply>),
    /// What is kept of a lease is other.
    Keep(u64),
    /// A lease began.
    Bound(u64),
    /// A lease ended: it as it was.
    Unbound(Box<Lease>),
    /// Somebody at this address is looked for, by a server.
    Probe(ServerId, Ipv4Addr),
    /// A line of the log: whether it is a warning, and what it says.
    Log(bool, String),
    /// The request is not answered.
    Ignored(Why),
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The server.
    pub server: ServerId,
    /// The server's address.
    pub from: Ipv4Addr,
    /// Who gets it.
    pub to: To,
    /// The message.
    pub message: Vec<u8>,
    /// Whether it waits until what was to be kept is on disk.
    pub waits: bool,
}

/// Who gets an answer (RFC 2131, 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// All on the link.
    All,
    /// A client on the link, at an address that it may not have yet.
    Client(Mac, Ipv4Addr),
    /// A client behind routers.
    Routed(Ipv4Addr),
    /// A relay agent.
    Relay(Ipv4Addr),
}

/// Why a request is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It is an answer, or of no type that a server hears.
    Type,
    /// It is for another server.
    OtherServer,
    /// The client has not asked for long enough.
    Early,
    /// The client is blocked.
    Blocked,
    /// Nobody knows the client, and the server gives it nothing.
    Unknown,
    /// No address is left.
    NoAddress,
    /// The hardware address has as many leases as it may have.
    MacLimit,
    /// An answer is on its way: the address is being probed.
    Testing,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Servers {
    servers: BTreeMap<ServerId, Config>,
    networks: BTreeMap<(u8, u32), Network>,
    matchers: Vec<Matcher>,
    leases: Leases,
    /// Leases whose clients are asked for, by when they have to have answered.
    checked: BTreeMap<u64, Instant>,
    pools: Pools,
}

impl Servers {
    /// Servers that share these pools.
    pub fn new(pools: Pools) -> Self {
        Self {
            pools,
            ..Self::default()
        }
    }

    /// The leases by their numbers.
    pub fn leases(&self) -> &BTreeMap<u64, Lease> {
        self.leases.all()
    }

    /// A lease.
    pub fn lease(&self, id: u64) -> Option<&Lease> {
        self.leases.get(id)
    }

    /// The lease that an address is in use for.
    pub fn lease_at(&self, address: Ipv4Addr) -> Option<&Lease> {
        self.leases.at(address)
    }

    /// Whether somebody at this address is being looked for.
    pub fn is_asked_for(&self, address: Ipv4Addr) -> bool {
        let lease = self.leases.at(address);
        lease.is_some_and(|lease| {
            lease.state == State::Testing || self.checked.contains_key(&lease.id)
        })
    }

    /// A server.
    pub fn server(&self, id: ServerId) -> Option<&Config> {
        self.servers.get(&id)
    }

    /// What clients at an address are told: of the smallest network that it is in.
    pub fn network(&self, address: Ipv4Addr) -> Option<&Network> {
        (0..=32).rev().find_map(|len| {
            let net = address.to_bits() & mask(len);
            self.networks.get(&(len, net))
        })
    }

    /// Takes one event.
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
            Event::Asked(asked) => {
                if let Err(why) = self.asked(*asked, now, out) {
                    out.push(Action::Ignored(why));
                }
            }
            Event::Seen(address) => self.seen(address, now, out),
            Event::Recall(record, unix_seconds) => self.recall(&record, unix_seconds, now),
            Event::Remove(id) if id & DYNAMIC != 0 => self.end(id, now, out),
            Event::Remove(_) => {}
            Event::Check(id) => self.check(id, now, out),
        }
    }

    /// Does what is due.
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

    /// When `tick` is next worth calling.
    pub fn deadline(&self) -> Option<Instant> {
        let checked = self.checked.values().copied();
        checked.chain(self.leases.deadline()).min()
    }

    fn matchers_of(&self, asked: &Asked) -> impl Iterator<Item = &Matcher> {
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

/// The bits of a prefix of this length.
fn mask(len: u8) -> u32 {
    u32::MAX
        .checked_shl(32 - u32::from(len.min(32)))
        .unwrap_or(0)
}

fn is_same_net(one: Ipv4Addr, other: Ipv4Addr, len: u8) -> bool {
    (one.to_bits() ^ other.to_bits()) & mask(len) == 0
}
