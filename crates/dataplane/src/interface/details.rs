//! The cold part of an interface: name, addresses, groups, tags.

use core::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use super::Tag;
use crate::encap::Encapsulation;

/// An IPv4 address of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Own4 {
    /// The address.
    pub address: Ipv4Addr,
    /// The first address of its network, and the last one.
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

/// The name and the addresses of an interface, and the groups joined on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// Its name in the configuration, for traces.
    pub name: Arc<str>,
    /// Its own first address: what record-route and timestamp options get of packets that leave here.
    pub address4: Option<Ipv4Addr>,
    /// Its own IPv4 addresses, in the order in which they were given.
    pub addresses4: Vec<Own4>,
    /// Its IPv6 addresses in use, in the order in which they were given. Masquerade chooses among them.
    pub addresses6: Vec<Own6>,
    /// The VLAN tags of its frames, outermost first: empty but for VLAN interfaces. At most four.
    pub tags: Vec<Tag>,
    /// The encapsulation of its frames: `None` for all but tunnels.
    pub tunnel: Option<Encapsulation>,
    /// The multicast groups joined here beyond the link's own scope, sorted. Groups of the link
    /// (224.0.0.0/24, ff02::/16) are always taken.
    pub groups4: Vec<u32>,
    /// The same of IPv6.
    pub groups6: Vec<u128>,
}

impl Details {
    /// The address that masquerade gives packets that leave here for this neighbour. RouterOS, as
    /// Linux: the first one whose network has the neighbour, else the first one.
    pub fn address_towards(&self, neighbour: Ipv4Addr) -> Option<Ipv4Addr> {
        let has = |own: &&Own4| (own.network.0..=own.network.1).contains(&neighbour);
        let near = self.addresses4.iter().find(has);
        let own = near.or(self.addresses4.first()).map(|own| own.address);
        own.or(self.address4)
    }

    /// Whether an IPv6 address is in use here.
    pub fn has_ipv6(&self, address: u128) -> bool {
        let mut own = self.addresses6.iter();
        own.any(|own| own.address.to_bits() == address)
    }

    /// The address that masquerade gives packets that leave here to this destination: the address
    /// itself, one that reaches as far, the one with the longest prefix in common, the first one (RFC
    /// 6724, 5, rules 1, 2 and 8). None where none reaches as far.
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

    /// The address that `redirect` gives packets that come in here: its first one that reaches beyond
    /// the link.
    pub fn address6(&self) -> Option<Ipv6Addr> {
        let mut own = self.addresses6.iter().map(|own| own.address);
        own.find(|own| !is_on_link(*own))
    }
}

/// Whether an address means something on its link alone (RFC 4291, 2.5.6 and 2.7).
fn is_on_link(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.octets();
    address.is_unicast_link_local() || first == 0xff && second & 0xf <= 2
}
