//! The cold part of an interface: name, addresses, groups, tags.

use core::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use super::{Session, Tag};
use crate::encap::Encapsulation;

/// An IPv4 address of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Own4 {
    /// The address.
    pub address: Ipv4Addr,
    /// First and last address of its network.
    pub network: (Ipv4Addr, Ipv4Addr),
}

/// An IPv6 address of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Own6 {
    /// The address.
    pub address: Ipv6Addr,
    /// The length of its network's prefix in bits.
    pub len: u8,
}

/// The rarely needed facts of an interface: name, addresses, groups, tags, encapsulation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// Name in the configuration, for traces.
    pub name: Arc<str>,
    /// First IPv4 address, for record-route and timestamp options of packets that leave by this
    /// interface.
    pub address4: Option<Ipv4Addr>,
    /// IPv4 addresses, in the order of configuration.
    pub addresses4: Vec<Own4>,
    /// Usable IPv6 addresses, in the order of configuration. Masquerade chooses among them.
    pub addresses6: Vec<Own6>,
    /// VLAN tags of its frames, outermost first, at most four; empty for other interfaces than
    /// VLANs.
    pub tags: Vec<Tag>,
    /// The encapsulation of a tunnel; `None` for other interfaces.
    pub tunnel: Option<Encapsulation>,
    /// The PPPoE session that carries its packets; `tags` are those of the interface below.
    pub session: Option<Session>,
    /// Joined IPv4 multicast groups beyond the link scope, sorted. Link-scope groups (224.0.0.0/24,
    /// ff02::/16) are always received.
    pub groups4: Vec<u32>,
    /// Joined IPv6 multicast groups beyond the link scope, sorted.
    pub groups6: Vec<u128>,
}

impl Details {
    /// Returns the address that masquerade uses for packets to this neighbour. RouterOS, as Linux:
    /// the first address whose network contains the neighbour, else the first address.
    pub fn address_towards(&self, neighbour: Ipv4Addr) -> Option<Ipv4Addr> {
        let has = |own: &&Own4| (own.network.0..=own.network.1).contains(&neighbour);
        let near = self.addresses4.iter().find(has);
        let own = near.or(self.addresses4.first()).map(|own| own.address);
        own.or(self.address4)
    }

    /// Returns true if the interface has this IPv6 address.
    pub fn has_ipv6(&self, address: u128) -> bool {
        let mut own = self.addresses6.iter();
        own.any(|own| own.address.to_bits() == address)
    }

    /// Returns the address that masquerade uses for packets to this destination: the destination
    /// itself, else an address of sufficient scope, preferably of equal scope, then with the
    /// longest common prefix, then in order of configuration (RFC 6724, 5, rules 1, 2 and 8).
    /// `None` if no address has a sufficient scope.
    pub fn source6_towards(&self, to: Ipv6Addr) -> Option<Ipv6Addr> {
        let near = is_on_link(to);
        let common = |own: &Own6| {
            let bits = own.address.to_bits() ^ to.to_bits();
            bits.leading_zeros().min(own.len.into())
        };
        let rank = |own: &Own6| {
            (
                own.address == to,
                is_on_link(own.address) == near,
                common(own),
            )
        };
        let reaches = |own: &&Own6| near || !is_on_link(own.address);
        let best = |best: Option<Own6>, own: &Own6| match best {
            Some(best) if rank(&best) >= rank(own) => Some(best),
            _ => Some(*own),
        };
        let best = self.addresses6.iter().filter(reaches).fold(None, best);
        best.map(|own| own.address)
    }

    /// Returns the address that `redirect` uses for packets received here: the first address beyond
    /// link scope.
    pub fn address6(&self) -> Option<Ipv6Addr> {
        let mut own = self.addresses6.iter().map(|own| own.address);
        own.find(|own| !is_on_link(*own))
    }
}

/// Returns true if an address is valid on its link only (RFC 4291, 2.5.6 and 2.7).
fn is_on_link(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.octets();
    address.is_unicast_link_local() || first == 0xff && second & 0xf <= 2
}
