//! Local addresses for policies and peers that leave them open: the path to the remote end gives
//! them.

use core::net::IpAddr;
use std::collections::BTreeMap;

use ike::{PeerId, Policy, PolicyId};

use super::read::{self, Config};
use super::{Effects, Ipsec};
use crate::paths::PathTable;
use crate::running::Running;

/// Users of the path to a remote end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Follower {
    Policy(PolicyId),
    /// A peer that is asked for a mode-config lease.
    Peer(PeerId),
    /// A tunnel with a secret, by its index.
    Tunnel(usize),
}

/// Remote end of each path user.
pub(super) type Followers = BTreeMap<Follower, IpAddr>;

/// Returns the remote end of a policy that leaves its local end open.
pub(super) fn open_remote(policy: &Policy) -> Option<IpAddr> {
    let (local, remote) = policy.ends;
    (local.is_unspecified() && !remote.is_unspecified()).then_some(remote)
}

impl Ipsec {
    /// The paths to remote ends.
    pub(crate) const fn paths_mut(&mut self) -> &mut PathTable {
        &mut self.paths
    }

    /// Looks up the paths that changes concern, and reconfigures the IKE engine if a path changed.
    pub(crate) fn look_up_paths(&mut self, running: &Running<'_>, out: &mut Effects) {
        if !self.paths.look_up(running).is_empty() {
            self.configure(running.now, out);
        }
    }

    /// Returns the path users of a configuration and their remote ends.
    pub(super) fn followers_of(&self, config: &Config) -> Followers {
        let policies = config.policies.iter();
        let policies =
            policies.filter_map(|(id, policy)| Some((Follower::Policy(*id), open_remote(policy)?)));
        let peers = config.asks.keys();
        let peers =
            peers.filter_map(|id| Some((Follower::Peer(*id), read::host(config.peers.get(id)?)?)));
        let tunnels = self.tunnels.iter().enumerate();
        let tunnels = tunnels
            .filter_map(|(place, tunnel)| Some((Follower::Tunnel(place), tunnel.unknown_end()?)));
        policies.chain(peers).chain(tunnels).collect()
    }

    /// Replaces the path users.
    pub(super) fn follow_remotes(&mut self, followers: Followers) {
        // Follows the new paths before it releases the old ones, so that no unchanged path is
        // looked up again.
        followers
            .values()
            .for_each(|remote| self.paths.follow(*remote));
        let before = core::mem::replace(&mut self.followers, followers);
        before
            .values()
            .for_each(|remote| self.paths.release(*remote));
    }

    /// Sets or removes the remote end whose path a policy uses.
    pub(super) fn follow_remote(&mut self, policy: PolicyId, remote: Option<IpAddr>) {
        let follower = Follower::Policy(policy);
        if let Some(remote) = remote {
            self.paths.follow(remote);
        }
        let before = match remote {
            Some(remote) => self.followers.insert(follower, remote),
            None => self.followers.remove(&follower),
        };
        if let Some(before) = before {
            self.paths.release(before);
        }
    }

    /// Fills in the local end of a policy that leaves it open.
    pub(super) fn fill_source(&self, policy: &mut Policy) {
        let (local, remote) = &mut policy.ends;
        if local.is_unspecified()
            && let Some(source) = self.paths.get(*remote).and_then(|path| path.source)
        {
            *local = source;
        }
    }

    /// Fills in the local ends of peers that are asked for a lease. Removes such peers while their
    /// local end is unknown.
    pub(super) fn fill_sources(&self, config: &mut Config) {
        for id in config.asks.keys() {
            let Some(peer) = config.peers.get_mut(id).filter(|peer| peer.local.is_none()) else {
                continue;
            };
            let source = read::host(peer).and_then(|remote| self.paths.get(remote)?.source);
            // Keeps the last local end while no route leads to the peer: its IKE SA waits for a
            // route.
            let before = self.config.peers.get(id).and_then(|before| before.local);
            peer.local = source.or(before);
            if peer.local.is_none() {
                config.peers.remove(id);
            }
        }
    }
}
