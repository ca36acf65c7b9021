//! The layout of interfaces: port, tags and state of each.

use std::collections::{BTreeMap, BTreeSet};

use dataplane::encap::Encapsulation;
use dataplane::interface::Above;
use dataplane::out::OutId;
use frame::switch::SwitchPort;
use frame::{InterfaceId, Offloads};
use machine::Duration;
use service::neighbour::Mode;
use wire::Mac;

use super::joined;
use super::numbers::Numbers;
use crate::intent::{self, Intent, ItemId, Items, Name};
use crate::kind::Site;
use crate::link_modes::{LinkWish, PortLink};
use crate::rib::Link;

/// Maximum number of stacked tags, the room of a link header.
pub(crate) const MOST_TAGS: usize = 4;
/// Length of a tag in bytes. A device carries the first tag in addition to its MTU.
const TAG_BYTES: u32 = 4;
/// Default MTU of an interface. It requires nothing of the device, which may have a smaller MTU for a reason.
const USUAL_MTU: u32 = 1500;

/// State of a mapped port, as the host reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortState {
    /// Number of the port in workers.
    pub number: u16,
    /// True if the device exists and its link is up.
    pub up: bool,
    /// The device's own link address.
    pub mac: Mac,
    /// Maximum payload behind an Ethernet header, in bytes; 0 if unknown.
    pub mtu: u32,
    /// Offloads of the device.
    pub offloads: Offloads,
    /// Position in the switch below the workers; `None` without one.
    pub seat: Option<SwitchPort>,
    /// Speed in Mbps; 0 if unknown.
    pub speed_mbps: u32,
    /// Further state and abilities of its link.
    pub link: PortLink,
    /// True if its frames are distributed to the workers by flow.
    pub steer: bool,
    /// Workers with a queue of the port.
    pub workers: Vec<u16>,
}

/// Settings that the configuration requests for the device of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortWish {
    /// Administrative state: the link partner sees a link if true.
    pub up: bool,
    /// MTU that the interfaces on the device need, in bytes; `None` keeps the device's MTU.
    pub mtu: Option<u32>,
    /// Link settings.
    pub link: LinkWish,
}

impl Default for PortWish {
    fn default() -> Self {
        Self {
            up: true,
            mtu: None,
            link: LinkWish::default(),
        }
    }
}

/// The layout of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayoutEntry {
    /// Its item.
    pub item: ItemId,
    /// Its name.
    pub name: Name,
    /// Disabled by the configuration.
    pub disabled: bool,
    /// Reason that holds the interface down.
    pub held: Option<&'static str>,
    /// True if its parent does not exist, or too many interfaces are stacked: the interface cannot work.
    pub invalid: bool,
    /// Link properties for next hops; `running` is the state of the interface.
    pub link: Link,
    /// Configured MTU in bytes; the MTU of `link` is limited by the device.
    pub(crate) given_mtu: u32,
    /// Maximum payload of the device below, in bytes; 0 if unknown.
    pub(crate) carries: u32,
    /// Speed of the device below in Mbps; 0 if unknown.
    pub speed_mbps: u32,
    /// True for a half-duplex link.
    pub half_duplex: bool,
    /// Parent interface that carries its frames, and its tag there.
    pub parent: Option<(InterfaceId, (u16, u16))>,
    /// The link that a station shares.
    pub station: Option<Shares>,
    /// Interface that carries the frames of a PPPoE session; the session is in `link`.
    pub session_on: Option<InterfaceId>,
    /// Egress behind the queues of the interface, if it has queues; `link.out` is the egress to the queues.
    pub queued: Option<OutId>,
    /// Encapsulation of an enabled tunnel.
    pub tunnel: Option<Encapsulation>,
    /// True if several routers share its addresses (VRRP): no duplicate address detection.
    pub shared: bool,
    /// True while another router has its addresses (VRRP backup).
    pub waits: bool,
    /// Lowest interface below, whose port carries its frames; itself for a port.
    pub under: InterfaceId,
    /// True if it takes the frames of slaves.
    pub is_master: bool,
    /// Master that takes its received frames.
    pub above: Option<(Above, InterfaceId)>,
    /// Name of the mapping of its port.
    pub port_name: Option<Name>,
    /// Setting `arp`.
    pub arp: Mode,
    /// `arp-timeout`.
    pub arp_timeout: Option<Duration>,
    /// True for a loopback: it has no link, and always runs.
    pub loopback: bool,
    /// Mirror: number of the port, and interface in the workers.
    pub mirror: Option<(u16, InterfaceId)>,
}

/// The link that a station shares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shares {
    /// The interface whose link is shared.
    pub on: InterfaceId,
    /// Interfaces that carry the frames of `on`, such as the port of a VLAN.
    pub through: Vec<InterfaceId>,
}

/// Inputs of the layout.
#[derive(Clone, Copy, Debug)]
pub struct LayoutInputs<'a> {
    /// The intent.
    pub intent: &'a Intent,
    /// Attached ports.
    pub ports: &'a BTreeMap<Name, PortState>,
    /// Ports of mirrors, by mirrored interface.
    pub mirrors: &'a BTreeMap<InterfaceId, u16>,
    /// The shared mirror of point-to-point interfaces, once it exists.
    pub shared_mirror: Option<SharedMirror>,
}

#[cfg(test)]
impl<'a> LayoutInputs<'a> {
    /// Inputs of a router without a host plane.
    pub(crate) fn without_host_plane(
        intent: &'a Intent,
        ports: &'a BTreeMap<Name, PortState>,
    ) -> Self {
        const NONE: &BTreeMap<InterfaceId, u16> = &BTreeMap::new();
        Self {
            intent,
            ports,
            mirrors: NONE,
            shared_mirror: None,
        }
    }
}

/// Port number of the shared mirror, and its interface in the workers.
pub type SharedMirror = (u16, InterfaceId);

/// Layout of all interfaces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// By number.
    pub interfaces: BTreeMap<InterfaceId, LayoutEntry>,
    /// By name.
    pub by_name: BTreeMap<Name, InterfaceId>,
    /// Requested settings of devices, by the name of the port's mapping.
    pub wishes: BTreeMap<Name, PortWish>,
    /// MTU that interfaces require of a device, by device.
    mtus: BTreeSet<(Name, u32, InterfaceId)>,
    /// MTU that interfaces require of a device, by interface.
    asked: BTreeMap<InterfaceId, (Name, u32)>,
    /// Base of generated link addresses for interfaces without a parent: the link address of the first port.
    base: Mac,
}

/// Result of updating the layout of some interfaces.
#[derive(Debug, Default)]
pub struct LayoutUpdate {
    /// Interfaces whose layout was computed.
    pub seen: BTreeSet<InterfaceId>,
    /// Interfaces whose layout changed, with the previous layout; `None` for a new interface.
    pub before: BTreeMap<InterfaceId, Option<LayoutEntry>>,
    /// Names that now refer to another interface, or to none.
    pub names: BTreeSet<Name>,
}

impl Layout {
    /// Computes the layout of all interfaces.
    pub fn new(ground: &LayoutInputs<'_>, numbers: &mut Numbers) -> Self {
        let mut layout = Self::default();
        let all = ground.intent.interfaces.keys().copied().collect();
        layout.lay_out(all, ground, numbers);
        layout
    }

    /// Updates the layout of these items, and of items above them as far as it changes. The cost depends on these
    /// items, not on the number of all interfaces.
    pub fn lay_out(
        &mut self,
        items: BTreeSet<ItemId>,
        ground: &LayoutInputs<'_>,
        numbers: &mut Numbers,
    ) -> LayoutUpdate {
        let interfaces = &ground.intent.interfaces;
        let mut update = LayoutUpdate::default();
        let mut waiting = items;
        waiting.extend(self.base_on(ground));
        for name in self.give_names(&waiting, interfaces, numbers) {
            waiting.extend(interfaces.on(&name).map(|(item, _)| item));
            waiting.extend(joined::slaves(&name, ground.intent));
            update.names.insert(name);
        }
        let mut devices = BTreeSet::new();
        // An item that precedes its parent is computed again after the parent. The loop ends: items in a circle get one
        // more tag per round, up to the limit.
        while let Some(item) = waiting.pop_first() {
            let Some(interface) = interfaces.get(&item) else {
                if let Some(id) = numbers.known(item) {
                    update.seen.insert(id);
                    let before = self.interfaces.remove(&id);
                    update.before.entry(id).or_insert(before);
                    self.ask(id, None, &mut devices);
                    numbers.release(item);
                }
                continue;
            };
            let id = numbers.interface(item);
            update.seen.insert(id);
            let mut laid = self.lay(item, id, interface, ground);
            laid.held = ground.intent.held(item);
            laid.link.running &= laid.held.is_none();
            laid.mirror = match laid.is_point_to_point() {
                true => ground.shared_mirror,
                false => {
                    let mirror = ground.mirrors.get(&id);
                    mirror.map(|port| (*port, numbers.mirror(id)))
                }
            };
            if self.is_other_for_those_on_it(id, &laid) {
                waiting.extend(interfaces.on(&interface.name).map(|(item, _)| item));
            }
            waiting.extend(self.freed_or_taken(id, &laid, ground.intent));
            devices.extend(laid.port_name.clone());
            let before = self.interfaces.insert(id, laid);
            update.before.entry(id).or_insert(before);
            self.ask(id, Some(interface), &mut devices);
        }
        self.wish(devices, interfaces);
        update
            .before
            .retain(|id, before| before.as_ref() != self.interfaces.get(id));
        update
    }

    /// Updates the base of link addresses; returns the items whose link addresses depend on it, if it changed.
    fn base_on(&mut self, ground: &LayoutInputs<'_>) -> Vec<ItemId> {
        let mut macs = ground.ports.values().map(|port| port.mac);
        let base = macs.find(|mac| *mac != Mac::default()).unwrap_or_default();
        if core::mem::replace(&mut self.base, base) == base {
            return Vec::new();
        }
        let all = ground.intent.interfaces.iter();
        let follow = all.filter(|(_, interface)| interface.kind.follows_first_port());
        follow.map(|(item, _)| *item).collect()
    }

    /// Updates the names of these items; returns the names that refer to another interface now. If several items have
    /// one name, it belongs to the first: configured items come before dynamic ones.
    fn give_names(
        &mut self,
        items: &BTreeSet<ItemId>,
        interfaces: &Items<intent::Interface>,
        numbers: &mut Numbers,
    ) -> BTreeSet<Name> {
        let mut names = BTreeSet::new();
        for item in items {
            let known = numbers.known(*item);
            let before = known.and_then(|id| self.interfaces.get(&id));
            names.extend(before.map(|laid| laid.name.clone()));
            if let Some(interface) = interfaces.get(item) {
                numbers.interface(*item);
                names.insert(interface.name.clone());
            }
        }
        names.retain(|name| {
            let first = interfaces.first_named(name);
            let before = match first.map(|item| numbers.interface(item)) {
                Some(id) => self
                    .by_name
                    .insert(name.clone(), id)
                    .filter(|was| *was == id),
                None => return self.by_name.remove(name).is_some(),
            };
            before.is_none()
        });
        names
    }

    /// Whether a change of an interface to `laid` changes the layout of interfaces above it.
    fn is_other_for_those_on_it(&self, id: InterfaceId, laid: &LayoutEntry) -> bool {
        let before = self.interfaces.get(&id);
        before.is_none_or(|before| {
            (&before.link, before.carries) != (&laid.link, laid.carries)
                || (before.under, before.invalid) != (laid.under, laid.invalid)
                || (before.speed_mbps, before.half_duplex) != (laid.speed_mbps, laid.half_duplex)
                || before.port_name != laid.port_name
        })
    }

    /// Sets the MTU that an interface requires of its device; `None` removes the requirement. Adds devices to `devices`
    /// whose requirement changed.
    fn ask(
        &mut self,
        id: InterfaceId,
        interface: Option<&intent::Interface>,
        devices: &mut BTreeSet<Name>,
    ) {
        let wanted = interface.and_then(|interface| self.asks(id, interface));
        if self.asked.get(&id) == wanted.as_ref() {
            return;
        }
        if let Some((device, mtu)) = self.asked.remove(&id) {
            devices.insert(device.clone());
            self.mtus.remove(&(device, mtu, id));
        }
        if let Some((device, mtu)) = wanted {
            devices.insert(device.clone());
            self.mtus.insert((device.clone(), mtu, id));
            self.asked.insert(id, (device, mtu));
        }
    }

    fn asks(&self, id: InterfaceId, interface: &intent::Interface) -> Option<(Name, u32)> {
        let laid = self.interfaces.get(&id)?;
        let device = self.interfaces.get(&laid.under)?.port_name.clone()?;
        let tags = laid.link.tags.len().saturating_sub(1) as u32;
        let mtu = interface.mtu.max(self.mtu_of_bond(laid));
        // A session takes the MTU that is left of the interface below.
        let asks = mtu != USUAL_MTU && !interface.disabled && laid.session_on.is_none();
        asks.then(|| (device, mtu + TAG_BYTES * tags))
    }

    /// Computes the requested settings of these devices.
    fn wish(&mut self, devices: BTreeSet<Name>, interfaces: &Items<intent::Interface>) {
        for device in devices {
            let ports = interfaces.on(&device).filter_map(|(_, interface)| {
                let (of, link) = interface.kind.device()?;
                (*of == device).then_some((interface, link))
            });
            let Some((port, link)) = ports.last() else {
                self.wishes.remove(&device);
                continue;
            };
            let from = (device.clone(), 0, InterfaceId(0));
            let to = (device.clone(), u32::MAX, InterfaceId(u32::MAX));
            let longest = self.mtus.range(from..=to).next_back();
            let wish = PortWish {
                up: !port.disabled,
                mtu: longest.map(|(_, mtu, _)| *mtu),
                link,
            };
            self.wishes.insert(device, wish);
        }
    }

    /// Computes the layout of one interface from the present layout of those below it.
    fn lay(
        &self,
        item: ItemId,
        id: InterfaceId,
        interface: &intent::Interface,
        ground: &LayoutInputs<'_>,
    ) -> LayoutEntry {
        let mut laid = LayoutEntry::new(item, id, interface);
        let site = Site {
            id,
            interface,
            layout: self,
            ground,
        };
        interface.kind.lay_out(&mut laid, &site);
        if ground.intent.queued.contains(&laid.name) {
            laid.queue_before(id);
        }
        laid.above = self.master(&laid, ground.intent);
        if laid.carries > 0 {
            laid.link.mtu = laid.link.mtu.min(laid.carries);
        }
        laid
    }

    /// Returns the interfaces that carry the frames of an interface, the nearest first.
    pub(crate) fn below(&self, laid: &LayoutEntry) -> Vec<InterfaceId> {
        let parent = |laid: &LayoutEntry| laid.parent.map(|(id, _)| id);
        let next = |id: &InterfaceId| parent(self.interfaces.get(id)?);
        let below = core::iter::successors(parent(laid), next);
        below.take(MOST_TAGS).collect()
    }

    /// Returns the interface whose link an interface uses: for a station the shared one, else itself.
    pub fn link_of(&self, id: InterfaceId) -> InterfaceId {
        let laid = self.interfaces.get(&id);
        let shares = laid.and_then(|laid| laid.station.as_ref());
        shares.map_or(id, |shares| shares.on)
    }

    /// Returns the base of generated link addresses for interfaces without a parent: the address of the first port.
    pub(crate) const fn base(&self) -> Mac {
        self.base
    }

    /// Returns the interface with this name.
    pub fn named(&self, name: &str) -> Option<(InterfaceId, &LayoutEntry)> {
        let id = self.by_name.get(name)?;
        Some((*id, self.interfaces.get(id)?))
    }

    /// Returns the name of an interface; empty if it does not exist.
    pub fn name(&self, id: InterfaceId) -> &str {
        self.interfaces.get(&id).map_or("", |laid| &laid.name)
    }
}

impl LayoutEntry {
    /// Whether the interface runs, for users. Next hops use the state of its link.
    pub const fn runs(&self) -> bool {
        self.link.running && !self.link.awaits_session || self.loopback && !self.disabled
    }

    /// Whether its packets have no link-layer header: its local addresses are on the shared mirror.
    pub const fn is_point_to_point(&self) -> bool {
        !self.link.ethernet
    }

    /// Inserts the queues of an interface in front of its egress.
    fn queue_before(&mut self, id: InterfaceId) {
        if self.link.out != OutId::NONE {
            self.queued = Some(self.link.out);
            self.link.out = OutId::queue(id);
        }
    }

    fn new(item: ItemId, id: InterfaceId, interface: &intent::Interface) -> Self {
        Self {
            item,
            name: interface.name.clone(),
            disabled: interface.disabled,
            held: None,
            invalid: false,
            link: Link {
                running: false,
                out: OutId::NONE,
                mtu: interface.mtu,
                mac: Mac::default(),
                tags: Vec::new(),
                ethernet: true,
                session: None,
                awaits_session: false,
            },
            given_mtu: interface.mtu,
            carries: 0,
            speed_mbps: 0,
            half_duplex: false,
            parent: None,
            station: None,
            session_on: None,
            queued: None,
            tunnel: None,
            shared: false,
            waits: false,
            under: id,
            is_master: false,
            above: None,
            port_name: None,
            loopback: false,
            arp: interface.arp,
            arp_timeout: interface.arp_timeout,
            mirror: None,
        }
    }
}

/// Generates the link address of an interface from the address of the shared link and the interface's number, marked as
/// locally administered (IEEE 802, 8.4).
pub(crate) fn made_mac(of: Mac, id: InterfaceId) -> Mac {
    let slot = id.slot().to_le_bytes();
    let [a, b, c, d, e, f] = of.0;
    Mac([(a | 2) ^ 4, b, c, d, e ^ slot[1], f ^ slot[0]])
}
