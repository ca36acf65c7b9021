//! Opens and closes the network protocols of sessions: interface, log, scripts.

use dataplane::encap::mppe::Ciphers;
use machine::Instant;
use ppp::{DownReason, Encryption, Ipv4Link, Ipv6Link, Link};
use schema::RateLimit;
use service::neighbour::Mode;

use super::Ppp;
use super::carrier::LinkEnd;
use super::grant::Authority;
use super::objects::{self, owner, owner4, owner6};
use super::route_text;
use super::rules;
use super::scripts::{self, Variables};
use super::session::{Login, Origin, Session, SessionEncryption};
use crate::feature::{Effect, Effects};
use crate::intent::{Class, Interface, ItemId, ItemState};
use crate::object::Made;
use crate::rib::V4;

impl Ppp {
    /// Handles the end of LCP and authentication. Returns false if nobody was authenticated.
    pub(super) fn link_up(&mut self, serial: u64, link: Link, out: &mut Effects) -> bool {
        let Some(session) = self.sessions.get(&serial) else {
            return false;
        };
        if let LinkEnd::Client(dial) = &session.setup.end {
            let dial = dial.clone();
            let login = self.client_login(&dial);
            self.interfaces.insert(login.interface.name.clone(), serial);
            if let Some(session) = self.sessions.get_mut(&serial) {
                session.login = Some(Box::new(login));
            }
        }
        let Some(login) = self.login_mut(serial) else {
            return false;
        };
        login.set_link(link);
        let message = format!("{}: authenticated", login.interface.name);
        out.log(self.topics_of(serial, "info"), message);
        true
    }

    /// Handles the end of CCP: packets of the session are encrypted from now on.
    pub(super) fn encryption_up(
        &mut self,
        serial: u64,
        encryption: &Encryption,
        out: &mut Effects,
    ) {
        let Some(login) = self.login_mut(serial) else {
            return;
        };
        let name = encryption.transmit.name();
        login.encryption = Some(SessionEncryption {
            name,
            ciphers: Ciphers::new(encryption),
        });
        let is_open = login.opened.is_some();
        let label = &login.interface.name;
        let message =
            format!("{label}: encrypted by {name}, which is broken: IKEv2 and WireGuard are not");
        out.log(self.topics_of(serial, "warning"), message);
        if is_open {
            self.announce(serial, out);
            self.make_rules(serial, out);
        }
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
        let has_frames = session.setup.settings.carries_frames;
        // A port of a bridge has no addresses.
        if !(has_frames && login.grant.profile.bridge.is_some()) {
            login.make_ipv4(serial, &ipv4, out);
        }
        match &session.setup.end {
            LinkEnd::Client(dial) => objects::learn(serial, dial, &ipv4, has_frames, out),
            LinkEnd::Server { .. } => {}
        }
        self.complain_of_routes(serial, out);
        self.come_up(serial, now, out);
    }

    /// Removes the objects of IPv4.
    pub(super) fn ipv4_down(&mut self, serial: u64, out: &mut Effects) {
        if let Some(login) = self.login_mut(serial)
            && login.ipv4.take().is_some()
        {
            out.push(Effect::Gone(owner4(serial)));
            out.push(Effect::Gone(objects::owner_of_lists(serial)));
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
        self.allocate_prefix(serial, out);
        let Some(session) = self.sessions.get(&serial) else {
            return;
        };
        let Some(login) = session.login.as_deref() else {
            return;
        };
        login.make_ipv6(serial, &ipv6, out);
        match &session.setup.end {
            LinkEnd::Client(dial) => objects::make_default_route6(serial, dial, out),
            LinkEnd::Server { .. } => login.delegate_prefixes(serial, out),
        }
        let awaits_ipv4 = login.grant.awaits_ipv4();
        if !awaits_ipv4 {
            self.come_up(serial, now, out);
        }
    }

    /// Removes the objects of IPv6.
    pub(super) fn ipv6_down(&mut self, serial: u64, out: &mut Effects) {
        let session = self.sessions.get_mut(&serial);
        if let Some(login) = session.and_then(|session| session.login.as_deref_mut())
            && login.ipv6.take().is_some()
        {
            out.push(Effect::Gone(owner6(serial)));
            let (pools, last) = (&self.prefix_pools, &mut self.last_prefixes);
            login.release_prefix(serial, pools, last, out);
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
            self.make_rules(serial, out);
        }
    }

    /// Makes the interface of a session when its first network protocol opens.
    pub(super) fn open(&mut self, serial: u64, now: Instant, out: &mut Effects) {
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
        let origin = login.interface.origin;
        if let Origin::Client(item) = origin {
            self.remove_placeholders(item, out);
        }
        self.carriers[carrier].opened(link);
        self.announce(serial, out);
        let Some(session) = self.sessions.get(&serial) else {
            return;
        };
        let Some(login) = session.login.as_deref() else {
            return;
        };
        let name = &login.interface.name;
        if let Some(list) = &login.grant.profile.interface_list {
            out.object(owner(serial), objects::member(list, name));
        }
        if let Some(fixed) = session.setup.ipv6 {
            objects::make_fixed_ipv6(serial, name, &fixed, out);
        }
        let message = format!("{name}: connected");
        out.log(self.topics(carrier, "info"), message);
        self.make_rules(serial, out);
        self.make_queue(serial, out);
    }

    /// Leads packets of an open session to its rules; replaces earlier ones.
    pub(super) fn make_rules(&mut self, serial: u64, out: &mut Effects) {
        let Some(session) = self.sessions.get_mut(&serial) else {
            return;
        };
        let is_server = session.is_server();
        let Some(login) = session.login.as_deref_mut() else {
            return;
        };
        let (owner, name) = (objects::owner_of_rules(serial), &login.interface.name);
        let sets = login.rule_sets();
        let before = core::mem::take(&mut login.joined);
        if !before.is_empty() {
            out.push(Effect::Gone(owner));
        }
        for set in &sets {
            match is_server {
                true => {
                    let member = self.rules.join(set, name, out);
                    out.object(owner, member);
                }
                false => rules::make_for_interface(owner, set, name, out),
            }
        }
        login.joined = sets;
        // Rules that the session still needs stay.
        for set in before.iter().filter(|_| is_server) {
            self.rules.leave(set, out);
        }
    }

    /// Makes the queue of an open session of a user, if its rate is limited.
    pub(super) fn make_queue(&self, serial: u64, out: &mut Effects) {
        let session = self.sessions.get(&serial).filter(|of| of.is_server());
        let login = session.and_then(|session| session.login.as_deref());
        let Some((login, text)) = login.and_then(|of| Some((of, of.grant.rate_limit.as_deref()?)))
        else {
            return;
        };
        match RateLimit::parse(text) {
            Ok(limit) => out.object(objects::owner_of_queue(serial), login.queue(limit)),
            Err(fault) => {
                let message = format!("{}: {fault}", login.interface.name);
                out.log(self.topics_of(serial, "error"), message);
            }
        }
    }

    /// Announces the interface of a session again if the session is open.
    pub(super) fn announce_changed(&self, serial: u64, out: &mut Effects) {
        let session = self.sessions.get(&serial);
        let login = session.and_then(|session| session.login.as_deref());
        if login.is_some_and(|login| login.opened.is_some()) {
            self.announce(serial, out);
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
        let (mtu, kind) = (login.mtu().into(), login.framed(kind));
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
            out.push(Effect::Item(item, ItemState::Interface(Some(interface))));
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
    pub(super) fn come_up(&mut self, serial: u64, now: Instant, out: &mut Effects) {
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
        if is_server {
            self.start_accounting(serial, now, out);
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
        if login.opened.is_some() {
            let (pools, last) = (&self.prefix_pools, &mut self.last_prefixes);
            login.release_prefix(serial, pools, last, out);
        }
        let user = &login.grant.user;
        if login.opened.is_some() {
            for owner in objects::owners(serial) {
                out.push(Effect::Gone(owner));
            }
            if !session.is_server() {
                out.push(Effect::Learn(owner4(serial), None));
            }
            for set in login.joined.iter().filter(|_| session.is_server()) {
                self.rules.leave(set, out);
            }
        }
        self.withdraw(serial, service, login, out);
        if login.is_up {
            if let Some(source) = &login.grant.profile.on_down {
                out.push(scripts::run(source, &variables(session, login)));
            }
            if session.is_server() {
                let message = logged_out(session, login, now);
                out.log(self.topics(session.carrier, "info,account"), message);
                self.stop_accounting(serial, session, login, reason, now, out);
            }
        }
        self.users.remove(&(user.clone(), serial));
        if let Some(address) = login.leases.remote {
            self.addresses.remove(&address);
        }
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
            out.push(Effect::Item(item, ItemState::Interface(Some(idle))));
            if matches!(login.interface.origin, Origin::Client(_)) {
                self.add_placeholders(item, out);
            }
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

    pub(super) fn login_mut(&mut self, serial: u64) -> Option<&mut Login> {
        self.sessions.get_mut(&serial)?.login.as_deref_mut()
    }

    pub(super) fn topics_of(&self, serial: u64, severity: &str) -> String {
        let at = self
            .sessions
            .get(&serial)
            .map_or(0, |session| session.carrier);
        self.topics(at, severity)
    }
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
