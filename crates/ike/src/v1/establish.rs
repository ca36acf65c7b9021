//! End of phase 1: authentication of the peer, and the transition to an established IKE SA.

use super::transaction::Opening;
use super::{Sa, bodies, body, kind};
use crate::config::{Auth, Certified, Id, Scheme};
use crate::crypto::equal;
use crate::engine::core::{Context, Order};
use crate::event::{Action, Level, Side, State};
use crate::message::Payload;

/// Certificate encoding: X.509 signature certificate (RFC 2408, 3.9).
pub(super) const X509: u8 = 4;

/// Returns the peer's certificates in DER, its own first.
pub(super) fn certificates<'f>(found: &'f [Payload<'_>]) -> impl Iterator<Item = &'f [u8]> {
    let all = bodies(found, kind::CERT).filter_map(|body| body.split_first());
    let known = all.filter(|(encoding, _)| **encoding == X509);
    known.map(|(_, certificate)| certificate)
}

impl Sa {
    /// Verifies the peer's identity and its HASH or SIG payload.
    pub(super) fn judge(&self, found: &[Payload<'_>], side: Side, id: &Id) -> Result<(), String> {
        let peer = &self.common.peer;
        let identity = peer
            .identities
            .get(self.common.identity)
            .ok_or("no identity")?;
        identity.remote_id.check(id)?;
        let wanted = self.proof(side);
        let Some(Auth::Signature(certified)) = self.auth() else {
            let proof = body(found, kind::HASH).map_err(|_| "no proof")?;
            return equal(proof, &wanted)
                .then_some(())
                .ok_or("the pre-shared keys differ".into());
        };
        let certified: Certified = certified;
        let chain: Vec<_> = certificates(found).map(<[u8]>::to_vec).collect();
        let signature = body(found, kind::SIGNATURE).map_err(|_| "no signature")?;
        let named = identity.remote_id.of_certificate(id);
        certified
            .verifier
            .verify(&chain, named, Scheme::RsaRaw, &wanted, signature)
    }

    /// Marks the IKE SA as established, sets its timers and starts the queued quick modes.
    pub(super) fn establish(&mut self, cx: &mut Context<'_>) {
        self.opening = Opening::Done;
        self.common.state = State::Established;
        self.common.established = Some(cx.now);
        self.set_lifetime();
        self.agreement = None;
        cx.out.push(Action::Established(self.common.id));
        self.say(Level::Info, "ISAKMP-SA established", cx);
        cx.core.orders.push_back(Order::Established(self.common.id));
        for (policy, replaces) in core::mem::take(&mut self.common.wanted) {
            if replaces.is_some() || cx.core.pairs_of(policy) == 0 {
                self.acquire(policy, replaces, cx);
            }
        }
        self.open_leased(cx);
    }

    /// Sets the times of renewal and of the end of an established IKE SA: the initiator renews at 90 % of the
    /// lifetime, a responder at 95 % if the initiator has not.
    pub(super) fn set_lifetime(&mut self) {
        let Some(begin) = self.common.established else {
            return;
        };
        let lifetime = self.agreed.map(|agreed| agreed.lifetime);
        let lifetime = lifetime.unwrap_or(self.common.peer.profile.lifetime);
        self.over_at = begin + lifetime;
        let percent = match self.common.side {
            Side::Initiator => 90,
            Side::Responder => 95,
        };
        // With XAuth or mode config only the client can start again.
        let answers = self.common.side == Side::Responder && self.has_roles();
        self.renew_at = (!answers).then_some(begin + lifetime * percent / 100);
    }
}
