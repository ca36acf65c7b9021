//! Content of the objects that features create.

use core::net::IpAddr;

use ipnet::IpNet;
use queue::Limits;

use crate::intent::{Address4, Address6, Interface, Member, Name, Neighbour, Route};
use crate::rib::{V4, V6};

/// An object that a feature creates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Made {
    /// An interface, in the menu of its kind.
    Interface(&'static str, Interface),
    /// An IPv4 address of an interface.
    Address4(Address4),
    /// An IPv6 address of an interface.
    Address6(Address6),
    /// An IPv4 route.
    Route4(Route<V4>),
    /// An IPv6 route.
    Route6(Route<V6>),
    /// A rule before the configured rules of this menu. The object's cells are its properties.
    Rule(&'static str),
    /// A member of an interface list.
    Member(Member),
    /// An ARP entry.
    Neighbour4(Neighbour<V4>),
    /// An entry of the IPv6 neighbour table.
    Neighbour6(Neighbour<V6>),
    /// An entry of an address list.
    ListEntry(ListEntry),
    /// A simple queue.
    Queue(Box<DynamicQueue>),
    /// A name in the DNS.
    Name(DynamicName),
    /// A port of a bridge.
    BridgePort(Box<DynamicBridgePort>),
}

impl Made {
    /// Returns the menu that shows the object.
    pub const fn menu(&self) -> &'static str {
        match self {
            Self::Interface(menu, _) | Self::Rule(menu) => menu,
            Self::Address4(_) => "/ip/address",
            Self::Address6(_) => "/ipv6/address",
            Self::Route4(_) => "/ip/route",
            Self::Route6(_) => "/ipv6/route",
            Self::Member(_) => "/interface/list/member",
            Self::Neighbour4(_) => "/ip/arp",
            Self::Neighbour6(_) => "/ipv6/neighbor",
            Self::ListEntry(entry) => match entry.address {
                IpAddr::V4(_) => "/ip/firewall/address-list",
                IpAddr::V6(_) => "/ipv6/firewall/address-list",
            },
            Self::Queue(_) => "/queue/simple",
            Self::Name(_) => "/ip/dns/static",
            Self::BridgePort(_) => "/interface/bridge/port",
        }
    }
}

/// A dynamic simple queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DynamicQueue {
    /// Name of the queue.
    pub name: Name,
    /// The packets that it limits.
    pub target: QueueTarget,
    /// Limits of upload and download.
    pub limits: [Limits; 2],
    /// Queue types of upload and download; `None` is the default type.
    pub kinds: [Option<Name>; 2],
    /// Name of the parent queue.
    pub parent: Option<Name>,
    /// True if it precedes the configured queues, false if it follows them.
    pub first: bool,
}

/// Target of a dynamic queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueueTarget {
    /// A network behind the router.
    Network(IpNet),
    /// An interface.
    Interface(Name),
}

/// A dynamic name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DynamicName {
    /// The name.
    pub name: Name,
    /// Its address.
    pub address: IpAddr,
}

/// A dynamic port of a bridge. `None` leaves a setting at the default of configured ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DynamicBridgePort {
    /// The bridge.
    pub bridge: Name,
    /// The interface.
    pub interface: Name,
    /// VLAN of untagged frames.
    pub pvid: Option<u16>,
    /// Port priority, in steps of 0x10.
    pub priority: Option<u8>,
    /// Path cost.
    pub path_cost: Option<u32>,
    /// Split horizon: frames do not pass between ports with one number.
    pub horizon: Option<u32>,
    /// Hosts are learned.
    pub learn: Option<bool>,
    /// DHCP servers may be behind the port.
    pub trusted: bool,
}

/// An entry of an address list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListEntry {
    /// The list.
    pub list: Name,
    /// The address. It determines the family.
    pub address: IpAddr,
}
