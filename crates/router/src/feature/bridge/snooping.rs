//! IGMP and MLD snooping of bridges: `service::snooping` learns the listeners, workers read them as
//! `dataplane::bridge::Groups`, and `/interface/bridge/mdb` shows and adds groups.

use core::any::Any;
use core::net::IpAddr;
use core::ops::ControlFlow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dataplane::bridge::{Asking, Bridge, Groups, Member, SNOOPED};
use dataplane::service::{Rate, Service};
use frame::InterfaceId;
use machine::{Instant, Machine};
use menu::{Id, Row, RowFilter, Value};
use service::snooping::{Action, Config, Event, PortConfig, Snooping};
use wire::{EtherType, Mac};

use super::read::{GroupConfig, MulticastRouter};
use super::{BridgeState, Bridges};
use crate::feature::Effects;
use crate::feature::hear::{How, Outgoing, ReceivedPacket};
use crate::intent::{ItemId, Name};
use crate::live::{give, number};
use crate::object::DYNAMIC;

/// VLAN id (0 without VLAN filtering) and group address.
type GroupKey = (u16, IpAddr);

/// Snooping state of a bridge.
#[derive(Debug)]
pub(super) struct Snooper {
    machine: Snooping,
    config: Config,
    /// Ports as last passed to the machine.
    ports: BTreeMap<InterfaceId, PortConfig>,
    groups: Arc<Groups>,
    /// Ports that reported each group, with the number of its row.
    heard: BTreeMap<GroupKey, (u64, BTreeSet<InterfaceId>)>,
    /// Ports that listen to each group by configuration.
    fixed: BTreeMap<GroupKey, BTreeSet<InterfaceId>>,
    asked: BTreeSet<(u16, bool)>,
    routers: BTreeSet<(u16, bool, InterfaceId)>,
    permanent: BTreeSet<InterfaceId>,
    /// Replaced values that workers may still read.
    replaced: Vec<Arc<dyn Any + Send + Sync>>,
    rows: u64,
}

/// Sender of queries: the bridge and its MAC address.
#[derive(Clone, Copy, Debug)]
struct Voice<'a> {
    bridge: &'a Bridge,
    mac: Mac,
}

impl Snooper {
    fn new(seed: u64) -> Self {
        Self {
            machine: Snooping::default(),
            config: Config::default(),
            ports: BTreeMap::new(),
            groups: Arc::new(Groups::new(seed)),
            heard: BTreeMap::new(),
            fixed: BTreeMap::new(),
            asked: BTreeSet::new(),
            routers: BTreeSet::new(),
            permanent: BTreeSet::new(),
            replaced: Vec::new(),
            rows: 0,
        }
    }

    /// The group table of the workers.
    pub(super) const fn groups(&self) -> &Arc<Groups> {
        &self.groups
    }

    /// Returns the machine's next deadline.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.machine.deadline().map(|(at, _)| at)
    }

    fn feed(&mut self, event: Event<'_>, voice: Voice<'_>, now: Instant, out: &mut Effects) {
        let mut actions = Vec::new();
        self.machine.handle(event, now, &mut actions);
        self.do_(actions, voice, out);
    }

    fn do_(&mut self, actions: Vec<Action>, voice: Voice<'_>, out: &mut Effects) {
        let mut is_other = false;
        for action in actions {
            match action {
                Action::Member {
                    vlan,
                    group,
                    port,
                    listens,
                } => self.listen((vlan, group), InterfaceId(port), listens),
                Action::Router {
                    vlan,
                    ipv6,
                    port,
                    is_there,
                } => {
                    let router = (vlan, ipv6, InterfaceId(port));
                    is_other |= put(&mut self.routers, router, is_there);
                }
                Action::Asked { vlan, ipv6, asked } => {
                    is_other |= put(&mut self.asked, (vlan, ipv6), asked);
                }
                Action::Query { port, vlan, frame } => {
                    voice.send_query(port.map(InterfaceId), vlan, frame, out);
                }
            }
        }
        if is_other {
            self.tell_asking();
        }
    }

    fn listen(&mut self, place: GroupKey, port: InterfaceId, listens: bool) {
        let rows = &mut self.rows;
        let (_, ports) = self.heard.entry(place).or_insert_with(|| {
            *rows += 1;
            (*rows, BTreeSet::new())
        });
        put(ports, port, listens);
        if ports.is_empty() {
            self.heard.remove(&place);
        }
        self.tell(place);
    }

    /// Publishes the listeners of a group to the workers.
    fn tell(&mut self, place: GroupKey) {
        let heard = self.heard.get(&place).map(|(_, ports)| ports);
        let fixed = self.fixed.get(&place);
        let ports: BTreeSet<_> = heard.into_iter().chain(fixed).flatten().copied().collect();
        let ports: Vec<_> = ports.into_iter().collect();
        let replaced = self.groups.set(place.0, place.1, &ports);
        self.replace(replaced);
    }

    fn tell_asking(&mut self) {
        let asked = self.asked.iter().copied();
        let routers = self.routers.iter().copied();
        let asking = Asking::new(asked, routers, self.permanent.iter().copied());
        let replaced = self.groups.set_asking(asking);
        self.replace(replaced);
    }

    /// Keeps a replaced value until no worker reads it, so that no worker has to free it.
    fn replace(&mut self, replaced: Arc<dyn Any + Send + Sync>) {
        self.replaced.retain(|one| Arc::strong_count(one) > 1);
        if Arc::strong_count(&replaced) > 1 {
            self.replaced.push(replaced);
        }
    }

    /// Replaces the configured listeners.
    fn set_fixed(&mut self, fixed: BTreeMap<GroupKey, BTreeSet<InterfaceId>>) {
        let before = core::mem::replace(&mut self.fixed, fixed);
        let both: BTreeSet<_> = before.keys().chain(self.fixed.keys()).copied().collect();
        for place in both {
            if before.get(&place) != self.fixed.get(&place) {
                self.tell(place);
            }
        }
    }
}

/// Inserts a value into a set or removes it. Returns whether the set changed.
fn put<T: Ord>(set: &mut BTreeSet<T>, of: T, is_in: bool) -> bool {
    match is_in {
        true => set.insert(of),
        false => set.remove(&of),
    }
}

impl Voice<'_> {
    /// Sends a query by one port, or by all ports.
    fn send_query(
        &self,
        port: Option<InterfaceId>,
        vlan: u16,
        frame: service::Frame,
        out: &mut Effects,
    ) {
        let service::Frame {
            dst,
            ether_type,
            payload,
        } = frame;
        let tagged = |port| {
            let at = self.bridge.number(port).zip(self.bridge.vlans.as_ref());
            at.is_some_and(|(at, vlans)| vlans.member(vlan, at) == Member::Tagged)
        };
        // RouterOS sends general queries untagged, in the VLAN of the bridge's untagged frames.
        let (interface, is_tagged) = match port {
            None => (self.bridge.id, false),
            Some(port) => (port, tagged(port)),
        };
        let (kind, bytes) = match is_tagged {
            false => (ether_type, payload),
            true => {
                let tag = [vlan.to_be_bytes(), ether_type.0.to_be_bytes()];
                let tagged = [tag.as_flattened(), &payload[..]].concat();
                (EtherType(self.bridge.ethertype), tagged)
            }
        };
        out.send(Outgoing {
            interface,
            bytes,
            how: How::FrameFrom(self.mac, dst, kind),
        });
    }
}

impl BridgeState {
    /// Creates or drops the snooper according to the configuration.
    pub(super) fn begin_to_snoop(&mut self, seed: u64) {
        match &self.config.snooping {
            Some(_) => drop(self.snooper.get_or_insert_with(|| Snooper::new(seed))),
            None => self.snooper = None,
        }
    }

    /// Passes the bridge's configuration and ports to the snooper.
    pub(super) fn follow_snooping(
        &mut self,
        groups: &BTreeMap<ItemId, GroupConfig>,
        now: Instant,
        out: &mut Effects,
    ) {
        let published = self.published.clone();
        let (Some(mut snooper), Some((_, bridge))) = (self.snooper.take(), published) else {
            return;
        };
        let voice = Voice {
            bridge: &bridge,
            mac: self.mac().unwrap_or_default(),
        };
        let Some(mut config) = self.config.snooping.clone() else {
            return;
        };
        let vlan = match bridge.vlans {
            Some(_) => bridge.pvid,
            None => 0,
        };
        config.vlans = vec![vlan];
        if self.config.querier_uses_address {
            config.source4 = self.source4.unwrap_or(config.source4);
        }
        config.source6 = self.source6;
        if snooper.config != config {
            snooper.config = config.clone();
            snooper.feed(Event::Configure(config), voice, now, out);
        }
        let (now_there, permanent) = self.listening_ports();
        let before = core::mem::replace(&mut snooper.ports, now_there.clone());
        for id in before.keys().filter(|id| !now_there.contains_key(id)) {
            snooper.feed(Event::PortGone(id.0), voice, now, out);
        }
        for (id, of) in now_there
            .iter()
            .filter(|(id, of)| before.get(id) != Some(of))
        {
            snooper.feed(Event::Port(id.0, *of), voice, now, out);
        }
        if core::mem::replace(&mut snooper.permanent, permanent.clone()) != permanent {
            snooper.tell_asking();
        }
        let mut fixed: BTreeMap<GroupKey, BTreeSet<InterfaceId>> = BTreeMap::new();
        let own = groups.values().filter(|of| self.has_group(of));
        for of in own.filter(|of| !of.disabled) {
            let vid = match vlan {
                0 => 0,
                _ => of.vid.unwrap_or(vlan),
            };
            let ports = fixed.entry((vid, of.group)).or_default();
            ports.extend(self.ids_of(&of.ports));
        }
        snooper.set_fixed(fixed);
        self.snooper = Some(snooper);
    }

    fn has_group(&self, of: &GroupConfig) -> bool {
        of.bridge == self.config.interface.name
    }

    /// Returns the ports that frames arrive on, and the ports with a configured multicast router.
    fn listening_ports(&self) -> (BTreeMap<InterfaceId, PortConfig>, BTreeSet<InterfaceId>) {
        let mut ports = BTreeMap::new();
        let mut permanent = BTreeSet::new();
        for (_, port) in self.active_ports() {
            let Some(id) = port.link.id else { continue };
            let router = port.config.multicast_router;
            let of = PortConfig {
                fast_leave: port.config.fast_leave,
                learns_routers: router == MulticastRouter::Temporary,
            };
            ports.insert(id, of);
            if router == MulticastRouter::Permanent {
                permanent.insert(id);
            }
        }
        (ports, permanent)
    }

    /// Restarts queries after a topology change of the spanning tree.
    pub(super) fn tree_changed(&mut self, now: Instant, out: &mut Effects) {
        let mac = self.mac().unwrap_or_default();
        if let (Some(snooper), Some((_, bridge))) = (&mut self.snooper, &self.published) {
            snooper.feed(Event::TopologyChanged, Voice { bridge, mac }, now, out);
        }
    }

    /// Whether a multicast router is known behind a port.
    pub(super) fn leads_to_router(&self, port: InterfaceId) -> bool {
        let snooper = self.snooper.as_ref();
        snooper.is_some_and(|snooper| {
            let mut routers = snooper.routers.iter();
            snooper.permanent.contains(&port) || routers.any(|(_, _, at)| *at == port)
        })
    }

    /// Returns the address of another querier of this family in any VLAN.
    pub(super) fn other_querier(&self, ipv6: bool) -> Option<IpAddr> {
        let snooper = self.snooper.as_ref()?;
        let mut asked = snooper.asked.iter().filter(|(_, of)| *of == ipv6);
        asked.find_map(|(vlan, _)| snooper.machine.other_querier((*vlan, ipv6)))
    }

    /// Returns the ids of the active ports with these names.
    fn ids_of(&self, names: &[Name]) -> Vec<InterfaceId> {
        let ports = names.iter().filter_map(|name| self.ports.get(name));
        let active = ports.filter(|port| port.is_active());
        active.filter_map(|port| port.link.id).collect()
    }

    /// Handles an IGMP or MLD frame from a port.
    pub(super) fn hear_multicast(
        &mut self,
        heard: &ReceivedPacket<'_>,
        now: Instant,
        out: &mut Effects,
    ) {
        let mac = self.mac().unwrap_or_default();
        let Some((_, bridge)) = &self.published else {
            return;
        };
        let Some(vlan) = vlan_of(bridge, heard) else {
            return;
        };
        if let Some(snooper) = &mut self.snooper {
            let received = Event::Received {
                port: heard.interface.0,
                vlan,
                packet: heard.packet(),
            };
            let voice = Voice { bridge, mac };
            snooper.feed(received, voice, now, out);
        }
    }

    /// Runs the expired timers of the machine.
    pub(super) fn tick_multicast(&mut self, now: Instant, out: &mut Effects) {
        let mac = self.mac().unwrap_or_default();
        if let (Some(snooper), Some((_, bridge))) = (&mut self.snooper, &self.published) {
            let mut actions = Vec::new();
            snooper.machine.tick(now, &mut actions);
            snooper.do_(actions, Voice { bridge, mac }, out);
        }
    }

    /// Returns the names of ports, joined by commas in the given order.
    fn names(&self, ports: impl IntoIterator<Item = InterfaceId>) -> String {
        let name = |id: InterfaceId| {
            let mut named = self.ports.iter();
            named.find(|(_, port)| port.link.id == Some(id))
        };
        let names = ports.into_iter().filter_map(name);
        names.map(|(name, _)| &**name).collect::<Vec<_>>().join(",")
    }
}

/// Returns the VLAN of a frame from a port, by the workers' rules.
fn vlan_of(bridge: &Bridge, heard: &ReceivedPacket<'_>) -> Option<u16> {
    let port = bridge.ports().get(bridge.number(heard.interface)?)?;
    if bridge.vlans.is_none() {
        return Some(0);
    }
    let tag = heard.frame.get(12..16)?;
    let named = u16::from_be_bytes([tag[2], tag[3]]) & 0xfff;
    let is_tagged = tag[..2] == bridge.ethertype.to_be_bytes() && !port.tag_stacking;
    Some(match is_tagged && named != 0 {
        true => named,
        false => port.pvid,
    })
}

impl Bridges {
    /// Handles an IGMP or MLD frame from a port.
    pub(super) fn hear_snooped(
        &mut self,
        heard: &ReceivedPacket<'_>,
        now: Instant,
        out: &mut Effects,
    ) {
        let item = self.ids.get(&heard.interface);
        if let Some(one) = item.and_then(|item| self.all.get_mut(item)) {
            one.hear_multicast(heard, now, out);
        }
    }

    /// Returns the next deadline of all snoopers.
    pub(super) fn deadline_of_snooping(&self) -> Option<Instant> {
        let snoopers = self.all.values().filter_map(|one| one.snooper.as_ref());
        snoopers.filter_map(Snooper::deadline).min()
    }

    pub(super) fn tick_snooping(&mut self, now: Instant, out: &mut Effects) {
        for one in self.all.values_mut() {
            let due = one.snooper.as_ref().and_then(Snooper::deadline);
            if due.is_some_and(|at| at <= now) {
                one.tick_multicast(now, out);
            }
        }
    }

    /// Returns the snooping service if a bridge snoops.
    pub(super) fn services_of_snooping(&self) -> Vec<Service> {
        let mut configs = self.all.values().map(|one| &one.config);
        match configs.any(|config| config.snooping.is_some()) {
            true => vec![Service::new(SERVICE, [], RATE).by_link()],
            false => Vec::new(),
        }
    }

    pub(super) fn annotate_group(&self, item: ItemId, row: &mut Row) {
        let Some(of) = self.groups.get(&item) else {
            return;
        };
        let one = self.names.get(&of.bridge).and_then(|id| self.all.get(id));
        let on = one.map(|one| one.names(one.ids_of(&of.ports)));
        row.set("on-ports", Value::text(on.unwrap_or_default()));
    }

    /// Passes the rows of groups that ports reported to `each`.
    pub(super) fn group_rows(
        &self,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for (item, one) in &self.all {
            let Some(snooper) = &one.snooper else {
                continue;
            };
            for ((vlan, group), (at, ports)) in &snooper.heard {
                let mut row = Row {
                    id: Some(Id(DYNAMIC | item << 32 | at & 0xffff_ffff)),
                    ..Row::default()
                };
                row.set("group", Value::Address(*group));
                if *vlan > 0 {
                    row.set("vid", number((*vlan).into()));
                }
                row.set("on-ports", Value::text(one.names(ports.iter().copied())));
                let bridge = &*one.config.interface.name;
                row.set("bridge", Value::Reference(bridge.into()));
                row.flag("dynamic", true);
                give(row, filter, each)?;
            }
        }
        ControlFlow::Continue(())
    }
}

/// Service by which workers pass IGMP and MLD frames.
pub(super) const SERVICE: &str = SNOOPED;
/// Allows a thousand receivers to answer one query within a second.
const RATE: Rate = Rate {
    per_second: 2_000,
    burst: 1_024,
};
