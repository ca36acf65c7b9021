//! A forwarder that keeps answers (RFC 1035, 7; RFC 2308; RFC 5625): questions of clients in, answers out, from the
//! configuration, from what is kept, or from servers.
//!
//! ```text
//! question ─▶ static entries ─▶ kept answers ─▶ unwanted names ─▶ flight ─▶ server, the next one …
//!                │ alias: anew      │                 │              ▲│ cut: by TCP
//!                ▼                  ▼                 ▼              ││
//! answer ◀───────┴──────────────────┴─────────────────┴──────────────┘▼ Send, Ask
//! ```
//! A flight is one question under way: clients that ask the same wait for the same answer, so that nobody can have
//! the same question put many times to guess an answer to one of them (RFC 5452, 5). A flight has a port, an
//! identification and a mixture of upper and lower case of its own, all by chance; an answer counts only if it comes
//! from who was asked and repeats all of them. After many that do not, the question is put by TCP.
//!
//! Who has the sockets is the owner's affair: [`Action::Send`] is a datagram from a port of the router, and what
//! arrives there is [`Event::Datagram`]; [`Action::Ask`] is for what needs more: streams, HTTPS, and the machine
//! underneath.

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
mod unwanted;

use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use machine::{Instant, Machine};

use cache::Cache;
use flight::{Flight, Group};
use secret::Secret;
use statics::Statics;
use stored::Stored;
use unwanted::Unwanted;

pub use config::{Config, Place, Secure, Server, Servers};
pub use flight::is_about;
pub use message::{Line, record_text};
pub use question::{Key, Options, Query, Unfit, text_of};
pub use statics::{Data, Entry, Names};
pub use stored::Carrier;
pub use unwanted::{HashKey, List, NAMES_MAX, Reader};

/// The ports that questions are put from.
pub const PORTS: core::ops::RangeInclusive<u16> = 32_768..=65_535;

/// How often what is kept is looked through for answers whose time is over.
const TIDY: Duration = Duration::from_secs(5);

/// What happens to a forwarder.
#[derive(Clone, Debug)]
pub enum Event<'a, C> {
    /// It is configured.
    Configure(Box<Config>),
    /// An entry comes, changes, or goes.
    Static(u64, Option<Box<Entry>>),
    /// The order of entries with patterns.
    Order(Vec<u64>),
    /// A list of unwanted names comes, changes, or goes.
    Unwanted(u64, Option<List>),
    /// Somebody asks.
    Asked {
        /// Who.
        client: C,
        /// How.
        carrier: Carrier,
        /// What.
        message: &'a [u8],
    },
    /// A datagram came to a port that questions are put from.
    Datagram {
        /// The port.
        port: u16,
        /// Who sent it.
        from: SocketAddr,
        /// What it carries.
        message: &'a [u8],
    },
    /// What came of a question that the owner put.
    Told {
        /// The question's.
        ticket: u64,
        /// What it was.
        told: Told,
    },
    /// All answers are forgotten.
    Flush,
}

/// What came of a question that the owner put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// A message.
    Message(Vec<u8>),
    /// The server cannot be reached, or says nothing that can be read.
    Refused,
    /// There was no answer.
    Silent,
}

/// What a forwarder wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action<C> {
    /// A client is answered.
    Answer {
        /// Who.
        client: C,
        /// With this.
        message: Vec<u8>,
    },
    /// A datagram is sent.
    Send {
        /// To whom.
        to: SocketAddr,
        /// From this port.
        port: u16,
        /// It.
        message: Vec<u8>,
    },
    /// The owner is to put a question.
    Ask(Ask),
    /// The addresses of a name come into a list, each for so many seconds.
    Listed(Arc<str>, Vec<(IpAddr, u32)>),
    /// Something is worth a line of the log.
    Warn(String),
}

/// A question that the owner is to put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// By which what came of it is known.
    pub ticket: u64,
    /// How.
    pub way: Way,
    /// It.
    pub message: Vec<u8>,
    /// How long it may take.
    pub patience: Duration,
}

/// How the owner puts a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// In a datagram.
    Datagram(Server),
    /// In a stream (RFC 7766).
    Stream(Server),
    /// By HTTPS (RFC 8484).
    Secure(Arc<Secure>),
}

/// What a forwarder has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Questions.
    pub asked: u64,
    /// Those that were answered from what is kept.
    pub kept: u64,
    /// Those that were answered by the configuration.
    pub configured: u64,
    /// Those for unwanted names.
    pub unwanted: u64,
    /// Those that were put to servers.
    pub forwarded: u64,
    /// Those that no server answered.
    pub failed: u64,
    /// Those that there was no room for.
    pub refused: u64,
    /// Messages that are no questions.
    pub unfit: u64,
    /// Datagrams to a flight's port that are not its answer.
    pub forged: u64,
    /// Answers that could not be read.
    pub malformed: u64,
}

/// See the module. `C` is who asks.
#[derive(Debug)]
pub struct Dns<C> {
    config: Config,
    statics: Statics,
    cache: Cache,
    unwanted: Unwanted,
    groups: BTreeMap<Arc<str>, Group>,
    flights: HashMap<u64, Flight<C>>,
    /// Flights by question and group, by port, and by ticket.
    by_question: HashMap<Box<[u8]>, u64>,
    by_port: HashMap<u16, u64>,
    by_ticket: HashMap<u64, u64>,
    /// When nothing is expected any more.
    due: BTreeSet<(Instant, u64)>,
    /// Clients that wait.
    waiting: usize,
    /// Flights by HTTPS.
    secure: usize,
    last: u64,
    secret: Secret,
    tidied: Instant,
    /// When it was last said that there are too many questions.
    warned: Option<Instant>,
    counters: Counters,
}

impl<C: Clone> Dns<C> {
    /// One that knows nobody. What is chosen by chance follows from `seed`, which is to be a secret.
    pub fn new(seed: [u8; 32]) -> Self {
        let mut secret = Secret::new(seed);
        let key = HashKey(secret.long(), secret.long());
        let config = Config::default();
        Self {
            statics: Statics::default(),
            cache: Cache::new(config.cache_size),
            unwanted: Unwanted::new(key),
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

    /// What was counted.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Bytes of the answers that are kept.
    pub fn cache_used(&self) -> usize {
        self.cache.used()
    }

    /// Whether an answer is expected at a port.
    pub fn expects(&self, port: u16) -> bool {
        self.by_port.contains_key(&port)
    }

    /// The key of the hash that lists of unwanted names are made with.
    pub fn hash_key(&self) -> HashKey {
        self.unwanted.key
    }

    /// How many names a list of unwanted names has, and how many questions it met.
    pub fn unwanted(&self, id: u64) -> Option<(usize, u64)> {
        self.unwanted.counts(id)
    }

    /// Whether entries and their patterns are good.
    ///
    /// # Errors
    /// Why a pattern cannot be looked for.
    pub fn check(pattern: &str) -> Result<(), String> {
        statics::check(pattern)
    }

    /// Gives the records of all answers that are kept; `negative`: of an answer that there is nothing.
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
            // Others may know what those did not.
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
            } => self.ask(client, (message, carrier), now, out),
            Event::Datagram {
                port,
                from,
                message,
            } => self.hear(port, from, message, now, out),
            Event::Told { ticket, told } => self.told(ticket, told, now, out),
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
