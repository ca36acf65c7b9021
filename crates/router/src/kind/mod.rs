//! Interface kinds: one file each, and one list, [`KINDS`].
//!
//! ```text
//! item ──read──▶ wish (intent::Interface with its Kind) ──lay_out──▶ layout entry ──compile──▶ table line
//! ```
//! A kind reads the items of its menus, and lays its interfaces out on those below. The layout, the live menus, SNMP
//! and the compiler ask the kind and name none. A kind with state of its own (bridges, VRRP, tunnels) has a feature
//! beside it, which announces its interfaces again by effects when they change. The word for its type in
//! `/interface print` stands in the menu (`kind` in `schema`), as for interfaces that features make.

pub(crate) mod bond;
pub(crate) mod bridge;
mod idle;
mod loopback;
mod macvlan;
#[cfg(test)]
mod null;
mod point_to_point;
mod port;
mod station;
#[cfg(test)]
mod tests;
pub(crate) mod tunnel;
pub(crate) mod veth;
mod vlan;
pub(crate) mod vrrp;
pub(crate) mod vxlan;
pub(crate) mod wireguard;

use core::any::Any;
use core::fmt::Debug;
use core::ops::Deref;
use std::sync::Arc;

use dataplane::interface::Above;
use frame::InterfaceId;
use menu::Item;

use crate::compile::{Ground, Laid, Layout};
use crate::intent::{Class, Interface, Name};
use crate::link_modes::LinkWish;

pub use idle::Idle;
pub use point_to_point::PointToPoint;
pub(crate) use port::is_virtual_radio;

/// The list. Items of menus without a kind are ports, or interfaces without effect.
const KINDS: &[Registration] = &[
    bond::KIND,
    bridge::KIND,
    loopback::KIND,
    macvlan::KIND,
    #[cfg(test)]
    null::KIND,
    tunnel::KIND,
    veth::KIND,
    vlan::KIND,
    vrrp::KIND,
    vxlan::KIND,
    wireguard::KIND,
];

/// The menus of ports.
const PORTS: [&str; 2] = ["/interface/ethernet", "/interface/port"];

/// The menus of interfaces that have an effect: those of ports, and of all kinds.
pub(crate) const MENUS: [&str; menu_count()] = menus();

const fn menu_count() -> usize {
    let (mut count, mut kind) = (PORTS.len(), 0);
    while kind < KINDS.len() {
        count += KINDS[kind].menus.len();
        kind += 1;
    }
    count
}

const fn menus() -> [&'static str; menu_count()] {
    let mut all = [PORTS[0]; menu_count()];
    all[1] = PORTS[1];
    let (mut at, mut kind) = (PORTS.len(), 0);
    while kind < KINDS.len() {
        let mut menu = 0;
        while menu < KINDS[kind].menus.len() {
            all[at] = KINDS[kind].menus[menu];
            (at, menu) = (at + 1, menu + 1);
        }
        kind += 1;
    }
    all
}

/// What the list says of a kind.
pub(crate) struct Registration {
    /// The menus whose items are of the kind.
    pub(crate) menus: &'static [&'static str],
    /// Reads an item. Where more than the item decides, the result is idle until the kind's feature announces it.
    pub(crate) read: fn(&Item) -> Option<Interface>,
}

/// Reads an item of any menu of interfaces. Returns `None` for an item without a name, or one that is incomplete.
pub(crate) fn read(item: &Item) -> Option<Interface> {
    let mut kinds = KINDS.iter();
    let kind = kinds.find(|kind| kind.menus.contains(&item.menu.path));
    kind.map_or(port::read as fn(&Item) -> _, |kind| kind.read)(item)
}

/// What an interface is: the settings of one kind.
pub trait Kind: Any + Equal + Debug + Send + Sync {
    /// Lays an interface out. `entry` has the name and the common settings of the wish, and is down.
    fn lay_out(&self, entry: &mut Laid, site: &Site<'_>);

    /// The `ifType` of an interface, which RouterOS counts among `class`.
    fn if_type(&self, class: Class) -> IfType;

    /// Name of the interface or device below. Its changes lay the interface out again.
    fn stands_on(&self) -> Option<&Name> {
        None
    }

    /// Whether packets pass, so that rows show its state and counters.
    fn has_traffic(&self) -> bool {
        true
    }

    /// Role towards slaves, for kinds that take the frames of other interfaces.
    fn master_of(&self) -> Above {
        Above::Nothing
    }

    /// Name of a port's device, and the settings for its link.
    fn device(&self) -> Option<(&Name, LinkWish)> {
        None
    }

    /// Whether its link address follows from that of the first port.
    fn follows_first_port(&self) -> bool {
        false
    }

    /// The `l2mtu` that rows show while it is enabled, in bytes.
    fn l2mtu(&self) -> Option<u32> {
        None
    }
}

/// The kind of an interface, whichever it is.
#[derive(Clone, Debug)]
pub struct AnyKind(Arc<dyn Kind>);

impl AnyKind {
    /// The settings, if they are of kind `T`.
    pub(crate) fn downcast<T: Kind>(&self) -> Option<&T> {
        let kind: &dyn Any = &*self.0;
        kind.downcast_ref()
    }
}

impl<T: Kind> From<T> for AnyKind {
    fn from(kind: T) -> Self {
        Self(Arc::new(kind))
    }
}

impl Deref for AnyKind {
    type Target = dyn Kind;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl PartialEq for AnyKind {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.equals(&*other.0)
    }
}

impl Eq for AnyKind {}

/// Equality with a value of a type that is not known.
pub trait Equal {
    /// Returns true if `other` has the type of `self` and an equal value.
    fn equals(&self, other: &dyn Any) -> bool;
}

impl<T: Any + Eq> Equal for T {
    fn equals(&self, other: &dyn Any) -> bool {
        other.downcast_ref() == Some(self)
    }
}

/// What an interface is laid out on.
#[derive(Debug)]
pub struct Site<'a> {
    /// The interface.
    pub id: InterfaceId,
    /// Its wish.
    pub interface: &'a Interface,
    /// The interfaces that are laid out so far.
    pub layout: &'a Layout,
    /// Ports and intent.
    pub ground: &'a Ground<'a>,
}

/// Types of interfaces of IF-MIB, with their numbers (IANAifType).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfType {
    /// `other`
    Other = 1,
    /// `ethernetCsmacd`
    Ethernet = 6,
    /// `ppp`
    Ppp = 23,
    /// `softwareLoopback`
    Loopback = 24,
    /// `propVirtual`
    Virtual = 53,
    /// `ieee80211`
    Wireless = 71,
    /// `tunnel`
    Tunnel = 131,
    /// `l2vlan`
    Vlan = 135,
    /// `ieee8023adLag`
    Bond = 161,
    /// `bridge`
    Bridge = 209,
}

impl IfType {
    /// The type of an interface whose class alone says it: PPP, wireless, else `otherwise`.
    const fn of_class(class: Class, otherwise: Self) -> Self {
        match class {
            Class::Ppp => Self::Ppp,
            Class::Wireless => Self::Wireless,
            Class::Ethernet | Class::Vlan | Class::Other => otherwise,
        }
    }
}
