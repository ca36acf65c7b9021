//! Neighbour discovery by LLDP, CDP and MNDP, `/ip/neighbor`: announces the router on the interfaces of a list and
//! receives announcements there. `service::discovery` has the protocols.
//!
//! ```text
//! an interface of the list ─▶ sends and receives itself
//! a bridge of the list     ─▶ each of its ports sends and receives, under the name `bridge/port`
//! a port of a bridge       ─▶ receives MNDP by copies of broadcasts, LLDP and CDP by copies of their frames
//! ```

mod packet;
mod show;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use dataplane::DropReason;
use dataplane::interface::Above;
use dataplane::service::{Addressed, FrameContent, Match, Rate, Scope, Service};
use frame::InterfaceId;
use machine::{Duration, Instant, Machine};
use menu::{Changes, Item, Menu, Row, RowFilter};
use service::discovery::{
    Action, Config, Discovery, Event, Fault, Port, PortId, Protocol, Protocols, System,
};
use wire::{EtherType, Mac, cdp, mndp};

use super::hear::{ReceiveOutcome, ReceivedPacket};
use super::{Effect, Effects, Feature, View, concerns};
use crate::compile::LayoutEntry;
use crate::intent::Name;
use crate::lists::{self, Chosen, Lists};
use crate::object::DYNAMIC;
use crate::read;
use crate::running::Running;

const MENU: &str = "/ip/neighbor";
const LLDP: &str = "/ip/neighbor/lldp";
const SETTINGS: &str = "/ip/neighbor/discovery-settings";
const IDENTITY: &str = "/system/identity";

/// Services: LLDP, CDP, MNDP on interfaces, and broadcasts on bridge ports.
const BY_LLDP: &str = "lldp";
const BY_CDP: &str = "cdp";
const BY_MNDP: &str = "mndp";
const BY_PORT: &str = "mndp-port";
/// Allows a thousand neighbours on a link to announce themselves at once.
const RATE: Rate = Rate {
    per_second: 1_000,
    burst: 1_024,
};

/// Link address of the all-nodes group.
const ALL_NODES: Mac = Mac([0x33, 0x33, 0, 0, 0, 1]);

/// Neighbour discovery of the router.
#[derive(Debug)]
pub(crate) struct Neighbourhood {
    machine: Discovery,
    lists: Lists,
    chosen: Chosen,
    /// Running interfaces with Ethernet headers, whether selected or not.
    all: BTreeMap<InterfaceId, RunningInterface>,
    names: BTreeSet<(Name, InterfaceId)>,
    /// Ports of each bridge.
    ports_of: BTreeMap<InterfaceId, BTreeSet<InterfaceId>>,
    /// Interfaces that take part, and the services that each one receives.
    told: BTreeMap<InterfaceId, Vec<&'static str>>,
    config: Option<Config>,
    system: System,
}

/// A running interface.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RunningInterface {
    name: Name,
    dynamic: bool,
    is_bridge: bool,
    bridge: Option<InterfaceId>,
    port: Port,
}

impl Default for Neighbourhood {
    fn default() -> Self {
        Self {
            machine: Discovery::default(),
            lists: Lists::default(),
            names: BTreeSet::new(),
            chosen: Chosen::none(),
            all: BTreeMap::new(),
            ports_of: BTreeMap::new(),
            told: BTreeMap::new(),
            config: None,
            system: System::default(),
        }
    }
}

impl Feature for Neighbourhood {
    fn menus(&self) -> &'static [&'static str] {
        const MENUS: [&str; 6] = [
            MENU,
            LLDP,
            SETTINGS,
            IDENTITY,
            lists::MENUS[0],
            lists::MENUS[1],
        ];
        &MENUS
    }

    fn follow(&mut self, view: &View<'_>, changes: Option<&Changes>, out: &mut Effects) {
        if concerns(&[SETTINGS, IDENTITY], changes) {
            if let Some(identity) = view.store.settings(IDENTITY) {
                self.system.identity = identity.text("name").to_owned();
            }
            let settings = view.store.settings(SETTINGS);
            self.config = settings.map(|settings| config(settings, &self.system));
            let chosen = settings.map(|settings| settings.get("discover-interface-list"));
            self.chosen = chosen.map_or_else(Chosen::none, Chosen::read);
            self.configure(view.now, out);
        }
        let others = self.lists.follow(view, changes);
        let ids = match concerns(&[SETTINGS], changes)
            || self.lists.depends(&self.chosen, &others.lists)
        {
            true => self.all.keys().copied().collect(),
            false => self.named(&others.interfaces),
        };
        self.choose(ids, view.now, out);
    }

    fn tick(&mut self, now: Instant, out: &mut Effects) {
        let mut actions = Vec::new();
        self.machine.tick(now, &mut actions);
        self.do_(actions, out);
    }

    fn deadline(&self) -> Option<Instant> {
        self.machine.deadline().map(|(at, _)| at)
    }

    fn rows_at(
        &self,
        menu: &'static Menu,
        filter: &RowFilter<'_>,
        now: Instant,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match menu.path {
            MENU => self.neighbour_rows(filter, now, each),
            LLDP => self.lldp_rows(filter, each),
            _ => ControlFlow::Continue(()),
        }
    }

    fn services(&self) -> Vec<Service> {
        let Some(config) = &self.config else {
            return Vec::new();
        };
        let asked = |name, matches: Vec<Match>, addressed, meets_rules| Service {
            scope: Scope::Asked,
            addressed,
            meets_rules,
            ..Service::new(name, matches, RATE).by_link()
        };
        let mut services = Vec::new();
        if config.protocols.has(Protocol::Lldp) {
            let its = Match::Frame(FrameContent::EtherType(EtherType::LLDP.0));
            services.push(asked(BY_LLDP, vec![its], Addressed::Any, true));
        }
        if config.protocols.has(Protocol::Cdp) {
            let (organisation, protocol) = cdp::SNAP;
            let its = Match::FrameTo(cdp::GROUP, FrameContent::Snap(organisation, protocol));
            services.push(asked(BY_CDP, vec![its], Addressed::Any, true));
        }
        if config.protocols.has(Protocol::Mndp) {
            let its = [false, true].map(|ipv6| Match::Udp {
                ipv6,
                port: mndp::PORT,
            });
            services.push(asked(BY_MNDP, its.to_vec(), Addressed::Any, true));
            let carried = |to, kind: EtherType| Match::FrameTo(to, FrameContent::EtherType(kind.0));
            let its = vec![
                carried(Mac::BROADCAST, EtherType::IPV4),
                carried(ALL_NODES, EtherType::IPV6),
            ];
            services.push(asked(BY_PORT, its, Addressed::Any, false));
        }
        services
    }

    fn hear(
        &mut self,
        heard: &ReceivedPacket<'_>,
        running: &Running<'_>,
        out: &mut Effects,
    ) -> ReceiveOutcome {
        let by_port = heard.service == BY_PORT;
        let (protocol, bytes) = match heard.service {
            BY_LLDP => (Protocol::Lldp, Some(heard.packet())),
            BY_CDP => (Protocol::Cdp, packet::behind_snap(heard.packet())),
            _ => (Protocol::Mndp, packet::datagram(heard.packet())),
        };
        let Some(bytes) = bytes else {
            // Copies of other broadcasts on a bridge port are ignored.
            return if by_port {
                ReceiveOutcome::Taken
            } else {
                ReceiveOutcome::NotMine
            };
        };
        let event = Event::Received {
            on: heard.interface.0,
            below: None,
            from: heard.source_mac(),
            protocol,
            bytes,
        };
        let mut actions = Vec::new();
        self.machine.handle(event, running.now, &mut actions);
        let fault = actions.iter().find_map(|action| match action {
            Action::Discarded(fault) => Some(*fault),
            Action::Send(..) => None,
        });
        self.do_(actions, out);
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
        // A port of a bridge announces the addresses and the name of the bridge.
        let ports = { others.iter() }.filter_map(|id| self.ports_of.get(id));
        let ports = ports.flatten().copied();
        let all: BTreeSet<_> = others.iter().copied().chain(ports).collect();
        for id in &all {
            let seen =
                { running.layout.interfaces.get(id) }.and_then(|laid| seen(*id, laid, running));
            let before = match seen.clone() {
                Some(seen) => self.all.insert(*id, seen),
                None => self.all.remove(id),
            };
            if let Some(before) = &before {
                self.names.remove(&(before.name.clone(), *id));
            }
            if let Some(seen) = &seen {
                self.names.insert((seen.name.clone(), *id));
            }
            let [before, now] = [before, seen].map(|seen| seen.and_then(|seen| seen.bridge));
            if before != now {
                if let Some(ports) = before.and_then(|bridge| self.ports_of.get_mut(&bridge)) {
                    ports.remove(id);
                    if ports.is_empty()
                        && let Some(bridge) = before
                    {
                        self.ports_of.remove(&bridge);
                    }
                }
                if let Some(bridge) = now {
                    self.ports_of.entry(bridge).or_default().insert(*id);
                }
            }
        }
        self.choose(all, running.now, out);
    }
}

impl Neighbourhood {
    /// Sets version, build time and board of the router, and the time of its start.
    pub(crate) fn set_system(
        &mut self,
        version: &str,
        build_time: &str,
        board: &str,
        started: Instant,
        now: Instant,
        out: &mut Effects,
    ) {
        let system = System {
            identity: self.system.identity.clone(),
            version: format!("{version} {build_time}").trim_end().to_owned(),
            platform: String::from("ferroute"),
            board: board.to_owned(),
            started,
        };
        if self.system == system {
            return;
        }
        self.system = system;
        if let Some(config) = &mut self.config {
            config.system = self.system.clone();
        }
        self.configure(now, out);
    }

    /// Applies the configuration to the machine. A router without a known version takes no part.
    fn configure(&mut self, now: Instant, out: &mut Effects) {
        let config = self.config.clone();
        let config = config.filter(|_| !self.system.version.is_empty());
        self.feed(Event::Configure(config), now, out);
    }

    /// Returns the interfaces with these names, and the ports of bridges among them.
    fn named(&self, names: &BTreeSet<Name>) -> BTreeSet<InterfaceId> {
        let ids = names.iter().flat_map(|name| {
            let first = (name.clone(), InterfaceId(0));
            let of_name = self.names.range(first..);
            of_name.take_while(move |(of, _)| of == name)
        });
        let mut ids: BTreeSet<_> = ids.map(|(_, id)| *id).collect();
        let ports = { ids.iter() }.filter_map(|id| self.ports_of.get(id));
        let ports: Vec<_> = ports.flatten().copied().collect();
        ids.extend(ports);
        ids
    }

    /// Determines which of these interfaces take part, and requests their services.
    fn choose(
        &mut self,
        ids: impl IntoIterator<Item = InterfaceId>,
        now: Instant,
        out: &mut Effects,
    ) {
        for id in ids {
            let seen = self.all.get(&id).filter(|seen| self.is_chosen(seen));
            let port = seen.map(|seen| seen.port.clone());
            let wanted = match seen {
                Some(RunningInterface { bridge: None, .. }) => vec![BY_LLDP, BY_CDP, BY_MNDP],
                Some(RunningInterface {
                    bridge: Some(_), ..
                }) => vec![BY_LLDP, BY_CDP, BY_PORT],
                None => Vec::new(),
            };
            let before = match wanted.is_empty() {
                true => self.told.remove(&id),
                false => self.told.insert(id, wanted.clone()),
            };
            let before = before.unwrap_or_default();
            let hear = |service, on| Effect::Hear {
                service,
                interface: id,
                on,
            };
            let of = |these: &[&'static str], those: &[&'static str], on| {
                let only = these.iter().filter(|one| !those.contains(one));
                only.map(|service| hear(*service, on)).collect::<Vec<_>>()
            };
            for effect in of(&before, &wanted, false) {
                out.push(effect);
            }
            for effect in of(&wanted, &before, true) {
                out.push(effect);
            }
            self.feed(Event::Port(id.0, port), now, out);
        }
    }

    /// Whether an interface takes part. A bridge does so by its ports.
    fn is_chosen(&self, seen: &RunningInterface) -> bool {
        let has = |seen: &RunningInterface| self.lists.has(&self.chosen, &seen.name, seen.dynamic);
        let bridge = seen.bridge.and_then(|bridge| self.all.get(&bridge));
        !seen.is_bridge && (has(seen) || bridge.is_some_and(has))
    }

    fn feed(&mut self, event: Event<'_>, now: Instant, out: &mut Effects) {
        let mut actions = Vec::new();
        self.machine.handle(event, now, &mut actions);
        self.do_(actions, out);
    }

    fn do_(&self, actions: Vec<Action>, out: &mut Effects) {
        for action in actions {
            if let Action::Send(id, protocol, bytes) = action
                && let Some(seen) = self.all.get(&InterfaceId(id))
            {
                for outgoing in packet::outgoing(InterfaceId(id), &seen.port, protocol, bytes) {
                    out.send(outgoing);
                }
            }
        }
    }

    /// Returns the name of an interface, and the name of its bridge.
    fn names(&self, id: PortId) -> Vec<&str> {
        let seen = self.all.get(&InterfaceId(id));
        let bridge = seen.and_then(|seen| self.all.get(&seen.bridge?));
        let both = [seen, bridge].into_iter().flatten();
        both.map(|seen| &*seen.name).collect()
    }
}

fn is_bridge(laid: &LayoutEntry, running: &Running<'_>) -> bool {
    let interface = running.intent.interfaces.get(&laid.item);
    interface.is_some_and(|interface| interface.kind.master_of() == Above::Bridge)
}

/// Returns the discovery state of an interface, or `None` if it does not run or has no Ethernet
/// header.
fn seen(id: InterfaceId, laid: &LayoutEntry, running: &Running<'_>) -> Option<RunningInterface> {
    if !laid.link.running || !laid.link.ethernet || laid.loopback {
        return None;
    }
    let bridge = match laid.above {
        Some((Above::Bridge, bridge)) => Some(bridge),
        _ => None,
    };
    let master = bridge.and_then(|bridge| running.layout.interfaces.get(&bridge));
    let path = match master {
        Some(master) => format!("{}/{}", master.name, laid.name),
        None => laid.name.to_string(),
    };
    let at = bridge.unwrap_or(id);
    let mut own6 = running.addresses.of6(at).map(|(address, _)| address);
    let ipv6 = own6.find(|own| !own.is_unicast_link_local() && running.is_in_use(at, *own));
    let port = Port {
        name: laid.name.to_string(),
        path,
        mac: laid.link.mac,
        ipv4: running.first4(at),
        link_local: running.link_local(at),
        ipv6,
        index: id.0,
        mtu: laid.link.mtu,
        speed_mbps: Some(laid.speed_mbps).filter(|speed| *speed > 0),
        pvid: 1,
    };
    Some(RunningInterface {
        name: laid.name.clone(),
        dynamic: laid.item >= DYNAMIC,
        is_bridge: is_bridge(laid, running),
        bridge,
        port,
    })
}

fn config(settings: &Item, system: &System) -> Config {
    let mode = settings.text("mode");
    let named = settings.get("protocol").map(menu::Value::as_list);
    let named = named.unwrap_or_default();
    let protocols = Protocol::ALL.into_iter().filter(|protocol| {
        let mut named = named.iter();
        named.any(|named| named.as_str() == Some(protocol.name()))
    });
    Config {
        interval: read::span(settings, "discover-interval").unwrap_or(Duration::from_secs(30)),
        protocols: protocols.fold(Protocols::default(), Protocols::and),
        tells: mode != "rx-only",
        listens: mode != "tx-only",
        med: settings.is("lldp-med"),
        voice_vlan: settings
            .number("lldp-med-net-policy-vlan")
            .and_then(|vlan| u16::try_from(vlan).ok()),
        phy: settings.is("lldp-mac-phy-config"),
        max_frame: settings.is("lldp-max-frame-size"),
        vlan: settings.is("lldp-vlan-info"),
        system: system.clone(),
    }
}

fn reason(fault: Fault) -> DropReason {
    match fault {
        Fault::Malformed => DropReason::NeighbourMalformed,
        Fault::Checksum => DropReason::NeighbourChecksum,
        Fault::Full => DropReason::NeighbourFull,
    }
}
