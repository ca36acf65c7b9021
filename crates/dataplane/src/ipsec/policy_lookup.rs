//! Policies of the plain packets of a vector: the decisions of [`outbound`](super::outbound), [`admit`](super::admit)
//! and [`fits`](super::fits) for packets that pass or are protected. Packets are looked up by their addresses where
//! these suffice, and the state of recent associations is remembered.

use frame::IpsecState;

use super::associations::Leaving;
use super::decide::{MIN_CHECKED_BYTES, room_of};
use super::policies::{Action, Ipv4Key, Ipv6Key, Key, Policies, Policy};
use crate::numbered::Reader;
use crate::out::OutId;
use crate::packet::{Fields, Tuple};
use crate::walk::Context;

/// Number of remembered associations.
const REMEMBERED: usize = 16;

/// Lookup of the policies of received packets that are forwarded, for one vector.
pub(crate) struct PolicyLookup<'a> {
    cx: &'a Context<'a>,
    pub(crate) policies: &'a Policies,
    leaving: Reader<Leaving>,
    /// By the low bits of the slot.
    remembered: [Remembered; REMEMBERED],
}

/// The state of an association for transmission.
#[derive(Clone, Copy)]
struct Remembered {
    slot: u32,
    /// Length in bytes of the longest packet that fits once protected; [`UNKNOWN`] until a long packet needs it.
    room: u32,
}

/// No slot, and no known length.
const UNKNOWN: u32 = u32::MAX;

impl<'a> PolicyLookup<'a> {
    pub(crate) fn new(cx: &'a Context<'a>) -> Self {
        let none = Remembered {
            slot: UNKNOWN,
            room: UNKNOWN,
        };
        Self {
            cx,
            policies: &cx.snapshot.ipsec.policies,
            leaving: cx.snapshot.ipsec.associations.leaving_reader(),
            remembered: [none; REMEMBERED],
        }
    }

    /// Returns the out of the policy that protects a packet, from its network header on; [`OutId::NONE`] if the packet
    /// leaves unprotected. `received` is false for packets of this router.
    ///
    /// Returns `None` if the packet is refused, is held back, or may not fit: the functions for single packets decide
    /// then.
    #[inline(always)]
    pub(crate) fn out<const IPV6: bool>(
        &mut self,
        packet: &[u8],
        state: IpsecState,
        received: bool,
    ) -> Option<OutId> {
        match IPV6 {
            true => self.out_by::<Ipv6Key>(packet, state, received),
            false => self.out_by::<Ipv4Key>(packet, state, received),
        }
    }

    /// Returns the out of a received packet, as [`Self::out`] does. Its destination was translated to that of `arrived`
    /// before routing, and it leaves with the addresses and ports of `leaves`.
    pub(crate) fn out_of_flow(
        &mut self,
        packet: &[u8],
        state: IpsecState,
        arrived: &Tuple,
        leaves: &Tuple,
    ) -> Option<OutId> {
        if state != IpsecState::Revealed {
            let inbound = self.policies.inbound(arrived).map(|policy| policy.action);
            if let Some(Action::Discard | Action::Protect { required: true, .. }) = inbound {
                return None;
            }
        }
        let outbound = self.policies.outbound(leaves).map(|policy| policy.action);
        self.out_of_action(outbound, packet)
    }

    #[inline(always)]
    fn out_by<K: Key>(
        &mut self,
        packet: &[u8],
        state: IpsecState,
        received: bool,
    ) -> Option<OutId> {
        let policies = self.policies;
        let by_addresses = policies.compare_addresses_only();
        let addresses = K::of(packet)?;
        if received && state != IpsecState::Revealed {
            let inbound = match by_addresses {
                true => policies.outbound_by_addresses(addresses.reversed()),
                false => policies.inbound(&Fields::of(packet).tuple),
            };
            let action = inbound.map(|policy| policy.action);
            if let Some(Action::Discard | Action::Protect { required: true, .. }) = action {
                return None;
            }
        }
        if state == IpsecState::Protected {
            return Some(OutId::NONE);
        }
        let outbound = match by_addresses {
            true => policies.outbound_by_addresses(addresses),
            false => policies.outbound(&Fields::of(packet).tuple),
        };
        self.out_of_action(outbound.map(|policy| policy.action), packet)
    }

    /// Returns the out of a packet, from its network header on, for which this is the action of the policy for
    /// transmission.
    #[inline(always)]
    fn out_of_action(&mut self, action: Option<Action>, packet: &[u8]) -> Option<OutId> {
        match action {
            None | Some(Action::Pass) => Some(OutId::NONE),
            Some(Action::Discard) => None,
            Some(Action::Protect { slot, .. }) => self.protects(slot, packet),
        }
    }

    /// Returns the [`OutId`] to which packets of the policy in slot `slot` go; `None` without an association, or if
    /// the protected packet may exceed the MTU of the route.
    #[inline(always)]
    fn protects(&mut self, slot: u32, packet: &[u8]) -> Option<OutId> {
        let at = slot as usize % REMEMBERED;
        if self.remembered[at].slot != slot {
            self.leaving.get(slot)?;
            self.remembered[at] = Remembered {
                slot,
                room: UNKNOWN,
            };
        }
        if packet.len() > MIN_CHECKED_BYTES {
            let remembered = &mut self.remembered[at];
            if remembered.room == UNKNOWN {
                remembered.room = measured(self.cx, &self.leaving, slot);
            }
            if packet.len() > remembered.room as usize {
                return None;
            }
        }
        Some(OutId::protect(slot))
    }
}

/// Returns the length in bytes of the longest packet that fits the route of the slot's association once protected; the
/// largest length without association or route.
#[inline(never)]
fn measured(cx: &Context<'_>, leaving: &Reader<Leaving>, slot: u32) -> u32 {
    let room = leaving.get(slot).and_then(|leaving| room_of(cx, leaving));
    room.unwrap_or(UNKNOWN - 1)
}

/// Returns the policy of a received packet, from its network header on.
#[inline(always)]
pub(super) fn inbound_policy<'a>(cx: &Context<'a>, packet: &[u8]) -> Option<&'a Policy> {
    let policies = &cx.snapshot.ipsec.policies;
    if !policies.compare_addresses_only() {
        return policies.inbound(&Fields::of(packet).tuple);
    }
    match packet.first()? >> 4 {
        6 => policies.outbound_by_addresses(Ipv6Key::of(packet)?.reversed()),
        _ => policies.outbound_by_addresses(Ipv4Key::of(packet)?.reversed()),
    }
}
