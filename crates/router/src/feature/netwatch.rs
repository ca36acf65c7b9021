//! `/tool/netwatch`: watched hosts, and scripts that run when their status changes.
//! `service::netwatch` is the machine. The owner has the sockets and runs probes that need a
//! connection or a name (`Control::take_probes`).

use core::net::{IpAddr, SocketAddr};
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::sync::Arc;

use dataplane::service::Service;
use machine::{Duration, Instant, Machine as _};
use menu::{Changes, Clock, Id, Item, Menu, Row, Value};
use service::netwatch::{
    Action, Event, HostState, Kind, Limits, Netwatch, PROBES, Round, Status, Watch,
};
use service::ping;

use super::echo::replies;
use super::hear::{Echo, ReceiveOutcome, ReceivedPacket};
use super::{Effect, Effects, Feature, View, each_item};
use crate::clock::DayClock;
use crate::running::Running;

const MENU: &str = "/tool/netwatch";

/// A probe that the owner runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Id of the host, and number of the test; the result carries both.
    pub ticket: (u64, u64),
    /// Timeout of the probe.
    pub timeout: Duration,
    /// Source address, if configured.
    pub source: Option<IpAddr>,
    /// The configured host, for URLs and certificate checks.
    pub host: String,
    /// Address of the host, if `host` is one.
    pub to: Option<IpAddr>,
    /// Kind of the probe.
    pub trial: Trial,
}

/// Kind of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trial {
    /// A connection to this TCP port.
    Tcp(u16),
    /// A request of the page `/` at this port.
    Http(u16),
    /// A request of the page `/` by TLS at this port, with a word of `check-certificate`.
    Https(u16, &'static str),
    /// A query of the host's name: for IPv6 addresses (true) or IPv4 addresses, to this server or
    /// to the router's own.
    Dns(bool, Option<SocketAddr>),
}

/// Result of a probe.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Probed {
    /// The error; empty on success.
    pub fault: String,
    /// Time until the connection was established or the answer arrived.
    pub connected: Duration,
    /// Total time.
    pub took: Duration,
    /// HTTP status.
    pub code: Option<u16>,
    /// Addresses of the name.
    pub addresses: Vec<IpAddr>,
}

/// All watched hosts.
#[derive(Debug)]
pub(crate) struct Watches {
    machine: Netwatch,
    all: BTreeMap<u64, WatchedHost>,
    /// Hosts by DNS name.
    named: BTreeMap<Arc<str>, Vec<u64>>,
    probes: VecDeque<Probe>,
    started: bool,
    clock: DayClock,
}

/// A watched host.
#[derive(Debug)]
struct WatchedHost {
    name: String,
    comment: String,
    host: Arc<str>,
    kind: &'static str,
    source: Option<IpAddr>,
    size: u16,
    ttl: u8,
    trial: Option<Trial>,
    most: Duration,
    codes: Vec<(i64, i64)>,
    scripts: [String; 3],
    interval: Duration,
    timeout: Duration,
    last: Probed,
    /// Time of the last change of status.
    since: Option<Clock>,
}

impl Watches {
    /// Returns an instance without hosts; `id` is the identifier of its echo requests.
    pub(crate) fn new(id: u16, clock: DayClock) -> Self {
        Self {
            machine: Netwatch::new(id),
            all: BTreeMap::new(),
            named: BTreeMap::new(),
            probes: VecDeque::new(),
            started: false,
            clock,
        }
    }

    /// Returns the queued probes, each once.
    pub(crate) fn take_probes(&mut self) -> Vec<Probe> {
        self.probes.drain(..).collect()
    }

    /// Handles the result of a probe.
    pub(crate) fn probed(
        &mut self,
        id: u64,
        test: u64,
        probed: Probed,
        now: Instant,
        out: &mut Effects,
    ) {
        let Some(one) = self.all.get_mut(&id) else {
            return;
        };
        let up = one.is_good(&probed);
        one.last = probed;
        let mut actions = Vec::new();
        let event = Event::Probed { id, test, up };
        self.machine.handle(event, now, &mut actions);
        self.carry_out(actions, out);
    }

    fn put(&mut self, item: &Item, now: Instant, begins: bool, out: &mut Effects) {
        let id = item.id.0;
        let Some(one) = WatchedHost::of(item) else {
            return;
        };
        let before = self.all.remove(&id);
        let host = Arc::clone(&one.host);
        let before_host = before.as_ref().map(|before| Arc::clone(&before.host));
        if before_host.as_ref() != Some(&host) {
            self.forget_name(id, before.as_ref(), out);
            if host.parse::<IpAddr>().is_err() {
                let ids = self.named.entry(Arc::clone(&host)).or_default();
                if ids.is_empty() {
                    let name = Arc::clone(&host);
                    out.push(Effect::Resolve { name, wanted: true });
                }
                ids.push(id);
            }
        }
        let (last, since) = before.map_or_else(Default::default, |one| (one.last, one.since));
        self.all.insert(id, WatchedHost { last, since, ..one });
        let watch = watch(item, begins);
        let mut actions = Vec::new();
        if watch.host.is_none() && before_host.as_ref() != Some(&host) {
            self.machine
                .handle(Event::Address(id, None), now, &mut actions);
        }
        self.machine
            .handle(Event::Put(id, watch), now, &mut actions);
    }

    fn take_away(&mut self, id: u64, now: Instant, out: &mut Effects) {
        let before = self.all.remove(&id);
        self.forget_name(id, before.as_ref(), out);
        let mut actions = Vec::new();
        self.machine.handle(Event::Remove(id), now, &mut actions);
        self.probes.retain(|probe| probe.ticket.0 != id);
    }

    fn forget_name(&mut self, id: u64, one: Option<&WatchedHost>, out: &mut Effects) {
        let Some((name, ids)) = one.and_then(|one| self.named.get_key_value(&one.host)) else {
            return;
        };
        let name = Arc::clone(name);
        let left: Vec<u64> = ids.iter().copied().filter(|own| *own != id).collect();
        if left.is_empty() {
            self.named.remove(&name);
            let wanted = false;
            out.push(Effect::Resolve { name, wanted });
        } else {
            self.named.insert(name, left);
        }
    }

    fn carry_out(&mut self, actions: Vec<Action>, out: &mut Effects) {
        for action in actions {
            match action {
                Action::Echo { to, id, numbers } => {
                    if let Some(one) = self.all.get(&id) {
                        out.push(Effect::Echo(Box::new(Echo {
                            source: one.source,
                            to,
                            numbers,
                            bytes: one.size,
                            ttl: one.ttl,
                        })));
                    }
                }
                Action::Probe { id, test, timeout } => self.probe((id, test), timeout),
                Action::Tested {
                    id,
                    status,
                    was,
                    runs,
                } => self.tested(id, status, was, runs, out),
            }
        }
    }

    fn probe(&mut self, ticket: (u64, u64), timeout: Duration) {
        let Some(one) = self.all.get(&ticket.0) else {
            return;
        };
        let Some(trial) = one.trial else { return };
        // The machine times out probes that the owner never takes.
        if self.probes.len() >= 2 * PROBES {
            self.probes.pop_front();
        }
        self.probes.push_back(Probe {
            ticket,
            timeout,
            source: one.source,
            host: one.host.to_string(),
            to: one.host.parse().ok(),
            trial,
        });
    }

    /// Logs a change of status and runs the scripts of a finished test.
    fn tested(
        &mut self,
        id: u64,
        status: Status,
        was: Option<Status>,
        runs: bool,
        out: &mut Effects,
    ) {
        let Some(one) = self.all.get_mut(&id) else {
            return;
        };
        if was.is_some() {
            one.since = Some(self.clock.now());
            let what = [one.comment.as_str(), one.name.as_str(), &one.host];
            let what = what.into_iter().find(|text| !text.is_empty()).unwrap_or("");
            let message = format!(
                "event {} [ type: {}, host: {} ]",
                status.word(),
                one.kind,
                what
            );
            out.log("netwatch,info", message);
        }
        let known = self.machine.known(id).copied().unwrap_or_default();
        let [up, down, test] = &one.scripts;
        let change = match status {
            _ if was.is_none() || !runs => "",
            Status::Up => up,
            _ => down,
        };
        for source in [change, test]
            .into_iter()
            .filter(|source| !source.is_empty())
        {
            out.push(Effect::Script {
                kind: "netwatch",
                source: source.to_owned(),
                before: one.variables(&known),
            });
        }
    }
}

impl Feature for Watches {
    fn menus(&self) -> &'static [&'static str] {
        &[MENU]
    }

    fn follow(&mut self, view: &View<'_>, changes: Option<&Changes>, out: &mut Effects) {
        let begins = !core::mem::replace(&mut self.started, true);
        if changes.is_none() {
            let gone = { self.all.keys() }
                .filter(|id| view.store.item(MENU, Id(**id)).is_none())
                .copied();
            for id in gone.collect::<Vec<_>>() {
                self.take_away(id, view.now, out);
            }
        }
        each_item(view, MENU, changes, |id, item| {
            match item.filter(|item| !item.is("disabled")) {
                Some(item) => self.put(item, view.now, begins, out),
                None => self.take_away(id, view.now, out),
            }
        });
    }

    fn tick(&mut self, now: Instant, out: &mut Effects) {
        let mut actions = Vec::new();
        self.machine.tick(now, &mut actions);
        self.carry_out(actions, out);
    }

    fn deadline(&self) -> Option<Instant> {
        self.machine.deadline().map(|(at, ())| at)
    }

    fn annotate(&self, _: &'static Menu, id: Id, row: &mut Row) {
        let (Some(one), Some(known)) = (self.all.get(&id.0), self.machine.known(id.0)) else {
            return;
        };
        for (name, value) in one.facts(known) {
            row.set(name, value);
        }
    }

    fn services(&self) -> Vec<Service> {
        match self.machine.echoes() {
            true => vec![replies()],
            false => Vec::new(),
        }
    }

    fn hear(
        &mut self,
        heard: &ReceivedPacket<'_>,
        running: &Running<'_>,
        out: &mut Effects,
    ) -> ReceiveOutcome {
        let Some(said) = ping::parse_response(heard.packet()) else {
            return ReceiveOutcome::NotMine;
        };
        if !self.machine.is_its(&said) {
            return ReceiveOutcome::NotMine;
        }
        let mut actions = Vec::new();
        self.machine
            .handle(Event::Heard(&said), running.now, &mut actions);
        self.carry_out(actions, out);
        ReceiveOutcome::Taken
    }

    fn resolved(&mut self, name: &str, found: &[IpAddr], now: Instant, _: &mut Effects) {
        let ids = self.named.get(name).cloned().unwrap_or_default();
        for id in ids {
            let mut actions = Vec::new();
            let event = Event::Address(id, found.first().copied());
            self.machine.handle(event, now, &mut actions);
        }
    }
}

fn word(item: &Item, name: &str) -> &'static str {
    match item.get(name) {
        Some(Value::Word(word)) => word,
        _ => "",
    }
}

impl WatchedHost {
    fn of(item: &Item) -> Option<Self> {
        let text = |name: &str| item.text(name).to_owned();
        let kind = match word(item, "type") {
            "" => "simple",
            kind => kind,
        };
        let number = |name: &str| item.get(name).and_then(Value::as_number);
        let port = |usual: u16| {
            number("port")
                .and_then(|n| u16::try_from(n).ok())
                .unwrap_or(usual)
        };
        let trial = match kind {
            "tcp-conn" => Some(Trial::Tcp(port(0))),
            "http-get" => Some(Trial::Http(port(80))),
            "https-get" => Some(Trial::Https(port(443), word(item, "check-certificate"))),
            "dns" => {
                let server = item.get("dns-server").and_then(Value::as_address);
                let server = server.map(|to| SocketAddr::new(to, port(53)));
                Some(Trial::Dns(item.text("record-type") == "AAAA", server))
            }
            _ => None,
        };
        let most = match kind {
            "tcp-conn" => span(item, "thr-tcp-conn-time"),
            _ => span(item, "thr-http-time"),
        };
        Some(Self {
            name: text("name"),
            comment: text("comment"),
            host: item.get("host")?.to_string().into(),
            kind,
            source: item.get("src-address").and_then(Value::as_address),
            // RouterOS: the packet size includes headers.
            size: { number("packet-size") }
                .and_then(|n| u16::try_from(n).ok())
                .unwrap_or(54),
            ttl: number("ttl")
                .and_then(|n| u8::try_from(n).ok())
                .unwrap_or(255),
            trial,
            most,
            codes: codes(item),
            scripts: [text("up-script"), text("down-script"), text("test-script")],
            interval: span(item, "interval"),
            timeout: span(item, "timeout"),
            last: Probed::default(),
            since: None,
        })
    }

    /// Whether the result means that the host is up: no error, limits of time and HTTP status met,
    /// and for DNS at least one address.
    fn is_good(&self, probed: &Probed) -> bool {
        if !probed.fault.is_empty() {
            return false;
        }
        let takes = |code: u16| {
            let code = i64::from(code);
            self.codes
                .iter()
                .any(|(low, high)| (*low..=*high).contains(&code))
        };
        match self.trial {
            Some(Trial::Tcp(_)) => probed.connected <= self.most,
            Some(Trial::Http(_) | Trial::Https(..)) => {
                probed.took <= self.most && probed.code.is_some_and(takes)
            }
            Some(Trial::Dns(..)) => !probed.addresses.is_empty(),
            None => false,
        }
    }

    /// Returns the state of a host for its row and its scripts, under RouterOS's names.
    fn facts(&self, known: &HostState) -> Vec<(&'static str, Value)> {
        let number = |count: u64| Value::Number(i64::try_from(count).unwrap_or(i64::MAX));
        let time = as_time;
        let mut facts = vec![("status", Value::Word(known.status.word()))];
        if let Some(since) = self.since {
            facts.push(("since", Value::text(since.date_time())));
        }
        facts.push(("done-tests", number(known.done)));
        facts.push(("failed-tests", number(known.failed)));
        let statistics = known.statistics;
        match self.trial {
            None if self.kind == "icmp" => facts.extend([
                ("sent-count", number(statistics.sent.into())),
                ("response-count", number(statistics.answers.into())),
                ("loss-count", number(statistics.lost().into())),
                ("loss-percent", number(statistics.lost_percent().into())),
                ("rtt-avg", time(statistics.average)),
                ("rtt-min", time(statistics.least)),
                ("rtt-max", time(statistics.most)),
                ("rtt-jitter", time(statistics.jitter())),
                ("rtt-stdev", time(statistics.deviation)),
            ]),
            None => {}
            Some(_) if known.done == 0 => {}
            Some(Trial::Tcp(_)) => facts.push(("tcp-connect-time", time(self.last.connected))),
            Some(Trial::Http(_) | Trial::Https(..)) => {
                facts.push(("tcp-connect-time", time(self.last.connected)));
                facts.push(("http-resp-time", time(self.last.took)));
                if let Some(code) = self.last.code {
                    facts.push(("http-status-code", number(code.into())));
                }
            }
            Some(Trial::Dns(ipv6, _)) => {
                if let Some(address) = self.last.addresses.first() {
                    let name = if ipv6 { "ip6" } else { "ip" };
                    facts.push((name, Value::Address(*address)));
                }
            }
        }
        facts
    }

    /// Returns the statements that define a script's variables.
    fn variables(&self, known: &HostState) -> String {
        let mut all = vec![
            ("name", Value::text(self.name.as_str())),
            ("comment", Value::text(self.comment.as_str())),
            ("host", Value::text(&*self.host)),
            ("type", Value::text(self.kind)),
            ("interval", as_time(self.interval)),
            ("timeout", as_time(self.timeout)),
        ];
        all.extend(self.facts(known));
        let mut text = String::new();
        for (name, value) in all {
            let value = menu::quote_always(&value.to_string());
            let _ = write!(text, ":local \"{name}\" {value}; ");
        }
        text
    }
}

/// Converts a span for a row. RouterOS: microseconds are the least unit of times.
fn as_time(span: Duration) -> Value {
    let micros = i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
    Value::Time(micros.saturating_mul(1_000))
}

fn span(item: &Item, name: &str) -> Duration {
    let nanos = item.get(name).and_then(Value::as_nanos);
    let nanos = nanos.and_then(|nanos| u64::try_from(nanos).ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}

/// Returns the accepted ranges of HTTP status codes.
fn codes(item: &Item) -> Vec<(i64, i64)> {
    let listed = item
        .get("http-codes")
        .map(Value::as_list)
        .unwrap_or_default();
    let range = |value: &Value| {
        let text = value.to_string();
        let (low, high) = text.split_once('-').unwrap_or((&text, &text));
        Some((low.parse().ok()?, high.parse().ok()?))
    };
    listed.iter().filter_map(range).collect()
}

/// Reads how a host is watched; `begins` says that the router has just started.
fn watch(item: &Item, begins: bool) -> Watch {
    let number = |name: &str| {
        let number = item.get(name).and_then(Value::as_number);
        number.and_then(|n| u32::try_from(n).ok())
    };
    let kind = match item.text("type") {
        "simple" => Kind::Echo(Round::SIMPLE),
        "icmp" => Kind::Echo(Round {
            count: number("packet-count").unwrap_or(10),
            space: span(item, "packet-interval"),
            limits: Some(Limits {
                most: span(item, "thr-max"),
                average: span(item, "thr-avg"),
                deviation: span(item, "thr-stdev"),
                jitter: span(item, "thr-jitter"),
                loss_percent: number("thr-loss-percent").unwrap_or(85),
                loss: number("thr-loss-count").unwrap_or(u32::MAX),
            }),
            takes_expired: item.is("accept-icmp-time-exceeded"),
            ends_good: item.is("early-success-detection"),
            ends_bad: item.is("early-failure-detection"),
        }),
        _ => Kind::Probe,
    };
    let first = span(item, "start-delay");
    Watch {
        kind,
        host: item
            .get("host")
            .and_then(|host| host.to_string().parse().ok()),
        interval: span(item, "interval"),
        timeout: span(item, "timeout"),
        first: if begins {
            first.max(span(item, "startup-delay"))
        } else {
            first
        },
        ignores_up: item.is("ignore-initial-up"),
        ignores_down: item.is("ignore-initial-down"),
    }
}
