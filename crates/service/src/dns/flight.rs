//! Pending queries to servers: server selection, validation of answers, retries and failover.

use core::net::SocketAddr;
use core::time::Duration;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use machine::Instant;

use super::config::{Config, NetworkStack, Secure, Server, Servers};
use super::message::{self, NO_NAME};
use super::question::{CLASS_IN, HEAD, Key, Options, TYPE_OPT, name_len, text_of};
use super::secret::Secret;
use super::stored::{Asker, SIZE, Stored};
use super::{Action, Ask, Dns, PORTS, QueryResult, Transport};

/// Response code SERVFAIL (RFC 1035, 4.1.1).
pub(super) const FAILURE: u8 = 2;
const FORMAT_ERROR: u8 = 1;
const NOT_IMPLEMENTED: u8 = 4;

/// How long a failure is cached (RFC 9520, 3.2).
const FAILURE_HOLDS: Duration = Duration::from_secs(5);
/// Number of spoofed datagrams on a flight's port after which the query is retried by TCP.
const FORGED_MAX: u32 = 16;
/// Maximum number of queries to servers per flight.
const TRIES: usize = 16;
/// Maximum number of attempts to find a free port.
const PORT_TRIES: usize = 16;

/// Group of equivalent servers with the one in use.
#[derive(Debug)]
pub(super) struct Group {
    servers: Servers,
    /// RouterOS: uses the first server that answers until it fails.
    current: usize,
}

impl Group {
    /// DoH servers for a name; empty for the host name of a DoH server itself.
    fn secure(&self, key: &Key) -> &[Arc<Secure>] {
        let secure = &self.servers.secure;
        match secure.iter().any(|server| *server.name == *key.name()) {
            true => &[],
            false => secure,
        }
    }
}

/// Builds the server groups of a configuration; the group of default servers has an empty name.
pub(super) fn groups(
    config: &Config,
    mut old: BTreeMap<Arc<str>, Group>,
) -> BTreeMap<Arc<str>, Group> {
    let usual = (Arc::from(""), &config.servers);
    let named = config.forwarders.iter();
    let all = named.map(|(name, servers)| (Arc::clone(name), servers));
    let groups = all.chain([usual]).map(|(name, servers)| {
        let known = old.remove(&name).filter(|group| group.servers == *servers);
        let group = known.unwrap_or_else(|| Group {
            servers: servers.clone(),
            current: 0,
        });
        (name, group)
    });
    groups.collect()
}

/// A client that waits for a flight.
#[derive(Debug)]
pub(super) struct Waiter<C> {
    pub(super) client: C,
    pub(super) head: Box<[u8]>,
    pub(super) options: Option<Options>,
    pub(super) limit: usize,
    /// Aliases followed so far; the last one leads to the flight's name.
    pub(super) aliases: Vec<(Key, u32)>,
    /// The name has static entries, so the answer is never NXDOMAIN.
    pub(super) is_known: bool,
    pub(super) lists: Vec<Arc<str>>,
}

/// A query to servers, with the clients that wait for its answer.
#[derive(Debug)]
pub(super) struct Flight<C> {
    pub(super) key: Key,
    /// Spelling of the name in the first client's query; `None` is lower case.
    spelling: Option<Box<[u8]>>,
    pub(super) group: Arc<str>,
    /// Key and group, the index of the flight.
    pub(super) question: Box<[u8]>,
    pub(super) waiters: Vec<Waiter<C>>,
    /// Index of the current server, and number of queries sent.
    server: usize,
    tries: usize,
    /// Number of servers that refused or failed.
    refusals: usize,
    began: Instant,
    due: Instant,
    road: AnswerPath,
    sent: Box<[u8]>,
    /// The query has an OPT record (RFC 6891, 6.2.2).
    options: bool,
    forged: u32,
}

/// How the answer of a flight will arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AnswerPath {
    /// No answer is expected.
    None,
    /// On this local port, from this server.
    Port(u16, SocketAddr),
    /// From the owner, with this ticket.
    Ticket(u64, TransportKind),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TransportKind {
    Datagram,
    Stream,
    Secure,
}

impl<C> Flight<C> {
    pub(super) fn new(
        key: Key,
        group: Arc<str>,
        question: Box<[u8]>,
        waiter: Waiter<C>,
        now: Instant,
    ) -> Self {
        let asked = waiter.head.get(HEAD..HEAD + key.name().len());
        let is_it = |name: &&[u8]| *name != key.name() && name.eq_ignore_ascii_case(key.name());
        let spelling = asked.filter(is_it).map(Into::into);
        Self {
            key,
            spelling,
            group,
            question,
            waiters: vec![waiter],
            server: 0,
            tries: 0,
            refusals: 0,
            began: now,
            due: now,
            road: AnswerPath::None,
            sent: Box::default(),
            options: true,
            forged: 0,
        }
    }

    /// Classifies a message relative to the sent query.
    fn judge(&self, message: &[u8]) -> Verdict {
        let Some(head) = message.first_chunk::<HEAD>() else {
            return Verdict::Other;
        };
        let code = head[3] & 0xf;
        if head[..2] != self.sent[..2] || head[2] & 0xf8 != 0x80 {
            return Verdict::Other;
        }
        let end = HEAD + self.key.name().len() + 4;
        if head[4..6] == [0, 1] && message.get(HEAD..end) == self.sent.get(HEAD..end) {
            return match (code, head[2] & 2 != 0) {
                (FORMAT_ERROR | NOT_IMPLEMENTED, _) if self.options => Verdict::NoOptions,
                (0 | NO_NAME, true) => Verdict::Cut,
                (0 | NO_NAME, false) => Verdict::Answer,
                _ => Verdict::Refusal,
            };
        }
        match (&head[4..6], code) {
            // Servers without EDNS may omit the question section.
            ([0, 0], FORMAT_ERROR | NOT_IMPLEMENTED) if self.options => Verdict::NoOptions,
            _ if { message.get(HEAD..end) }
                .is_some_and(|own| own.eq_ignore_ascii_case(&self.sent[HEAD..end])) =>
            {
                Verdict::OtherCase
            }
            _ => Verdict::Other,
        }
    }
}

/// True if a message answers the sent query; the case of the name may differ.
pub fn is_about(sent: &[u8], message: &[u8]) -> bool {
    let Some(len) = sent.get(HEAD..).and_then(name_len) else {
        return false;
    };
    let (id, question) = (message.get(..2), message.get(HEAD..HEAD + len + 4));
    let same = question.zip(sent.get(HEAD..HEAD + len + 4));
    let same = same.is_some_and(|(own, sent)| own.eq_ignore_ascii_case(sent));
    let refused = message.len() == HEAD && message[4..6] == [0, 0];
    id == sent.get(..2)
        && message.get(2).is_some_and(|flags| flags & 0x80 != 0)
        && (same || refused)
}

/// Classification of a received message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Answer,
    /// Truncated: retry by TCP.
    Cut,
    /// The server refused or failed.
    Refusal,
    /// The server does not support EDNS.
    NoOptions,
    /// The case of the name differs from the query: TCP tells whether the server is genuine.
    OtherCase,
    /// Not an answer to the query.
    Other,
}

impl<C: Clone> Dns<C> {
    /// Starts a flight.
    pub(super) fn begin(&mut self, mut flight: Flight<C>, now: Instant, out: &mut Vec<Action<C>>) {
        self.last += 1;
        let id = self.last;
        flight.server = self
            .groups
            .get(&flight.group)
            .map_or(0, |group| group.current);
        self.waiting += flight.waiters.len();
        self.by_question.insert(flight.question.clone(), id);
        self.flights.insert(id, flight);
        self.put(id, None, now, out);
    }

    /// Sends the query of a flight to its current server, by TCP if `stream` is set.
    fn put(&mut self, id: u64, stream: Option<Server>, now: Instant, out: &mut Vec<Action<C>>) {
        self.leave_road(id);
        let Some(flight) = self.flights.get_mut(&id) else {
            return;
        };
        let group = self.groups.get(&flight.group);
        let secure = group.and_then(|group| nth(group.secure(&flight.key), flight.server));
        let plain = group.and_then(|group| nth(&group.servers.plain, flight.server));
        let mut patience = self.config.patience;
        let way = match (secure, stream, plain) {
            (Some(secure), ..) => {
                patience = self.config.secure_patience;
                Transport::Secure(Arc::clone(secure))
            }
            (None, Some(server), _) => Transport::Stream(server),
            (None, None, Some(server)) => Transport::Datagram(*server),
            (None, None, None) => return self.fail(id, false, now, out),
        };
        flight.tries += 1;
        let secret = &mut self.secret;
        // RFC 8484, 4.1: an id of 0 lets HTTP caches share answers.
        let chance = if secure.is_some() { 0 } else { secret.word() };
        let mut message = emit(&flight.key, chance, flight.options);
        if secure.is_none() {
            let end = HEAD + flight.key.name().len();
            secret.mix(&mut message[HEAD..end]);
        }
        flight.sent = message.clone().into();
        flight.due = (now + patience).min(flight.began + self.config.total);
        self.due.insert((flight.due, id));
        let left = flight.due.saturating_since(now);
        match way {
            Transport::Datagram(Server {
                address,
                place: NetworkStack::Router,
            }) => {
                let Some(port) = free_port(&self.by_port, secret) else {
                    return self.fail(id, false, now, out);
                };
                flight.road = AnswerPath::Port(port, address);
                self.by_port.insert(port, id);
                out.push(Action::Send {
                    to: address,
                    port,
                    message,
                });
            }
            way => {
                self.last += 1;
                let ticket = self.last;
                let by = match way {
                    Transport::Datagram(_) => TransportKind::Datagram,
                    Transport::Stream(_) => TransportKind::Stream,
                    Transport::Secure(_) => TransportKind::Secure,
                };
                self.secure += usize::from(by == TransportKind::Secure);
                flight.road = AnswerPath::Ticket(ticket, by);
                self.by_ticket.insert(ticket, id);
                out.push(Action::Ask(Ask {
                    ticket,
                    way,
                    message,
                    patience: left,
                }));
            }
        }
    }

    /// Stops expecting an answer to the last query.
    fn leave_road(&mut self, id: u64) {
        let Some(flight) = self.flights.get_mut(&id) else {
            return;
        };
        self.due.remove(&(flight.due, id));
        match core::mem::replace(&mut flight.road, AnswerPath::None) {
            AnswerPath::None => {}
            AnswerPath::Port(port, _) => drop(self.by_port.remove(&port)),
            AnswerPath::Ticket(ticket, by) => {
                self.by_ticket.remove(&ticket);
                self.secure -= usize::from(by == TransportKind::Secure);
            }
        }
    }

    /// Handles a datagram that arrived on a query port.
    pub(super) fn receive(
        &mut self,
        port: u16,
        from: SocketAddr,
        message: &[u8],
        now: Instant,
        out: &mut Vec<Action<C>>,
    ) {
        let id = self.by_port.get(&port).copied();
        let Some((id, flight)) = id.and_then(|id| Some((id, self.flights.get_mut(&id)?))) else {
            return;
        };
        let is_asked = flight.road == AnswerPath::Port(port, from);
        let judged = match is_asked {
            true => flight.judge(message),
            false => Verdict::Other,
        };
        if judged == Verdict::Other {
            self.counters.forged += 1;
            flight.forged += 1;
            if flight.forged != FORGED_MAX {
                return;
            }
            let name = text_of(flight.key.name());
            out.push(Action::Warn(format!(
                "many forged answers for {name} from {from}: asking by TCP"
            )));
        }
        self.take(id, message, judged, now, out);
    }

    /// Handles the result of a query that the owner sent.
    pub(super) fn finish_query(
        &mut self,
        ticket: u64,
        told: QueryResult,
        now: Instant,
        out: &mut Vec<Action<C>>,
    ) {
        let Some(id) = self.by_ticket.get(&ticket).copied() else {
            return;
        };
        match told {
            QueryResult::Message(message) => {
                let judged = self.flights.get(&id).map(|flight| flight.judge(&message));
                let judged = match judged {
                    // The owner's sockets are connected, so a mismatch comes from the server itself.
                    None | Some(Verdict::Other | Verdict::OtherCase) => Verdict::Refusal,
                    Some(judged) => judged,
                };
                self.take(id, &message, judged, now, out);
            }
            QueryResult::Refused => self.try_next(id, true, now, out),
            QueryResult::Silent => self.try_next(id, false, now, out),
        }
    }

    /// Handles a classified message from the current server.
    fn take(
        &mut self,
        id: u64,
        message: &[u8],
        judged: Verdict,
        now: Instant,
        out: &mut Vec<Action<C>>,
    ) {
        let Some(flight) = self.flights.get_mut(&id) else {
            return;
        };
        let group = self.groups.get(&flight.group);
        let plain = group.and_then(|group| nth(&group.servers.plain, flight.server));
        let by_stream = matches!(
            flight.road,
            AnswerPath::Ticket(_, TransportKind::Stream | TransportKind::Secure)
        );
        match judged {
            Verdict::Cut | Verdict::Other | Verdict::OtherCase if !by_stream => {
                let stream = plain.copied();
                self.put(id, stream, now, out);
            }
            Verdict::NoOptions => {
                flight.options = false;
                let stream = plain.copied().filter(|_| by_stream);
                self.put(id, stream, now, out);
            }
            Verdict::Refusal => self.try_next(id, true, now, out),
            _ => match message::read(message, &flight.key, self.config.longest) {
                Some(answer) => {
                    let stored = answer.stored.made(now, answer.holds);
                    self.end(id, &stored, now, out);
                    if !answer.holds.is_zero() {
                        self.keep(id, stored);
                    }
                    self.flights.remove(&id);
                }
                None => {
                    self.counters.malformed += 1;
                    self.try_next(id, true, now, out);
                }
            },
        }
    }

    /// Handles a timeout.
    pub(super) fn silent(&mut self, id: u64, now: Instant, out: &mut Vec<Action<C>>) {
        self.try_next(id, false, now, out);
    }

    /// Sends the query to the next server, if the total time allows it.
    fn try_next(&mut self, id: u64, refused: bool, now: Instant, out: &mut Vec<Action<C>>) {
        let Some(flight) = self.flights.get_mut(&id) else {
            return;
        };
        flight.refusals += usize::from(refused);
        let mut count = 0;
        if let Some(group) = self.groups.get_mut(&flight.group) {
            count = match group.secure(&flight.key).len() {
                0 => group.servers.plain.len(),
                secure => secure,
            };
            if group.current == flight.server {
                group.current = (flight.server + 1) % count.max(1);
            }
        }
        flight.server = (flight.server + 1) % count.max(1);
        let over = now >= flight.began + self.config.total;
        if over || flight.refusals >= count || flight.tries >= TRIES.max(count) {
            return self.fail(id, true, now, out);
        }
        self.put(id, None, now, out);
    }

    /// Restarts pending queries to the default servers after these changed.
    pub(super) fn ask_others(&mut self, now: Instant, out: &mut Vec<Action<C>>) {
        let usual = self
            .flights
            .iter()
            .filter(|(_, flight)| flight.group.is_empty());
        let mut usual: Vec<_> = usual.map(|(id, _)| *id).collect();
        usual.sort_unstable();
        for id in usual {
            if let Some(flight) = self.flights.get_mut(&id) {
                (flight.server, flight.refusals) = (0, 0);
            }
            self.put(id, None, now, out);
        }
    }

    /// Ends a flight without an answer from any server.
    fn fail(&mut self, id: u64, keep: bool, now: Instant, out: &mut Vec<Action<C>>) {
        self.counters.failed += 1;
        let stored = Stored::empty(FAILURE).made(now, FAILURE_HOLDS);
        self.end(id, &stored, now, out);
        if keep {
            self.keep(id, stored);
        }
        self.flights.remove(&id);
    }

    fn keep(&mut self, id: u64, stored: Stored) {
        if let Some(flight) = self.flights.get_mut(&id) {
            let spelling = flight.spelling.take();
            self.cache.put(&flight.key, stored.spelled(spelling));
        }
    }

    /// Delivers the answer to all waiting clients.
    fn end(&mut self, id: u64, stored: &Stored, now: Instant, out: &mut Vec<Action<C>>) {
        self.leave_road(id);
        let Some(flight) = self.flights.get_mut(&id) else {
            return;
        };
        self.by_question.remove(&flight.question);
        let waiters = core::mem::take(&mut flight.waiters);
        self.waiting -= waiters.len();
        for waiter in waiters {
            deliver(waiter, &flight.key, stored, now, out);
        }
    }
}

/// Delivers an answer to one client.
pub(super) fn deliver<C>(
    waiter: Waiter<C>,
    of: &Key,
    stored: &Stored,
    now: Instant,
    out: &mut Vec<Action<C>>,
) {
    let to = Asker {
        head: &waiter.head,
        options: waiter.options,
        limit: waiter.limit,
    };
    let own = Key::new(&waiter.head[HEAD..], of.kind(), of.is_signed());
    let joined = match (&waiter.aliases[..], own) {
        ([], _) => None,
        (aliases, Some(own)) => message::join(&own, aliases, of, stored, now),
        _ => None,
    };
    if !waiter.lists.is_empty() {
        let addresses = message::addresses(of, stored, now);
        for list in waiter.lists.iter().filter(|_| !addresses.is_empty()) {
            out.push(Action::Listed(Arc::clone(list), addresses.clone()));
        }
    }
    let stored = joined.as_ref().unwrap_or(stored);
    let mut message = Vec::new();
    stored.write_as(&to, code(stored, waiter.is_known), now, &mut message);
    out.push(Action::Answer {
        client: waiter.client,
        message,
    });
}

/// Response code for a client: names with static entries are never NXDOMAIN.
pub(super) fn code(stored: &Stored, is_known: bool) -> u8 {
    match stored.code {
        NO_NAME if is_known => 0,
        code => code,
    }
}

/// Picks a random port that no flight uses.
fn free_port(taken: &HashMap<u16, u64>, secret: &mut Secret) -> Option<u16> {
    let span = u32::from(*PORTS.end() - *PORTS.start()) + 1;
    let chosen = || PORTS.start() + (u32::from(secret.word()) % span) as u16;
    let mut chosen = core::iter::repeat_with(chosen).take(PORT_TRIES);
    chosen.find(|port| !taken.contains_key(port))
}

fn nth<T>(all: &[T], at: usize) -> Option<&T> {
    all.get(at % all.len().max(1))
}

/// Encodes a query with the RD bit.
fn emit(key: &Key, id: u16, options: bool) -> Vec<u8> {
    let [a, b] = id.to_be_bytes();
    let mut message = vec![a, b, 1, 0, 0, 1, 0, 0, 0, 0, 0, u8::from(options)];
    message.extend_from_slice(key.name());
    message.extend_from_slice(&key.kind().to_be_bytes());
    message.extend_from_slice(&CLASS_IN.to_be_bytes());
    if options {
        let [high, low] = SIZE.to_be_bytes();
        let signed = u8::from(key.is_signed()) << 7;
        message.extend_from_slice(&[0, 0, TYPE_OPT as u8, high, low, 0, 0, signed, 0, 0, 0]);
    }
    message
}
