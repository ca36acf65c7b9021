//! Decapsulation of ESP: verifies and decrypts packets (RFC 4303, 3.4).

use core::ops::Range;

use smallvec::SmallVec;
use subtle::ConstantTimeEq;

use crate::association::{HEADER_BYTES, Inbound, TRAILER_BYTES};
use crate::cipher::Cipher;
use crate::work::{CHUNK_PACKETS, Work, authenticate, group, parts, prefetch_keys, runs};
use crate::{BATCH, Fault};

/// A packet to open.
pub struct Opening<'a> {
    /// Association of the packet's SPI.
    pub sa: &'a Inbound,
    /// Bytes from the SPI to the end of the ICV. Unspecified after a fault.
    pub bytes: &'a mut [u8],
    /// Result; [`Fault::Pending`] before [`open`].
    pub outcome: Result<Opened, Fault>,
}

/// Contents of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Range of the payload in the packet's bytes.
    pub payload: Range<usize>,
    /// Protocol of the payload; 59 marks a dummy packet to discard (RFC 4303, 2.6).
    pub next_header: u8,
    /// Complete sequence number.
    pub number: u64,
}

impl<'a> Opening<'a> {
    /// Creates a packet for [`open`].
    pub fn new(sa: &'a Inbound, bytes: &'a mut [u8]) -> Self {
        Self {
            sa,
            bytes,
            outcome: Err(Fault::Pending),
        }
    }
}

type Packet<'p> = Work<'p, Inbound, Opened>;

/// Opens packets of any associations in place, and writes each result into its outcome.
///
/// Checks the sequence number before any cryptography, and marks it as seen after the ICV is verified (RFC
/// 4303, 3.4.3). The association counts rejected packets.
pub fn open(batch: &mut [Opening<'_>]) {
    for part in batch.chunks_mut(BATCH) {
        open_part(part);
    }
}

fn open_part(part: &mut [Opening<'_>]) {
    if part
        .iter()
        .all(|packet| packet.sa.shared.cipher.keeps_order())
    {
        return open_in_order(part);
    }
    let mut work = SmallVec::<[Packet<'_>; BATCH]>::new();
    let packets = (0..).zip(part);
    work.extend(packets.filter_map(|(index, packet)| prepare(index, packet)));
    group(&mut work);
    for part in parts(&mut work) {
        prove(part);
    }
    for run in runs(&mut work) {
        finish(run);
    }
}

/// Opens packets in the order of the batch, those of one association together where they are neighbours.
fn open_in_order(part: &mut [Opening<'_>]) {
    for part in part.chunks_mut(CHUNK_PACKETS) {
        prefetch_keys(
            part.iter()
                .map(|packet| (&packet.sa.shared, packet.bytes.len())),
        );
        let mut work = SmallVec::<[Packet<'_>; CHUNK_PACKETS]>::new();
        let packets = (0..).zip(part);
        work.extend(packets.filter_map(|(index, packet)| prepare(index, packet)));
        Cipher::unlock(&mut work);
        for run in runs(&mut work) {
            finish(run);
        }
    }
}

/// Checks a packet before any cryptography. Returns `None` after a fault.
#[inline(always)]
fn prepare<'p>(index: u16, packet: &'p mut Opening<'_>) -> Option<Packet<'p>> {
    match look(packet.sa, packet.bytes) {
        Ok((front, end, number)) => Some(Work {
            sa: packet.sa,
            bytes: packet.bytes,
            front,
            end,
            payload: 0,
            number,
            index,
            fault: None,
            outcome: &mut packet.outcome,
        }),
        Err(fault) => {
            packet.sa.count_fault(fault);
            packet.outcome = Err(fault);
            None
        }
    }
}

/// Checks length and sequence number. Returns start and end of the ciphertext, and the sequence number.
#[inline(always)]
fn look(sa: &Inbound, bytes: &[u8]) -> Result<(usize, usize, u64), Fault> {
    let front = sa.shared.front();
    let end = bytes.len().checked_sub(sa.shared.icv());
    let text = end.and_then(|end| end.checked_sub(front));
    let (Some(end), Some(text)) = (end, text) else {
        return Err(Fault::Malformed);
    };
    let Some(&[s0, s1, s2, s3, n0, n1, n2, n3]) = bytes.first_chunk::<HEADER_BYTES>() else {
        return Err(Fault::Malformed);
    };
    let is_whole = text >= TRAILER_BYTES && sa.shared.is_aligned(text);
    if !is_whole || u32::from_be_bytes([s0, s1, s2, s3]) != sa.shared.spi {
        return Err(Fault::Malformed);
    }
    let low = u32::from_be_bytes([n0, n1, n2, n3]);
    let number = sa.window.infer(low, sa.shared.numbering);
    let number = number.filter(|number| sa.window.may_be_new(*number));
    Ok((front, end, number.ok_or(Fault::Replayed)?))
}

/// Verifies and decrypts packets with equal algorithms; forged packets get a fault.
fn prove(part: &mut [Packet<'_>]) {
    let Some(suite) = part.first().map(|work| work.sa.shared.suite) else {
        return;
    };
    if suite.encryption.is_aead() {
        return Cipher::unlock(part);
    }
    authenticate(part, |work, sum| {
        let icv = work.icv();
        if !bool::from(sum[..icv.len()].ct_eq(icv)) {
            work.fault = Some(Fault::Integrity);
        }
    });
    if let Some(first) = part.first() {
        first.sa.shared.cipher.decrypt(own_cipher, part);
    }
}

fn own_cipher(sa: &Inbound) -> &Cipher {
    &sa.shared.cipher
}

/// Marks the sequence numbers of one association as seen, and writes results and counters.
fn finish(run: &mut [Packet<'_>]) {
    let Some(sa) = run.first().map(|work| work.sa) else {
        return;
    };
    sa.window.take(
        run,
        |work| work.fault.is_none().then_some(work.number),
        |work| work.fault = Some(Fault::Replayed),
    );
    let (mut packets, mut bytes) = (0, 0);
    for work in run {
        let payload = match work.fault {
            None => unwrap(work),
            Some(fault) => Err(fault),
        };
        match payload {
            Ok((payload, next_header)) => {
                packets += 1;
                bytes += payload.len() as u64;
                *work.outcome = Ok(Opened {
                    payload,
                    next_header,
                    number: work.number,
                });
            }
            Err(fault) => {
                sa.count_fault(fault);
                *work.outcome = Err(fault);
            }
        }
    }
    sa.count(packets, bytes);
}

/// Checks and removes the padding. Returns the range of the payload and its protocol.
#[inline(always)]
fn unwrap(work: &mut Packet<'_>) -> Result<(Range<usize>, u8), Fault> {
    let front = work.front;
    let Some((text, &mut [pad, next_header])) = work.text().split_last_chunk_mut::<TRAILER_BYTES>()
    else {
        return Err(Fault::Malformed);
    };
    let payload = text.len().checked_sub(usize::from(pad));
    let payload = payload.ok_or(Fault::Padding)?;
    let padding = text.get(payload..).unwrap_or_default();
    if !(1..=pad).eq(padding.iter().copied()) {
        return Err(Fault::Padding);
    }
    Ok((front..front + payload, next_header))
}
