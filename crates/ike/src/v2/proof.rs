//! Steps of IKE_AUTH that wait for a signature of this end.

use core::net::IpAddr;

use machine::Instant;

use crate::engine::core::SIGNATURE_INTERVAL;

/// A step of IKE_AUTH that needs a signature.
pub(super) enum Proving {
    /// Initiator: its first request.
    Begin,
    /// Responder: its identity, before EAP.
    OfferEap,
    /// Responder: the end of authentication, with the pool's answer.
    Finish(Option<Option<IpAddr>>),
}

/// A step whose signature is not made yet, and the time to ask for it again.
pub(super) struct Proof {
    pub(super) step: Proving,
    pub(super) again_at: Instant,
}

impl Proof {
    pub(super) fn new(step: Proving, now: Instant) -> Self {
        Self {
            step,
            again_at: now + SIGNATURE_INTERVAL,
        }
    }
}
