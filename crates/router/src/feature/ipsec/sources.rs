//! The addresses by which this router reaches other ends, where a policy or a peer does not say its own address: those
//! of the interface that the route leaves by.

use core::net::IpAddr;
use std::collections::BTreeMap;

use machine::Instant;

use super::read::{self, Config};
use super::{Effects, Ipsec};
use crate::intent::Name;

/// The way to another end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    /// The address that this router speaks with.
    pub(crate) source: IpAddr,
    /// The interface that leads there.
    pub(crate) interface: Option<Name>,
}

impl Ipsec {
    /// The other ends that are to be looked up, if they are now.
    pub(crate) fn take_asked(&mut self) -> Option<Vec<IpAddr>> {
        let asks = core::mem::take(&mut self.asks);
        asks.then(|| self.remotes.iter().copied().collect())
    }

    /// Routes changed: the addresses that this router reaches other ends from may be others.
    pub(crate) fn routes_changed(&mut self) {
        self.asks |= !self.remotes.is_empty();
    }

    /// Takes over how this router reaches other ends.
    pub(crate) fn set_ways(
        &mut self,
        ways: BTreeMap<IpAddr, Way>,
        now: Instant,
        out: &mut Effects,
    ) {
        if self.ways != ways {
            self.ways = ways;
            self.configure(now, out);
        }
        self.asks = false;
    }

    /// Fills in the own ends that follow from the way to the other ones. A peer that is asked for an address is not
    /// there before.
    pub(super) fn fill_sources(&self, config: &mut Config) {
        for policy in config.policies.values_mut() {
            let (local, remote) = &mut policy.ends;
            if local.is_unspecified()
                && let Some(way) = self.ways.get(remote)
            {
                *local = way.source;
            }
        }
        for id in config.asks.keys() {
            let Some(peer) = config.peers.get_mut(id).filter(|peer| peer.local.is_none()) else {
                continue;
            };
            let source = read::host(peer).and_then(|remote| Some(self.ways.get(&remote)?.source));
            // While no route leads to the peer its IKE SA waits for one.
            let before = self.config.peers.get(id).and_then(|before| before.local);
            peer.local = source.or(before);
            if peer.local.is_none() {
                config.peers.remove(id);
            }
        }
    }
}
