//! Changes of peers and policies: which SAs stay, move, or close.

use core::net::IpAddr;
use std::sync::Arc;

use machine::Instant;

use super::Engine;
use super::core::Key;
use crate::config::{Exchange, Peer, PeerId, Policy, PolicyId};
use crate::event::{Action, Level, SaId, State, Why};

impl Engine {
    pub(super) fn set_peer(
        &mut self,
        id: PeerId,
        peer: Option<Box<Peer>>,
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        let same = self.core.peers.get(&id).map(|peer| &**peer) == peer.as_deref();
        if same {
            return;
        }
        if let (Some(before), Some(peer)) = (self.core.peers.get(&id), &peer)
            && let (Some(from), Some(to)) = (before.local, peer.local)
            && **peer
                == (Peer {
                    local: peer.local,
                    ..(**before).clone()
                })
        {
            let peer = Arc::new((**peer).clone());
            for sa in self.sas_of(id) {
                if let Some(mut sa) = self.sas.take(sa) {
                    sa.common_mut().peer = Arc::clone(&peer);
                    self.sas.put(sa);
                }
            }
            self.core.peers.insert(id, peer);
            return self.change_local(id, from, to, now, out);
        }
        for sa in self.sas_of(id) {
            self.close(sa, Why::Reconfigured, now, out);
        }
        self.core.peers.remove(&id);
        let Some(peer) = peer else {
            return self.core.agenda.set(Key::Peer(id), None);
        };
        if peer.exchange == Exchange::Base {
            let text = format!("{}: exchange-mode base is not supported", peer.name);
            return self.context(now, out).log(Level::Error, text);
        }
        self.core.peers.insert(id, Arc::new(*peer));
        self.try_later(id, now);
    }

    fn sas_of(&self, peer: PeerId) -> Vec<SaId> {
        let sas = self.sas.of_peer(peer);
        sas.map(|sa| sa.common().id).collect()
    }

    /// Applies a new local address towards a peer. IKE SAs move (RFC 4555), or are deleted and initiated again.
    fn change_local(
        &mut self,
        peer: PeerId,
        from: IpAddr,
        to: IpAddr,
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        for id in self.sas_of(peer) {
            let mut moves = true;
            self.with(id, now, out, |sa, cx| {
                if sa.common().local.ip() == from && sa.common().state <= State::Established {
                    moves = sa.move_to(to, cx);
                    // The delete message must leave from an address that this side still has.
                    sa.common_mut().local.set_ip(to);
                }
                Ok(())
            });
            if !moves {
                self.close(id, Why::Reconfigured, now, out);
            }
        }
        if self.best_of(peer).is_none() {
            self.try_later(peer, now);
        }
    }

    pub(super) fn set_policy(
        &mut self,
        id: PolicyId,
        mut policy: Option<Box<Policy>>,
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        if let (Some(before), Some(policy)) = (self.core.policies.get(&id), &mut policy)
            && policy.ends.0.is_unspecified()
        {
            // No route to the peer at the moment: keep the previous local address.
            policy.ends.0 = before.ends.0;
        }
        let before = self.core.policies.get(&id);
        // Changes of position and local address alone do not remove SAs.
        let mut moved = before.map(|before| (**before).clone());
        if let (Some(moved), Some(policy)) = (&mut moved, &policy) {
            moved.place = policy.place;
            moved.ends.0 = policy.ends.0;
        }
        let from = before.map(|before| before.ends.0);
        if moved.as_ref() != policy.as_deref() {
            let pairs = self.core.children.of_policy(id);
            let pairs: Vec<_> = pairs.map(|kept| kept.child.id).collect();
            for pair in pairs {
                self.remove(pair, Why::Reconfigured, now, out);
            }
        }
        let Some(policy) = policy else {
            self.core.policies.remove(&id);
            return;
        };
        let peer = policy.peer.filter(|_| policy.template.is_none());
        let to = policy.ends.0;
        self.core.policies.insert(id, Arc::new(*policy));
        let Some(peer) = peer else {
            return;
        };
        let has_own = { self.core.peers.get(&peer) }.is_some_and(|peer| peer.local.is_some());
        match from.filter(|from| !has_own && !from.is_unspecified() && *from != to) {
            Some(from) => self.change_local(peer, from, to, now, out),
            None => self.try_later(peer, now),
        }
    }
}
