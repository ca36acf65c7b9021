//! Candidate routes and their gateways.

use frame::InterfaceId;

use super::family::{Family, Net};

/// Origin of a route; the order decides between routes of equal distance, best first.
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

/// Method of gateway checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Check {
    /// No check: the gateway counts as alive.
    #[default]
    None,
    /// By ICMP echo.
    Ping,
    /// By ARP, or by neighbour discovery for IPv6.
    Arp,
    /// BFD; no BFD runs here, so the gateway counts as alive.
    Bfd,
}

/// A gateway of a route, as configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Gateway<F: Family> {
    /// An address, resolved through the active routes of this table.
    Address {
        /// The gateway's address.
        addr: F::Addr,
        /// The table of the resolution.
        table: u16,
    },
    /// An address on an interface, without further resolution.
    On(F::Addr, InterfaceId),
    /// An interface: the destination is a neighbour on it.
    Interface(InterfaceId),
    /// Drop silently.
    Blackhole,
    /// Drop, and send ICMP host unreachable.
    Unreachable,
    /// Drop, and send ICMP administratively prohibited.
    Prohibit,
    /// This router itself.
    Local(InterfaceId),
    /// All stations on this interface's network.
    Broadcast(InterfaceId),
    /// An unusable gateway: no interface has the configured name.
    Unknown,
}

impl<F: Family> Gateway<F> {
    /// Returns the gateway's address, if configured.
    pub fn address(&self) -> Option<F::Addr> {
        match self {
            Self::Address { addr, .. } | Self::On(addr, _) => Some(*addr),
            _ => None,
        }
    }
}

/// A route, as its owner offers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer<F: Family> {
    /// Routing table.
    pub table: u16,
    /// Its destination.
    pub net: Net<F>,
    /// One or more gateways; a gateway that is listed twice gets twice the flows.
    pub gateways: Vec<Gateway<F>>,
    /// 0 to 255; lower is better.
    pub distance: u8,
    /// Distance of the destination in resolution steps: 10 for a connected network, 30 for a static route.
    pub scope: u8,
    /// Gateways are resolved through routes of at most this scope.
    pub target_scope: u8,
    /// Check of its gateways.
    pub check: Check,
    /// Origin.
    pub protocol: Protocol,
    /// The source address of this router's own packets that use it.
    pub pref_src: Option<F::Addr>,
    /// Identifier that the owner chooses.
    pub owner: u32,
}

/// Number of a route; reused after its removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RouteId(pub(super) u32);

impl RouteId {
    /// Returns the number.
    pub fn number(self) -> u32 {
        self.0
    }
}

pub(super) const NIL: u32 = u32::MAX;

/// Stored candidate: 40 bytes for IPv4, so that a million routes fit.
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
    /// Previous route with the same gateway set.
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
