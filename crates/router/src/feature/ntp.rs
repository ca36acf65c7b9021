//! `/system/ntp`: NTP client and server. `service::ntp` has both machines. The time of day is the
//! system's time plus the client's correction (`Control::correct_clock`).

use core::net::{IpAddr, SocketAddr};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use dataplane::DropReason;
use dataplane::service::{Match, Rate, Service};
use frame::InterfaceId;
use machine::{Duration, Instant, Machine as _, Rng};
use menu::{Call, Changes, Clock, Id, Item, Menu, Reason, Reply, Row, RowFilter, Value};
use service::ntp::{Action, Client, Event, Fault, Key, Peer, Refused, Server, Settings};
use wire::ntp::{Mode, PORT, Packet};

use super::hear::{Datagram, ReceiveOutcome, ReceivedPacket};
use super::{Effect, Effects, Feature, View};
use crate::clock::{DayClock, unix_nanos};
use crate::learned::Learned;
use crate::live::{DYNAMIC, give};
use crate::running::Running;

const CLIENT: &str = "/system/ntp/client";
const SERVERS: &str = "/system/ntp/client/servers";
const SERVER: &str = "/system/ntp/server";
const KEYS: &str = "/system/ntp/key";
/// Limit of received packets per worker: enough for a server of a small network. The server limits
/// single clients further.
const RATE: Rate = Rate {
    per_second: 20_000,
    burst: 1_024,
};
/// Maximum number of broadcast servers, and how long each is remembered.
const FOUND: usize = 4;
const FOUND_FOR: Duration = Duration::from_secs(3_600);

/// NTP client and server.
#[derive(Debug)]
pub(crate) struct Ntp {
    client: Client,
    server: Server,
    /// Whether the client is enabled.
    asks: bool,
    /// Whether the client uses broadcast servers, too.
    listens: bool,
    /// Whether the server is enabled.
    serves: bool,
    hosts: Vec<Host>,
    /// NTP servers learned from networks.
    learned: Vec<IpAddr>,
    /// Broadcast servers, and when each was last received.
    found: Vec<(IpAddr, Instant)>,
    /// Resolved addresses by name.
    addresses: BTreeMap<Arc<str>, Vec<IpAddr>>,
    /// Address in use for each server.
    resolved: BTreeMap<u64, IpAddr>,
    /// Ids of servers without an item, by address or name.
    ids: BTreeMap<Arc<str>, u64>,
    /// Correction of the system's time at its last use, in nanoseconds.
    added: i64,
}

/// A configured server.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Host {
    /// Address or name.
    text: Arc<str>,
    peer: Peer,
}

impl Ntp {
    /// Returns an instance without servers. `rng` must be unpredictable, since answers are verified
    /// by its numbers. `clock` shows the system's time.
    pub(crate) fn new(rng: &mut Rng, clock: &DayClock, now: Instant) -> Self {
        Self {
            client: Client::new(rng.split(), clock.unix_nanos(), now),
            server: Server::new(rng.next_u64()),
            asks: false,
            listens: false,
            serves: false,
            hosts: Vec::new(),
            learned: Vec::new(),
            found: Vec::new(),
            addresses: BTreeMap::new(),
            resolved: BTreeMap::new(),
            ids: BTreeMap::new(),
            added: 0,
        }
    }

    /// Corrects the system's time `raw`. Returns the time of day, and whether the correction jumped
    /// by a second or more.
    pub(crate) fn correct(&mut self, raw: Clock, now: Instant) -> (Clock, bool) {
        let nanos = unix_nanos(raw);
        let mut none = Vec::new();
        self.client.handle(Event::Clock(nanos), now, &mut none);
        let added = self.client.discipline().added(nanos);
        let jumped = added.abs_diff(self.added) >= 1_000_000_000;
        self.added = added;
        let right = nanos.saturating_add(added);
        let clock = Clock {
            unix_seconds: right.div_euclid(1_000_000_000),
            nanos: u32::try_from(right.rem_euclid(1_000_000_000)).unwrap_or(0),
            ..raw
        };
        (clock, jumped)
    }

    /// Returns the correction of the system's time in nanoseconds, or `None` while the client is
    /// not synchronised.
    pub(crate) fn lack(&self) -> Option<i64> {
        self.client.status().map(|_| self.added)
    }

    /// Passes the present servers to the client.
    fn configure(&mut self, now: Instant, out: &mut Effects) {
        let mut peers = Vec::new();
        for host in self.hosts.iter().filter(|_| self.asks) {
            let known = self.addresses.get(&host.text);
            let known = known.map_or(&[][..], Vec::as_slice);
            let reached = { self.client.peer(host.peer.id) }.is_some_and(|peer| peer.reach != 0);
            let before = self
                .resolved
                .get(&host.peer.id)
                .filter(|_| reached)
                .copied();
            let address = host.text.parse().ok().or(before).or(known.first().copied());
            peers.push(Peer {
                address,
                ..host.peer.clone()
            });
        }
        let found = self.found.iter().map(|(address, _)| *address);
        let others: Vec<_> = self.learned.iter().copied().chain(found).collect();
        for address in others {
            if self.asks && !peers.iter().any(|peer| peer.address == Some(address)) {
                let id = self.id(&Arc::from(address.to_string()));
                peers.push(plain(id, Some(address)));
            }
        }
        self.resolved = { peers.iter() }
            .filter_map(|peer| Some((peer.id, peer.address?)))
            .collect();
        let mut actions = Vec::new();
        self.client
            .handle(Event::Configure(peers), now, &mut actions);
        self.client.tick(now, &mut actions);
        self.carry_out(actions, out);
    }

    /// Returns the id of a server without an item.
    fn id(&mut self, text: &Arc<str>) -> u64 {
        let next = DYNAMIC | (self.ids.len() as u64 + 1);
        *self.ids.entry(Arc::clone(text)).or_insert(next)
    }

    /// Reads the configured servers.
    fn take_hosts(&mut self, view: &View<'_>, keys: &BTreeMap<String, Key>, out: &mut Effects) {
        let settings = view.store.settings(CLIENT);
        let items = view.store.items(SERVERS);
        let items = items.filter(|item| !item.is("disabled"));
        let mut hosts: Vec<Host> = items.filter_map(|item| host(item, keys)).collect();
        let listed = settings
            .and_then(|item| item.get("servers"))
            .map(Value::as_list);
        for text in listed.unwrap_or_default() {
            let text = Arc::from(text.to_string());
            if !hosts.iter().any(|host| host.text == text) {
                let peer = plain(self.id(&text), None);
                hosts.push(Host { text, peer });
            }
        }
        let wants = |host: &Host| self.asks && host.text.parse::<IpAddr>().is_err();
        let wanted: BTreeMap<_, _> = { hosts.iter() }
            .filter(|host| wants(host))
            .map(|host| (Arc::clone(&host.text), Vec::new()))
            .collect();
        for name in self
            .addresses
            .keys()
            .filter(|name| !wanted.contains_key(*name))
        {
            out.push(resolve(name, false));
        }
        for name in wanted
            .keys()
            .filter(|name| !self.addresses.contains_key(*name))
        {
            out.push(resolve(name, true));
        }
        let mut before = core::mem::replace(&mut self.addresses, wanted);
        for (name, addresses) in &mut self.addresses {
            *addresses = before.remove(name).unwrap_or_default();
        }
        self.hosts = hosts;
    }

    fn take_server(&mut self, view: &View<'_>, keys: &BTreeMap<String, Key>) {
        let Some(item) = view.store.settings(SERVER) else {
            return;
        };
        self.serves = item.is("enabled");
        let local = item.get("local-clock-stratum").and_then(Value::as_number);
        let local = local.and_then(|stratum| u8::try_from(stratum).ok());
        let told = item
            .get("broadcast-addresses")
            .map(Value::as_list)
            .unwrap_or_default();
        let tells = self.serves && item.is("broadcast");
        let settings = Settings {
            local_stratum: local.filter(|_| item.is("use-local-clock")),
            keys: keys.values().cloned().collect(),
            own_key: keys.get(item.text("auth-key")).cloned(),
            tell: { told.iter() }
                .filter(|_| tells)
                .filter_map(Value::as_address)
                .collect(),
        };
        self.server.configure(settings, view.now);
    }

    fn carry_out(&self, actions: Vec<Action>, out: &mut Effects) {
        for action in actions {
            let message = match action {
                Action::Send { to, bytes } => {
                    out.push(datagram(None, to, InterfaceId::NONE, bytes));
                    continue;
                }
                Action::Discarded(_) => continue,
                Action::Synchronized(server) => format!("ntp synchronized with {server}"),
                Action::Lost => "ntp lost synchronization".to_owned(),
                Action::Stepped(by) => format!("ntp change time by {}", seconds(by)),
                Action::Kissed(server, code) => {
                    let code = String::from_utf8_lossy(&code).into_owned();
                    format!("ntp server {server} refuses queries: {code}")
                }
            };
            out.log("system,clock,info", message);
        }
    }

    /// Answers a client's request.
    fn answer(
        &mut self,
        heard: &ReceivedPacket<'_>,
        from: SocketAddr,
        to: IpAddr,
        bytes: &[u8],
        running: &Running<'_>,
        out: &mut Effects,
    ) -> ReceiveOutcome {
        let time = self.client.time(running.now);
        let synchronized = self.client.synchronized(running.now);
        match self
            .server
            .answer(from.ip(), bytes, synchronized, time, running.now)
        {
            Ok(answer) => {
                // Answers come from the address that was queried.
                let own = match to {
                    IpAddr::V4(to) => !to.is_broadcast() && !running.is_broadcast4(to),
                    IpAddr::V6(_) => true,
                };
                let own = Some(to).filter(|to| own && !to.is_multicast());
                out.push(Effect::Datagram(Box::new(Datagram {
                    source: own,
                    from: PORT,
                    to: from,
                    interface: heard.interface,
                    data: answer,
                })));
                ReceiveOutcome::Taken
            }
            Err(Refused::TooOften) => ReceiveOutcome::Bad(DropReason::NtpLimit),
            Err(Refused::Malformed(_) | Refused::NoQuestion) => {
                ReceiveOutcome::Bad(DropReason::NtpMalformed)
            }
        }
    }

    /// Handles a broadcast: its sender becomes a server, since only an answer shows the delay (RFC
    /// 5905, 8).
    fn find(&mut self, from: IpAddr, now: Instant, out: &mut Effects) -> ReceiveOutcome {
        if !self.listens {
            return ReceiveOutcome::Bad(DropReason::NtpUnasked);
        }
        if let Some((_, at)) = self.found.iter_mut().find(|(known, _)| *known == from) {
            *at = now;
            return ReceiveOutcome::Taken;
        }
        self.found.retain(|(_, at)| now - *at < FOUND_FOR);
        if self.found.len() >= FOUND {
            return ReceiveOutcome::Bad(DropReason::NtpUnasked);
        }
        self.found.push((from, now));
        self.configure(now, out);
        ReceiveOutcome::Taken
    }
}

impl Feature for Ntp {
    fn menus(&self) -> &'static [&'static str] {
        &[CLIENT, SERVERS, SERVER, KEYS]
    }

    fn follow(&mut self, view: &View<'_>, _: Option<&Changes>, out: &mut Effects) {
        let keys = { view.store.items(KEYS) }
            .filter_map(|item| key(item))
            .collect();
        let client = view.store.settings(CLIENT);
        self.asks = client.is_some_and(|item| item.is("enabled"));
        let mode = client.map_or("", |item| item.text("mode"));
        self.listens = self.asks && mode == "broadcast";
        if !self.listens {
            self.found.clear();
        }
        self.take_server(view, &keys);
        self.take_hosts(view, &keys, out);
        self.configure(view.now, out);
    }

    fn tick(&mut self, now: Instant, out: &mut Effects) {
        let mut actions = Vec::new();
        self.client.tick(now, &mut actions);
        self.carry_out(actions, out);
        let time = self.client.time(now);
        let synchronized = self.client.synchronized(now);
        if let Some((all, bytes)) = self.server.tick(synchronized, time, now) {
            for to in all {
                out.push(datagram(None, *to, InterfaceId::NONE, bytes.clone()));
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let asks = self.client.deadline().map(|(at, ())| at);
        asks.into_iter().chain(self.server.deadline()).min()
    }

    fn rows(
        &self,
        menu: &'static Menu,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if menu.path != SERVERS {
            return ControlFlow::Continue(());
        }
        for (id, address) in self.resolved.iter().filter(|(id, _)| *id & DYNAMIC != 0) {
            let named = self.hosts.iter().find(|host| host.peer.id == *id);
            let text = named.map_or_else(|| address.to_string(), |host| host.text.to_string());
            let mut row = Row {
                id: Some(Id(*id)),
                ..Row::default()
            };
            row.flag("dynamic", true);
            row.set("address", Value::text(text));
            row.set("min-poll", Value::Number(6));
            row.set("max-poll", Value::Number(10));
            row.set("iburst", Value::Bool(true));
            row.set("auth-key", Value::Word("none"));
            row.set("resolved-address", Value::Address(*address));
            give(row, filter, each)?;
        }
        ControlFlow::Continue(())
    }

    fn annotate(&self, menu: &'static Menu, id: Id, row: &mut Row) {
        match menu.path {
            CLIENT => self.annotate_client(row),
            SERVERS => {
                if let Some(address) = self.resolved.get(&id.0) {
                    row.set("resolved-address", Value::Address(*address));
                }
            }
            _ => {}
        }
    }

    fn act(&mut self, view: &View<'_>, call: &Call<'_>) -> Option<Result<Reply, Reason>> {
        if (call.menu.path, call.command) != (CLIENT, "reset-freq-drift") {
            return None;
        }
        self.client.reset_frequency(view.now);
        Some(Ok(Reply::default()))
    }

    fn services(&self) -> Vec<Service> {
        if !self.asks && !self.serves {
            return Vec::new();
        }
        let both = [false, true].map(|ipv6| Match::Udp { ipv6, port: PORT });
        vec![Service::new("ntp", both, RATE)]
    }

    fn hear(
        &mut self,
        heard: &ReceivedPacket<'_>,
        running: &Running<'_>,
        out: &mut Effects,
    ) -> ReceiveOutcome {
        let Some((from, to, bytes)) = heard.datagram() else {
            return ReceiveOutcome::Bad(DropReason::NtpMalformed);
        };
        let Ok(packet) = Packet::parse(bytes) else {
            return ReceiveOutcome::Bad(DropReason::NtpMalformed);
        };
        match packet.repr.mode {
            Mode::CLIENT if self.serves => self.answer(heard, from, to.ip(), bytes, running, out),
            Mode::SERVER if from.port() == PORT => {
                let mut actions = Vec::new();
                let event = Event::Received {
                    from: from.ip(),
                    bytes,
                };
                self.client.handle(event, running.now, &mut actions);
                let fault = actions.iter().find_map(|action| match action {
                    Action::Discarded(fault) => Some(*fault),
                    _ => None,
                });
                self.carry_out(actions, out);
                match fault {
                    None => ReceiveOutcome::Taken,
                    Some(Fault::Malformed(_) | Fault::Unfit) => {
                        ReceiveOutcome::Bad(DropReason::NtpMalformed)
                    }
                    Some(Fault::Unasked | Fault::Unsigned) => {
                        ReceiveOutcome::Bad(DropReason::NtpUnasked)
                    }
                }
            }
            Mode::BROADCAST if from.port() == PORT => self.find(from.ip(), running.now, out),
            _ => ReceiveOutcome::Bad(DropReason::NtpUnasked),
        }
    }

    fn learn(&mut self, learned: &Learned, now: Instant, out: &mut Effects) {
        let servers = learned.ntp().into_iter();
        self.learned = servers.map(|(address, _)| address).collect();
        self.configure(now, out);
    }

    fn resolved(&mut self, name: &str, found: &[IpAddr], now: Instant, out: &mut Effects) {
        if let Some(known) = self.addresses.get_mut(name) {
            known.clear();
            known.extend(found);
            self.configure(now, out);
        }
    }
}

impl Ntp {
    fn annotate_client(&self, row: &mut Row) {
        let frequency = self.client.discipline().frequency();
        row.set("freq-drift", Value::Measured(frequency, " PPM"));
        let Some(status) = self.client.status() else {
            let status = if self.asks { "waiting" } else { "stopped" };
            row.set("status", Value::Word(status));
            return;
        };
        row.set("status", Value::Word("synchronized"));
        row.set("synced-server", Value::text(status.server.to_string()));
        row.set("synced-stratum", Value::Number(status.stratum.into()));
        row.set(
            "system-offset",
            Value::Measured(status.offset / 1_000, " ms"),
        );
    }
}

/// Formats nanoseconds in seconds: `-90.123 s`.
fn seconds(nanos: i64) -> String {
    Value::Measured(nanos / 1_000_000, " s").to_string()
}

/// Returns a server with default settings.
fn plain(id: u64, address: Option<IpAddr>) -> Peer {
    Peer {
        id,
        address,
        min_poll: 6,
        max_poll: 10,
        burst: true,
        key: None,
    }
}

fn host(item: &Item, keys: &BTreeMap<String, Key>) -> Option<Host> {
    let number = |name: &str| {
        let number = item.get(name).and_then(Value::as_number);
        number.and_then(|number| u8::try_from(number).ok())
    };
    let text = item.get("address")?.to_string();
    let peer = Peer {
        min_poll: number("min-poll").unwrap_or(6),
        max_poll: number("max-poll").unwrap_or(10),
        burst: item.is("iburst"),
        key: { item.get("auth-key") }.and_then(|key| keys.get(&key.to_string()).cloned()),
        ..plain(item.id.0, None)
    };
    Some(Host {
        text: text.into(),
        peer,
    })
}

fn key(item: &Item) -> Option<(String, Key)> {
    let number = item.get("key-id")?.as_number()?;
    let number = u32::try_from(number).ok()?;
    let secret = menu::bytes::to_bytes(item.text("key-val"));
    Some((number.to_string(), Key::new(number, &secret)))
}

fn resolve(name: &Arc<str>, wanted: bool) -> Effect {
    let name = Arc::clone(name);
    Effect::Resolve { name, wanted }
}

fn datagram(source: Option<IpAddr>, to: IpAddr, interface: InterfaceId, data: Vec<u8>) -> Effect {
    Effect::Datagram(Box::new(Datagram {
        source,
        from: PORT,
        to: SocketAddr::new(to, PORT),
        interface,
        data,
    }))
}
