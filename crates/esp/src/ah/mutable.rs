//! Mutable header fields (RFC 4302, 3.3.3.1 and appendix A).
//!
//! Unknown options and extension headers are rejected, since they may or may not be mutable. So are unfinished
//! source routes, whose final addresses the sender would have to predict.

use crate::Fault;

/// IP version of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    V4,
    V6,
}

/// Returns the IP version, and the offset of AH.
///
/// # Errors
///
/// The packet is truncated, differs from its length field, has no AH, or is a fragment (RFC 4302, 3.4.1).
pub(super) fn find(packet: &[u8]) -> Result<(Family, usize), Fault> {
    match packet.first().map(|byte| byte >> 4) {
        Some(4) => Ok((Family::V4, find_v4(packet)?)),
        Some(6) => Ok((Family::V6, find_v6(packet)?)),
        _ => Err(Fault::Malformed),
    }
}

fn find_v4(packet: &[u8]) -> Result<usize, Fault> {
    let header = packet.first_chunk::<V4>().ok_or(Fault::Malformed)?;
    let front = 4 * usize::from(header[0] & 15);
    let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
    let fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff;
    if front < V4 || front > total || total != packet.len() || fragment != 0 || header[9] != AH {
        return Err(Fault::Malformed);
    }
    Ok(front)
}

fn find_v6(packet: &[u8]) -> Result<usize, Fault> {
    let header = packet.first_chunk::<V6>().ok_or(Fault::Malformed)?;
    let payload = usize::from(u16::from_be_bytes([header[4], header[5]]));
    if V6 + payload != packet.len() {
        return Err(Fault::Malformed);
    }
    let (mut next, mut at) = (header[6], V6);
    while next != AH {
        if !matches!(next, HOP_BY_HOP | ROUTING | DESTINATION) {
            return Err(Fault::Malformed);
        }
        let extension = packet.get(at..).and_then(<[u8]>::first_chunk::<2>);
        let [following, units] = *extension.ok_or(Fault::Malformed)?;
        at += 8 * (usize::from(units) + 1);
        next = following;
    }
    Ok(at)
}

/// Zeroes the mutable fields before AH, which begins at `front`.
pub(super) fn clear(packet: &mut [u8], family: Family, front: usize) -> Result<(), Fault> {
    let headers = packet.get_mut(..front).ok_or(Fault::Malformed)?;
    match family {
        Family::V4 => clear_v4(headers),
        Family::V6 => clear_v6(headers),
    }
}

/// Zeroes the mutable fields of IPv4 (RFC 4302, 3.3.3.1.1).
fn clear_v4(headers: &mut [u8]) -> Result<(), Fault> {
    let (fixed, mut options) = headers
        .split_first_chunk_mut::<V4>()
        .ok_or(Fault::Malformed)?;
    // Type of service; flags and offset; TTL; checksum.
    for at in [1, 6, 7, 8, 10, 11] {
        fixed[at] = 0;
    }
    while let [kind, ..] = *options {
        let len = match (kind, options.get(1)) {
            (END, _) => return Ok(()),
            (NOTHING, _) => 1,
            (_, Some(len)) => usize::from(*len),
            (_, None) => return Err(Fault::Malformed),
        };
        if kind != NOTHING && len < 2 {
            return Err(Fault::Malformed);
        }
        let (option, rest) = options.split_at_mut_checked(len).ok_or(Fault::Malformed)?;
        match kind {
            NOTHING => {}
            // Security, extended security, CIPSO, router alert, directed broadcasts.
            130 | 133 | 134 | 148 | 149 => {}
            // Record route, time stamp, traceroute.
            7 | 68 | 82 => option.fill(0),
            _ => return Err(Fault::Unhandled),
        }
        options = rest;
    }
    Ok(())
}

/// Zeroes the mutable fields of IPv6 (RFC 4302, 3.3.3.1.2).
fn clear_v6(headers: &mut [u8]) -> Result<(), Fault> {
    let (fixed, mut rest) = headers
        .split_first_chunk_mut::<V6>()
        .ok_or(Fault::Malformed)?;
    // Traffic class, flow label, hop limit.
    fixed[0] &= 0xf0;
    fixed[1..4].fill(0);
    fixed[7] = 0;
    let mut kind = fixed[6];
    while let [next, units, ..] = *rest {
        let len = 8 * (usize::from(units) + 1);
        let (extension, others) = rest.split_at_mut_checked(len).ok_or(Fault::Malformed)?;
        match kind {
            HOP_BY_HOP | DESTINATION => clear_options(&mut extension[2..])?,
            // No segments left: all addresses are final.
            _ if extension.get(3) == Some(&0) => {}
            _ => return Err(Fault::Unhandled),
        }
        (kind, rest) = (next, others);
    }
    Ok(())
}

/// Zeroes mutable IPv6 options (RFC 4302, 3.3.3.1.2.2); the option type tells (RFC 8200, 4.2).
fn clear_options(options: &mut [u8]) -> Result<(), Fault> {
    let mut options = options;
    while let [kind, ..] = *options {
        let len = match (kind, options.get(1)) {
            (PAD1, _) => 1,
            (_, Some(len)) => 2 + usize::from(*len),
            (_, None) => return Err(Fault::Malformed),
        };
        let (option, rest) = options.split_at_mut_checked(len).ok_or(Fault::Malformed)?;
        if kind & CHANGES != 0 {
            option.get_mut(2..).unwrap_or_default().fill(0);
        }
        options = rest;
    }
    Ok(())
}

/// Length of the fixed IPv4 header in bytes.
const V4: usize = 20;
/// Length of the fixed IPv6 header in bytes.
const V6: usize = 40;
/// Protocol numbers.
const AH: u8 = 51;
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const DESTINATION: u8 = 60;
/// IPv4 options of one byte.
const END: u8 = 0;
const NOTHING: u8 = 1;
/// IPv6 option of one byte.
const PAD1: u8 = 0;
/// Bit in the type of an IPv6 option: the data may change en route.
const CHANGES: u8 = 0x20;
