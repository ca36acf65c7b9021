//! Simultaneous initiation: of two IKE SAs, or two pairs, that both sides started at once, both keep the same
//! one.
//!
//! RFC 7296, 2.8.1 covers simultaneous rekeying. For initial exchanges it has no rule: here the lower SPI
//! loses, and its initiator deletes the loser, after a delay in which the other side installs the winner. The
//! initiator cannot recognise the rival if its own SA was established before the peer's first message arrived: then
//! the other side deletes the loser later.

use machine::{Duration, Instant};

use super::Engine;
use super::core::{Common, Context, Core, Key};
use super::pair_table::PairTraffic;
use super::sa::Sa;
use crate::config::PolicyId;
use crate::event::{Action, Child, ChildId, Phase2, SaId, Side, State};

/// Delay before the loser is deleted.
const DELETE_DELAY: Duration = Duration::from_secs(2);
/// Delay before the responder of the loser deletes it, if the initiator has not.
const RESPONDER_DELETE_DELAY: Duration = Duration::from_secs(8);
/// Pairs of two IKE SAs that were installed within this time count as simultaneous.
const SIMULTANEOUS_WINDOW: Duration = Duration::from_secs(5);

impl Engine {
    /// Resolves the simultaneous initiation of two IKE SAs with a peer.
    pub(super) fn end_rival(&mut self, id: SaId, now: Instant, out: &mut Vec<Action>) {
        let Some(new) = self.sas.get(id).map(Sa::common) else {
            return;
        };
        let is_rival = |other: &&Common| {
            let named = (other.peer_id, &other.remote_id) == (new.peer_id, &new.remote_id);
            let there = other.state == State::Established && other.side != new.side;
            let meanwhile = other.established.is_some_and(|at| at >= new.born);
            named && there && meanwhile
        };
        let mut others = self.sas.with_remote(new.remote.ip()).map(Sa::common);
        let Some(other) = others.find(is_rival) else {
            return;
        };
        let (loser, winner) = match other.spis.0 < new.spis.0 {
            true => (other, new),
            false => (new, other),
        };
        let (loser, winner, begun_here) = (loser.id, winner.id, loser.side == Side::Initiator);
        drop(others);
        // Both sides send under the winner's pairs before the loser is deleted.
        for child in self.core.pairs_with(winner) {
            let mut cx = self.context(now, out);
            cx.prefer(child);
            cx.activate_later(child, DELETE_DELAY / 2);
        }
        if begun_here {
            self.retire_for(loser, winner, now, out);
        } else {
            self.rivals.insert(loser, winner);
            let at = now + RESPONDER_DELETE_DELAY;
            self.core.agenda.set(Key::Rival(loser), Some(at));
        }
    }

    /// Retires an IKE SA that lost, if its initiator has kept it and the winner still exists.
    pub(super) fn end_loser(&mut self, loser: SaId, now: Instant, out: &mut Vec<Action>) {
        self.core.agenda.set(Key::Rival(loser), None);
        let Some(winner) = self.rivals.remove(&loser) else {
            return;
        };
        let is_established = |id| {
            let sa = self.sas.get(id);
            sa.is_some_and(|sa| sa.common().state == State::Established)
        };
        if is_established(loser) && is_established(winner) {
            self.retire_for(loser, winner, now, out);
        }
    }

    /// Retires an IKE SA. The winner takes its pairs (IKEv1), or negotiates pairs of the same policies (IKEv2).
    fn retire_for(&mut self, loser: SaId, winner: SaId, now: Instant, out: &mut Vec<Action>) {
        let Some(mut sa) = self.sas.take(loser) else {
            return;
        };
        let mut wanted: Vec<_> = sa.unfinished();
        sa.common_mut().wanted.clear();
        for child in self.core.pairs_with(loser) {
            match &sa {
                Sa::One(_) => self.core.children.move_to(child, winner),
                Sa::Two(_) => wanted.extend(self.core.replace(child)),
            }
        }
        sa.retire(DELETE_DELAY, now);
        let is_one = matches!(sa, Sa::One(_));
        self.put(sa);
        self.context(now, out).end_twins_of(winner, is_one);
        for policy in wanted {
            if self.phase2(policy).0 == Phase2::NoPhase2 {
                self.with(winner, now, out, |sa, cx| {
                    sa.acquire(policy, None, cx);
                    Ok(())
                });
            }
        }
    }
}

impl Core {
    /// Marks a pair as replaced, so that it is not rekeyed. Returns its policy, unless that is a template.
    fn replace(&mut self, id: ChildId) -> Option<PolicyId> {
        let kept = self.children.get_mut(&id)?;
        (kept.replaced, kept.soft_at) = (true, None);
        let policy = (!kept.child.generated).then_some(kept.child.policy);
        self.reschedule(id);
        policy
    }
}

impl Context<'_> {
    /// Emits `Activate` again for a pair that is active.
    fn prefer(&mut self, id: ChildId) {
        let is_active = { self.core.children.get(&id) }.is_some_and(|kept| kept.child.active);
        if is_active {
            self.out.push(Action::Activate(id));
        }
    }

    /// Resolves duplicate pairs of an IKE SA.
    pub(super) fn end_twins_of(&mut self, sa: SaId, implied: bool) {
        for child in self.core.pairs_with(sa) {
            self.end_twin(child, implied);
        }
    }

    /// Resolves two pairs of an IKE SA that both sides initiated at once: the lower SPI loses, and the side
    /// that receives under that SPI deletes the pair. `implied`: the responder treats a second pair as a
    /// replacement of the first although the exchange does not say so (IKEv1).
    pub(super) fn end_twin(&mut self, id: ChildId, implied: bool) {
        let Some(kept) = self.core.children.get(&id) else {
            return;
        };
        let (new, inherited) = (&kept.child, kept.inherited);
        let lower = |child: &Child| child.inbound.spi.min(child.outbound.spi);
        let alike = self.core.children.of_traffic(PairTraffic::of(new));
        let twins = alike.filter(|kept| {
            let other = &kept.child;
            let same = (other.sa, other.policy) == (new.sa, new.policy);
            let is_first = |one: &Child, twin: &Child| match one.replaces {
                Some(id) => implied && id == twin.id,
                None => true,
            };
            let first = is_first(other, new) && is_first(new, other);
            let usable = other.active && new.active && !new.generated;
            // Within one IKE SA, neither pair existed when the other's exchange began: otherwise it is a rekey.
            let at_once = match inherited || kept.inherited {
                true => {
                    let (first, second) = (new.born.min(other.born), new.born.max(other.born));
                    second.saturating_since(first) < SIMULTANEOUS_WINDOW
                }
                false => new.begun <= other.born && other.begun <= new.born,
            };
            other.id != new.id && same && first && usable && at_once
        });
        let Some(twin) = twins.map(|kept| &kept.child).next() else {
            return;
        };
        let (loser, winner) = match lower(twin) < lower(new) {
            true => (twin, new),
            false => (new, twin),
        };
        let removes = loser.inbound.spi < loser.outbound.spi;
        let (loser, winner) = (loser.id, winner.id);
        self.prefer(winner);
        self.restore(winner);
        if let Some(kept) = self.core.children.get_mut(&loser) {
            (kept.replaced, kept.soft_at) = (true, None);
            if removes {
                kept.hard_at = kept.hard_at.min(self.now + DELETE_DELAY);
            }
            self.core.reschedule(loser);
        }
    }
}
