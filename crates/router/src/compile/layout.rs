//! The layout: port, tags and state of each interface.

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

/// Tags upon tags end here: a link header has room for four.
pub(crate) const MOST_TAGS: usize = 4;
/// Bytes of a tag. A device carries the first one beside its MTU.
const TAG_BYTES: u32 = 4;
/// The MTU of an interface that nobody gave one. It asks for nothing: a device may have less for a reason.
const USUAL_MTU: u32 = 1500;

/// A mapped port, as the machine reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortState {
    /// Its number, as the workers know it.
    pub number: u16,
    /// The device is there, and its link is up.
    pub up: bool,
    /// The device's own link address.
    pub mac: Mac,
    /// The most that the device carries behind an Ethernet header, in bytes; 0 if it does not say.
    pub mtu: u32,
    /// What it finishes by itself.
    pub offloads: Offloads,
    /// Its place in what switches between ports below the workers; none where nothing does.
    pub seat: Option<SwitchPort>,
    /// Megabits in a second; 0 where the device does not know.
    pub speed_mbps: u32,
    /// What else its link does and offers.
    pub link: PortLink,
    /// Its frames are spread over the workers by flow.
    pub steer: bool,
    /// The workers that have a queue of it.
    pub workers: Vec<u16>,
}

/// What the configuration asks of the device behind a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortWish {
    /// It is switched on: whoever is at the other end sees a link.
    pub up: bool,
    /// The MTU that the device needs for every interface on it, in bytes; none if its own will do.
    pub mtu: Option<u32>,
    /// What its link is to do.
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

/// An interface, laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Laid {
    /// Its item.
    pub item: ItemId,
    /// Its name.
    pub name: Name,
    /// Configured and not in use.
    pub disabled: bool,
    /// Why it does not run though it could.
    pub held: Option<&'static str>,
    /// It names a parent that is not there, or lies too deep: it cannot work.
    pub invalid: bool,
    /// What next hops on it need to know; `running` is the interface's.
    pub link: Link,
    /// The MTU that it is given, in bytes; that of its link is no more than is carried.
    pub(crate) given_mtu: u32,
    /// The most that the device below carries, in bytes; 0 if it does not say.
    pub(crate) carries: u32,
    /// Megabits a second of the device below; 0 where that does not say.
    pub speed_mbps: u32,
    /// One side of the device's link sends at a time.
    pub half_duplex: bool,
    /// The interface that carries its frames, and its tag there.
    pub parent: Option<(InterfaceId, (u16, u16))>,
    /// The link that it shares with another interface.
    pub station: Option<Shares>,
    /// What its frames leave by behind its queues, if it has any; `link.out` are those.
    pub queued: Option<OutId>,
    /// The encapsulation of its frames, of an enabled tunnel.
    pub tunnel: Option<Encapsulation>,
    /// Several routers have its addresses in turn: nobody looks for duplicates.
    pub shared: bool,
    /// It has no addresses now: another router has them.
    pub waits: bool,
    /// The interface of the port that carries its frames: itself, or the lowest one that it lies on.
    pub under: InterfaceId,
    /// It takes the frames of others.
    pub is_master: bool,
    /// What takes the frames that it receives before it does.
    pub above: Option<(Above, InterfaceId)>,
    /// The name that its port was mapped by.
    pub port_name: Option<Name>,
    /// What `arp=` says.
    pub arp: Mode,
    /// `arp-timeout`.
    pub arp_timeout: Option<Duration>,
    /// It belongs to no link: nothing leaves by it, and it always runs.
    pub loopback: bool,
    /// Its mirror: the number of the port, and the interface that the walk knows it as.
    pub mirror: Option<(u16, InterfaceId)>,
}

/// The link that a station shares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shares {
    /// The interface whose link it is.
    pub on: InterfaceId,
    /// The interfaces that carry that one's frames, such as the port of a VLAN.
    pub through: Vec<InterfaceId>,
}

/// What interfaces are laid out from.
#[derive(Clone, Copy, Debug)]
pub struct Ground<'a> {
    /// What is wanted.
    pub intent: &'a Intent,
    /// The ports that are there.
    pub ports: &'a BTreeMap<Name, PortState>,
    /// The ports of the host plane, by the interface that they mirror.
    pub mirrors: &'a BTreeMap<InterfaceId, u16>,
    /// The mirror that point-to-point interfaces share, once there is one.
    pub shared_mirror: Option<SharedMirror>,
}

#[cfg(test)]
impl<'a> Ground<'a> {
    /// The ground of a router without a host plane.
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

/// The number of the port that leads to the shared mirror, and the interface that the walk knows it as.
pub type SharedMirror = (u16, InterfaceId);

/// All interfaces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// By number.
    pub interfaces: BTreeMap<InterfaceId, Laid>,
    /// By name.
    pub by_name: BTreeMap<Name, InterfaceId>,
    /// What is asked of the devices behind ports, by the names that these were mapped by.
    pub wishes: BTreeMap<Name, PortWish>,
    /// The MTU that interfaces ask a device for, by the device.
    mtus: BTreeSet<(Name, u32, InterfaceId)>,
    /// The same, by interface.
    asked: BTreeMap<InterfaceId, (Name, u32)>,
    /// What link addresses are made of for interfaces that lie on no other: that of the first port.
    base: Mac,
}

/// What came of laying some interfaces out anew.
#[derive(Debug, Default)]
pub struct Relaid {
    /// Those that were looked at.
    pub seen: BTreeSet<InterfaceId>,
    /// Those of them that are others now, or gone, as they were before; none was not there.
    pub before: BTreeMap<InterfaceId, Option<Laid>>,
    /// Names that stand for another interface now, or for none.
    pub names: BTreeSet<Name>,
}

impl Layout {
    /// Lays everything out.
    pub fn new(ground: &Ground<'_>, numbers: &mut Numbers) -> Self {
        let mut layout = Self::default();
        let all = ground.intent.interfaces.keys().copied().collect();
        layout.lay_out(all, ground, numbers);
        layout
    }

    /// Lays these items out anew, and what lies on them as far as it sees a difference. The price is that of these,
    /// however many others there are.
    pub fn lay_out(
        &mut self,
        items: BTreeSet<ItemId>,
        ground: &Ground<'_>,
        numbers: &mut Numbers,
    ) -> Relaid {
        let interfaces = &ground.intent.interfaces;
        let mut relaid = Relaid::default();
        let mut waiting = items;
        waiting.extend(self.base_on(ground));
        for name in self.give_names(&waiting, interfaces, numbers) {
            waiting.extend(interfaces.on(&name).map(|(item, _)| item));
            waiting.extend(joined::slaves(&name, ground.intent));
            relaid.names.insert(name);
        }
        let mut devices = BTreeSet::new();
        // Who is laid out before the one that it lies on comes again when that one is. It ends: what lies in a circle
        // gets a tag more in each round, until there are too many.
        while let Some(item) = waiting.pop_first() {
            let Some(interface) = interfaces.get(&item) else {
                if let Some(id) = numbers.known(item) {
                    relaid.seen.insert(id);
                    let before = self.interfaces.remove(&id);
                    relaid.before.entry(id).or_insert(before);
                    self.ask(id, None, &mut devices);
                    numbers.release(item);
                }
                continue;
            };
            let id = numbers.interface(item);
            relaid.seen.insert(id);
            let mut laid = self.lay((item, id), interface, ground);
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
            relaid.before.entry(id).or_insert(before);
            self.ask(id, Some(interface), &mut devices);
        }
        self.wish(devices, interfaces);
        relaid
            .before
            .retain(|id, before| before.as_ref() != self.interfaces.get(id));
        relaid
    }

    /// Takes over what the first port is; gives the items whose link addresses are made of it, where it is another.
    fn base_on(&mut self, ground: &Ground<'_>) -> Vec<ItemId> {
        let mut macs = ground.ports.values().map(|port| port.mac);
        let base = macs.find(|mac| *mac != Mac::default()).unwrap_or_default();
        if core::mem::replace(&mut self.base, base) == base {
            return Vec::new();
        }
        let all = ground.intent.interfaces.iter();
        let follow = all.filter(|(_, interface)| interface.kind.follows_first_port());
        follow.map(|(item, _)| *item).collect()
    }

    /// Brings the names of these items up to date; gives those that stand for others now. Of several items with one
    /// name the first has it: what is configured comes before what comes by itself.
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

    /// Whether those that lie on an interface are laid out otherwise when it becomes this.
    fn is_other_for_those_on_it(&self, id: InterfaceId, laid: &Laid) -> bool {
        let before = self.interfaces.get(&id);
        before.is_none_or(|before| {
            (&before.link, before.carries) != (&laid.link, laid.carries)
                || (before.under, before.invalid) != (laid.under, laid.invalid)
                || (before.speed_mbps, before.half_duplex) != (laid.speed_mbps, laid.half_duplex)
                || before.port_name != laid.port_name
        })
    }

    /// Notes what an interface asks of the device below; none takes it back. `devices` gets those of which something
    /// else is asked.
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
        let asks = mtu != USUAL_MTU && !interface.disabled;
        asks.then(|| (device, mtu + TAG_BYTES * tags))
    }

    /// Works out what is asked of these devices.
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

    /// Lays one interface out on those below it, as they are laid out now.
    fn lay(
        &self,
        (item, id): (ItemId, InterfaceId),
        interface: &intent::Interface,
        ground: &Ground<'_>,
    ) -> Laid {
        let mut laid = Laid::new((item, id), interface);
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

    /// The interfaces that carry the frames of one, the nearest first.
    pub(crate) fn below(&self, laid: &Laid) -> Vec<InterfaceId> {
        let parent = |laid: &Laid| laid.parent.map(|(id, _)| id);
        let next = |id: &InterfaceId| parent(self.interfaces.get(id)?);
        let below = core::iter::successors(parent(laid), next);
        below.take(MOST_TAGS).collect()
    }

    /// The interface whose link this one is on: itself, but for stations.
    pub fn link_of(&self, id: InterfaceId) -> InterfaceId {
        let laid = self.interfaces.get(&id);
        let shares = laid.and_then(|laid| laid.station.as_ref());
        shares.map_or(id, |shares| shares.on)
    }

    /// What link addresses are made of for interfaces that lie on no other: the address of the first port.
    pub(crate) const fn base(&self) -> Mac {
        self.base
    }

    /// The interface of this name.
    pub fn named(&self, name: &str) -> Option<(InterfaceId, &Laid)> {
        let id = self.by_name.get(name)?;
        Some((*id, self.interfaces.get(id)?))
    }

    /// The name of an interface; empty if there is none.
    pub fn name(&self, id: InterfaceId) -> &str {
        self.interfaces.get(&id).map_or("", |laid| &laid.name)
    }
}

impl Laid {
    /// Whether it runs, as users see it. Next hops ask its link.
    pub const fn runs(&self) -> bool {
        self.link.running || self.loopback && !self.disabled
    }

    /// Whether its packets have no link-layer header: its own addresses are on the mirror that all such share.
    pub const fn is_point_to_point(&self) -> bool {
        !self.link.ethernet
    }

    /// Its frames meet its queues before what it leaves by.
    fn queue_before(&mut self, id: InterfaceId) {
        if self.link.out != OutId::NONE {
            self.queued = Some(self.link.out);
            self.link.out = OutId::queue(id);
        }
    }

    fn new((item, id): (ItemId, InterfaceId), interface: &intent::Interface) -> Self {
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
            },
            given_mtu: interface.mtu,
            carries: 0,
            speed_mbps: 0,
            half_duplex: false,
            parent: None,
            station: None,
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

/// A link address for an interface that is given none: of the link that it shares, with another number, and marked
/// as nobody's product (IEEE 802, 8.4: local).
pub(crate) fn made_mac(of: Mac, id: InterfaceId) -> Mac {
    let slot = id.slot().to_le_bytes();
    let [a, b, c, d, e, f] = of.0;
    Mac([(a | 2) ^ 4, b, c, d, e ^ slot[1], f ^ slot[0]])
}
