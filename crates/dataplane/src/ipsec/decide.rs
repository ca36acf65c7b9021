//! Decides whether a policy protects, admits or discards a packet, and whether the protected packet fits its link.

use core::net::IpAddr;

use frame::IpsecState;

use super::associations::{Leaving, Mode};
use super::policies::Action;
use crate::drop::DropReason;
use crate::encap::{IP_BYTES, UDP_BYTES};
use crate::out::{Out, OutId};
use crate::packet::{Tuple, protocol};
use crate::punt::PuntReason;
use crate::table::Kind;
use crate::walk::{self, Context, Exit};

/// The UDP ports of IKE, without and with NAT traversal (RFC 7296, 2.23).
const IKE: [u16; 2] = [500, 4500];

/// Packets of at most this number of bytes fit every link once protected.
pub(super) const MIN_CHECKED_BYTES: usize = 1200;

/// Returns the out of the policy that protects a leaving packet; `None` if the packet leaves
/// unprotected.
///
/// # Errors
/// A policy discards the packet, or its association has no keys yet.
pub(crate) fn outbound(
    cx: &Context<'_>,
    tuple: &Tuple,
    guarded: IpsecState,
    own: bool,
) -> Result<Option<OutId>, Exit> {
    let ipsec = &cx.snapshot.ipsec;
    if ipsec.is_empty()
        || guarded == IpsecState::Protected
        || own && is_ike(tuple, tuple.source_port)
    {
        return Ok(None);
    }
    match ipsec.policies.outbound(tuple).map(|policy| policy.action) {
        None | Some(Action::Pass) => Ok(None),
        Some(Action::Discard) => Err(Exit::Drop(DropReason::IpsecDiscardOut)),
        Some(Action::Protect { slot, required }) => {
            match (ipsec.associations.can_protect(slot), required) {
                (true, _) => Ok(Some(OutId::protect(slot))),
                (false, true) => Err(Exit::Punt(PuntReason::Unprotected(slot))),
                (false, false) => Ok(None),
            }
        }
    }
}

/// Returns true if a policy protects the packet (`ipsec-policy=out`).
pub(crate) fn goes_in(cx: &Context<'_>, tuple: &Tuple, guarded: IpsecState) -> bool {
    let ipsec = &cx.snapshot.ipsec;
    if ipsec.is_empty() || guarded == IpsecState::Protected {
        return false;
    }
    let policy = ipsec.policies.outbound(tuple);
    policy.is_some_and(|policy| matches!(policy.action, Action::Protect { .. }))
}

/// Checks a received packet against the policies (RFC 4301, 5.2). `local`: the packet is for this router.
///
/// # Errors
/// A policy discards the packet, or requires protection that the packet did not have.
pub(crate) fn admit(
    cx: &Context<'_>,
    tuple: &Tuple,
    guarded: IpsecState,
    local: bool,
) -> Result<(), Exit> {
    let ipsec = &cx.snapshot.ipsec;
    if ipsec.is_empty()
        || guarded == IpsecState::Revealed
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

/// Returns true for packets of IKE, by the router's port. RouterOS: IKE bypasses policies.
fn is_ike(tuple: &Tuple, port: u16) -> bool {
    tuple.protocol == protocol::UDP && IKE.contains(&port)
}

/// Checks whether a packet fits the route of its association once protected by this out.
///
/// # Errors
/// The packet is too long and must not be fragmented. The punt has the layer-3 MTU in bytes that
/// would fit.
pub(crate) fn fits(cx: &Context<'_>, out: OutId, leaving: &walk::Leaving<'_>) -> Result<(), Exit> {
    let long = leaving.packet.len() > MIN_CHECKED_BYTES;
    let (Out::Protect(slot), true) = (out.out(), long) else {
        return Ok(());
    };
    let Some(room) = room(cx, slot) else {
        return Ok(());
    };
    match walk::fit_link(leaving, room) {
        Err(exit @ Exit::Punt(PuntReason::TooBig(_))) => Err(exit),
        _ => Ok(()),
    }
}

/// Returns the length in bytes of the longest packet that fits the route of an association once protected; `None`
/// without association or route.
pub(crate) fn room(cx: &Context<'_>, slot: u32) -> Option<u32> {
    let reader = cx.snapshot.ipsec.associations.leaving_reader();
    room_of(cx, reader.get(slot)?)
}

/// Returns the length in bytes of the longest packet that fits the route of this association once protected; `None`
/// without route.
pub(super) fn room_of(cx: &Context<'_>, leaving: &Leaving) -> Option<u32> {
    let main = cx.fib.main();
    let hop = match leaving.remote.ip() {
        IpAddr::V4(remote) => main.ipv4.lookup(remote.to_bits()),
        IpAddr::V6(remote) => main.ipv6.lookup(remote.to_bits()),
    };
    let adjacency = cx.fib.adjacencies.read(hop);
    let known = matches!(
        adjacency.kind,
        Kind::Forward | Kind::Incomplete | Kind::Glean
    );
    let outer = IP_BYTES[usize::from(leaving.remote.is_ipv6())];
    let udp = if leaving.in_udp { UDP_BYTES } else { 0 };
    let payload = (adjacency.mtu as usize).checked_sub(outer + udp)?;
    let payload = leaving.payload_max(payload)?;
    let kept = match leaving.mode {
        Mode::Transport => outer,
        Mode::Tunnel => 0,
    };
    known.then_some((payload + kept) as u32)
}
