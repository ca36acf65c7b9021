//! IPsec: which packets policies protect, and the packets of associations (RFC 4301).
//!
//! ```text
//! leaves:  … postrouting → outbound ─▶ queues ─▶ Out::Protect ─▶ agenda ─▶ protect ─▶ output of the outer packet
//! arrives: … input → arrival ─▶ Exit::Reveal ─▶ reveal ─▶ agenda ─▶ prerouting of the inner packet, same interface
//! ```
//!
//! [`outbound`] and [`admit`] decide about one packet and change nothing. What IPsec made of a packet is the router's
//! own and meets no policy again; what came out of IPsec must be what the policy of its association lets in.
//! FastTracked packets meet no policy (RouterOS: FastTrack bypasses IPsec).

mod associations;
mod policies;
mod protect;
mod reveal;
#[cfg(test)]
mod tests;

use core::fmt;
use std::sync::Arc;

use frame::Guarded;

pub use self::associations::{Arriving, Associations, Leaving, Mode, Protocol, SLOTS};
pub use self::policies::{Action, Policies, Policy, Selector};
pub(crate) use self::protect::{Ways, fits, protect, protect_unsealed, room};
pub(crate) use self::reveal::{arrival, policy_of_revealed, reveal};

use crate::drop::DropReason;
use crate::out::OutId;
use crate::packet::{Tuple, protocol};
use crate::punt::Why;
use crate::walk::{Context, Exit};

/// The UDP ports of IKE, also behind translators (RFC 7296, 2.23).
const IKE: [u16; 2] = [500, 4500];

/// What a snapshot says of IPsec.
#[derive(Clone, Default)]
pub struct Ipsec {
    /// Which packets are protected.
    pub policies: Arc<Policies>,
    /// By what; shared by all snapshots.
    pub associations: Arc<Associations>,
}

impl Ipsec {
    /// Whether no packet has to do with it.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.policies.is_empty()
    }
}

impl PartialEq for Ipsec {
    fn eq(&self, other: &Self) -> bool {
        self.policies == other.policies && Arc::ptr_eq(&self.associations, &other.associations)
    }
}

impl fmt::Debug for Ipsec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ipsec")
            .field("policies", &self.policies)
            .finish_non_exhaustive()
    }
}

/// What protects a packet that is about to leave, as it is now; none: it leaves as it is.
///
/// # Errors
/// A policy discards it, or there is no association yet.
pub(crate) fn outbound(
    cx: &Context<'_>,
    tuple: &Tuple,
    (guarded, own): (Guarded, bool),
) -> Result<Option<OutId>, Exit> {
    let ipsec = &cx.snapshot.ipsec;
    if ipsec.is_empty() || guarded == Guarded::Protected || own && is_ike(tuple, tuple.source_port)
    {
        return Ok(None);
    }
    match ipsec.policies.outbound(tuple).map(|policy| policy.action) {
        None | Some(Action::Pass) => Ok(None),
        Some(Action::Discard) => Err(Exit::Drop(DropReason::IpsecDiscardOut)),
        Some(Action::Protect { slot, required }) => {
            match (ipsec.associations.can_protect(slot), required) {
                (true, _) => Ok(Some(OutId::protect(slot))),
                (false, true) => Err(Exit::Punt(Why::Unprotected(slot))),
                (false, false) => Ok(None),
            }
        }
    }
}

/// Whether a packet goes into IPsec, as it is now (`ipsec-policy=out`).
pub(crate) fn goes_in(cx: &Context<'_>, tuple: &Tuple, guarded: Guarded) -> bool {
    let ipsec = &cx.snapshot.ipsec;
    if ipsec.is_empty() || guarded == Guarded::Protected {
        return false;
    }
    let policy = ipsec.policies.outbound(tuple);
    policy.is_some_and(|policy| matches!(policy.action, Action::Protect { .. }))
}

/// Whether a packet that came in may come in as it did (RFC 4301, 5.2). `local` says that it is for this router.
///
/// # Errors
/// A policy discards it, or it is not protected as a policy asks.
pub(crate) fn admit(
    cx: &Context<'_>,
    tuple: &Tuple,
    (guarded, local): (Guarded, bool),
) -> Result<(), Exit> {
    let ipsec = &cx.snapshot.ipsec;
    if ipsec.is_empty()
        || guarded == Guarded::Revealed
        || local && is_ike(tuple, tuple.destination_port)
    {
        return Ok(());
    }
    match ipsec.policies.inbound(tuple).map(|policy| policy.action) {
        Some(Action::Discard) => Err(Exit::Drop(DropReason::IpsecDiscard)),
        Some(Action::Protect { required: true, .. }) => Err(Exit::Drop(DropReason::IpsecClear)),
        _ => Ok(()),
    }
}

/// Whether a packet is the exchange of keys itself, by its port at this router (RouterOS: it bypasses policies).
fn is_ike(tuple: &Tuple, port: u16) -> bool {
    tuple.protocol == protocol::UDP && IKE.contains(&port)
}
