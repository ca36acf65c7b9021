//! Pool addresses leased to peers (`/ip/ipsec/mode-config address-pool`), each for the life of its
//! IKE SA.

use core::net::{IpAddr, Ipv4Addr};
use std::collections::BTreeMap;

use ike::{Event, SaId};
use service::pool::{Pools, Use};

use super::Ipsec;
use crate::feature::Effects;

/// Owner of the addresses as `/ip/pool/used` shows it.
const OWNER: &str = "IPsec";

/// Pool addresses leased to peers, by IKE SA.
#[derive(Debug, Default)]
pub(super) struct Leases {
    pools: Pools,
    all: BTreeMap<SaId, (Box<str>, Ipv4Addr)>,
}

impl Leases {
    pub(super) fn new(pools: Pools) -> Self {
        Self {
            pools,
            all: BTreeMap::new(),
        }
    }

    /// Leases a pool address to the peer of an IKE SA: the requested address if it is free,
    /// otherwise any free one.
    pub(super) fn take(
        &mut self,
        sa: SaId,
        pool: &str,
        wish: Option<IpAddr>,
        peer: &str,
    ) -> Option<Ipv4Addr> {
        self.give_back(sa);
        let of = Use {
            owner: OWNER,
            info: peer.into(),
        };
        let wished = match wish {
            Some(IpAddr::V4(wish)) if !wish.is_unspecified() => {
                { self.pools.take(pool, wish, &of) }.map(|pool| (wish, pool))
            }
            _ => None,
        };
        let (address, pool) = wished.or_else(|| self.pools.take_any(pool, &of))?;
        self.all.insert(sa, (pool, address));
        Some(address)
    }

    /// Moves the lease to an IKE SA that replaces another one.
    pub(super) fn pass_on(&mut self, before: SaId, after: SaId) {
        if let Some(lease) = self.all.remove(&before) {
            self.all.insert(after, lease);
        }
    }

    /// Releases the lease of an IKE SA that ended.
    pub(super) fn give_back(&mut self, sa: SaId) {
        if let Some((pool, address)) = self.all.remove(&sa) {
            self.pools.give_back(&pool, address);
        }
    }
}

impl Ipsec {
    /// Answers the address request of a peer from a pool.
    pub(super) fn lease(&mut self, sa: SaId, pool: &str, wish: Option<IpAddr>, out: &mut Effects) {
        let row = self.engine.peer(sa);
        let remote = row.map(|row| row.remote.ip().to_string());
        let address = self
            .leases
            .take(sa, pool, wish, &remote.unwrap_or_default());
        if address.is_none() {
            out.log(
                "ipsec,error",
                format!("no address is left in the pool {pool}"),
            );
        }
        self.handle(Event::Leased(sa, address.map(IpAddr::from)), self.now, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_leases_its_requested_address_or_a_free_one_and_returns_it() {
        let pools = Pools::default();
        let [first, last] = [5, 6].map(|last| Ipv4Addr::new(10, 9, 0, last));
        pools.set("vpn", &[(first, last)], None);
        let mut leases = Leases::new(pools);
        let take = |leases: &mut Leases, sa, wish: Option<Ipv4Addr>| {
            leases.take(SaId(sa), "vpn", wish.map(IpAddr::from), "peer")
        };
        assert_eq!(take(&mut leases, 1, Some(last)), Some(last));
        assert_eq!(take(&mut leases, 2, Some(last)), Some(first));
        assert_eq!(take(&mut leases, 3, None), None);
        // An IKE SA keeps only one address.
        assert_eq!(take(&mut leases, 2, None), Some(first));
        // A replacing IKE SA takes over the address.
        leases.pass_on(SaId(1), SaId(4));
        leases.give_back(SaId(1));
        assert_eq!(take(&mut leases, 3, None), None);
        leases.give_back(SaId(4));
        assert_eq!(take(&mut leases, 3, None), Some(last));
    }
}
