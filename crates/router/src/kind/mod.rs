//! Interface kinds: one file each, and one list, `list.rs`.
//!
//! ```text
//! item ──read──▶ wish (intent::Interface with its Kind) ──lay_out──▶ layout entry ──compile──▶ table line
//! ```
//! A kind reads the items of its menus, and computes their layout from the interfaces below. The layout, the live
//! menus, SNMP and the compiler use the trait and name no kind. A kind with state (bridges, VRRP, tunnels) has a
//! feature, which announces its interfaces again by effects when they change. The word for its type in `/interface
//! print` stands in the menu (`kind` in `schema`), as for interfaces that features make.

pub(crate) mod bond;
pub(crate) mod bridge;
pub(crate) mod bridged;
mod carrier;
mod idle;
pub(crate) mod l2tp;
pub(crate) mod l2tp_ether;
mod list;
mod loopback;
mod macvlan;
pub(crate) mod mppe;
pub(crate) mod multilink;
#[cfg(test)]
mod null;
pub(crate) mod ovpn;
mod point_to_point;
mod port;
pub(crate) mod pppoe;
pub(crate) mod pptp;
pub(crate) mod sstp;
mod station;
#[cfg(test)]
mod tests;
pub(crate) mod tunnel;
pub(crate) mod veth;
pub(crate) mod vlan;
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

use crate::compile::{Layout, LayoutEntry, LayoutInputs};
use crate::intent::{Class, Interface, Name};
use crate::link_modes::LinkWish;

pub use idle::Idle;
pub(crate) use list::{DIALS, MENUS, assumed, read_item};
pub use point_to_point::PointToPoint;
pub(crate) use port::is_virtual_radio;

/// Registration of a kind.
pub(crate) struct Registration {
    /// The menus whose items are of the kind.
    pub(crate) menus: &'static [&'static str],
    /// Reads an item. If the result depends on more than the item, the interface is idle until the kind's feature
    /// announces it.
    pub(crate) read: fn(&Item) -> Option<Interface>,
}

/// Settings of an interface of one kind.
pub trait Kind: Any + Equal + Debug + Send + Sync {
    /// Computes the layout of an interface. `entry` contains the name and the common settings, and is down.
    fn lay_out(&self, entry: &mut LayoutEntry, site: &Site<'_>);

    /// Returns the `ifType` of an interface of this class.
    fn if_type(&self, class: Class) -> IfType;

    /// Returns the interface or device below, by name. Its changes update the layout of the interface.
    fn stands_on(&self) -> Option<&Name> {
        None
    }

    /// Whether packets pass, so that rows show state and counters.
    fn has_traffic(&self) -> bool {
        true
    }

    /// Returns the role towards slaves, for kinds that take frames of other interfaces.
    fn master_of(&self) -> Above {
        Above::Nothing
    }

    /// Returns the device of a port, and the settings of its link.
    fn device(&self) -> Option<(&Name, LinkWish)> {
        None
    }

    /// Whether its link address depends on the link address of the first port.
    fn follows_first_port(&self) -> bool {
        false
    }

    /// Returns the `l2mtu` that rows show while the interface is enabled, in bytes.
    fn l2mtu(&self) -> Option<u32> {
        None
    }
}

/// Settings of an interface of any kind.
#[derive(Clone, Debug)]
pub struct AnyKind(Arc<dyn Kind>);

impl AnyKind {
    /// Returns the settings, if they are of kind `T`.
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

/// Equality with a value of unknown type.
pub trait Equal {
    /// Returns true if `other` has the type of `self` and an equal value.
    fn equals(&self, other: &dyn Any) -> bool;
}

impl<T: Any + Eq> Equal for T {
    fn equals(&self, other: &dyn Any) -> bool {
        other.downcast_ref() == Some(self)
    }
}

/// Inputs of an interface's layout.
#[derive(Debug)]
pub struct Site<'a> {
    /// The interface.
    pub id: InterfaceId,
    /// Its intent.
    pub interface: &'a Interface,
    /// Layout of interfaces so far.
    pub layout: &'a Layout,
    /// Ports and intent.
    pub ground: &'a LayoutInputs<'a>,
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
    /// Returns the type of an interface with the class PPP or wireless, else `otherwise`.
    const fn of_class(class: Class, otherwise: Self) -> Self {
        match class {
            Class::Ppp => Self::Ppp,
            Class::Wireless => Self::Wireless,
            Class::Ethernet | Class::Vlan | Class::Other => otherwise,
        }
    }
}
