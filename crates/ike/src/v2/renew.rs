//! Rekeying of the IKE SA (RFC 7296, 1.3.2, 2.18 and 2.8.2): the new SA inherits the pairs, and the old one is
//! deleted.

use std::sync::Arc;

use machine::{Duration, Instant};

use super::init::{read_nonce, read_value, write_value};
use super::keys::Agreed;
use super::offer::{choose_ike, ike};
use super::{
    Reply, Request, Sa, Stage, Task, body, error, exchange, kind, notify, push_notify, refusal,
};
use crate::config::Secret;
use crate::crypto::Agreement;
use crate::describe;
use crate::engine::core::{Common, Context, Order};
use crate::event::{Action, Level, SaId, Side, State, Why};
use crate::message::{Chain, Offer, Payload, Version, write_offers};
use crate::suite::Group;

/// Time that a replaced IKE SA waits for its deletion.
const REPLACED_LIFETIME: Duration = Duration::from_secs(60);

/// Negotiated values from which the keys of a new IKE SA are derived.
struct KeyMaterial<'a> {
    agreed: Agreed,
    shared: &'a Secret,
    /// Nonces of initiator and responder.
    nonces: (&'a [u8], &'a [u8]),
    /// SPIs of initiator and responder.
    spis: (u64, u64),
}

/// The IKE SA that this side requests.
pub(super) struct Renewal {
    spi: u64,
    nonce: Vec<u8>,
    agreement: Agreement,
}

impl Sa {
    /// Marks the SA as replaced: it only listens, and is deleted after a while.
    pub(crate) fn retire(&mut self, after: Duration, now: Instant) {
        self.common.state = State::Expired;
        self.renew_at = None;
        self.leave_at = Some(now + after);
    }

    /// Requests an IKE SA in place of this one.
    pub(super) fn ask_renewal(&mut self, cx: &mut Context<'_>) {
        let group = self.keys.as_ref().map(|keys| keys.agreed.group);
        let Some(agreement) = group.and_then(|group| Agreement::new(group, &mut cx.core.entropy))
        else {
            return;
        };
        let renewal = Renewal {
            spi: cx.core.random_u64(),
            nonce: cx.core.random(32),
            agreement,
        };
        let offers = ike(&self.common.peer.profile, Some(renewal.spi));
        let mut chain = Chain::default().with(kind::SA, &write_offers(Version::Two, &offers));
        chain.push(kind::NONCE, &renewal.nonce);
        chain.push(kind::KE, &write_value(&renewal.agreement));
        self.ask(
            exchange::CHILD,
            &chain,
            Request::Renew(Box::new(renewal)),
            cx,
        );
    }

    /// Processes the response.
    pub(super) fn renewed(
        &mut self,
        renewal: Renewal,
        found: &[Payload<'_>],
        cx: &mut Context<'_>,
    ) {
        let Some((agreed, spi, nonce, shared)) = self.read_renewal(&renewal, found) else {
            if let Some(number) = error(found).filter(|number| *number != notify::TEMPORARY) {
                self.say(
                    Level::Error,
                    &format!("the IKE SA was not rekeyed: {}", describe::error(number)),
                    cx,
                );
            }
            return;
        };
        let lowest = renewal.nonce.clone().min(nonce.clone());
        let nonces = (renewal.nonce.as_slice(), nonce.as_slice());
        let id = SaId(cx.core.number());
        let material = KeyMaterial {
            agreed,
            shared: &shared,
            nonces,
            spis: (renewal.spi, spi),
        };
        let Some(mut new) = self.successor(id, Side::Initiator, &material, cx) else {
            return;
        };
        match self.rival.take() {
            // Simultaneous rekey: the peer's SA stays, and the peer deletes the old one.
            Some((_, rival)) if lowest < rival => new.tasks.push_back(Task::Leave(Why::Replaced)),
            _ => {
                self.hand_over(id, cx);
                new.common.wanted = core::mem::take(&mut self.common.wanted);
                self.tasks.push_back(Task::Leave(Why::Replaced));
            }
        }
        cx.core.orders.push_back(Order::Adopt(Box::new(new)));
    }

    fn read_renewal(
        &self,
        renewal: &Renewal,
        found: &[Payload<'_>],
    ) -> Option<(Agreed, u64, Vec<u8>, Secret)> {
        let offers = crate::message::read_offers(Version::Two, body(found, kind::SA).ok()?).ok()?;
        let sent = renewal.agreement.group();
        let (offer, agreed) = choose_ike(&offers, &self.common.peer.profile, Some(sent))?;
        let (number, value) = read_value(body(found, kind::KE).ok()?).ok()?;
        if agreed.group != sent || number != sent.number() {
            return None;
        }
        let shared = renewal.agreement.shared(value)?;
        let spi = offer.spi64().filter(|spi| *spi != 0)?;
        Some((agreed, spi, read_nonce(found).ok()?, shared))
    }

    /// Responder: answers with an IKE SA in place of this one.
    pub(super) fn answer_renewal(
        &mut self,
        offers: &[Offer],
        found: &[Payload<'_>],
        cx: &mut Context<'_>,
    ) -> Reply {
        let child = matches!(
            self.asked.as_ref().map(|asked| &asked.request),
            Some(Request::Child(_))
        );
        if child || self.common.state != State::Established {
            return Reply::Now(refusal(notify::TEMPORARY));
        }
        let value = body(found, kind::KE).and_then(read_value);
        let (Ok((number, value)), Ok(nonce)) = (value, read_nonce(found)) else {
            return Reply::Now(refusal(notify::INVALID_SYNTAX));
        };
        let peer = self.common.peer.clone();
        let chosen = choose_ike(offers, &peer.profile, Group::of(number));
        let Some((mut offer, agreed)) = chosen else {
            return Reply::Now(refusal(notify::NO_PROPOSAL));
        };
        if agreed.group.number() != number {
            let mut chain = Chain::default();
            push_notify(
                &mut chain,
                notify::INVALID_KE,
                &agreed.group.number().to_be_bytes(),
            );
            return Reply::Now(chain);
        }
        let agreement = Agreement::new(agreed.group, &mut cx.core.entropy);
        let shared = agreement.as_ref().and_then(|one| one.shared(value));
        let (Some(agreement), Some(shared), Some(spi)) = (agreement, shared, offer.spi64()) else {
            return Reply::Now(refusal(notify::INVALID_SYNTAX));
        };
        let own = (cx.core.random_u64(), cx.core.random(32));
        offer.spi = own.0.to_be_bytes().to_vec();
        let mut chain = Chain::default().with(kind::SA, &write_offers(Version::Two, &[offer]));
        chain.push(kind::NONCE, &own.1);
        chain.push(kind::KE, &write_value(&agreement));
        let id = SaId(cx.core.number());
        let nonces = (nonce.as_slice(), own.1.as_slice());
        let material = KeyMaterial {
            agreed,
            shared: &shared,
            nonces,
            spis: (spi, own.0),
        };
        let new = self.successor(id, Side::Responder, &material, cx);
        let Some(mut new) = new else {
            return Reply::Now(refusal(notify::TEMPORARY));
        };
        if matches!(
            self.asked.as_ref().map(|asked| &asked.request),
            Some(Request::Renew(_))
        ) {
            // Simultaneous rekey: the peer's response decides which SA stays.
            self.rival = Some((id, nonce.min(own.1)));
        } else {
            self.hand_over(id, cx);
            new.common.wanted = core::mem::take(&mut self.common.wanted);
        }
        cx.core.orders.push_back(Order::Adopt(Box::new(new)));
        Reply::Now(chain)
    }

    /// Moves the pairs to the new SA; this one waits for its deletion.
    pub(super) fn hand_over(&mut self, to: SaId, cx: &mut Context<'_>) {
        for child in cx.core.pairs_with(self.common.id) {
            cx.core.children.move_to(child, to);
        }
        cx.out.push(Action::Renewed {
            before: self.common.id,
            after: to,
        });
        for task in core::mem::take(&mut self.tasks) {
            if let Task::Child(policy, replaces) = task {
                self.common.want(policy, replaces);
            }
        }
        self.common.state = State::Expired;
        self.renew_at = None;
        self.over_at = self.over_at.min(cx.now + REPLACED_LIFETIME);
    }

    /// Creates the new IKE SA.
    fn successor(
        &self,
        id: SaId,
        side: Side,
        material: &KeyMaterial<'_>,
        cx: &mut Context<'_>,
    ) -> Option<Self> {
        let KeyMaterial {
            agreed,
            shared,
            nonces,
            spis,
        } = *material;
        let old = &self.common;
        let peer = Arc::clone(&old.peer);
        let common = Common::new(id, old.peer_id, peer, side, old.path(), cx.now);
        let mut new = Self::new(common, cx.now);
        new.keys = Some(self.keys.as_ref()?.next(agreed, shared, nonces, spis));
        new.nonces = (nonces.0.to_vec(), nonces.1.to_vec());
        (new.fragments, new.is_mobile) = (self.fragments, self.is_mobile);
        new.hashes = self.hashes.clone();
        new.stage = Stage::Done;
        let common = &mut new.common;
        (common.translated, common.spis) = (old.translated, spis);
        (common.remote_id, common.identity, common.leased) =
            (old.remote_id.clone(), old.identity, old.leased);
        common.suite = Some((agreed.cipher, agreed.integrity, agreed.prf, agreed.group));
        new.begin_life(cx);
        Some(new)
    }

    /// Starts the queued requests once the engine has stored the SA.
    pub(crate) fn adopted(&mut self, now: Instant) {
        self.common.last_seen = now;
        for (policy, replaces) in core::mem::take(&mut self.common.wanted) {
            self.tasks.push_back(Task::Child(policy, replaces));
        }
    }
}
