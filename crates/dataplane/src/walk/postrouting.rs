//! Postrouting: what protects a packet that is about to leave. Mangle and source NAT of this hook are in
//! `guarded/chains.rs` and `guarded/translation.rs`, and come before.

use frame::IpsecState;

use super::{Context, Exit, Leaving};
use crate::ipsec;
use crate::out::OutId;
use crate::packet::{Fields, Tuple};

/// Decides about a packet that no rule looks at: the out that protects it, if one does.
///
/// # Errors
/// The packet's end.
#[inline(always)]
pub(crate) fn run(cx: &Context<'_>, leaving: &Leaving<'_>) -> Result<Option<OutId>, Exit> {
    match cx.snapshot.ipsec.is_empty() {
        true => Ok(None),
        false => protect(cx, leaving, &Fields::of(leaving.packet).tuple),
    }
}

/// The same of a packet that travels between these by now.
///
/// # Errors
/// The packet's end.
#[inline(never)]
pub(crate) fn protect(
    cx: &Context<'_>,
    leaving: &Leaving<'_>,
    tuple: &Tuple,
) -> Result<Option<OutId>, Exit> {
    let out = ipsec::outbound(cx, tuple, (leaving.guarded, leaving.own))?;
    if let Some(out) = out {
        ipsec::fits(cx, out, leaving)?;
    }
    Ok(out)
}

/// Whether a packet that came in may go on as it came, where no rule looks at it.
///
/// # Errors
/// The packet's end.
#[inline(always)]
pub(crate) fn admit(
    cx: &Context<'_>,
    packet: &[u8],
    (guarded, local): (IpsecState, bool),
) -> Result<(), Exit> {
    match cx.snapshot.ipsec.is_empty() {
        true => Ok(()),
        false => ipsec::admit(cx, &Fields::of(packet).tuple, (guarded, local)),
    }
}
