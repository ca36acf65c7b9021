//! Objects of sessions: interface, addresses, routes, list memberships, queue, rules. They belong to the session, and go
//! with it.

use core::net::{Ipv4Addr, Ipv6Addr};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use machine::{Duration, Instant};
use menu::{Item, Value};
use ppp::{DownReason, Ipv4Link, Ipv6Link, Link};
use queue::Limits;
use schema::{DirectionLimit, RateLimit};
use service::neighbour::Mode;

use super::Ppp;
use super::carrier::LinkEnd;
use super::dial::{Dial, PeerDns};
use super::grant::Authority;
use super::profile::QueuePosition;
use super::route_text;
use super::rules::{self, RuleSet};
use super::scripts::{self, Variables};
use super::session::{Login, Origin, Session};
use crate::feature::{Effect, Effects, NewObject};
use crate::intent::{Address4, Address6, Class, Interface, ItemId, Member, Name, Wanted};
use crate::kind;
use crate::learned::Servers;
use crate::object::{DynamicQueue, ListEntry, Made, Owner, QueueTarget};
use crate::rib::{Net, V4, V6};

/// Owner of the interface and of what does not depend on a network protocol.
const fn owner(serial: u64) -> Owner {
    Owner {
        feature: "ppp",
        number: serial,
    }
}

/// Owner of what a session has while IPv4 is open.
const fn owner4(serial: u64) -> Owner {
    Owner {
        feature: "ppp-ipv4",
        number: serial,
    }
}

/// Owner of what a session has while IPv6 is open.
const fn owner6(serial: u64) -> Owner {
    Owner {
        feature: "ppp-ipv6",
        number: serial,
    }
}

/// Bindings: interface items for the sessions of one user.
#[derive(Debug, Default)]
pub(super) struct Bindings {
    all: BTreeMap<ItemId, Binding>,
    /// Bindings without a session, by service and user.
    free: BTreeSet<(&'static str, Name, ItemId)>,
}

#[derive(Debug)]
struct Binding {
    service: &'static str,
    user: Name,
    interface: Interface,
    session: Option<u64>,
}

impl Bindings {
    /// Sets or removes the binding of an item. Returns the session that used it.
    pub(super) fn put(
        &mut self,
        service: &'static str,
        id: ItemId,
        item: Option<&Item>,
    ) -> Option<u64> {
        let before = self.all.remove(&id);
        if let Some(before) = &before {
            self.free.remove(&(before.service, before.user.clone(), id));
        }
        let session = before.as_ref().and_then(|before| before.session);
        if let Some(item) = item
            && let Some(interface) = kind::read(item)
        {
            let user = Name::from(item.text("user"));
            let is_same = before.is_some_and(|before| {
                before.user == user && before.interface.name == interface.name
            });
            let kept = session.filter(|_| is_same && !interface.disabled);
            if kept.is_none() && !interface.disabled {
                self.free.insert((service, user.clone(), id));
            }
            let binding = Binding {
                service,
                user,
                interface,
                session: kept,
            };
            self.all.insert(id, binding);
        }
        session
    }

    /// Whether an item has a session.
    pub(super) fn has_session(&self, id: ItemId) -> bool {
        { self.all.get(&id) }.is_some_and(|binding| binding.session.is_some())
    }

    /// Assigns a free binding of a user to a session. Returns its item and its name.
    pub(super) fn assign(
        &mut self,
        service: &'static str,
        user: &Name,
        session: u64,
    ) -> Option<(ItemId, Name)> {
        let from = (service, user.clone(), 0);
        let to = (service, user.clone(), ItemId::MAX);
        let key = self.free.range(from..=to).next()?.clone();
        let binding = self.all.get_mut(&key.2)?;
        binding.session = Some(session);
        let assigned = (key.2, binding.interface.name.clone());
        self.free.remove(&key);
        Some(assigned)
    }

    /// Frees the binding of a session.
    fn release(&mut self, id: ItemId, session: u64) {
        if let Some(binding) = self.all.get_mut(&id)
            && binding.session == Some(session)
        {
            binding.session = None;
            let key = (binding.service, binding.user.clone(), id);
            self.free.insert(key);
        }
    }
}

impl Ppp {
    /// Handles the end of LCP and authentication.
    pub(super) fn link_up(&mut self, serial: u64, link: Link, out: &mut Effects) {
        let Some(session) = self.sessions.get(&serial) else {
            return;
        };
        if let LinkEnd::Client(dial) = &session.setup.end {
            let dial = dial.clone();
            let login = self.client_login(&dial);
            self.interfaces.insert(login.interface.name.clone(), serial);
            if let Some(session) = self.sessions.get_mut(&serial) {
                session.login = Some(Box::new(login));
            }
        }
        let Some(session) = self.sessions.get_mut(&serial) else {
            return;
        };
        if let Some(login) = &mut session.login {
            login.link = Some(link);
        }
        let message = format!("{}: authenticated", session.label());
        out.log(self.topics_of(serial, "info"), message);
    }

    /// Handles the end of IPCP: makes the objects of IPv4.
    pub(super) fn ipv4_up(&mut self, serial: u64, ipv4: Ipv4Link, now: Instant, out: &mut Effects) {
        self.open(serial, now, out);
        let Some(session) = self.sessions.get_mut(&serial) else {
            return;
        };
        let Some(login) = session.login.as_deref_mut() else {
            return;
        };
        login.ipv4 = Some(ipv4);
        login.make_ipv4(serial, &ipv4, out);
        match &session.setup.end {
            LinkEnd::Client(dial) => learn(serial, dial, &ipv4, out),
            LinkEnd::Server { .. } => {}
        }
        self.complain_of_routes(serial, out);
        self.come_up(serial, out);
    }

    /// Removes the objects of IPv4.
    pub(super) fn ipv4_down(&mut self, serial: u64, out: &mut Effects) {
        if let Some(login) = self.login_mut(serial)
            && login.ipv4.take().is_some()
        {
            out.push(Effect::Gone(owner4(serial)));
            out.push(Effect::Learn(owner4(serial), None));
        }
    }

    /// Handles the end of IPv6CP: makes the objects of IPv6.
    pub(super) fn ipv6_up(&mut self, serial: u64, ipv6: Ipv6Link, now: Instant, out: &mut Effects) {
        self.open(serial, now, out);
        let Some(login) = self.login_mut(serial) else {
            return;
        };
        login.ipv6 = Some(ipv6);
        login.make_ipv6(serial, &ipv6, out);
        let awaits_ipv4 = login.grant.awaits_ipv4();
        if !awaits_ipv4 {
            self.come_up(serial, out);
        }
    }

    /// Removes the objects of IPv6.
    pub(super) fn ipv6_down(&mut self, serial: u64, out: &mut Effects) {
        if let Some(login) = self.login_mut(serial)
            && login.ipv6.take().is_some()
        {
            out.push(Effect::Gone(owner6(serial)));
        }
    }

    /// Changes the MTU of a session after the probe of its link.
    pub(super) fn reduce_mtu(&mut self, serial: u64, mtu: u16, out: &mut Effects) {
        let Some(login) = self.login_mut(serial) else {
            return;
        };
        if let Some(link) = &mut login.link {
            link.mtu = mtu;
        }
        if login.opened.is_some() {
            self.announce(serial, out);
        }
    }

    /// Makes the interface of a session when its first network protocol opens.
    fn open(&mut self, serial: u64, now: Instant, out: &mut Effects) {
        let Some(session) = self.sessions.get_mut(&serial) else {
            return;
        };
        let (carrier, link) = (session.carrier, session.link);
        let Some(login) = session.login.as_deref_mut() else {
            return;
        };
        if login.opened.is_some() {
            return;
        }
        login.open(now);
        self.carriers[carrier].opened(link);
        self.announce(serial, out);
        let Some(session) = self.sessions.get(&serial) else {
            return;
        };
        let Some(login) = session.login.as_deref() else {
            return;
        };
        let is_server = session.is_server();
        let name = &login.interface.name;
        if let Some(list) = &login.grant.profile.interface_list {
            out.object(owner(serial), member(list, name));
        }
        let sets = login.rule_sets();
        for set in &sets {
            match is_server {
                true => {
                    let member = self.rules.join(set, name, out);
                    out.object(owner(serial), member);
                }
                false => rules::make_for_interface(owner(serial), set, name, out),
            }
        }
        if let Some(text) = login.grant.rate_limit.as_deref().filter(|_| is_server) {
            match RateLimit::parse(text) {
                Ok(limit) => out.object(owner(serial), login.queue(&limit)),
                Err(fault) => {
                    let message = format!("{name}: {fault}");
                    out.log(self.topics(carrier, "error"), message);
                }
            }
        }
        let message = format!("{name}: connected");
        out.log(self.topics(carrier, "info"), message);
        if is_server && let Some(login) = self.login_mut(serial) {
            login.joined = sets;
        }
    }

    /// Announces the interface of an open session.
    fn announce(&self, serial: u64, out: &mut Effects) {
        let Some(session) = self.sessions.get(&serial) else {
            return;
        };
        let carrier = &self.carriers[session.carrier];
        let Some((login, kind)) = { session.login.as_deref() }.zip(carrier.kind(session.link))
        else {
            return;
        };
        let mtu = login.link.map_or(1480, |link| link.mtu).into();
        let item = match login.interface.origin {
            Origin::Client(item) => self.clients.get(&item).map(|own| (item, own)),
            Origin::Binding(item) => self.bindings.interface(item).map(|own| (item, own)),
            Origin::Dynamic(_) => {
                let made = Interface {
                    name: login.interface.name.clone(),
                    disabled: false,
                    mtu,
                    arp: Mode::Enabled,
                    arp_timeout: None,
                    kind,
                    class: Class::Ppp,
                };
                if let Some(menu) = carrier.binding_menu() {
                    out.object(owner(serial), Made::Interface(menu, made));
                }
                return;
            }
        };
        if let Some((item, own)) = item {
            let interface = Interface {
                mtu,
                kind,
                ..own.clone()
            };
            out.push(Effect::Item(item, Wanted::Interface(Some(interface))));
        }
    }

    /// Announces the interface of an item again if it has an open session.
    pub(super) fn announce_again(&self, item: ItemId, out: &mut Effects) {
        let name = match (self.clients.get(&item), self.bindings.interface(item)) {
            (Some(client), _) => &client.name,
            (None, Some(binding)) => &binding.name,
            (None, None) => return,
        };
        let serial = self.interfaces.get(name).copied();
        let is_its = |login: &Login| match login.interface.origin {
            Origin::Client(own) | Origin::Binding(own) => own == item && login.opened.is_some(),
            Origin::Dynamic(_) => false,
        };
        if let Some(serial) = serial
            && let Some(session) = self.sessions.get(&serial)
            && session.login.as_deref().is_some_and(is_its)
        {
            self.announce(serial, out);
        }
    }

    /// Logs the user in: accounting and `on-up` begin.
    fn come_up(&mut self, serial: u64, out: &mut Effects) {
        let Some(session) = self.sessions.get_mut(&serial) else {
            return;
        };
        let is_server = session.is_server();
        let caller = session.setup.caller_id.clone();
        let Some(login) = session.login.as_deref_mut().filter(|login| !login.is_up) else {
            return;
        };
        login.is_up = true;
        if is_server {
            let (user, address) = (&login.grant.user, login.leases.remote);
            let address = address.map_or_else(String::new, |address| format!(", {address}"));
            let message = format!("{user} logged in{address} from {caller}");
            out.log(self.topics_of(serial, "info,account"), message);
        }
        self.run_script(serial, |login| login.grant.profile.on_up.as_deref(), out);
    }

    fn run_script(&self, serial: u64, script: impl Fn(&Login) -> Option<&str>, out: &mut Effects) {
        if let Some(session) = self.sessions.get(&serial)
            && let Some(login) = session.login.as_deref()
            && let Some(source) = script(login)
        {
            out.push(scripts::run(source, &variables(session, login)));
        }
    }

    /// Removes the objects of a session that has ended, and returns its addresses.
    pub(super) fn log_out(
        &mut self,
        serial: u64,
        session: &Session,
        login: &mut Login,
        reason: &DownReason,
        now: Instant,
        out: &mut Effects,
    ) {
        let service = self.carriers[session.carrier].service();
        let user = &login.grant.user;
        if login.opened.is_some() {
            if login.ipv4.is_some() {
                out.push(Effect::Gone(owner4(serial)));
                out.push(Effect::Learn(owner4(serial), None));
            }
            if login.ipv6.is_some() {
                out.push(Effect::Gone(owner6(serial)));
            }
            for set in &login.joined {
                self.rules.leave(set, out);
            }
        }
        out.push(Effect::Gone(owner(serial)));
        self.withdraw(serial, service, login, out);
        if login.is_up {
            if let Some(source) = &login.grant.profile.on_down {
                out.push(scripts::run(source, &variables(session, login)));
            }
            if session.is_server() {
                let message = logged_out(session, login, now);
                out.log(self.topics(session.carrier, "info,account"), message);
            }
        }
        self.users.remove(&(user.clone(), serial));
        self.interfaces.remove(&login.interface.name);
        login.leases.give_back(&self.pools);
        if let Authority::Secret(item) = login.grant.authority {
            self.note_end(session, item, reason);
        }
    }

    /// Gives back the interface of a session: a client or a binding has no session any longer.
    fn withdraw(&mut self, serial: u64, service: &'static str, login: &Login, out: &mut Effects) {
        let (item, idle) = match login.interface.origin {
            Origin::Dynamic(suffix) => {
                return self.names.give_back(service, &login.grant.user, suffix);
            }
            Origin::Client(item) => (item, self.clients.get(&item).cloned()),
            Origin::Binding(item) => {
                self.bindings.release(item, serial);
                (item, self.bindings.interface(item).cloned())
            }
        };
        if let Some(idle) = idle.filter(|_| login.opened.is_some()) {
            out.push(Effect::Item(item, Wanted::Interface(Some(idle))));
        }
    }

    /// Logs routes of a user that are not routes.
    fn complain_of_routes(&self, serial: u64, out: &mut Effects) {
        let login = self
            .sessions
            .get(&serial)
            .and_then(|of| of.login.as_deref());
        let Some(login) = login.filter(|login| !login.grant.routes.is_empty()) else {
            return;
        };
        let name = &login.interface.name;
        let (_, faults) = route_text::parse::<V4>(&login.grant.routes, name);
        for fault in faults {
            let message = format!("{name}: \"{fault}\" is no route");
            out.log(self.topics_of(serial, "error"), message);
        }
    }

    fn login_mut(&mut self, serial: u64) -> Option<&mut Login> {
        self.sessions.get_mut(&serial)?.login.as_deref_mut()
    }

    fn topics_of(&self, serial: u64, severity: &str) -> String {
        let at = self
            .sessions
            .get(&serial)
            .map_or(0, |session| session.carrier);
        self.topics(at, severity)
    }
}

impl Bindings {
    /// Returns the interface of a binding, without a session.
    fn interface(&self, id: ItemId) -> Option<&Interface> {
        Some(&self.all.get(&id)?.interface)
    }
}

impl Login {
    /// Returns the rules that packets of the session pass.
    fn rule_sets(&self) -> Vec<RuleSet> {
        let mut sets = Vec::new();
        if self.grant.profile.clamp_mss == Some(true)
            && let Some(link) = self.link
        {
            sets.push(RuleSet::ClampMss(link.mtu));
        }
        let grant = &self.grant;
        sets.extend(grant.incoming_filter.clone().map(RuleSet::Incoming));
        sets.extend(grant.outgoing_filter.clone().map(RuleSet::Outgoing));
        sets
    }

    /// Makes addresses, routes and list entries of IPv4.
    fn make_ipv4(&self, serial: u64, ipv4: &Ipv4Link, out: &mut Effects) {
        let name = &self.interface.name;
        let owner = owner4(serial);
        let address = Address4 {
            addr: ipv4.local,
            len: 32,
            network: ipv4.remote.unwrap_or(ipv4.local),
            interface: name.clone(),
            disabled: false,
        };
        out.object(owner, Made::Address4(address));
        let (routes, _) = route_text::parse::<V4>(&self.grant.routes, name);
        for route in routes {
            out.object(owner, Made::Route4(route));
        }
        if let Some(list) = &self.grant.address_list
            && let Some(remote) = ipv4.remote
        {
            let entry = ListEntry {
                list: list.clone(),
                address: IpAddr::V4(remote),
            };
            out.object(owner, Made::ListEntry(entry));
        }
    }

    /// Makes addresses and routes of IPv6.
    fn make_ipv6(&self, serial: u64, ipv6: &Ipv6Link, out: &mut Effects) {
        let name = &self.interface.name;
        let owner = owner6(serial);
        let address = Address6 {
            addr: link_local(ipv6.local),
            len: 64,
            interface: name.clone(),
            eui64: false,
            advertise: false,
            no_dad: true,
            auto_link_local: false,
            disabled: false,
        };
        // Hosts behind the user build addresses from an advertised prefix.
        let prefix = self.grant.prefix.map(|prefix| Address6 {
            addr: Ipv6Addr::from(
                u128::from(prefix.network()) | u128::from(u64::from_be_bytes(ipv6.local)),
            ),
            len: prefix.prefix_len(),
            advertise: true,
            ..address.clone()
        });
        out.object(owner, Made::Address6(address));
        if let Some(prefix) = prefix {
            out.object(owner, Made::Address6(prefix));
        }
        let (routes, _) = route_text::parse::<V6>(&self.grant.ipv6_routes, name);
        for route in routes {
            out.object(owner, Made::Route6(route));
        }
    }

    /// Returns the queue of the session.
    fn queue(&self, limit: &RateLimit) -> Made {
        let profile = &self.grant.profile;
        let kinds = profile.queue_type.clone();
        let kinds = kinds.map_or([None, None], |kinds| kinds.map(Some));
        Made::Queue(Box::new(DynamicQueue {
            name: self.interface.name.clone(),
            target: QueueTarget::Interface(self.interface.name.clone()),
            limits: [limits(&limit.upload), limits(&limit.download)],
            kinds,
            parent: profile.parent_queue.clone(),
            first: profile.queue_position == Some(QueuePosition::First),
        }))
    }
}

fn limits(limit: &DirectionLimit) -> Limits {
    Limits {
        limit_at: limit.min_rate,
        max_limit: limit.rate,
        burst_limit: limit.burst_rate,
        burst_threshold: limit.burst_threshold,
        burst_time: Duration::from_secs(limit.burst_seconds),
        bucket: 100,
        priority: limit.priority,
    }
}

/// Makes the default route of a client, and announces the DNS servers of the other end.
fn learn(serial: u64, dial: &Dial, ipv4: &Ipv4Link, out: &mut Effects) {
    let owner = owner4(serial);
    if let Some(distance) = dial.default_route {
        let net = Net::new(Ipv4Addr::UNSPECIFIED, 0);
        let route = route_text::over::<V4>(net, None, &dial.name, distance);
        out.push(Effect::Object(Box::new(NewObject {
            owner,
            made: Made::Route4(route),
            cells: vec![("vpn", Value::Bool(true))],
            removable: false,
        })));
    }
    if dial.dns != PeerDns::No {
        let servers = Servers {
            interface: dial.name.clone(),
            dns: ipv4.dns.into_iter().flatten().map(IpAddr::V4).collect(),
            exclusive: dial.dns == PeerDns::Exclusively,
            ntp: Vec::new(),
            domain: None,
        };
        out.push(Effect::Learn(owner, Some(servers)));
    }
}

/// Returns the link-local address of an interface identifier.
fn link_local(identifier: [u8; 8]) -> Ipv6Addr {
    let low = u64::from_be_bytes(identifier);
    Ipv6Addr::from(0xfe80 << 112 | u128::from(low))
}

fn member(list: &Name, interface: &Name) -> Made {
    Made::Member(Member {
        list: list.clone(),
        interface: interface.clone(),
        disabled: false,
    })
}

fn variables<'a>(session: &'a Session, login: &'a Login) -> Variables<'a> {
    let local = login.ipv4.map(|ipv4| ipv4.local);
    let remote = login.ipv4.and_then(|ipv4| ipv4.remote);
    Variables {
        user: &login.grant.user,
        local: local.or(login.leases.local),
        remote: remote.or(login.leases.remote),
        caller_id: &session.setup.caller_id,
        called_id: &session.setup.called_id,
        interface: &login.interface.name,
    }
}

/// RouterOS: seconds, bytes from and to the user, packets from and to the user.
fn logged_out(session: &Session, login: &Login, now: Instant) -> String {
    let opened = login.opened.unwrap_or(now);
    let seconds = now.saturating_since(opened).as_secs();
    let traffic = login.traffic();
    let (user, caller) = (&login.grant.user, &session.setup.caller_id);
    format!(
        "{user} logged out, {seconds} {} {} {} {} from {caller}",
        traffic.received.bytes, traffic.sent.bytes, traffic.received.packets, traffic.sent.packets
    )
}
