//! AH over whole IP packets (RFC 4302).
//!
//! ```text
//!  IPv4 or IPv6 header, options, extension headers │ AH │ payload
//!                                                    └ next header 1 · length 1 · 0 2 · SPI 4 ·
//!                                                      sequence 4 · ICV · padding
//! ```
//!
//! Associations are those of ESP, with null encryption. The ICV covers mutable fields as zeros (`mutable`):
//! while it is computed, the packet itself holds zeros, and the headers before AH are saved and restored.

mod mutable;

use core::ops::Range;

use smallvec::SmallVec;
use subtle::ConstantTimeEq;

use crate::association::Shared;
use crate::work::{Work, authenticate};
use crate::{Encryption, Fault, Inbound, Outbound, Refused, Suite};

use mutable::{Family, clear, find};

/// A packet to protect.
pub struct Protecting<'a> {
    /// Outbound association.
    pub sa: &'a Outbound,
    /// The whole packet, with [`room`] for AH behind its headers; the last header names AH (51), and the
    /// lengths include it. Unspecified after a fault.
    pub packet: &'a mut [u8],
    /// Protocol that follows AH.
    pub next_header: u8,
    /// Sequence number, or the reason to drop the packet; [`Fault::Pending`] before [`protect`].
    pub outcome: Result<u64, Fault>,
}

impl<'a> Protecting<'a> {
    /// Creates a packet for [`protect`].
    pub fn new(sa: &'a Outbound, packet: &'a mut [u8], next_header: u8) -> Self {
        Self {
            sa,
            packet,
            next_header,
            outcome: Err(Fault::Pending),
        }
    }
}

/// A packet to verify.
pub struct Verifying<'a> {
    /// Association of the packet's SPI.
    pub sa: &'a Inbound,
    /// The whole packet. Unspecified after a fault.
    pub packet: &'a mut [u8],
    /// Result; [`Fault::Pending`] before [`verify`].
    pub outcome: Result<Verified, Fault>,
}

/// Result of a verification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Range of AH in the packet; the payload follows.
    pub header: Range<usize>,
    /// Protocol of the payload.
    pub next_header: u8,
    /// Complete sequence number.
    pub number: u64,
}

impl<'a> Verifying<'a> {
    /// Creates a packet for [`verify`].
    pub fn new(sa: &'a Inbound, packet: &'a mut [u8]) -> Self {
        Self {
            sa,
            packet,
            outcome: Err(Fault::Pending),
        }
    }
}

/// Checks the algorithms of an AH association.
///
/// # Errors
///
/// The suite has encryption, or no authentication.
pub const fn check(suite: Suite) -> Result<(), Refused> {
    if matches!(suite.encryption, Encryption::Null) && suite.has_integrity() {
        Ok(())
    } else {
        Err(Refused::NotForAh)
    }
}

/// Returns the length of AH in bytes: a multiple of 4 for IPv4, of 8 for IPv6.
pub const fn room(suite: Suite, is_ipv6: bool) -> usize {
    let unit = if is_ipv6 { 8 } else { 4 };
    (FIXED_BYTES + suite.icv_len()).next_multiple_of(unit)
}

/// Protects packets of any associations, and writes each result into its outcome.
pub fn protect(batch: &mut [Protecting<'_>]) {
    for part in batch.chunks_mut(CHUNK_PACKETS) {
        let mut saved = [[0; MAX_HEADERS_BYTES]; CHUNK_PACKETS];
        let mut work = SmallVec::<[Work<'_, Outbound, u64>; CHUNK_PACKETS]>::new();
        for ((index, packet), saved) in (0..).zip(part).zip(&mut saved) {
            match begin(packet, saved) {
                Ok((front, number)) => work.push(Work {
                    sa: packet.sa,
                    front,
                    end: packet.packet.len(),
                    payload: packet.packet.len(),
                    bytes: packet.packet,
                    number,
                    index,
                    fault: None,
                    outcome: &mut packet.outcome,
                }),
                Err(fault) => packet.outcome = Err(fault),
            }
        }
        authenticate(&mut work, |work, sum| {
            let place = icv(work.sa.suite(), work.front);
            let place = work.bytes.get_mut(place).unwrap_or_default();
            place.copy_from_slice(&sum[..place.len()]);
        });
        for work in work {
            restore(work.bytes, work.front, &saved[usize::from(work.index)]);
            work.sa.count(1, work.payload as u64);
            *work.outcome = Ok(work.number);
        }
    }
}

/// Writes AH and zeroes mutable fields. Returns the offset of AH and the sequence number.
fn begin(
    packet: &mut Protecting<'_>,
    saved: &mut [u8; MAX_HEADERS_BYTES],
) -> Result<(usize, u64), Fault> {
    let suite = packet.sa.suite();
    check(suite).map_err(|_| Fault::Unhandled)?;
    let (family, front) = find(packet.packet)?;
    let len = room(suite, family == Family::V6);
    let place = front..front + len;
    if packet.packet.get(place.clone()).is_none() {
        return Err(Fault::Room);
    }
    save(packet.packet, front, saved)?;
    clear(packet.packet, family, front)?;
    let numbers = packet.sa.reserve(1);
    let number = numbers.into_iter().next().ok_or(Fault::Exhausted)?;
    let header = packet.packet.get_mut(place).ok_or(Fault::Room)?;
    header.fill(0);
    let fixed = header.first_chunk_mut::<FIXED_BYTES>().ok_or(Fault::Room)?;
    fixed[0] = packet.next_header;
    fixed[1] = (len / 4 - 2) as u8;
    fixed[4..8].copy_from_slice(&packet.sa.spi().to_be_bytes());
    fixed[8..].copy_from_slice(&(number as u32).to_be_bytes());
    Ok((front, number))
}

/// Verifies packets of any associations, and writes each result into its outcome. Checks the sequence number
/// before any cryptography, and marks it as seen after the ICV is verified. The association counts rejected
/// packets.
pub fn verify(batch: &mut [Verifying<'_>]) {
    for part in batch.chunks_mut(CHUNK_PACKETS) {
        let mut saved = [[0; MAX_HEADERS_BYTES]; CHUNK_PACKETS];
        let mut received = [[0; MAX_ICV_BYTES]; CHUNK_PACKETS];
        let mut work = SmallVec::<[Work<'_, Inbound, Verified>; CHUNK_PACKETS]>::new();
        let kept = saved.iter_mut().zip(&mut received);
        for ((index, packet), (saved, received)) in (0..).zip(part).zip(kept) {
            match look(packet, saved, received) {
                Ok((front, number)) => work.push(Work {
                    sa: packet.sa,
                    front,
                    end: packet.packet.len(),
                    payload: packet.packet.len(),
                    bytes: packet.packet,
                    number,
                    index,
                    fault: None,
                    outcome: &mut packet.outcome,
                }),
                Err(fault) => {
                    packet.sa.count_fault(fault);
                    packet.outcome = Err(fault);
                }
            }
        }
        authenticate(&mut work, |work, sum| {
            let len = work.sa.suite().icv_len();
            let received = &received[usize::from(work.index)];
            if !bool::from(sum[..len].ct_eq(&received[..len])) {
                work.fault = Some(Fault::Integrity);
            }
        });
        for mut work in work {
            let index = usize::from(work.index);
            restore(work.bytes, work.front, &saved[index]);
            let place = icv(work.sa.suite(), work.front);
            let place = work.bytes.get_mut(place).unwrap_or_default();
            place.copy_from_slice(&received[index][..place.len()]);
            finish(&mut work);
        }
    }
}

/// Checks a packet and zeroes mutable fields. Returns the offset of AH and the sequence number.
fn look(
    packet: &mut Verifying<'_>,
    saved: &mut [u8; MAX_HEADERS_BYTES],
    received: &mut [u8; MAX_ICV_BYTES],
) -> Result<(usize, u64), Fault> {
    let sa = packet.sa;
    check(sa.suite()).map_err(|_| Fault::Unhandled)?;
    let (family, front) = find(packet.packet)?;
    let len = room(sa.suite(), family == Family::V6);
    let header = packet.packet.get(front..front + len);
    let fixed = header.and_then(|header| header.first_chunk::<FIXED_BYTES>());
    let Some(&[_, words, _, _, s0, s1, s2, s3, n0, n1, n2, n3]) = fixed else {
        return Err(Fault::Malformed);
    };
    let is_ours = u32::from_be_bytes([s0, s1, s2, s3]) == sa.spi();
    if !is_ours || 4 * (usize::from(words) + 2) != len {
        return Err(Fault::Malformed);
    }
    let Shared { numbering, .. } = sa.shared;
    let number = sa
        .window
        .infer(u32::from_be_bytes([n0, n1, n2, n3]), numbering);
    let number = number.filter(|number| sa.window.may_be_new(*number));
    let number = number.ok_or(Fault::Replayed)?;
    save(packet.packet, front, saved)?;
    clear(packet.packet, family, front)?;
    let place = packet.packet.get_mut(icv(sa.suite(), front));
    let place = place.ok_or(Fault::Malformed)?;
    received[..place.len()].copy_from_slice(place);
    place.fill(0);
    Ok((front, number))
}

/// Marks a verified sequence number as seen, and writes result and counters.
fn finish(work: &mut Work<'_, Inbound, Verified>) {
    let sa = work.sa;
    sa.window.take(
        core::slice::from_mut(work),
        |work| work.fault.is_none().then_some(work.number),
        |work| work.fault = Some(Fault::Replayed),
    );
    if let Some(fault) = work.fault {
        sa.count_fault(fault);
        *work.outcome = Err(fault);
        return;
    }
    sa.count(1, work.payload as u64);
    // The length field was checked against the algorithm.
    let words = work.bytes.get(work.front + 1).copied().unwrap_or_default();
    *work.outcome = Ok(Verified {
        header: work.front..work.front + 4 * (usize::from(words) + 2),
        next_header: work.bytes.get(work.front).copied().unwrap_or_default(),
        number: work.number,
    });
}

/// Returns the range of the ICV; AH begins at `front`.
fn icv(suite: Suite, front: usize) -> Range<usize> {
    front + FIXED_BYTES..front + FIXED_BYTES + suite.icv_len()
}

/// Saves the headers before AH.
fn save(packet: &[u8], front: usize, saved: &mut [u8; MAX_HEADERS_BYTES]) -> Result<(), Fault> {
    let headers = packet.get(..front).ok_or(Fault::Malformed)?;
    let place = saved.get_mut(..front).ok_or(Fault::Unhandled)?;
    place.copy_from_slice(headers);
    Ok(())
}

/// Restores the headers before AH.
fn restore(packet: &mut [u8], front: usize, saved: &[u8; MAX_HEADERS_BYTES]) {
    if let (Some(headers), Some(saved)) = (packet.get_mut(..front), saved.get(..front)) {
        headers.copy_from_slice(saved);
    }
}

/// Length of AH before the ICV, in bytes.
const FIXED_BYTES: usize = 12;
/// Length of the longest ICV in bytes.
const MAX_ICV_BYTES: usize = 32;
/// Maximum length of the headers before AH, in bytes.
const MAX_HEADERS_BYTES: usize = 256;
/// Packets processed at once.
const CHUNK_PACKETS: usize = 16;

#[cfg(test)]
mod tests;
