//! `/ip/dns`: the DNS forwarder (`service::dns`) for this router and for hosts. Queries of hosts arrive by UDP after
//! the rules of `input`, and by streams from the owner. Upstream queries that need sockets are sent by the owner, which
//! takes them by [`Dns::take_asks`] and reports results by [`Dns::told`].
//!
//! ```text
//! packets to port 53 ─┐             ┌─▶ answers, as packets of the router's own
//! streams, `:resolve` ─┼─▶ forwarder ┼─▶ queries to servers from random ports, where answers arrive
//! names in lists ─────┘             └─▶ Ask: TCP, HTTPS, servers of the host system
//! ```
//! Names in address lists (`firewall/hosts.rs`) are clients like others, so that all share one cache.

pub(crate) mod adlist;
mod dynamic;
mod packet;
pub(crate) mod read;
mod show;

use core::net::{IpAddr, SocketAddr};
use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::task::Waker;

use dataplane::DropReason;
use dataplane::service::{Addressed, Match, Rate, Service};
use frame::InterfaceId;
use machine::{Duration, Instant, Machine as _};
use menu::{Call, Changes, Id, Menu, Reason, Reply, Row, RowFilter};
use service::dns::{
    self, Action, Ask, Carrier, Config, Event, NetworkStack, QueryResult, Secure, Server, Servers,
};
use wire::dns::{MESSAGE_LEN_MAX, PORT, Question};

use super::hear::{Datagram, ReceiveOutcome, ReceivedPacket};
use super::{Effect, Effects, Feature, View, concerns};
use crate::firewall::ADDRESSES;
use crate::firewall::hosts::{DNS, HostRow, Hosts};
use crate::intent::{ItemId, Name};
use crate::learned::Learned;
use crate::object::DynamicName;
use crate::running::Running;

const STATIC: &str = "/ip/dns/static";
const CACHE: &str = "/ip/dns/cache";
const CACHE_ALL: &str = "/ip/dns/cache/all";
const FORWARDERS: &str = "/ip/dns/forwarders";
const ADLIST: &str = "/ip/dns/adlist";

/// Services of client queries and of server answers.
const QUESTIONS: &str = "dns";
const ANSWERS: &str = "dns-answer";

/// Maximum number of upstream queries queued for the owner; the oldest is dropped beyond it.
const ASKS: usize = 256;
/// Maximum number of the owner's open queries.
const LOCAL: usize = 4096;

/// Origin of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Client {
    /// A packet of a host.
    Packet(packet::Between),
    /// A name in an address list.
    Name(u64),
    /// A name that a feature resolves.
    Lookup(u64),
    /// The owner of the router.
    Owner(u64),
}

/// A query of the owner, and its answer once known.
#[derive(Debug)]
struct Local {
    answer: Option<Vec<u8>>,
    waker: Waker,
}

/// The forwarder with its settings, servers, lists and open queries.
#[derive(Debug)]
pub(crate) struct Dns {
    forwarder: dns::Dns<Client>,
    hosts: Hosts,
    /// Settings without servers.
    config: Config,
    /// Configured servers.
    servers: Vec<IpAddr>,
    /// Configured DoH server.
    secure: Option<Arc<Secure>>,
    /// Servers learned from networks.
    dynamic: Vec<IpAddr>,
    /// Dynamic names, by object id.
    dynamic_names: BTreeMap<ItemId, DynamicName>,
    /// Only the learned servers are used.
    dynamic_only: bool,
    /// Servers of the host system.
    underneath: Vec<SocketAddr>,
    forwarders: BTreeMap<ItemId, (Arc<str>, Servers)>,
    /// Forwarder that each static entry names.
    forwards: BTreeMap<ItemId, Arc<str>>,
    adlists: adlist::AdLists,
    /// Whether the router answers remote queries (`allow-remote-requests`).
    is_open: bool,
    asks: VecDeque<Ask>,
    local: BTreeMap<u64, Local>,
    /// Answers for features, with their tickets.
    looked_up: VecDeque<(u64, Vec<u8>)>,
    last: u64,
    now: Instant,
}

impl Dns {
    /// Returns a forwarder without settings. Its random numbers come from `seed`.
    pub(crate) fn new(seed: [u8; 32]) -> Self {
        Self {
            forwarder: dns::Dns::new(seed),
            hosts: Hosts::default(),
            config: Config::default(),
            servers: Vec::new(),
            secure: None,
            dynamic: Vec::new(),
            dynamic_names: BTreeMap::new(),
            dynamic_only: false,
            underneath: Vec::new(),
            forwarders: BTreeMap::new(),
            forwards: BTreeMap::new(),
            adlists: adlist::AdLists::default(),
            is_open: false,
            asks: VecDeque::new(),
            local: BTreeMap::new(),
            looked_up: VecDeque::new(),
            last: 0,
            now: Instant::ZERO,
        }
    }

    /// Sets the time for rows.
    pub(crate) fn set_now(&mut self, now: Instant) {
        self.now = now;
    }

    /// Sets the name servers of the host system.
    pub(crate) fn set_machine(
        &mut self,
        servers: Vec<SocketAddr>,
        now: Instant,
        out: &mut Effects,
    ) {
        if servers != self.underneath {
            self.underneath = servers;
            self.configure(now, out);
        }
    }

    /// Starts a query of a feature. [`Self::take_looked_up`] returns its answer under `ticket`.
    pub(crate) fn look_up(
        &mut self,
        ticket: u64,
        question: &Question,
        now: Instant,
        out: &mut Effects,
    ) {
        let mut bytes = [0; MESSAGE_LEN_MAX];
        let event = Event::Asked {
            client: Client::Lookup(ticket),
            carrier: Carrier::Stream,
            message: question.emit(&mut bytes),
        };
        self.feed(event, now, out);
    }

    /// Returns the next answer to a feature's query, with its ticket.
    pub(crate) fn take_looked_up(&mut self) -> Option<(u64, Vec<u8>)> {
        self.looked_up.pop_front()
    }

    /// Returns the queued upstream queries for the owner, each once.
    pub(crate) fn take_asks(&mut self) -> Vec<Ask> {
        self.asks.drain(..).collect()
    }

    /// Handles the result of such an upstream query.
    pub(crate) fn told(&mut self, ticket: u64, told: QueryResult, now: Instant, out: &mut Effects) {
        self.feed(Event::QueryResult { ticket, told }, now, out);
    }

    /// Starts a query of the owner; its answer is never truncated. `waker` is woken when the answer
    /// is known. Returns `None` if too many queries are open or the message is no query.
    pub(crate) fn ask(
        &mut self,
        message: &[u8],
        waker: Waker,
        now: Instant,
        out: &mut Effects,
    ) -> Option<u64> {
        let unfit = dns::Query::read(message).err();
        // Such a message never gets an answer.
        if self.local.len() >= LOCAL || unfit == Some(dns::QueryError::NoQuestion) {
            return None;
        }
        self.last += 1;
        let ticket = self.last;
        let local = Local {
            answer: None,
            waker,
        };
        self.local.insert(ticket, local);
        let event = Event::Asked {
            client: Client::Owner(ticket),
            carrier: Carrier::Stream,
            message,
        };
        self.feed(event, now, out);
        Some(ticket)
    }

    /// Returns the answer to a query of the owner, once known.
    pub(crate) fn take_answer(&mut self, ticket: u64, waker: &Waker) -> Option<Vec<u8>> {
        let local = self.local.get_mut(&ticket)?;
        match local.answer.take() {
            Some(answer) => {
                self.local.remove(&ticket);
                Some(answer)
            }
            None => {
                local.waker.clone_from(waker);
                None
            }
        }
    }

    /// Drops a query whose caller no longer waits.
    pub(crate) fn forget(&mut self, ticket: u64) {
        self.local.remove(&ticket);
    }

    /// Returns the resolved addresses of the names in address lists of a family.
    pub(crate) fn rows_of(&self, ipv6: bool) -> impl Iterator<Item = HostRow<'_>> {
        self.hosts.rows(ipv6)
    }

    /// Whether the router answers remote queries.
    pub(crate) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Passes settings and servers to the forwarder.
    fn configure(&mut self, now: Instant, out: &mut Effects) {
        let mut config = self.config.clone();
        let own: &[IpAddr] = if self.dynamic_only {
            &[]
        } else {
            &self.servers
        };
        let own = own.iter().chain(&self.dynamic);
        let mut plain: Vec<_> = own.map(|address| server(*address)).collect();
        if plain.is_empty() {
            plain.extend(self.underneath.iter().map(|address| Server {
                address: *address,
                place: NetworkStack::Machine,
            }));
        }
        config.servers.plain = plain;
        config.servers.secure.extend(self.secure.clone());
        let named = self.forwarders.values().cloned();
        let single = self.forwards.values().filter_map(|text| {
            let address = text.parse().ok()?;
            let servers = Servers {
                plain: vec![server(address)],
                secure: Vec::new(),
            };
            Some((Arc::clone(text), servers))
        });
        config.forwarders = single.chain(named).collect();
        self.feed(Event::Configure(Box::new(config)), now, out);
        self.hosts.retry(now, out);
        self.turn(Vec::new(), now, out);
    }

    fn feed(&mut self, event: Event<'_, Client>, now: Instant, out: &mut Effects) {
        let mut actions = Vec::new();
        self.forwarder.handle(event, now, &mut actions);
        self.turn(actions, now, out);
    }

    /// Carries out the actions of the forwarder, and the queries of names in lists, until none is
    /// left.
    fn turn(&mut self, actions: Vec<Action<Client>>, now: Instant, out: &mut Effects) {
        let mut actions = VecDeque::from(actions);
        loop {
            while let Some(action) = actions.pop_front() {
                self.carry_out(action, now, out);
            }
            let Some((ticket, question)) = self.hosts.take_ask() else {
                return;
            };
            let (mut more, mut bytes) = (Vec::new(), [0; MESSAGE_LEN_MAX]);
            let event = Event::Asked {
                client: Client::Name(ticket),
                carrier: Carrier::Stream,
                message: question.emit(&mut bytes),
            };
            self.forwarder.handle(event, now, &mut more);
            actions.extend(more);
        }
    }

    fn carry_out(&mut self, action: Action<Client>, now: Instant, out: &mut Effects) {
        match action {
            Action::Answer {
                client: Client::Packet(between),
                message,
            } => out.send(between.reply(&message)),
            Action::Answer {
                client: Client::Name(ticket),
                message,
            } => self.hosts.hear(ticket, &message, now, out),
            Action::Answer {
                client: Client::Lookup(ticket),
                message,
            } => self.looked_up.push_back((ticket, message)),
            Action::Answer {
                client: Client::Owner(ticket),
                message,
            } => {
                if let Some(local) = self.local.get_mut(&ticket) {
                    local.answer = Some(message);
                    local.waker.wake_by_ref();
                }
            }
            Action::Send { to, port, message } => {
                out.push(Effect::Datagram(Box::new(Datagram {
                    source: None,
                    from: port,
                    to,
                    interface: InterfaceId::NONE,
                    data: message,
                })));
            }
            Action::Ask(ask) => {
                if self.asks.len() >= ASKS {
                    self.asks.pop_front();
                }
                self.asks.push_back(ask);
            }
            Action::Listed(list, addresses) => {
                let list = Name::from(&*list);
                for (address, seconds) in addresses {
                    let holds = Duration::from_secs(seconds.into()) + self.hosts.extra();
                    out.push(Effect::ListedUntil(list.clone(), address, now + holds));
                }
            }
            Action::Warn(message) => out.log("dns,warning", message),
        }
    }

    /// Applies changes of static entries.
    fn follow_static(&mut self, view: &View<'_>, changes: Option<&Changes>, out: &mut Effects) {
        let (mut forwards, mut patterns) = (false, false);
        let mut take = |dns: &mut Self, id: ItemId, entry: Option<dns::Entry>| {
            patterns |=
                matches!(&entry, Some(entry) if matches!(entry.names, dns::Names::Matching(_)));
            let to = match &entry {
                Some(dns::Entry {
                    data: dns::Data::Forward(Some(to)),
                    ..
                }) => Some(Arc::clone(to)),
                _ => None,
            };
            let was = match to.clone() {
                Some(to) => dns.forwards.insert(id, to),
                None => dns.forwards.remove(&id),
            };
            forwards |= was != to;
            dns.feed(Event::Static(id, entry.map(Box::new)), view.now, out);
        };
        match changes {
            None => {
                // Dynamic names are not part of the configuration.
                let known = self.forwarder.entries().map(|(id, _)| *id);
                let known: Vec<_> = known
                    .filter(|id| !self.dynamic_names.contains_key(id))
                    .collect();
                for id in known {
                    take(self, id, None);
                }
                for item in view.store.items(STATIC) {
                    take(self, item.id.0, read::entry(item));
                }
            }
            Some(changes) => {
                for change in changes.of(STATIC) {
                    let after = change.after.as_deref();
                    take(self, change.id.0, after.and_then(read::entry));
                }
            }
        }
        if patterns {
            let all = view.store.items(STATIC);
            let order = all.filter(|item| item.get("regexp").is_some());
            let order = order.map(|item| item.id.0).collect();
            self.feed(Event::Order(order), view.now, out);
        }
        if forwards {
            self.configure(view.now, out);
        }
    }

    fn hear_question(
        &mut self,
        heard: &ReceivedPacket<'_>,
        now: Instant,
        out: &mut Effects,
    ) -> ReceiveOutcome {
        let Some((between, message)) = packet::read(heard) else {
            return ReceiveOutcome::Bad(DropReason::DnsMalformed);
        };
        let carrier = Carrier::Datagram(between.datagram_max(self.config.datagram_max));
        let mut reply = between.room();
        let empty = reply.len();
        let forwarder = &mut self.forwarder;
        if forwarder.answer_at_once(message, carrier, now, &mut reply) {
            if reply.len() > empty {
                out.send(between.finish(reply));
            }
            return ReceiveOutcome::Taken;
        }
        let event = Event::Asked {
            client: Client::Packet(between),
            carrier,
            message,
        };
        self.feed(event, now, out);
        ReceiveOutcome::Taken
    }

    fn hear_answer(
        &mut self,
        heard: &ReceivedPacket<'_>,
        now: Instant,
        out: &mut Effects,
    ) -> ReceiveOutcome {
        let Some((between, message)) = packet::read(heard) else {
            return ReceiveOutcome::NotMine;
        };
        let port = between.to.port();
        if !self.forwarder.expects(port) {
            return ReceiveOutcome::NotMine;
        }
        let event = Event::Datagram {
            port,
            from: between.from,
            message,
        };
        self.feed(event, now, out);
        ReceiveOutcome::Taken
    }
}

fn server(address: IpAddr) -> Server {
    Server {
        address: SocketAddr::new(address, PORT),
        place: NetworkStack::Router,
    }
}

impl Feature for Dns {
    fn menus(&self) -> &'static [&'static str] {
        &[
            ADDRESSES[0],
            ADDRESSES[1],
            DNS,
            STATIC,
            CACHE,
            CACHE_ALL,
            FORWARDERS,
            ADLIST,
        ]
    }

    fn follow(&mut self, view: &View<'_>, changes: Option<&Changes>, out: &mut Effects) {
        self.now = view.now;
        for (ipv6, path) in ADDRESSES.into_iter().enumerate() {
            match changes {
                None => self.hosts.load(view.store, path, ipv6, view.now, out),
                Some(changes) => {
                    for change in changes.of(path) {
                        self.hosts.follow(change, ipv6, view.now, out);
                    }
                }
            }
        }
        if concerns(&[DNS, FORWARDERS], changes) {
            let settings = view.store.settings(DNS).map(|item| &**item);
            self.config = read::settings(settings);
            self.servers = read::servers(settings);
            self.secure = settings.and_then(read::secure);
            self.is_open = settings.is_some_and(|item| item.is("allow-remote-requests"));
            self.hosts
                .configure(read::watching(settings), view.now, out);
            let items = view.store.items(FORWARDERS);
            self.forwarders = items
                .filter_map(|item| Some((item.id.0, read::forwarder(item)?)))
                .collect();
            self.configure(view.now, out);
            if self.is_open && read::is_exposed(view.store) {
                let message = "everybody may use this router's DNS server: it has a default route, and no rule of \
                               chain input drops packets";
                out.log("dns,warning", message.to_owned());
            }
        }
        if concerns(&[STATIC], changes) {
            self.follow_static(view, changes, out);
        }
        if concerns(&[ADLIST], changes) {
            self.follow_lists(view, changes, out);
        }
        self.turn(Vec::new(), view.now, out);
    }

    fn tick(&mut self, now: Instant, out: &mut Effects) {
        self.hosts.tick(now, out);
        if self.adlists.next.is_some_and(|at| at <= now) {
            self.reload_lists(now);
        }
        let mut actions = Vec::new();
        self.forwarder.tick(now, &mut actions);
        self.turn(actions, now, out);
    }

    fn deadline(&self) -> Option<Instant> {
        let forwarder = self.forwarder.deadline().map(|(at, ())| at);
        let looked_up = (!self.looked_up.is_empty()).then_some(self.now);
        let others = self.hosts.deadline().into_iter().chain(looked_up);
        let others = others.chain(self.adlists.next);
        others.chain(forwarder).min()
    }

    fn rows(
        &self,
        menu: &'static Menu,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match menu.path {
            CACHE => self.cache_rows(false, filter, each),
            CACHE_ALL => self.cache_rows(true, filter, each),
            _ => ControlFlow::Continue(()),
        }
    }

    fn annotate(&self, menu: &'static Menu, id: Id, row: &mut Row) {
        match menu.path {
            DNS => self.annotate_settings(row),
            ADLIST => self.annotate_list(id.0, row),
            _ => {}
        }
    }

    fn act(&mut self, view: &View<'_>, call: &Call<'_>) -> Option<Result<Reply, Reason>> {
        match (call.menu.path, call.command) {
            (CACHE | CACHE_ALL, "flush") => {
                // A flush answers no query, so there are no actions.
                self.forwarder
                    .handle(Event::Flush, view.now, &mut Vec::new());
                Some(Ok(Reply::default()))
            }
            (ADLIST, "reload") => {
                self.reload_lists(view.now);
                Some(Ok(Reply::default()))
            }
            _ => None,
        }
    }

    fn services(&self) -> Vec<Service> {
        let both = |what: fn(bool) -> Match| [what(false), what(true)];
        let answers = Service {
            addressed: Addressed::Own,
            ..Service::new(
                ANSWERS,
                both(|ipv6| Match::UdpPorts {
                    ipv6,
                    first: *dns::PORTS.start(),
                    last: *dns::PORTS.end(),
                }),
                Rate {
                    per_second: 50_000,
                    burst: 2048,
                },
            )
        };
        let questions = Service {
            addressed: Addressed::Own,
            ..Service::new(
                QUESTIONS,
                both(|ipv6| Match::Udp { ipv6, port: PORT }),
                Rate {
                    per_second: 500_000,
                    burst: 8192,
                },
            )
        };
        let questions = self.is_open.then_some(questions);
        questions.into_iter().chain([answers]).collect()
    }

    fn hear(
        &mut self,
        heard: &ReceivedPacket<'_>,
        running: &Running<'_>,
        out: &mut Effects,
    ) -> ReceiveOutcome {
        match heard.service {
            QUESTIONS => self.hear_question(heard, running.now, out),
            _ => self.hear_answer(heard, running.now, out),
        }
    }

    fn learn(&mut self, learned: &Learned, now: Instant, out: &mut Effects) {
        let told = learned.dns().into_iter();
        self.dynamic = told.map(|(address, _)| address).collect();
        self.dynamic_only = learned.is_exclusive();
        self.configure(now, out);
    }
}
