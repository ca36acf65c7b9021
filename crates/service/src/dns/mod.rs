//! Caching DNS forwarder (RFC 1035, 7; RFC 2308; RFC 5625): answers queries from static entries, the cache, or
//! servers.
//!
//! ```text
//! query ─▶ static entries ─▶ cache ─▶ adlists ─▶ flight ─▶ server, next server …
//!                │ alias: anew   │        │         ▲│ truncated: by TCP
//!                ▼               ▼        ▼         ││
//! answer ◀───────┴───────────────┴────────┴─────────┘▼ Send, Ask
//! ```
//! A flight is one pending query. Clients that send the same query share a flight, so that an attacker cannot
//! multiply pending queries to guess an answer (RFC 5452, 5). Each flight has a random port, id and mix of upper and
//! lower case. An answer counts only if it comes from the queried server and repeats all three. After many spoofed
//! answers the query is retried by TCP.
//!
//! The owner holds the sockets: [`Action::Send`] sends a datagram from a port of the router, and datagrams to that
//! port arrive as [`Event::Datagram`]. [`Action::Ask`] covers TCP, HTTPS, and servers of the host.

mod adlist;
mod cache;
mod config;
mod flight;
mod message;
mod question;
mod resolve;
mod secret;
mod statics;
mod stored;
#[cfg(test)]
mod tests;

use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use machine::{Instant, Machine};

use adlist::Adlists;
use cache::Cache;
use flight::{Flight, Group};
use secret::Secret;
use statics::Statics;
use stored::Stored;

pub use adlist::{HashKey, List, NAMES_MAX, Reader};
pub use config::{Config, NetworkStack, Secure, Server, Servers};
pub use flight::is_about;
pub use message::{Line, record_text};
pub use question::{Key, Options, Query, QueryError, text_of};
pub use statics::{Data, Entry, Names};
pub use stored::Carrier;

/// Source ports of queries.
pub const PORTS: core::ops::RangeInclusive<u16> = 32_768..=65_535;

/// Interval of the search for expired answers.
const TIDY: Duration = Duration::from_secs(5);

/// Events of the forwarder.
#[derive(Clone, Debug)]
pub enum Event<'a, C> {
    /// The configuration changed.
    Configure(Box<Config>),
    /// A static entry was added, changed or removed.
    Static(u64, Option<Box<Entry>>),
    /// The order of entries with regular expressions.
    Order(Vec<u64>),
    /// An adlist was added, changed or removed.
    Unwanted(u64, Option<List>),
    /// A client sent a query.
    Asked {
        /// Client.
        client: C,
        /// Transport.
        carrier: Carrier,
        /// Message.
        message: &'a [u8],
    },
    /// A datagram arrived on a query port.
    Datagram {
        /// Local port.
        port: u16,
        /// Source.
        from: SocketAddr,
        /// Payload.
        message: &'a [u8],
    },
    /// Result of an [`Action::Ask`].
    QueryResult {
        /// Ticket of the query.
        ticket: u64,
        /// Result.
        told: QueryResult,
    },
    /// Flush the cache.
    Flush,
}

/// Result of a query that the owner sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueryResult {
    /// Answer.
    Message(Vec<u8>),
    /// The server is unreachable or sent garbage.
    Refused,
    /// Timeout.
    Silent,
}

/// Actions that the owner of the machine carries out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action<C> {
    /// Answer a client.
    Answer {
        /// Client.
        client: C,
        /// Message.
        message: Vec<u8>,
    },
    /// Send a datagram.
    Send {
        /// Destination.
        to: SocketAddr,
        /// Source port.
        port: u16,
        /// Payload.
        message: Vec<u8>,
    },
    /// Send a query through the owner's own sockets.
    Ask(Ask),
    /// Add resolved addresses to an address list, each with its TTL in seconds.
    Listed(Arc<str>, Vec<(IpAddr, u32)>),
    /// Log a warning.
    Warn(String),
}

/// A query that the owner sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Identifies the result.
    pub ticket: u64,
    /// Transport and server.
    pub way: Transport,
    /// Message.
    pub message: Vec<u8>,
    /// Timeout.
    pub patience: Duration,
}

/// Transport of a query that the owner sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// UDP.
    Datagram(Server),
    /// TCP (RFC 7766).
    Stream(Server),
    /// HTTPS (RFC 8484).
    Secure(Arc<Secure>),
}

/// Counters of the forwarder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Received queries.
    pub asked: u64,
    /// Queries answered from the cache.
    pub kept: u64,
    /// Queries answered from static entries.
    pub configured: u64,
    /// Queries for blocked names.
    pub unwanted: u64,
    /// Queries forwarded to servers.
    pub forwarded: u64,
    /// Queries that no server answered.
    pub failed: u64,
    /// Queries refused for lack of capacity.
    pub refused: u64,
    /// Messages that are not queries.
    pub unfit: u64,
    /// Spoofed datagrams: not the answer that the port's flight expects.
    pub forged: u64,
    /// Malformed answers.
    pub malformed: u64,
}

/// DNS forwarder. `C` identifies clients.
#[derive(Debug)]
pub struct Dns<C> {
    config: Config,
    statics: Statics,
    cache: Cache,
    unwanted: Adlists,
    groups: BTreeMap<Arc<str>, Group>,
    flights: HashMap<u64, Flight<C>>,
    /// Flights by key and group, by port, and by ticket.
    by_question: HashMap<Box<[u8]>, u64>,
    by_port: HashMap<u16, u64>,
    by_ticket: HashMap<u64, u64>,
    /// Timeouts of flights.
    due: BTreeSet<(Instant, u64)>,
    /// Number of waiting clients.
    waiting: usize,
    /// Number of flights by HTTPS.
    secure: usize,
    last: u64,
    secret: Secret,
    tidied: Instant,
    /// Time of the last overload warning.
    warned: Option<Instant>,
    counters: Counters,
}

impl<C: Clone> Dns<C> {
    /// Creates a forwarder without servers. Random values derive from `seed`, which must be secret.
    pub fn new(seed: [u8; 32]) -> Self {
        let mut secret = Secret::new(seed);
        let key = HashKey(secret.long(), secret.long());
        let config = Config::default();
        Self {
            statics: Statics::default(),
            cache: Cache::new(config.cache_size),
            unwanted: Adlists::new(key),
            groups: flight::groups(&config, BTreeMap::new()),
            config,
            flights: HashMap::new(),
            by_question: HashMap::new(),
            by_port: HashMap::new(),
            by_ticket: HashMap::new(),
            due: BTreeSet::new(),
            waiting: 0,
            secure: 0,
            last: 0,
            secret,
            tidied: Instant::ZERO,
            warned: None,
            counters: Counters::default(),
        }
    }

    /// Returns the counters.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Memory use of the cache in bytes.
    pub fn cache_used(&self) -> usize {
        self.cache.used()
    }

    /// True if a query from this port awaits its answer.
    pub fn expects(&self, port: u16) -> bool {
        self.by_port.contains_key(&port)
    }

    /// Hash key for building adlists.
    pub fn hash_key(&self) -> HashKey {
        self.unwanted.key
    }

    /// Number of names in an adlist, and number of queries it matched.
    pub fn unwanted(&self, id: u64) -> Option<(usize, u64)> {
        self.unwanted.counts(id)
    }

    /// Checks a regular expression.
    ///
    /// # Errors
    /// Returns why the expression is invalid.
    pub fn check(pattern: &str) -> Result<(), String> {
        statics::check(pattern)
    }

    /// Passes all cached records to `each`; the flag is true for records of a negative answer.
    pub fn lines(&self, now: Instant, mut each: impl FnMut(Line, bool)) {
        let holds = |stored: &&Stored| stored.code == 0 || stored.code == message::NO_NAME;
        for (key, stored) in self.cache.iter(now).filter(|(_, stored)| holds(stored)) {
            let (lines, negative) = message::lines(&key, stored, now);
            lines.into_iter().for_each(|line| each(line, negative));
        }
    }

    /// All static entries.
    pub fn entries(&self) -> impl Iterator<Item = (&u64, &Entry)> {
        self.statics.iter()
    }

    fn configure(&mut self, config: Config, now: Instant, out: &mut Vec<Action<C>>) {
        if config == self.config {
            return;
        }
        if config.cache_size != self.config.cache_size {
            self.cache.set_most(config.cache_size);
        }
        let servers = config.servers != self.config.servers;
        if servers || config.forwarders != self.config.forwarders {
            let old = core::mem::take(&mut self.groups);
            self.groups = flight::groups(&config, old);
        }
        self.config = config;
        if servers {
            // The new servers may know names that the old ones did not.
            self.cache.forget_failures();
            self.ask_others(now, out);
        }
    }
}

impl<C: Clone + core::fmt::Debug> Machine for Dns<C> {
    type Event<'a> = Event<'a, C>;
    type Action = Action<C>;
    type Timer = ();

    fn handle(&mut self, event: Event<'_, C>, now: Instant, out: &mut Vec<Action<C>>) {
        match event {
            Event::Configure(config) => self.configure(*config, now, out),
            Event::Static(id, entry) => self.put_static(id, entry.map(|entry| *entry), out),
            Event::Order(order) => self.statics.set_order(order.into_iter()),
            Event::Unwanted(id, list) => {
                self.unwanted.put(id, list);
                self.cache.clear();
            }
            Event::Asked {
                client,
                carrier,
                message,
            } => self.ask(client, message, carrier, now, out),
            Event::Datagram {
                port,
                from,
                message,
            } => self.receive(port, from, message, now, out),
            Event::QueryResult { ticket, told } => self.finish_query(ticket, told, now, out),
            Event::Flush => self.cache.clear(),
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Action<C>>) {
        while let Some((at, flight)) = self.due.first().copied()
            && at <= now
        {
            self.silent(flight, now, out);
        }
        if now >= self.tidied + TIDY {
            self.tidied = now;
            self.cache.tidy(now);
        }
    }

    fn deadline(&self) -> Option<(Instant, ())> {
        let due = self.due.first().map(|(at, _)| *at);
        let tidy = (self.cache.len() > 0).then_some(self.tidied + TIDY);
        due.into_iter().chain(tidy).min().map(|at| (at, ()))
    }
}
