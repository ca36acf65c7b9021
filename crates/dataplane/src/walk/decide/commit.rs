//! Commits decisions to a packet: lifetime, DSCP, options, segment size, addresses, ports, and the
//! checksums that depend on these.

use frame::{Frame, Offload};
use wire::checksum;

use super::Passage;
use crate::drop::DropReason;
use crate::nat::{PacketLayout, Rewrite};
use crate::packet::{Fields, Fragment, protocol};
use crate::rule::{Mss, Npt};

/// Bytes of the IPv6 and TCP headers, and of the IPv4 and TCP headers, without options.
const HEADERS: [u16; 2] = [40, 60];

/// Writes a packet's passage into its frame.
///
/// # Errors
/// The packet is shorter than a header to be changed. The frame must be discarded.
pub(in crate::walk) fn commit(frame: &mut Frame, passage: &Passage) -> Result<(), DropReason> {
    let l3 = usize::from(frame.l3);
    let end = l3 + passage.fields.len as usize;
    // Padding of the ingress link is cut off.
    if end < frame.len() && !frame.set_len(end) {
        return Err(DropReason::NoBuffer);
    }
    frame.priority = passage.changes.priority.unwrap_or(0) & 7;
    frame.mark = passage.marks.packet;
    let offload = frame.offload;
    let received = Received {
        shape: PacketLayout::of(&passage.fields, &offload, frame.l3),
        fields: &passage.fields,
        offload: &offload,
    };
    let packet = frame.bytes_mut().get_mut(l3..).unwrap_or_default();
    let written = match passage.fields.tuple.ipv6 {
        true => ipv6(packet, passage, &received),
        false => ipv4(packet, passage, &received),
    };
    written.ok_or(DropReason::FirewallTruncated)
}

struct Received<'a> {
    shape: PacketLayout,
    fields: &'a Fields,
    offload: &'a Offload,
}

fn ipv4(packet: &mut [u8], passage: &Passage, received: &Received<'_>) -> Option<()> {
    let changes = &passage.changes;
    let tos = changes.tos.unwrap_or(passage.fields.tos);
    let ttl = changes.ttl.unwrap_or(passage.fields.ttl);
    replace(packet, 0, [packet.first().copied()?, tos])?;
    replace(packet, 8, [ttl, *packet.get(9)?])?;
    if changes.clear_df {
        replace(packet, 6, [packet.get(6)? & !0x40, *packet.get(7)?])?;
    }
    if changes.strip_options {
        strip_options(packet)?;
    }
    if let Some(mss) = changes.mss {
        clamp(packet, received, largest(mss, passage.mtu, HEADERS[0]))?;
    }
    if let Some(translation) = &passage.translation {
        let rewrite = Rewrite::<4>::of(&translation.before, &translation.after);
        let applied = match passage.track.quoted {
            true => rewrite.apply_error(packet, received.shape),
            false => rewrite.apply(packet, received.shape),
        };
        applied.ok()?;
    }
    Some(())
}

fn ipv6(packet: &mut [u8], passage: &Passage, received: &Received<'_>) -> Option<()> {
    let changes = &passage.changes;
    let tos = changes.tos.unwrap_or(passage.fields.tos);
    let header = packet.first_chunk_mut::<40>()?;
    header[0] = header[0] & 0xf0 | tos >> 4;
    header[1] = header[1] & 0x0f | tos << 4;
    header[7] = changes.ttl.unwrap_or(passage.fields.ttl);
    if let Some(mss) = changes.mss {
        clamp(packet, received, largest(mss, passage.mtu, HEADERS[1]))?;
    }
    if let Some(translation) = &passage.translation {
        let rewrite = Rewrite::<16>::of(&translation.before, &translation.after);
        let applied = match passage.track.quoted {
            true => rewrite.apply_error(packet, received.shape),
            false => rewrite.apply(packet, received.shape),
        };
        applied.ok()?;
    }
    for (prefix, at) in [(changes.source_prefix, 8), (changes.destination_prefix, 24)] {
        if let Some(prefix) = prefix {
            translate_prefix(packet, at, &prefix)?;
        }
    }
    Some(())
}

/// Returns an address with its prefix replaced as network prefix translation writes it.
pub(in crate::walk) fn with_prefix(address: u128, prefix: &Npt) -> u128 {
    let mut bytes = address.to_be_bytes();
    // An address without a word for the adjustment keeps its prefix.
    let _ = translate_prefix(&mut bytes, 0, prefix);
    u128::from_be_bytes(bytes)
}

/// Replaces two bytes of an IPv4 header and updates the header checksum (RFC 1624).
fn replace(packet: &mut [u8], at: usize, new: [u8; 2]) -> Option<()> {
    let place = packet.get_mut(at..)?.first_chunk_mut::<2>()?;
    let old = core::mem::replace(place, new);
    if old != new {
        let sum = packet.get_mut(10..)?.first_chunk_mut::<2>()?;
        let (old, new) = (u16::from_be_bytes(old), u16::from_be_bytes(new));
        *sum = checksum::update_u16(u16::from_be_bytes(*sum), old, new).to_be_bytes();
    }
    Some(())
}

/// Replaces all IPv4 options by no-operations (RFC 791, 3.1).
fn strip_options(packet: &mut [u8]) -> Option<()> {
    let len = usize::from(packet.first()? & 0xf) * 4;
    packet.get_mut(20..len)?.fill(1);
    packet.get_mut(10..12)?.fill(0);
    let sum = checksum::checksum(packet.get(..len)?);
    packet.get_mut(10..12)?.copy_from_slice(&sum.to_be_bytes());
    Some(())
}

/// Returns the largest segment size that a SYN may announce.
fn largest(mss: Mss, mtu: u32, headers: u16) -> u16 {
    match mss {
        Mss::Bytes(bytes) => bytes,
        Mss::ClampToPmtu => u16::try_from(mtu)
            .unwrap_or(u16::MAX)
            .saturating_sub(headers),
    }
}

/// Lowers the maximum segment size that a SYN announces (RFC 9293, 3.7.1). A SYN without the option
/// stays unchanged: its sender assumes the small default.
fn clamp(packet: &mut [u8], received: &Received<'_>, largest: u16) -> Option<()> {
    const SYN: u8 = 2;
    let Fields {
        tuple,
        upper,
        tcp_flags,
        fragment,
        ..
    } = *received.fields;
    if tuple.protocol != protocol::TCP || tcp_flags & SYN == 0 || fragment == Fragment::Later {
        return Some(());
    }
    let segment = packet.get_mut(usize::from(upper)..)?;
    let header = usize::from(segment.get(12)? >> 4) * 4;
    let Some(at) = find_mss(segment.get(..header)?) else {
        return Some(());
    };
    let announced = u16::from_be_bytes([*segment.get(at)?, *segment.get(at + 1)?]);
    if announced <= largest {
        return Some(());
    }
    segment
        .get_mut(at..at + 2)?
        .copy_from_slice(&largest.to_be_bytes());
    if received.offload.needs_checksum && received.shape.unfinished {
        // Checksum offload computes the sum later.
        return Some(());
    }
    let sum = segment.get_mut(16..)?.first_chunk_mut::<2>()?;
    // A word at an odd offset enters the sum with its bytes swapped (RFC 1071, 2).
    let (old, new) = match at % 2 {
        0 => (announced, largest),
        _ => (announced.swap_bytes(), largest.swap_bytes()),
    };
    *sum = checksum::update_u16(u16::from_be_bytes(*sum), old, new).to_be_bytes();
    Some(())
}

/// Returns the offset of the MSS value in the options of a TCP header.
fn find_mss(header: &[u8]) -> Option<usize> {
    let mut at = 20;
    loop {
        match (header.get(at)?, header.get(at + 1)) {
            (0, _) => return None,
            (1, _) => at += 1,
            (2, Some(4)) => return header.get(at + 3).map(|_| at + 2),
            (_, Some(len @ 2..)) => at += usize::from(*len),
            _ => return None,
        }
    }
}

/// Replaces the prefix of an address so that no upper-layer checksum changes (RFC 6296, 3.1).
fn translate_prefix(packet: &mut [u8], at: usize, prefix: &Npt) -> Option<()> {
    let place = packet.get_mut(at..)?.first_chunk_mut::<16>()?;
    let old = u128::from_be_bytes(*place);
    let mask = u128::MAX
        .checked_shl(128 - u32::from(prefix.len))
        .unwrap_or(0);
    if (old ^ prefix.from) & mask != 0 {
        return Some(());
    }
    let mut new = (old & !mask | prefix.to & mask).to_be_bytes();
    // The adjustment goes into the first word after the prefix that is not 0xffff (RFC 6296, 3.1
    // and 3.5).
    let first = usize::from(prefix.len).div_ceil(16).max(3);
    let word = (first..8).find(|word| new[word * 2..word * 2 + 2] != [0xff, 0xff])?;
    let before = u16::from_be_bytes([new[word * 2], new[word * 2 + 1]]);
    let difference = checksum::combine(checksum::sum(&old.to_be_bytes()), !checksum::sum(&new));
    let adjusted = match checksum::combine(before, difference) {
        0xffff => 0,
        adjusted => adjusted,
    };
    new[word * 2..word * 2 + 2].copy_from_slice(&adjusted.to_be_bytes());
    *place = new;
    Some(())
}
