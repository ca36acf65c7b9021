//! Virtual routers, `/interface/vrrp`: each is a station on the interface below. It runs and has
//! its addresses while it is master, which `service::vrrp` decides.

use core::net::{IpAddr, Ipv6Addr};
use std::collections::{BTreeMap, BTreeSet};

use dataplane::DropReason;
use dataplane::service::{Match, Rate, Service};
use frame::InterfaceId;
use machine::{Duration, Instant, Machine};
use menu::{Changes, Id, Item, Menu, Row, Value};
use service::vrrp::{
    self, Action, Authentication, Config, Event, Fault, State, VirtualRouter, Why,
};
use wire::vrrp::{group_mac, virtual_mac};
use wire::{EtherType, Mac, Protocol};

use super::hear::{How, Outgoing, ReceiveOutcome, ReceivedPacket};
use super::{Effect, Effects, Feature, View, each_item};
use crate::compile::address::eui64;
use crate::drive::timers::Timers;
use crate::intent::{Interface, ItemId, ItemState, Name};
use crate::kind::vrrp::{self as kind, MENU};
use crate::read;
use crate::running::Running;

const SERVICE: &str = "vrrp";
/// Service of version 2 with `authentication=ah`. Other AH packets are not for VRRP.
const SECURED: &str = "vrrp-ah";
/// Allows a hundred virtual routers that advertise every ten milliseconds.
const RATE: Rate = Rate {
    per_second: 10_000,
    burst: 512,
};
/// Maximum advertisement interval of version 3.
const LONGEST_V3: Duration = Duration::from_millis(40_950);

/// All virtual routers.
#[derive(Debug, Default)]
pub(crate) struct VirtualRouters {
    all: BTreeMap<ItemId, VrrpInterface>,
    /// Virtual routers by their own name and by the name of the interface below.
    near: BTreeSet<(Name, ItemId)>,
    /// Group members by the name of their authority.
    members: BTreeSet<(Name, ItemId)>,
    /// Receiver of advertisements by interface below, VRID and family (true is IPv6).
    heard: BTreeMap<(InterfaceId, u8, bool), ItemId>,
    timers: Timers<ItemId>,
}

/// A virtual router.
#[derive(Debug)]
struct VrrpInterface {
    /// The virtual router as an interface.
    interface: Interface,
    on: Name,
    /// Interface of the group authority.
    authority: Option<Name>,
    scripts: Scripts,
    machine: VirtualRouter,
    /// Id of the interface below, while it exists.
    below: Option<InterfaceId>,
}

/// Scripts to run on changes of state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Scripts {
    on_master: String,
    on_backup: String,
    on_fail: String,
}

impl Feature for VirtualRouters {
    fn menus(&self) -> &'static [&'static str] {
        &[MENU]
    }

    fn follow(&mut self, view: &View<'_>, changes: Option<&Changes>, out: &mut Effects) {
        each_item(view, MENU, changes, |id, item| {
            match item.and_then(|item| Some((item, kind::read(item)?))) {
                Some((item, interface)) => self.put(id, item, interface, view.now, out),
                None => self.take_away(id, view.now, out),
            }
        });
    }

    fn tick(&mut self, now: Instant, out: &mut Effects) {
        while let Some(item) = self.timers.due(now) {
            let mut actions = Vec::new();
            if let Some(one) = self.all.get_mut(&item) {
                one.machine.tick(now, &mut actions);
            }
            self.do_(item, actions, now, out);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.timers.deadline()
    }

    fn annotate(&self, _: &'static Menu, id: Id, row: &mut Row) {
        let Some(one) = self.all.get(&id.0) else {
            return;
        };
        row.flag("master", one.machine.state() == State::Master);
        row.flag("backup", one.machine.state() == State::Backup);
        row.flag("invalid", one.below.is_none() && !one.interface.disabled);
        row.set("mac-address", Value::Mac(one.machine.mac().0));
    }

    fn services(&self) -> Vec<Service> {
        if self.all.is_empty() {
            return Vec::new();
        }
        let of = |ipv6, protocol: Protocol| Match::Protocol {
            ipv6,
            protocol: protocol.0,
        };
        let both = [of(false, Protocol::VRRP), of(true, Protocol::VRRP)];
        let mut services = vec![Service::new(SERVICE, both, RATE)];
        let is_secured = |one: &VrrpInterface| {
            matches!(
                one.machine.config().authentication,
                Authentication::Header(_)
            )
        };
        if self.all.values().any(is_secured) {
            services.push(Service::new(SECURED, [of(false, Protocol::AH)], RATE));
        }
        services
    }

    fn hear(
        &mut self,
        heard: &ReceivedPacket<'_>,
        running: &Running<'_>,
        out: &mut Effects,
    ) -> ReceiveOutcome {
        // Multicast also arrives on stations of the link; only the link itself counts.
        if running.layout.link_of(heard.interface) != heard.interface {
            return ReceiveOutcome::Taken;
        }
        let advertisement = match vrrp::parse(heard.packet()) {
            Ok(advertisement) => advertisement,
            Err(_) if heard.service == SECURED => return ReceiveOutcome::NotMine,
            Err(fault) => return ReceiveOutcome::Bad(reason(fault)),
        };
        let key = (
            heard.interface,
            advertisement.vrid(),
            advertisement.is_ipv6(),
        );
        let Some(item) = self.heard.get(&key).copied() else {
            return ReceiveOutcome::Bad(DropReason::VrrpOther);
        };
        let mut actions = Vec::new();
        if let Some(one) = self.all.get_mut(&item) {
            let event = Event::Received(&advertisement);
            one.machine.handle(event, running.now, &mut actions);
        }
        let fault = actions.iter().find_map(|action| match action {
            Action::Discarded(fault) => Some(*fault),
            _ => None,
        });
        self.do_(item, actions, running.now, out);
        fault.map_or(ReceiveOutcome::Taken, |fault| {
            ReceiveOutcome::Bad(reason(fault))
        })
    }

    fn lay_out(
        &mut self,
        others: &BTreeSet<InterfaceId>,
        running: &Running<'_>,
        out: &mut Effects,
    ) {
        if self.all.is_empty() {
            return;
        }
        let laid = others
            .iter()
            .filter_map(|id| running.layout.interfaces.get(id));
        let items: BTreeSet<_> = laid.flat_map(|laid| self.near(&laid.name)).collect();
        for item in items {
            self.bring_up_to_date(item, running, out);
        }
    }
}

impl VirtualRouters {
    /// Sends the resignation of masters before the router ends.
    pub(crate) fn say_farewell(&mut self, now: Instant, out: &mut Effects) {
        let items: Vec<_> = self.all.keys().copied().collect();
        for item in items {
            self.feed(item, Event::Down, now, out);
        }
    }

    /// Returns the virtual routers with this name, or on the interface with this name.
    fn near(&self, name: &Name) -> impl Iterator<Item = ItemId> {
        of_name(&self.near, name)
    }

    fn put(
        &mut self,
        id: ItemId,
        item: &Item,
        mut interface: Interface,
        now: Instant,
        out: &mut Effects,
    ) {
        let on = read::name(item, "interface").unwrap_or_else(|| "".into());
        let mut config = config(item);
        let authority = { read::name(item, "group-authority") }
            .filter(|name| !matches!(&**name, "none" | "self") && *name != interface.name);
        let script = |name| item.text(name).to_owned();
        let scripts = Scripts {
            on_master: script("on-master"),
            on_backup: script("on-backup"),
            on_fail: script("on-fail"),
        };
        warn(item, &config, out);
        self.forget_names(id);
        self.near.insert((interface.name.clone(), id));
        self.near.insert((on.clone(), id));
        if let Some(authority) = &authority {
            self.members.insert((authority.clone(), id));
        }
        let name = interface.name.clone();
        match self.all.get_mut(&id) {
            Some(one) => {
                one.interface.disabled = interface.disabled;
                let before = one.machine.config();
                config.addresses.clone_from(&before.addresses);
                config.source = before.source.filter(|from| from.is_ipv6() == config.ipv6);
                let is_another = (config.vrid, config.ipv6) != (before.vrid, before.ipv6);
                if is_another || interface.disabled {
                    self.feed(id, Event::Down, now, out);
                    self.stop_hearing(id);
                }
                if let Some(one) = self.all.get_mut(&id) {
                    (one.on, one.authority, one.scripts) = (on, authority, scripts);
                    let (mac, state) = (virtual_mac(config.vrid, config.ipv6), one.machine.state());
                    interface.kind = kind(&one.on, mac, state).into();
                    one.interface = interface;
                }
                self.feed(id, Event::Configure(config), now, out);
            }
            None => {
                let machine = VirtualRouter::new(config);
                interface.kind = kind(&on, machine.mac(), State::Initialise).into();
                let one = VrrpInterface {
                    interface,
                    on,
                    authority,
                    scripts,
                    machine,
                    below: None,
                };
                self.all.insert(id, one);
            }
        }
        let one = self.all.get(&id);
        let wanted = one.map(|one| one.interface.clone());
        out.push(Effect::Item(id, ItemState::Interface(wanted)));
        self.follow_authority(id, now, out);
        self.lead(&name, now, out);
    }

    fn take_away(&mut self, id: ItemId, now: Instant, out: &mut Effects) {
        if let Some(one) = self.all.get_mut(&id) {
            one.interface.disabled = true;
        }
        self.feed(id, Event::Down, now, out);
        self.stop_hearing(id);
        self.forget_names(id);
        self.timers.set(id, None);
        let gone = self.all.remove(&id);
        out.push(Effect::Item(id, ItemState::Interface(None)));
        if let Some(gone) = gone {
            self.lead(&gone.interface.name, now, out);
        }
    }

    fn forget_names(&mut self, id: ItemId) {
        let Some(one) = self.all.get(&id) else { return };
        self.near.remove(&(one.interface.name.clone(), id));
        self.near.remove(&(one.on.clone(), id));
        if let Some(authority) = &one.authority {
            self.members.remove(&(authority.clone(), id));
        }
    }

    fn stop_hearing(&mut self, id: ItemId) {
        let Some(one) = self.all.get_mut(&id) else {
            return;
        };
        let config = one.machine.config();
        if let Some(below) = one.below.take() {
            let key = (below, config.vrid, config.ipv6);
            if self.heard.get(&key) == Some(&id) {
                self.heard.remove(&key);
            }
        }
    }

    /// Updates a virtual router from the interface below and its addresses.
    fn bring_up_to_date(&mut self, id: ItemId, running: &Running<'_>, out: &mut Effects) {
        let Some(one) = self.all.get(&id) else { return };
        let laid = running
            .layout
            .named(&one.interface.name)
            .map(|(_, laid)| laid);
        let laid = laid.filter(|laid| laid.item == id && !laid.disabled && !laid.invalid);
        let below = laid
            .and_then(|laid| laid.station.as_ref())
            .map(|shares| shares.on);
        if one.below != below {
            self.feed(id, Event::Down, running.now, out);
            self.stop_hearing(id);
        }
        let Some(one) = self.all.get_mut(&id) else {
            return;
        };
        one.below = below;
        let mut config = one.machine.config().clone();
        config.source = below.and_then(|below| source(below, config.ipv6, running));
        config.addresses = addresses(&one.interface.name, &one.machine, running);
        if let Some(below) = below {
            self.heard.insert((below, config.vrid, config.ipv6), id);
        }
        let below = below.and_then(|below| running.layout.interfaces.get(&below));
        let may_speak = below.is_some_and(|laid| laid.link.running) && config.source.is_some();
        if !may_speak {
            // It resigns with its previous address.
            self.feed(id, Event::Down, running.now, out);
        }
        self.feed(id, Event::Configure(config), running.now, out);
        if may_speak {
            self.feed(id, Event::Up, running.now, out);
        }
    }

    fn feed(&mut self, id: ItemId, event: Event<'_>, now: Instant, out: &mut Effects) {
        let mut actions = Vec::new();
        if let Some(one) = self.all.get_mut(&id) {
            one.machine.handle(event, now, &mut actions);
        }
        self.do_(id, actions, now, out);
    }

    /// Carries out the actions of a virtual router.
    fn do_(&mut self, id: ItemId, actions: Vec<Action>, now: Instant, out: &mut Effects) {
        let Some(one) = self.all.get_mut(&id) else {
            return;
        };
        let mut is_other = false;
        for action in actions {
            match action {
                Action::Send(packet) => one.send(packet, out),
                Action::Become(state, why) => {
                    one.become_(state, why, out);
                    is_other = true;
                }
                Action::Discarded(_) => {}
            }
        }
        self.timers
            .set(id, one.machine.deadline().map(|(at, _)| at));
        if is_other {
            let wanted = ItemState::Interface(Some(one.interface.clone()));
            out.push(Effect::Item(id, wanted));
            let name = one.interface.name.clone();
            self.lead(&name, now, out);
        }
    }

    /// Makes the members of a group follow their authority.
    fn lead(&mut self, authority: &Name, now: Instant, out: &mut Effects) {
        let members: Vec<_> = of_name(&self.members, authority).collect();
        for member in members {
            self.follow_authority(member, now, out);
        }
    }

    /// Makes a virtual router follow its authority, if it has one.
    fn follow_authority(&mut self, id: ItemId, now: Instant, out: &mut Effects) {
        let authority = self.all.get(&id).and_then(|one| one.authority.clone());
        let follows = authority.map(|name| {
            let mut named = self.near(&name).filter_map(|item| self.all.get(&item));
            let authority = named.find(|one| one.interface.name == name);
            // RouterOS: a router with an authority is no authority for others.
            let authority = authority.filter(|one| one.authority.is_none());
            authority.map_or(State::Initialise, |one| one.machine.state())
        });
        self.feed(id, Event::Follow(follows), now, out);
    }
}

impl VrrpInterface {
    /// Sends an advertisement by the interface below, from the virtual router's link address (RFC
    /// 5798, 7.2).
    fn send(&self, packet: Vec<u8>, out: &mut Effects) {
        let Some(interface) = self.below else { return };
        let ipv6 = self.machine.config().ipv6;
        let ether_type = match ipv6 {
            true => EtherType::IPV6,
            false => EtherType::IPV4,
        };
        out.send(Outgoing {
            interface,
            bytes: packet,
            how: How::FrameFrom(self.machine.mac(), group_mac(ipv6), ether_type),
        });
    }

    fn become_(&mut self, state: State, why: Why, out: &mut Effects) {
        let name = &self.interface.name;
        let (word, script) = match state {
            State::Master => ("MASTER", &self.scripts.on_master),
            State::Backup => ("BACKUP", &self.scripts.on_backup),
            State::Initialise => ("INIT", &self.scripts.on_fail),
        };
        out.log("vrrp,info", format!("{name} now {word}, {why}"));
        // A disabled router has not failed.
        let fails = state == State::Initialise && self.interface.disabled;
        if !script.is_empty() && !fails {
            out.push(Effect::Script {
                kind: SERVICE,
                source: script.clone(),
                before: String::new(),
            });
        }
        self.interface.kind = kind(&self.on, self.machine.mac(), state).into();
    }
}

fn of_name(names: &BTreeSet<(Name, ItemId)>, name: &Name) -> impl Iterator<Item = ItemId> {
    let all = names.range((name.clone(), 0)..=(name.clone(), ItemId::MAX));
    all.map(|(_, item)| *item)
}

fn kind(on: &Name, mac: Mac, state: State) -> kind::VirtualRouter {
    kind::VirtualRouter {
        on: on.clone(),
        mac,
        is_master: state == State::Master,
    }
}

/// Reads the configuration of a virtual router, without addresses.
fn config(item: &Item) -> Config {
    let number =
        |name, usual| { item.number(name) }.map_or(usual, |number| number.clamp(0, 255) as u8);
    let version = match number("version", 3) {
        2 => vrrp::Version::V2,
        _ => vrrp::Version::V3,
    };
    let is_v3 = version == vrrp::Version::V3;
    let interval = read::span(item, "interval").unwrap_or(Duration::from_secs(1));
    let password = item.text("password");
    let authentication = match item.text("authentication") {
        "simple" if !is_v3 => Authentication::simple(password),
        "ah" if !is_v3 => Authentication::header(password),
        _ => Authentication::None,
    };
    Config {
        version,
        priority: number("priority", 100).max(1),
        interval: match version {
            // Version 2 advertises whole seconds.
            vrrp::Version::V2 => Duration::from_secs(interval.as_secs().clamp(1, 255)),
            vrrp::Version::V3 => interval.min(LONGEST_V3),
        },
        preempt: item.is("preemption-mode"),
        sums_as_v2: item.is("v3-checksum-as-v2"),
        authentication,
        ..Config::new(
            number("vrid", 1).max(1),
            is_v3 && item.text("v3-protocol") == "ipv6",
        )
    }
}

/// Logs settings that the version does not support.
fn warn(item: &Item, config: &Config, out: &mut Effects) {
    let name = item.name().unwrap_or_default();
    let is_v3 = config.version == vrrp::Version::V3;
    if is_v3 && item.text("authentication") != "none" {
        let why = "version 3 has no authentication (RFC 5798, 9); version=2 has";
        out.log("vrrp,warning", format!("{name}: {why}"));
    }
    let interval = read::span(item, "interval").unwrap_or(config.interval);
    if interval != config.interval {
        let told = config.interval.as_millis();
        let why = format!(
            "advertises every {told} ms: its version does not support the configured interval"
        );
        out.log("vrrp,warning", format!("{name} {why}"));
    }
}

/// Returns the source address of advertisements: the first IPv4 address or the link-local IPv6
/// address of the interface below (RFC 5798, 5.1).
fn source(below: InterfaceId, ipv6: bool, running: &Running<'_>) -> Option<IpAddr> {
    if ipv6 {
        return running.link_local(below).map(IpAddr::V6);
    }
    let own = running.addresses.of4(below);
    let first = own.min_by_key(|(_, own)| own.item);
    first.map(|(address, _)| address.into())
}

/// Returns the addresses of a virtual router, whether it is master or not.
fn addresses(name: &Name, machine: &VirtualRouter, running: &Running<'_>) -> Vec<IpAddr> {
    if !machine.config().ipv6 {
        let items = running.intent.addresses4.on(name);
        let used = items.filter(|(_, address)| !address.disabled);
        return used.map(|(_, address)| address.addr.into()).collect();
    }
    let items = running.intent.addresses6.on(name);
    let used = items.filter(|(_, address)| !address.disabled);
    let mut all: Vec<Ipv6Addr> = used
        .map(|(_, address)| match address.eui64 {
            true => eui64(address.addr, machine.mac()),
            false => address.addr,
        })
        .collect();
    if !all.iter().any(Ipv6Addr::is_unicast_link_local) {
        let prefix = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0);
        all.push(eui64(prefix, machine.mac()));
    }
    all.into_iter().map(IpAddr::V6).collect()
}

const fn reason(fault: Fault) -> DropReason {
    match fault {
        Fault::Malformed => DropReason::VrrpMalformed,
        Fault::Ttl => DropReason::VrrpTtl,
        Fault::Checksum => DropReason::VrrpChecksum,
        Fault::Authentication => DropReason::VrrpAuthentication,
        Fault::Interval => DropReason::VrrpInterval,
        Fault::Version => DropReason::VrrpVersion,
    }
}
