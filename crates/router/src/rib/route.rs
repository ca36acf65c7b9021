//! Candidate routes and the gateways that they name.

use frame::InterfaceId;

use super::family::{Family, Net};

/// Where a route came from; what wins between routes of one distance, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Protocol {
    /// This router's own addresses, broadcast and multicast: never shown in `/ip/route`.
    Local,
    /// A network that an address is in.
    Connected,
    /// Configured.
    Static,
    /// Learnt from a router advertisement.
    Slaac,
}

/// How a gateway is watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Check {
    /// Not at all: it counts as alive.
    #[default]
    None,
    /// By ICMP echo.
    Ping,
    /// By ARP, or by neighbour discovery for IPv6.
    Arp,
    /// By BFD; as no BFD runs here, it counts as alive.
    Bfd,
}

/// One gateway of a route, as configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Gateway<F: Family> {
    /// An address, resolved through the active routes of this table.
    Address {
        /// The gateway's address.
        addr: F::Addr,
        /// The table that it is looked up in.
        table: u16,
    },
    /// An address on an interface, not resolved any further.
    On(F::Addr, InterfaceId),
    /// An interface: the destination itself is the neighbour.
    Interface(InterfaceId),
    /// Discard silently.
    Blackhole,
    /// Discard and say that the host is unreachable.
    Unreachable,
    /// Discard and say that it is prohibited.
    Prohibit,
    /// This router itself.
    Local(InterfaceId),
    /// All stations of this interface's network.
    Broadcast(InterfaceId),
    /// Nothing that could ever be used: a name that stands for no interface.
    Unknown,
}

impl<F: Family> Gateway<F> {
    /// Its address, if it has one.
    pub fn address(&self) -> Option<F::Addr> {
        match self {
            Self::Address { addr, .. } | Self::On(addr, _) => Some(*addr),
            _ => None,
        }
    }
}

/// A route as its owner offers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer<F: Family> {
    /// The table that it is in.
    pub table: u16,
    /// Its destination.
    pub net: Net<F>,
    /// One or more gateways; one that is listed twice gets twice the flows.
    pub gateways: Vec<Gateway<F>>,
    /// Less is better, 0 to 255.
    pub distance: u8,
    /// How far away what it leads to is: 10 for a connected network, 30 for a static route.
    pub scope: u8,
    /// Gateways are resolved through routes of this scope or less.
    pub target_scope: u8,
    /// How its gateways are watched.
    pub check: Check,
    /// Where it came from.
    pub protocol: Protocol,
    /// The source address of this router's own packets that use it.
    pub pref_src: Option<F::Addr>,
    /// What its owner knows it by.
    pub owner: u32,
}

/// A route's number; reused after the route is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RouteId(pub(super) u32);

impl RouteId {
    /// The number itself.
    pub fn number(self) -> u32 {
        self.0
    }
}

pub(super) const NIL: u32 = u32::MAX;

/// A candidate as it is held: 40 bytes for IPv4, so that a million fit.
#[derive(Clone, Debug)]
pub(super) struct Route<F: Family> {
    pub(super) net: Net<F>,
    pub(super) distance: u8,
    pub(super) scope: u8,
    pub(super) protocol: Protocol,
    pub(super) active: bool,
    pub(super) ecmp: bool,
    pub(super) table: u16,
    pub(super) set: u32,
    pub(super) owner: u32,
    /// The next candidate of the same prefix.
    pub(super) next: u32,
    /// The other routes of the same set of gateways.
    pub(super) set_before: u32,
    pub(super) set_after: u32,
}

#[cfg(test)]
mod tests {
    use super::super::family::{V4, V6};
    use super::*;

    #[test]
    fn a_candidate_stays_small() {
        assert!(size_of::<Route<V4>>() <= 40);
        assert!(size_of::<Route<V6>>() <= 52);
    }
}
