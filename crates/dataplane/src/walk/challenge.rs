//! Stateless answers to unknown senders on behalf of an overloaded service: the sender must prove
//! its address first (RFC 7296, 2.6).

use core::net::IpAddr;

use frame::{Frame, InterfaceId, Offload};
use wire::{Protocol, checksum};

use super::{Context, Exit, output};
use crate::agenda::Item;
use crate::drop::DropReason;
use crate::encap::{self, ETHERNET, IP_BYTES, Outer, UDP_BYTES, write_udp};
use crate::flow::{upper4, upper6};
use crate::gate::CHALLENGE_MAX;
use crate::outlet::Outlet;
use crate::packet::protocol::UDP;
use crate::service::ServiceId;

/// Drops a datagram that control does not receive, and sends the service's stateless answer if
/// there is one and it is not longer than the datagram.
#[cold]
pub(super) fn challenge(
    cx: &Context<'_>,
    frame: Frame,
    id: ServiceId,
    reason: DropReason,
    outlet: &mut Outlet,
) {
    let packet = frame
        .bytes()
        .get(usize::from(frame.l3)..)
        .unwrap_or_default();
    let mut payload = [0; CHALLENGE_MAX];
    let len = { &cx.snapshot.services }.challenge(id, packet, cx.now, &mut payload);
    let ends = len.and_then(|_| reversed(packet));
    if let (Some(ends), Some(payload)) = (ends, len.and_then(|len| payload.get(..len))) {
        send(cx, &ends, payload, outlet);
    }
    outlet.discard(frame, reason);
}

/// The addresses and ports of an answer.
struct DatagramEnds {
    from: (IpAddr, u16),
    to: (IpAddr, u16),
}

/// Returns the ends of the answer to a datagram.
fn reversed(packet: &[u8]) -> Option<DatagramEnds> {
    let (upper, addresses) = match packet.first()? >> 4 {
        4 => {
            let address = |at: usize| Some(IpAddr::from(*packet.get(at..)?.first_chunk::<4>()?));
            (upper4(packet)?, (address(16)?, address(12)?))
        }
        _ => {
            let address = |at: usize| Some(IpAddr::from(*packet.get(at..)?.first_chunk::<16>()?));
            (upper6(packet)?, (address(24)?, address(8)?))
        }
    };
    let [a, b, c, d] = *packet.get(upper.offset..)?.first_chunk::<4>()?;
    Some(DatagramEnds {
        from: (addresses.0, u16::from_be_bytes([c, d])),
        to: (addresses.1, u16::from_be_bytes([a, b])),
    })
}

/// Sends an answer. Without a firewall that could mark it for another table, an answer without a
/// route is dropped: an error message about it would go to this router itself.
fn send(cx: &Context<'_>, ends: &DatagramEnds, payload: &[u8], outlet: &mut Outlet) {
    let ip = IP_BYTES[usize::from(ends.to.0.is_ipv6())];
    let total = ip + UDP_BYTES + payload.len();
    let Some(mut answer) = outlet.pool.alloc(ETHERNET + total) else {
        return outlet.counters.dropped(DropReason::NoBuffer);
    };
    answer.bytes_mut()[..ETHERNET].fill(0);
    let outer = Outer {
        ends: (ends.from.0, ends.to.0),
        protocol: UDP,
        tos: 0,
        total,
        id: outlet.memory.rules.random() as u16,
    };
    let (header, datagram) = answer.bytes_mut()[ETHERNET..].split_at_mut(ip);
    outer.write(header);
    let (header, place) = datagram.split_at_mut(UDP_BYTES);
    write_udp(header, ends.from.1, ends.to.1, UDP_BYTES + payload.len());
    place.copy_from_slice(payload);
    let sum = !checksum::combine(pseudo(ends, datagram.len()), checksum::sum(datagram));
    datagram[6..8].copy_from_slice(&checksum::udp(sum).to_be_bytes());
    let kind: [u8; 2] = if ends.to.0.is_ipv6() {
        [0x86, 0xdd]
    } else {
        [0x08, 0x00]
    };
    answer.bytes_mut()[12..14].copy_from_slice(&kind);
    answer.l3 = ETHERNET as u16;
    answer.offload = Offload::FINISHED;
    answer.egress = InterfaceId::NONE;
    if !cx.snapshot.firewall.guards(ends.to.0.is_ipv6())
        && let Err(Exit::Punt(why)) =
            output::run(cx, &answer.bytes()[ETHERNET..], InterfaceId::NONE)
        && let Some(reason) = why.discards()
    {
        return outlet.discard(answer, reason);
    }
    encap::put(&mut None, Item::Own, answer, outlet);
}

fn pseudo(ends: &DatagramEnds, len: usize) -> u16 {
    match (ends.from.0, ends.to.0) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            checksum::pseudo_v4(from, to, Protocol::UDP, len as u16)
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            checksum::pseudo_v6(from, to, Protocol::UDP, len as u32)
        }
        // Source and destination are of the same family.
        _ => 0,
    }
}
