//! Postrouting: IPsec protection of packets that are about to leave. Mangle and source NAT of this
//! hook run earlier, in `decide/chains.rs` and `decide/translation.rs`.

use frame::IpsecState;

use super::{Context, Exit, Leaving};
use crate::ipsec;
use crate::out::OutId;
use crate::packet::{Fields, Tuple};

/// Returns the out of the IPsec policy that protects a packet without firewall; `None` without a
/// policy.
///
/// # Errors
/// The packet's exit.
#[inline(always)]
pub(crate) fn run(cx: &Context<'_>, leaving: &Leaving<'_>) -> Result<Option<OutId>, Exit> {
    match cx.snapshot.ipsec.is_empty() {
        true => Ok(None),
        false => protect(cx, leaving, &Fields::of(leaving.packet).tuple),
    }
}

/// Returns the out of the IPsec policy that protects a packet with this tuple; `None` without a
/// policy.
///
/// # Errors
/// The packet's exit.
#[inline(never)]
pub(crate) fn protect(
    cx: &Context<'_>,
    leaving: &Leaving<'_>,
    tuple: &Tuple,
) -> Result<Option<OutId>, Exit> {
    let out = ipsec::outbound(cx, tuple, leaving.guarded, leaving.own)?;
    if let Some(out) = out {
        ipsec::fits(cx, out, leaving)?;
    }
    Ok(out)
}

/// Checks a received packet without firewall against the IPsec policies.
///
/// # Errors
/// The packet's exit.
#[inline(always)]
pub(crate) fn admit(
    cx: &Context<'_>,
    packet: &[u8],
    guarded: IpsecState,
    local: bool,
) -> Result<(), Exit> {
    match cx.snapshot.ipsec.is_empty() {
        true => Ok(()),
        false => ipsec::admit(cx, &Fields::of(packet).tuple, guarded, local),
    }
}
