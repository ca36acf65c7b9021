//! Networks of leases that this router does not take over: another interface has the network, or its mask is shorter
//! than any real network's. The client keeps the address, without a connected network where that would take packets
//! away from the other interface, and warns.

use core::fmt;
use core::net::Ipv4Addr;
use std::collections::{BTreeMap, BTreeSet};

use frame::InterfaceId;
use ipnet::Ipv4Net;

use crate::intent::Name;
use crate::running::Running;

/// Minimum mask length of a network: that of class A (RFC 791, 2.3).
const MASK_BITS_MIN: u8 = 8;
/// Mask length of an address without a network.
const HOST_BITS: u8 = 32;

/// Conflict of a lease's network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Conflict {
    /// The mask is too short; the value is its length in bits.
    Mask(u8),
    /// Another interface has this overlapping network.
    Overlap {
        network: Ipv4Net,
        of: Name,
        /// The lease's network is the larger one: routes to the other network are more specific and
        /// stay.
        is_larger: bool,
    },
}

impl Conflict {
    /// Returns the prefix length that the address of a lease is used with.
    pub(super) fn prefix_len(conflict: Option<&Self>, lease: u8) -> u8 {
        match conflict {
            None
            | Some(Self::Overlap {
                is_larger: true, ..
            }) => lease,
            Some(Self::Mask(_) | Self::Overlap { .. }) => HOST_BITS,
        }
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mask(bits) => write!(
                f,
                "mask of {bits} bits is too short: address is used as /32"
            ),
            Self::Overlap {
                network,
                of,
                is_larger: true,
            } => write!(f, "network contains {network} of {of}"),
            Self::Overlap { network, of, .. } => write!(
                f,
                "network overlaps {network} of {of}: address is used as /32"
            ),
        }
    }
}

/// IPv4 networks of all interfaces.
#[derive(Debug, Default)]
pub(super) struct Networks(BTreeMap<InterfaceId, (Name, Vec<Ipv4Net>)>);

impl Networks {
    /// Updates the networks of these interfaces.
    pub(super) fn update(&mut self, others: &BTreeSet<InterfaceId>, running: &Running<'_>) {
        for id in others {
            let own = running.addresses.of4(*id);
            let networks = own.filter_map(|(_, own)| {
                let (first, len) = (own.network.first(), own.network.len());
                Ipv4Net::new(first, len).ok().filter(|_| len < HOST_BITS)
            });
            let networks: Vec<_> = networks.collect();
            match running.layout.interfaces.get(id) {
                Some(laid) if !networks.is_empty() => {
                    self.0.insert(*id, (laid.name.clone(), networks));
                }
                _ => drop(self.0.remove(id)),
            }
        }
    }

    /// Returns the conflict of an address with this prefix length on an interface, if any.
    pub(super) fn conflict(
        &self,
        at: Option<InterfaceId>,
        address: Ipv4Addr,
        len: u8,
    ) -> Option<Conflict> {
        if len < MASK_BITS_MIN {
            return Some(Conflict::Mask(len));
        }
        let lease = Ipv4Net::new(address, len).ok()?.trunc();
        let others = self.0.iter().filter(|(id, _)| Some(**id) != at);
        let overlaps = others.flat_map(|(_, (name, networks))| {
            let overlapping = networks
                .iter()
                .filter(|network| lease.contains(*network) || network.contains(&lease));
            overlapping.map(move |network| Conflict::Overlap {
                network: *network,
                of: name.clone(),
                is_larger: lease.prefix_len() < network.prefix_len(),
            })
        });
        overlaps.min_by_key(|conflict| {
            matches!(
                conflict,
                Conflict::Overlap {
                    is_larger: true,
                    ..
                }
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_that_overlaps_another_interfaces_network_is_a_conflict() {
        let lan = InterfaceId::new(1, 0);
        let wan = InterfaceId::new(2, 0);
        let own = |text: &str| vec![text.parse().expect("a network")];
        let networks = Networks(BTreeMap::from([
            (lan, ("bridge".into(), own("192.168.88.0/24"))),
            (wan, ("ether1".into(), own("10.0.0.0/8"))),
        ]));
        for (address, len, used, said) in [
            (
                [192, 168, 88, 50],
                24,
                32,
                "overlaps 192.168.88.0/24 of bridge",
            ),
            (
                [192, 168, 88, 50],
                25,
                32,
                "overlaps 192.168.88.0/24 of bridge",
            ),
            (
                [192, 168, 7, 50],
                16,
                16,
                "contains 192.168.88.0/24 of bridge",
            ),
            ([64, 0, 0, 1], 4, 32, "mask of 4 bits"),
            ([192, 168, 89, 50], 24, 24, ""),
            ([10, 1, 1, 1], 24, 24, ""),
        ] {
            let conflict = networks.conflict(Some(wan), address.into(), len);
            let told = conflict
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default();
            assert!(
                told.contains(said) && told.is_empty() == said.is_empty(),
                "{told}"
            );
            assert_eq!(Conflict::prefix_len(conflict.as_ref(), len), used, "{told}");
        }
    }
}
