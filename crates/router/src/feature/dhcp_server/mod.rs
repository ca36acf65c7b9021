//! DHCP servers, `/ip/dhcp-server`: configuration, packets, and the side effects of leases. The machine
//! `service::dhcp::server` decides which client gets which address.
//!
//! ```text
//! menus ─▶ read ─▶ machine ◀─ packets ◀─ frames of port 67, ARP
//!                     │                        └─▶ `radius`, if a RADIUS server grants leases
//!                     ├─▶ answers ─▶ wait until `keep` has written their leases ─▶ sent
//!                     └─▶ begins, ends ─▶ ARP entry, address lists, script, log (`follow`)
//! ```

mod follow;
pub(crate) mod keep;
mod packets;
mod radius;
mod read;
mod show;

use core::net::{IpAddr, Ipv4Addr};
use core::ops::ControlFlow;
use std::collections::{BTreeMap, BTreeSet};

use dataplane::service::{Match, Rate, Service};
use frame::InterfaceId;
use machine::Instant;
use menu::{Call, Changes, Id, Item, Menu, Reason, Reply, Row, RowFilter, Value};
use service::dhcp::SERVER_PORT;
use service::dhcp::server::{Action, DYNAMIC, Event, Servers, Why};
use service::pool::Pools;
use service::radius::{Answer, ErrorCause, SessionRequest};
use wire::Mac;

use super::hear::{Outgoing, ReceiveOutcome, ReceivedPacket};
use super::{Effect, Effects, Feature, View, concerns, each_item, neighbours, pool};
use crate::clock::DayClock;
use crate::intent::{ItemId, Name};
use crate::learned::Learned;
use crate::read as items;
use crate::running::Running;
use crate::store::leases::Leases;

pub(crate) const MENU: &str = "/ip/dhcp-server";
pub(crate) const LEASES: &str = "/ip/dhcp-server/lease";
const NETWORKS: &str = "/ip/dhcp-server/network";
const OPTIONS: &str = "/ip/dhcp-server/option";
const SETS: &str = "/ip/dhcp-server/option/sets";
const MATCHERS: &str = "/ip/dhcp-server/matcher";
const CONFIG: &str = "/ip/dhcp-server/config";
const DNS: &str = "/ip/dns";
const NTP: &str = "/system/ntp/client";
/// Service of UDP port 67, shared by servers and relay agents.
pub(crate) const SERVICE: &str = "dhcp-server";
/// Allows twenty thousand clients a second, each with a discover and a request.
const RATE: Rate = Rate {
    per_second: 40_000,
    burst: 1_024,
};

/// Returns the service of UDP port 67. Its frames skip the rules of `input`, since RouterOS reads
/// them as raw frames.
pub(crate) fn service() -> Service {
    let port = Match::Udp {
        ipv6: false,
        port: SERVER_PORT,
    };
    Service {
        meets_rules: false,
        ..Service::new(SERVICE, [port], RATE).by_link()
    }
}

/// All DHCP servers, their leases and what follows from leases.
#[derive(Debug)]
pub(crate) struct DhcpServers {
    machine: Servers,
    all: BTreeMap<ItemId, DhcpServer>,
    /// Servers by interface.
    on: BTreeSet<(Name, ItemId)>,
    links: BTreeMap<InterfaceId, Link>,
    named: BTreeMap<Name, InterfaceId>,
    networks: Vec<read::NetworkSettings>,
    /// DNS and NTP servers that the router learned from upstream networks.
    learned: (Vec<Ipv4Addr>, Vec<Ipv4Addr>),
    /// Address lists of static leases.
    lists: BTreeMap<ItemId, Vec<Name>>,
    /// Queue settings of static leases.
    queues: BTreeMap<ItemId, follow::QueueTerms>,
    /// Side effects of each bound lease: names, address list entries, queues.
    with: BTreeMap<u64, follow::LeaseObjects>,
    /// Leases with unwritten records, and the answers to send after the next write.
    changed: BTreeSet<u64>,
    waiting: Vec<Outgoing>,
    log: Option<Leases>,
    /// False with `store-leases-disk=never`.
    is_kept: bool,
    /// Whether the failure to write leases was logged.
    is_failing: bool,
    /// Effects of commands that the next tick emits.
    later: Vec<Effect>,
    /// RADIUS requests and accounting.
    radius: radius::LeaseRadius,
    /// Present time, for rows and accounting.
    pub(crate) now: Instant,
}

/// A server.
#[derive(Debug, Default)]
struct DhcpServer {
    name: Name,
    interface: Name,
    relay: Option<Ipv4Addr>,
    disabled: bool,
    add_arp: bool,
    radius: radius::RadiusUse,
    /// Domain for the DNS names of clients; `None` without `add-dns-entries`.
    dns: Option<String>,
    lists: Vec<Name>,
    script: String,
}

/// State of an interface that servers need.
#[derive(Debug)]
struct Link {
    name: Name,
    is_slave: bool,
    mac: Mac,
    own: Vec<(Ipv4Addr, u8)>,
}

impl DhcpServers {
    /// Returns an instance without servers that leases from `pools`.
    pub(crate) fn new(pools: Pools, clock: DayClock) -> Self {
        Self {
            machine: Servers::new(pools),
            all: BTreeMap::new(),
            on: BTreeSet::new(),
            links: BTreeMap::new(),
            named: BTreeMap::new(),
            networks: Vec::new(),
            learned: (Vec::new(), Vec::new()),
            lists: BTreeMap::new(),
            queues: BTreeMap::new(),
            with: BTreeMap::new(),
            changed: BTreeSet::new(),
            waiting: Vec::new(),
            log: None,
            is_kept: true,
            is_failing: false,
            later: Vec::new(),
            radius: radius::LeaseRadius::new(clock),
            now: Instant::ZERO,
        }
    }

    fn put(&mut self, view: &View<'_>, id: ItemId, item: &Item, out: &mut Effects) {
        let name = |property| items::name(item, property).unwrap_or_default();
        let one = DhcpServer {
            name: name("name"),
            interface: name("interface"),
            relay: read::address(item, "relay"),
            disabled: item.is("disabled"),
            add_arp: item.is("add-arp"),
            radius: radius::RadiusUse::read(item),
            lists: read::names(item, "address-lists"),
            script: item.text("lease-script").to_owned(),
            dns: item
                .is("add-dns-entries")
                .then(|| item.text("add-dns-entries-suffix").to_owned()),
        };
        let config = read::server(view.store, item);
        self.event(Event::Server(id, Some(config)), view.now, out);
        self.on.insert((one.interface.clone(), id));
        if let Some(before) = self.all.insert(id, one) {
            let one = self.all.get(&id);
            if one.is_some_and(|one| one.interface != before.interface) {
                self.on.remove(&(before.interface, id));
            }
        }
        self.refresh(id, out);
    }

    fn take_away(&mut self, id: ItemId, now: Instant, out: &mut Effects) {
        self.event(Event::Server(id, None), now, out);
        if let Some(one) = self.all.remove(&id) {
            self.on.remove(&(one.interface, id));
        }
    }

    fn put_lease(&mut self, view: &View<'_>, id: ItemId, item: Option<&Item>, out: &mut Effects) {
        let server = |name: &str| view.store.named("dhcp-server", name).map(|item| item.id.0);
        let item = item.filter(|item| !item.is("disabled"));
        let fixed = item.and_then(|item| read::lease(view.store, item, server));
        match item {
            Some(item) => _ = self.lists.insert(id, read::names(item, "address-lists")),
            None => _ = self.lists.remove(&id),
        }
        match item.and_then(follow::QueueTerms::read) {
            Some(terms) => _ = self.queues.insert(id, terms),
            None => _ = self.queues.remove(&id),
        }
        self.event(Event::Static(id, fixed), view.now, out);
        self.renew(id, out);
    }

    /// Passes an event to the machine and carries out its actions. Returns why a request is
    /// ignored.
    fn event(&mut self, event: Event, now: Instant, out: &mut Effects) -> Option<Why> {
        let mut actions = Vec::new();
        self.machine.handle(event, now, &mut actions);
        self.do_(actions, out)
    }

    fn do_(&mut self, actions: Vec<Action>, out: &mut Effects) -> Option<Why> {
        let mut ignored = None;
        for action in actions {
            match action {
                Action::Send(reply) => self.answer(*reply, out),
                Action::Keep(id) => {
                    self.changed.insert(id);
                    // A lease that was made static continues under another id.
                    if self.machine.lease(id).is_none() {
                        self.renew(id, out);
                    }
                }
                Action::Bound(id) => self.begins(id, out),
                Action::Unbound(lease) => self.ends(&lease, out),
                Action::Probe(server, address) => self.probe(server, address, out),
                Action::Log(true, message) => out.log("dhcp,warning", message),
                Action::Log(false, message) => out.log("dhcp,info", message),
                Action::Ignored(why) => ignored = Some(why),
            }
        }
        ignored
    }

    /// Passes the networks to the machine, with learned DNS and NTP servers filled in.
    fn tell_networks(&mut self, now: Instant, out: &mut Effects) {
        let networks = self.networks.iter().map(|told| {
            let mut network = told.network.clone();
            if told.learned_dns {
                network.dns.clone_from(&self.learned.0);
            }
            if told.learned_ntp {
                network.ntp.clone_from(&self.learned.1);
            }
            network
        });
        let networks = networks.collect();
        self.event(Event::Networks(networks), now, out);
    }

    fn link(&self, interface: &str) -> Option<(InterfaceId, &Link)> {
        let id = self.named.get(interface)?;
        Some((*id, self.links.get(id)?))
    }

    /// Returns why a server cannot serve.
    fn fault(&self, one: &DhcpServer) -> Option<&'static str> {
        match self.link(&one.interface) {
            None => Some("interface is not there"),
            // RouterOS uses this text.
            Some((_, link)) if link.is_slave => Some("DHCP server can not run on slave interface!"),
            Some((_, link)) if link.own.is_empty() => Some("interface has no IP address"),
            Some(_) => None,
        }
    }

    /// Removes dynamic leases by command.
    fn remove(
        &mut self,
        view: &View<'_>,
        items: &[Id],
        out: &mut Effects,
    ) -> Result<Reply, Reason> {
        let is_there = |id: &Id| self.machine.lease(id.0).is_some();
        if !items.iter().all(is_there) {
            return Err(Reason::NoItem);
        }
        for Id(id) in items {
            self.event(Event::Remove(*id), view.now, out);
        }
        Ok(Reply::default())
    }
}

impl Feature for DhcpServers {
    fn name(&self) -> &'static str {
        radius::FEATURE
    }

    fn menus(&self) -> &'static [&'static str] {
        &[
            MENU,
            LEASES,
            NETWORKS,
            OPTIONS,
            SETS,
            MATCHERS,
            CONFIG,
            pool::MENU,
            DNS,
            NTP,
        ]
    }

    fn follow(&mut self, view: &View<'_>, changes: Option<&Changes>, out: &mut Effects) {
        // Options are part of each item that names them, so all are read again.
        let anew = concerns(&[OPTIONS, SETS], changes);
        let of = |menu| if anew { (menu, None) } else { (menu, changes) };
        let (menu, some) = of(MENU);
        if anew {
            // Only the changes name removed items.
            let gone = changes.iter().flat_map(|changes| changes.of(menu));
            let gone: Vec<_> = gone
                .filter(|of| of.after.is_none())
                .map(|of| of.id.0)
                .collect();
            gone.into_iter()
                .for_each(|id| self.take_away(id, view.now, out));
        }
        each_item(view, menu, some, |id, item| match item {
            Some(item) => self.put(view, id, item, out),
            None => self.take_away(id, view.now, out),
        });
        if concerns(&[OPTIONS, SETS, NETWORKS, DNS, NTP], changes) {
            let networks = view.store.items(NETWORKS);
            let networks = networks.filter_map(|item| read::network(view.store, item));
            self.networks = networks.collect();
            self.tell_networks(view.now, out);
        }
        if concerns(&[OPTIONS, SETS, MATCHERS, MENU], changes) {
            let matchers = view.store.items(MATCHERS);
            let matchers = matchers.filter_map(|item| read::matcher(view.store, item));
            let matchers = matchers.collect();
            self.event(Event::Matchers(matchers), view.now, out);
        }
        if anew && let Some(changes) = changes {
            let gone = changes.of(LEASES).filter(|of| of.after.is_none());
            let gone: Vec<_> = gone.map(|of| of.id.0).collect();
            gone.into_iter()
                .for_each(|id| self.put_lease(view, id, None, out));
        }
        let (menu, some) = of(LEASES);
        each_item(view, menu, some, |id, item| {
            self.put_lease(view, id, item, out)
        });
        if concerns(&[pool::MENU], changes) {
            self.machine.reserve();
        }
        if concerns(&[CONFIG], changes) {
            let config = view.store.settings(CONFIG);
            self.is_kept = config.is_none_or(|config| config.text("store-leases-disk") != "never");
            if let Some(config) = config {
                self.radius.read(config);
            }
        }
        if concerns(&[CONFIG, MENU], changes) {
            let uses = |server: &DhcpServer| server.radius != radius::RadiusUse::No;
            let is_on = self.radius.is_accounting() && self.all.values().any(uses);
            out.push(Effect::RadiusAccounting(radius::SERVICE, is_on));
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Effects) {
        self.later.drain(..).for_each(|effect| out.push(effect));
        let mut actions = Vec::new();
        self.machine.tick(now, &mut actions);
        self.do_(actions, out);
        self.update_accounting(now, out);
    }

    fn deadline(&self) -> Option<Instant> {
        let later = (!self.later.is_empty()).then_some(self.now);
        let others = [self.machine.deadline(), self.radius.deadline()];
        later.into_iter().chain(others.into_iter().flatten()).min()
    }

    fn rows(
        &self,
        menu: &'static Menu,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match menu.path {
            LEASES => self.lease_rows(filter, each),
            _ => ControlFlow::Continue(()),
        }
    }

    fn annotate(&self, menu: &'static Menu, id: Id, row: &mut Row) {
        match menu.path {
            MENU => {
                let one = self.all.get(&id.0).filter(|one| !one.disabled);
                let fault = one.and_then(|one| self.fault(one));
                row.flag("invalid", fault.is_some());
                if let Some(fault) = fault {
                    row.set(Row::ABOUT, Value::text(fault));
                }
            }
            LEASES => self.annotate_lease(id, row),
            _ => {}
        }
    }

    fn act(&mut self, view: &View<'_>, call: &Call<'_>) -> Option<Result<Reply, Reason>> {
        match (call.menu.path, call.command) {
            (MENU, "setup") => Some(Err(Reason::failure(
                "setup asks questions, which is not possible here: add pool, network and server",
            ))),
            (LEASES, "send-reconfigure") => Some(Err(Reason::failure(
                "requests to clients to renew their leases are not supported",
            ))),
            (LEASES, "check-status") => {
                let mut out = Effects::default();
                for Id(id) in call.items {
                    self.event(Event::Check(*id), view.now, &mut out);
                }
                self.later.extend(out);
                Some(Ok(Reply::default()))
            }
            (LEASES, "remove") => {
                let mut out = Effects::default();
                let done = self.remove(view, call.items, &mut out);
                self.later.extend(out);
                Some(done)
            }
            // RouterOS: dynamic leases cannot be changed.
            (LEASES, "comment" | "disable" | "enable" | "set" | "unset")
                if call.items.iter().any(|id| id.0 & DYNAMIC != 0) =>
            {
                Some(Err(Reason::failure(
                    "can not change dynamic lease - use make-static",
                )))
            }
            _ => None,
        }
    }

    fn radius_answered(&mut self, number: u64, answer: Answer, now: Instant, out: &mut Effects) {
        self.granted(number, answer, now, out);
    }

    fn radius_requested(
        &mut self,
        request: &SessionRequest,
        now: Instant,
        out: &mut Effects,
    ) -> Option<Result<(), ErrorCause>> {
        self.requested(request, now, out)
    }

    fn learn(&mut self, learned: &Learned, now: Instant, out: &mut Effects) {
        let four = |servers: Vec<(IpAddr, &Name)>| {
            let four = servers
                .into_iter()
                .filter_map(|(address, _)| match address {
                    IpAddr::V4(address) => Some(address),
                    IpAddr::V6(_) => None,
                });
            four.collect()
        };
        self.learned = (four(learned.dns()), four(learned.ntp()));
        self.tell_networks(now, out);
    }

    fn services(&self) -> Vec<Service> {
        match self.all.is_empty() {
            true => Vec::new(),
            false => vec![service(), neighbours::arp()],
        }
    }

    fn hear(
        &mut self,
        heard: &ReceivedPacket<'_>,
        running: &Running<'_>,
        out: &mut Effects,
    ) -> ReceiveOutcome {
        match heard.service {
            neighbours::ARP => {
                self.hear_arp(heard, running.now, out);
                ReceiveOutcome::NotMine
            }
            _ => self.hear_request(heard, running.now, out),
        }
    }

    fn lay_out(&mut self, others: &BTreeSet<InterfaceId>, running: &Running<'_>, _: &mut Effects) {
        for id in others {
            if let Some(link) = self.links.remove(id)
                && self.named.get(&link.name) == Some(id)
            {
                self.named.remove(&link.name);
            }
            let Some(laid) = running.layout.interfaces.get(id) else {
                continue;
            };
            let own = running.addresses.of4(*id);
            let own = own.map(|(address, own)| (address, own.len)).collect();
            let link = Link {
                name: laid.name.clone(),
                is_slave: laid.above.is_some(),
                mac: laid.link.mac,
                own,
            };
            self.named.insert(link.name.clone(), *id);
            self.links.insert(*id, link);
        }
    }
}
