//! Work that concerns several IKE SAs: replacement of SAs, INITIAL_CONTACT, traffic under a pair, unknown SPIs.

use core::net::IpAddr;
use std::collections::BTreeSet;

use machine::{Duration, Instant};

use super::core::{Common, Order};
use super::sa::Sa;
use super::{Engine, RETRY};
use crate::config::Id;
use crate::event::{Action, ChildId, SaId, Side, State, Why};

/// Time that a replaced IKEv1 SA stays: as initiator, and as responder.
const REPLACED_LIFETIME: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(60));

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
                    let sa = sa.and_then(|sa| self.sas.get(sa));
                    let implied = matches!(sa, Some(Sa::One(_)));
                    self.context(now, out).end_twin(id, implied);
                }
                Order::OnlyOne(id) => self.only_one(id, now, out),
                Order::Deleted(by, spi) => self.deleted(by, spi, now, out),
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

    /// Returns the IKEv1 SA to which the pairs of `gone` move: the newest established SA with the same peer, or else
    /// the newest replaced SA; `None` if the peer has no other SA.
    pub(super) fn heir_of(&self, gone: &Common) -> Option<SaId> {
        let sas = self.sas.with_remote(gone.remote.ip());
        let sas = sas.filter(|sa| matches!(sa, Sa::One(_)));
        let fit = sas.map(Sa::common).filter(|common| {
            matches!(common.state, State::Established | State::Expired)
                && is_same_peer(common, gone)
        });
        let best = fit.max_by_key(|common| (common.state == State::Established, common.id));
        best.map(|common| common.id)
    }

    /// Takes an IKEv1 SA back into use if it was replaced.
    pub(super) fn revive(&mut self, id: SaId) {
        let is_replaced = |sa: &Sa| sa.common().state == State::Expired;
        if self.sas.get(id).is_some_and(is_replaced)
            && let Some(Sa::One(mut sa)) = self.sas.take(id)
        {
            sa.revive();
            self.put(Sa::One(sa));
        }
    }

    /// Removes a pair that the peer deleted by another IKE SA than the pair's.
    fn deleted(&mut self, by: SaId, spi: u32, now: Instant, out: &mut Vec<Action>) {
        let Some(common) = self.sas.get(by).map(Sa::common) else {
            return;
        };
        let sas = self.sas.with_remote(common.remote.ip()).map(Sa::common);
        let mut sas = sas.filter(|of| is_same_peer(of, common));
        let found = sas.find_map(|of| self.core.pair_out(of.id, spi));
        drop(sas);
        if let Some(child) = found {
            self.context(now, out).remove(child, Why::Deleted);
        }
    }

    /// Initiates an IKE SA in place of another, between the same endpoints.
    fn renew(&mut self, id: SaId, now: Instant, out: &mut Vec<Action>) {
        let Some(common) = self.sas.get(id).map(Sa::common) else {
            return;
        };
        let (peer, mut path) = (common.peer_id, common.path());
        let needed = !self.core.pairs_with(id).is_empty() || !common.peer.passive;
        let mut others = self.sas.with_remote(path.remote.ip()).map(Sa::common);
        let newer = others.any(|other| {
            let there = !path.natt || other.remote == path.remote;
            there && other.peer_id == peer && other.id > id && other.state <= State::Established
        });
        drop(others);
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
        let Some(Sa::One(new)) = self.sas.get(id) else {
            return;
        };
        let new = &new.common;
        let (peer, side, born) = (new.peer_id, new.side, new.born);
        let is_older = |common: &Common| {
            // Both sides may initiate at once: an SA established meanwhile is not older.
            let old = common.established.is_some_and(|at| at < born);
            old && is_same_peer(common, new) && common.state == State::Established
        };
        let older = self
            .sas
            .with_remote(new.remote.ip())
            .map(Sa::common)
            .filter(|common| is_older(common));
        let older: Vec<_> = older.map(|common| common.id).collect();
        for old in older {
            for child in self.core.pairs_with(old) {
                self.core.children.move_to(child, id);
            }
            if let Some(Sa::One(mut sa)) = self.sas.take(old) {
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
        if let Some(Sa::One(new)) = self.sas.get(id)
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
        let Some(mut sa) = self.sas.take(to) else {
            return;
        };
        if let Sa::One(new) = &mut sa {
            pass_lease(old, &mut new.common, out);
        }
        self.sas.put(sa);
    }

    /// INITIAL_CONTACT: closes SAs with the peer that are older than this one.
    fn only_one(&mut self, id: SaId, now: Instant, out: &mut Vec<Action>) {
        let Some(common) = self.sas.get(id).map(Sa::common) else {
            return;
        };
        // Hosts behind different NATs may have the same private address.
        let is_private = common.translated.1 && matches!(common.remote_id, Some(Id::Address(_)));
        // XAuth users may share one identity.
        let is_unique = !is_private && !common.logs_in();
        let unique = { common.remote_id.as_ref() }.filter(|_| is_unique);
        let named = unique.map(|identity| self.sas.with_identity(identity));
        let there = self.sas.with_remote(common.remote.ip());
        let candidates = there.chain(named.into_iter().flatten()).map(Sa::common);
        let others = candidates.filter(|other| {
            let same = other.peer_id == common.peer_id
                && other.remote_id == common.remote_id
                && other.identity == common.identity
                && (!is_private || other.remote == common.remote);
            // SAs established during this negotiation are not older: both sides may initiate at once.
            let before = other.established.is_some_and(|at| at < common.born);
            same && before && other.id != id
        });
        let others: BTreeSet<_> = others.map(|other| other.id).collect();
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
        let mut sas = self.sas.with_remote(remote).map(Sa::common);
        let found = sas.find(|common| common.state == State::Established);
        let id = found.map(|common| common.id);
        drop(sas);
        let Some(id) = id else {
            return self.core.count("unknown-child-spi");
        };
        self.with(id, now, out, |sa, cx| {
            sa.forget(spi, cx);
            Ok(())
        });
    }
}

/// Moves the mode-config address from an IKEv1 SA to its successor.
fn pass_lease(old: &mut Common, new: &mut Common, out: &mut Vec<Action>) {
    let is_given = new.side == Side::Responder && new.leased.is_none();
    let is_asked = new.side == Side::Initiator && new.leased.is_some();
    if old.leased.is_none() || !(is_given || is_asked) {
        return;
    }
    let leased = old.leased.take();
    new.leased = new.leased.or(leased);
    out.push(Action::Renewed {
        before: old.id,
        after: new.id,
    });
}

/// Returns true for two IKE SAs with one peer and user. Peers behind one NAT may all send the same identity: they
/// differ in their ports.
fn is_same_peer(one: &Common, other: &Common) -> bool {
    let natt = one.natt || other.natt;
    let there = one.remote.ip() == other.remote.ip() && (!natt || one.remote == other.remote);
    let named = one.peer_id == other.peer_id && one.remote_id == other.remote_id;
    there && named && one.identity == other.identity && one.id != other.id
}
