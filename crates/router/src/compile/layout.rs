//! The layout: port, tags and state of each interface.

use std::collections::{BTreeMap, VecDeque};

use frame::{InterfaceId, Offloads};
use machine::Duration;
use service::neighbour::Mode;
use wire::{EtherType, Mac};

use crate::intent::{self, Intent, InterfaceKind, ItemId, Name};
use crate::rib::Link;

/// Tags upon tags end here: a link header has room for four.
const MOST_TAGS: usize = 4;
/// Bytes of a tag. A device carries the first one beside its MTU.
const TAG_BYTES: u32 = 4;
/// The MTU of an interface that nobody gave one. It asks for nothing: a device may have less for a reason.
const USUAL_MTU: u32 = 1500;
/// The port number of an interface that has none.
pub const NO_PORT: u16 = u16::MAX;

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
}

impl Default for PortWish {
    fn default() -> Self {
        Self {
            up: true,
            mtu: None,
        }
    }
}

/// The numbers of interfaces and tables.
#[derive(Debug, Default)]
pub struct Numbers {
    interfaces: BTreeMap<ItemId, InterfaceId>,
    mirrors: BTreeMap<InterfaceId, InterfaceId>,
    tables: BTreeMap<ItemId, u16>,
    slots: Slots,
}

/// The slots of the table of interfaces. One that is given back gets its next generation, and is given
/// again when enough others have been given back since that no frame is left which names it.
#[derive(Debug, Default)]
struct Slots {
    last: u32,
    free: VecDeque<InterfaceId>,
}

/// How many slots rest.
const RESTING: usize = 64;

impl Slots {
    fn take(&mut self) -> InterfaceId {
        if self.free.len() > RESTING
            && let Some(id) = self.free.pop_front()
        {
            return id;
        }
        self.last += 1;
        InterfaceId(self.last)
    }

    fn give_back(&mut self, id: InterfaceId) {
        let next = InterfaceId::new(id.slot() as u32, id.generation().wrapping_add(1));
        self.free.push_back(next);
    }
}

/// `main` is table 0; the FIB has room for this many.
const TABLES: u16 = dataplane::table::fib::TABLES as u16;

impl Numbers {
    /// The number of a configured interface.
    pub fn interface(&mut self, item: ItemId) -> InterfaceId {
        let slots = &mut self.slots;
        *self.interfaces.entry(item).or_insert_with(|| slots.take())
    }

    /// The number of an interface that has one.
    pub fn known(&self, item: ItemId) -> Option<InterfaceId> {
        self.interfaces.get(&item).copied()
    }

    /// The number under which the walk knows the mirror of an interface.
    pub fn mirror(&mut self, interface: InterfaceId) -> InterfaceId {
        let slots = &mut self.slots;
        *self
            .mirrors
            .entry(interface)
            .or_insert_with(|| slots.take())
    }

    /// The highest slot given.
    pub fn last(&self) -> InterfaceId {
        InterfaceId(self.slots.last)
    }

    /// The number of a routing table; none when all are taken.
    pub fn table(&mut self, item: ItemId) -> Option<u16> {
        if let Some(number) = self.tables.get(&item) {
            return Some(*number);
        }
        let number = (1..TABLES).find(|n| !self.tables.values().any(|used| used == n))?;
        self.tables.insert(item, number);
        Some(number)
    }

    /// Forgets the numbers of tables that are gone: their routes are.
    pub fn keep_tables(&mut self, keep: impl Fn(&ItemId) -> bool) {
        self.tables.retain(|item, _| keep(item));
    }

    /// Forgets interfaces that are gone, and their mirrors.
    pub fn keep_interfaces(&mut self, keep: impl Fn(&ItemId) -> bool) {
        let gone = self.interfaces.extract_if(.., |item, _| !keep(item));
        for (_, id) in gone {
            self.slots.give_back(id);
            if let Some(mirror) = self.mirrors.remove(&id) {
                self.slots.give_back(mirror);
            }
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
    /// It names a parent that is not there, or lies too deep: it cannot work.
    pub invalid: bool,
    /// What next hops on it need to know; `running` is the interface's.
    pub link: Link,
    /// The most that the device below carries, in bytes; 0 if it does not say.
    carries: u32,
    /// The interface that carries its frames, and its tag there.
    pub parent: Option<(InterfaceId, (u16, u16))>,
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

/// All interfaces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// By number.
    pub interfaces: BTreeMap<InterfaceId, Laid>,
    /// By name.
    pub by_name: BTreeMap<Name, InterfaceId>,
    /// What is asked of the devices behind ports, by the names that these were mapped by.
    pub wishes: BTreeMap<Name, PortWish>,
}

impl Layout {
    /// Lays out what is configured on the ports that are there. `mirrors` are the ports of the host
    /// plane by the interface that they mirror.
    pub fn new(
        intent: &Intent,
        ports: &BTreeMap<Name, PortState>,
        mirrors: &BTreeMap<InterfaceId, u16>,
        numbers: &mut Numbers,
    ) -> Self {
        let mut layout = Self::default();
        for (item, interface) in &intent.interfaces {
            let id = numbers.interface(*item);
            layout.by_name.insert(interface.name.clone(), id);
        }
        let mut waiting: Vec<_> = intent.interfaces.iter().collect();
        // Parents before children, however they are numbered; what is left has no parent.
        for _ in 0..=MOST_TAGS {
            waiting.retain(|(item, interface)| {
                let Some(laid) = layout.lay(**item, interface, ports) else {
                    return true;
                };
                layout.wish(interface, &laid);
                layout.interfaces.insert(numbers.interface(**item), laid);
                false
            });
        }
        for (item, interface) in waiting {
            let mut laid = Laid::new(*item, interface);
            laid.invalid = true;
            layout.interfaces.insert(numbers.interface(*item), laid);
        }
        for (id, port) in mirrors {
            if let Some(laid) = layout.interfaces.get_mut(id) {
                laid.mirror = Some((*port, numbers.mirror(*id)));
            }
        }
        layout
    }

    /// Notes what an interface asks of the device below.
    fn wish(&mut self, interface: &intent::Interface, laid: &Laid) {
        let mut lowest = laid;
        while let Some(below) = lowest.parent.and_then(|(id, _)| self.interfaces.get(&id)) {
            lowest = below;
        }
        let Some(port) = lowest.port_name.clone() else {
            return;
        };
        let wish = self.wishes.entry(port).or_default();
        if laid.parent.is_none() {
            wish.up = !interface.disabled;
        }
        if interface.mtu != USUAL_MTU && !interface.disabled {
            let tags = laid.link.tags.len().saturating_sub(1) as u32;
            wish.mtu = wish.mtu.max(Some(interface.mtu + TAG_BYTES * tags));
        }
    }

    /// Lays one interface out; none while its parent is not.
    fn lay(
        &self,
        item: ItemId,
        interface: &intent::Interface,
        ports: &BTreeMap<Name, PortState>,
    ) -> Option<Laid> {
        let mut laid = Laid::new(item, interface);
        match &interface.kind {
            InterfaceKind::Idle => {}
            InterfaceKind::Loopback => laid.loopback = true,
            InterfaceKind::Port {
                default_name,
                mac,
                always_running,
            } => {
                laid.port_name = Some(default_name.clone());
                if let Some(port) = ports.get(default_name) {
                    laid.link.port = port.number;
                    laid.link.mac = mac.unwrap_or(port.mac);
                    laid.carries = port.mtu;
                    laid.link.running = !interface.disabled && (port.up || *always_running);
                } else {
                    laid.link.mac = mac.unwrap_or_default();
                }
            }
            InterfaceKind::Vlan {
                parent,
                vlan_id,
                service_tag,
            } => {
                let id = self.by_name.get(parent)?;
                let below = self.interfaces.get(id)?;
                if below.link.tags.len() >= MOST_TAGS {
                    return None;
                }
                let kind = match service_tag {
                    true => EtherType::QINQ,
                    false => EtherType::VLAN,
                };
                let tag = (kind.0, *vlan_id);
                laid.parent = Some((*id, tag));
                laid.carries = below.carries;
                laid.link.port = below.link.port;
                laid.link.mac = below.link.mac;
                laid.link.running = !interface.disabled && below.link.running;
                laid.link.tags.clone_from(&below.link.tags);
                laid.link.tags.push(tag);
            }
        }
        if laid.carries > 0 {
            laid.link.mtu = laid.link.mtu.min(laid.carries);
        }
        Some(laid)
    }

    /// The interface of the port that carries an interface's frames: the lowest one that it lies on.
    pub fn lowest(&self, id: InterfaceId) -> InterfaceId {
        let mut lowest = id;
        while let Some((below, _)) = self.interfaces.get(&lowest).and_then(|laid| laid.parent) {
            lowest = below;
        }
        lowest
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

    fn new(item: ItemId, interface: &intent::Interface) -> Self {
        Self {
            item,
            name: interface.name.clone(),
            disabled: interface.disabled,
            invalid: false,
            link: Link {
                running: false,
                port: NO_PORT,
                mtu: interface.mtu,
                mac: Mac::default(),
                tags: Vec::new(),
                ethernet: true,
            },
            carries: 0,
            parent: None,
            port_name: None,
            loopback: false,
            arp: interface.arp,
            arp_timeout: interface.arp_timeout,
            mirror: None,
        }
    }
}
