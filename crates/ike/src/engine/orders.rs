//! Work that concerns several IKE SAs: replacement of SAs, INITIAL_CONTACT, traffic under a pair, unknown SPIs.

use core::net::IpAddr;

use machine::{Duration, Instant};

use super::core::{Common, Core, Order};
use super::sa::Sa;
use super::{Engine, RETRY};
use crate::event::{Action, ChildId, SaId, Side, State, Why};

/// Time that a replaced IKEv1 SA stays: as initiator, and as responder.
const REPLACED_LIFETIME: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(60));

impl Core {
    /// Moves a pair to another IKE SA.
    pub(crate) fn move_pair(&mut self, id: ChildId, to: SaId) {
        if let Some(kept) = self.children.get_mut(&id) {
            (kept.child.sa, kept.inherited) = (to, true);
        }
    }
}

impl Engine {
    /// Carries out the queued orders of the SAs.
    pub(super) fn carry_out(&mut self, now: Instant, out: &mut Vec<Action>) {
        while let Some(order) = self.core.orders.pop_front() {
            match order {
                Order::Renew(id) => self.renew(id, now, out),
                Order::Established(id) => {
                    self.established(id, now, out);
                    self.end_rival(id, now, out);
                }
                Order::Active(id) => {
                    let sa = { self.core.children.get(&id) }.map(|kept| kept.child.sa);
                    let sa = sa.and_then(|sa| self.sas.get(&sa));
                    let implied = matches!(sa, Some(Sa::One(_)));
                    self.context(now, out).end_twin(id, implied);
                }
                Order::OnlyOne(id) => self.only_one(id, now, out),
                Order::Failed(policy, why) => {
                    out.push(Action::Failed(policy, why));
                    let peer = self
                        .core
                        .policies
                        .get(&policy)
                        .and_then(|policy| policy.peer);
                    if let Some(peer) = peer {
                        self.try_later(peer, now + RETRY);
                    }
                }
                Order::Adopt(mut sa) => {
                    sa.adopted(now);
                    self.put(Sa::Two(sa));
                }
            }
        }
    }

    /// Initiates an IKE SA in place of another, between the same endpoints.
    fn renew(&mut self, id: SaId, now: Instant, out: &mut Vec<Action>) {
        let Some(common) = self.sas.get(&id).map(Sa::common) else {
            return;
        };
        let (peer, mut path) = (common.peer_id, common.path());
        let needed = !self.core.pairs_with(id).is_empty() || !common.peer.passive;
        let newer = self.sas.values().map(Sa::common).any(|other| {
            other.peer_id == peer
                && other.remote.ip() == path.remote.ip()
                && other.id > id
                && other.state <= State::Established
        });
        if !needed || newer {
            return;
        }
        if !path.natt {
            path.local.set_port(500);
        }
        self.initiate_at(peer, path, None, now, out);
    }

    /// Moves the pairs of older IKEv1 SAs with the peer to a newly established one.
    fn established(&mut self, id: SaId, now: Instant, out: &mut Vec<Action>) {
        let Some(Sa::One(new)) = self.sas.get(&id) else {
            return;
        };
        let (peer, remote, side) = (new.common.peer_id, new.common.remote, new.common.side);
        let (who, user) = (new.common.remote_id.clone(), new.common.identity);
        let (born, natt) = (new.common.born, new.common.natt);
        let is_older = |common: &Common| {
            // Peers behind one NAT may all send the same identity: compare the port as well.
            let there = common.remote.ip() == remote.ip() && (!natt || common.remote == remote);
            let named = common.peer_id == peer && common.remote_id == who;
            let same = there && named && common.identity == user;
            // Both sides may initiate at once: an SA established meanwhile is not older.
            let old = common.established.is_some_and(|at| at < born);
            same && common.id != id && common.state == State::Established && old
        };
        let older = self
            .sas
            .values()
            .map(Sa::common)
            .filter(|common| is_older(common));
        let older: Vec<_> = older.map(|common| common.id).collect();
        for old in older {
            for child in self.core.pairs_with(old) {
                self.core.move_pair(child, id);
            }
            if let Some(Sa::One(mut sa)) = self.sas.remove(&old) {
                let after = if side == Side::Initiator {
                    REPLACED_LIFETIME.0
                } else {
                    REPLACED_LIFETIME.1
                };
                sa.retire(after, now);
                self.pass_lease(&mut sa.common, id, out);
                self.put(Sa::One(sa));
            }
        }
        if let Some(Sa::One(new)) = self.sas.get(&id)
            && let Some(lease) = &new.lease
        {
            out.push(Action::Leased {
                sa: id,
                peer,
                lease: lease.clone(),
            });
        }
    }

    /// Moves the mode-config address from an IKEv1 SA to its successor.
    fn pass_lease(&mut self, old: &mut Common, to: SaId, out: &mut Vec<Action>) {
        let Some(Sa::One(new)) = self.sas.get_mut(&to) else {
            return;
        };
        let new = &mut new.common;
        let is_given = new.side == Side::Responder && new.leased.is_none();
        let is_asked = new.side == Side::Initiator && new.leased.is_some();
        if old.leased.is_none() || !(is_given || is_asked) {
            return;
        }
        let leased = old.leased.take();
        new.leased = new.leased.or(leased);
        out.push(Action::Renewed {
            before: old.id,
            after: to,
        });
    }

    /// INITIAL_CONTACT: closes SAs with the peer that are older than this one.
    fn only_one(&mut self, id: SaId, now: Instant, out: &mut Vec<Action>) {
        let Some(common) = self.sas.get(&id).map(Sa::common) else {
            return;
        };
        let others = self.sas.values().map(Sa::common).filter(|other| {
            let same = other.peer_id == common.peer_id
                && other.remote_id == common.remote_id
                && other.identity == common.identity;
            // XAuth users may share one identity.
            let unique = common.remote_id.is_some() && !common.logs_in();
            let there = other.remote.ip() == common.remote.ip() || unique;
            // SAs established during this negotiation are not older: both sides may initiate at once.
            let before = other.established.is_some_and(|at| at < common.born);
            same && there && before && other.id != id
        });
        let others: Vec<_> = others.map(|other| other.id).collect();
        for other in others {
            self.close(other, Why::InitialContact, now, out);
        }
    }

    /// Records that a packet arrived under a pair: the peer is alive and has installed the pair.
    pub(super) fn heard(&mut self, child: ChildId, now: Instant, out: &mut Vec<Action>) {
        let Some(sa) = self.core.children.get(&child).map(|kept| kept.child.sa) else {
            return;
        };
        self.context(now, out).activate(child);
        self.with(sa, now, out, |sa, cx| {
            sa.heard(cx.now);
            Ok(())
        });
    }

    /// Sends a delete for an unknown SPI, if an authenticated IKE SA with the sender exists.
    pub(super) fn unknown_spi(
        &mut self,
        remote: IpAddr,
        spi: u32,
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        let mut sas = self.sas.values().map(Sa::common);
        let Some(sa) =
            sas.find(|common| common.remote.ip() == remote && common.state == State::Established)
        else {
            return self.core.count("unknown-child-spi");
        };
        let id = sa.id;
        self.with(id, now, out, |sa, cx| {
            sa.forget(spi, cx);
            Ok(())
        });
    }
}
