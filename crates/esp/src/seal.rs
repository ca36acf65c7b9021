//! Encapsulation of ESP: encrypts and authenticates payloads (RFC 4303, 3.3).

use cipher::Array;
use smallvec::SmallVec;

use crate::association::{HEADER_BYTES, Outbound, TRAILER_BYTES};
use crate::cipher::Cipher;
use crate::work::{CHUNK_PACKETS, Work, authenticate, group, parts, prefetch_keys, runs};
use crate::{BATCH, Fault, suite::Encryption};

/// A packet to seal.
pub struct Sealing<'a> {
    /// Outbound association.
    pub sa: &'a Outbound,
    /// Room in front, payload, room behind, with the lengths of [`Outbound::room`]; after [`seal`] the bytes
    /// from SPI to ICV. Unspecified after a fault.
    pub bytes: &'a mut [u8],
    /// Length of the payload in bytes.
    pub payload: usize,
    /// Protocol of the payload.
    pub next_header: u8,
    /// Sequence number, or the reason to drop the packet; [`Fault::Pending`] before [`seal`].
    pub outcome: Result<u64, Fault>,
}

impl<'a> Sealing<'a> {
    /// Creates a packet for [`seal`].
    pub fn new(sa: &'a Outbound, bytes: &'a mut [u8], payload: usize, next_header: u8) -> Self {
        Self {
            sa,
            bytes,
            payload,
            next_header,
            outcome: Err(Fault::Pending),
        }
    }
}

type Packet<'p> = Work<'p, Outbound, u64>;

/// Seals packets of any associations in place, and writes each result into its outcome. Packets of one
/// association get sequence numbers in batch order.
pub fn seal(batch: &mut [Sealing<'_>]) {
    for part in batch.chunks_mut(BATCH) {
        seal_part(part);
    }
}

fn seal_part(part: &mut [Sealing<'_>]) {
    if part
        .iter()
        .all(|packet| packet.sa.shared.cipher.keeps_order())
    {
        return seal_in_order(part);
    }
    let mut work = SmallVec::<[Packet<'_>; BATCH]>::new();
    let packets = (0..).zip(part);
    work.extend(packets.filter_map(|(index, packet)| prepare(index, packet)));
    group(&mut work);
    for run in runs(&mut work) {
        begin(run);
    }
    for part in parts(&mut work) {
        protect(part);
    }
    for run in runs(&mut work) {
        finish(run);
    }
}

/// Seals packets in the order of the batch, those of one association together where they are neighbours.
fn seal_in_order(part: &mut [Sealing<'_>]) {
    for part in part.chunks_mut(CHUNK_PACKETS) {
        prefetch_keys(
            part.iter()
                .map(|packet| (&packet.sa.shared, packet.payload)),
        );
        let mut work = SmallVec::<[Packet<'_>; CHUNK_PACKETS]>::new();
        let packets = (0..).zip(part);
        work.extend(packets.filter_map(|(index, packet)| prepare(index, packet)));
        for run in runs(&mut work) {
            begin(run);
        }
        Cipher::lock(&mut work);
        for run in runs(&mut work) {
            finish(run);
        }
    }
}

/// Checks the room around a payload and writes its trailer. Returns `None` after a fault.
#[inline(always)]
fn prepare<'p>(index: u16, packet: &'p mut Sealing<'_>) -> Option<Packet<'p>> {
    let shared = &packet.sa.shared;
    let (front, back) = packet.sa.room(packet.payload.min(packet.bytes.len()));
    if packet.bytes.len().checked_sub(front + back) != Some(packet.payload) {
        packet.outcome = Err(Fault::Room);
        return None;
    }
    let end = packet.bytes.len() - shared.icv();
    let trailer = packet.bytes.get_mut(front + packet.payload..end);
    pad(trailer.unwrap_or_default(), packet.next_header);
    Some(Work {
        sa: packet.sa,
        bytes: packet.bytes,
        front,
        end,
        payload: packet.payload,
        number: 0,
        index,
        fault: None,
        outcome: &mut packet.outcome,
    })
}

/// Writes padding, pad length and next header (RFC 4303, 2.4 to 2.6).
fn pad(trailer: &mut [u8], next_header: u8) {
    let Some((padding, end)) = trailer.split_last_chunk_mut::<TRAILER_BYTES>() else {
        return;
    };
    *end = [padding.len() as u8, next_header];
    for (number, byte) in (1..).zip(padding) {
        *byte = number;
    }
}

/// Assigns sequence numbers and initialization vectors to packets of one association.
fn begin(run: &mut [Packet<'_>]) {
    let Some(sa) = run.first().map(|work| work.sa) else {
        return;
    };
    let numbers = sa.reserve(run.len());
    let (run, rest) = run.split_at_mut((numbers.end - numbers.start) as usize);
    for work in rest {
        work.fault = Some(Fault::Exhausted);
        work.end = work.front;
    }
    for (work, number) in run.iter_mut().zip(numbers) {
        work.number = number;
        if let Some(header) = work.bytes.first_chunk_mut::<HEADER_BYTES>() {
            header[..4].copy_from_slice(&sa.shared.spi.to_be_bytes());
            header[4..].copy_from_slice(&(number as u32).to_be_bytes());
        }
    }
    write_vectors(sa, run);
}

/// Encrypts and authenticates packets with equal algorithms.
fn protect(part: &mut [Packet<'_>]) {
    let Some(suite) = part.first().map(|work| work.sa.shared.suite) else {
        return;
    };
    if suite.encryption.is_aead() {
        return Cipher::lock(part);
    }
    if let Some(first) = part.first() {
        first.sa.shared.cipher.encrypt(own_cipher, part);
    }
    authenticate(part, |work, sum| {
        let icv = work.icv();
        icv.copy_from_slice(&sum[..icv.len()]);
    });
}

fn own_cipher(sa: &Outbound) -> &Cipher {
    &sa.shared.cipher
}

/// Writes results and counters of packets of one association.
fn finish(run: &mut [Packet<'_>]) {
    let Some(sa) = run.first().map(|work| work.sa) else {
        return;
    };
    let (mut packets, mut bytes) = (0, 0);
    for work in run {
        if work.fault.is_none() {
            packets += 1;
            bytes += work.payload as u64;
        }
        *work.outcome = work.fault.map_or(Ok(work.number), Err);
    }
    sa.count(packets, bytes);
}

/// Writes initialization vectors: sequence numbers where uniqueness suffices, encrypted ones where they must be
/// unpredictable.
fn write_vectors(sa: &Outbound, run: &mut [Packet<'_>]) {
    match sa.shared.suite.encryption {
        Encryption::Null => {}
        Encryption::AesCtr(_) | Encryption::AesGcm(_) | Encryption::ChaCha20Poly1305 => {
            for work in run {
                let number = work.number.to_be_bytes();
                work.bytes[HEADER_BYTES..work.front].copy_from_slice(&number);
            }
        }
        _ => {
            for part in run.chunks_mut(CHUNK_VECTORS) {
                let mut vectors = [Array::default(); CHUNK_VECTORS];
                for (vector, work) in vectors.iter_mut().zip(&*part) {
                    vector[..8].copy_from_slice(&work.number.to_be_bytes());
                }
                sa.unpredictable(&mut vectors[..part.len()]);
                for (vector, work) in vectors.iter().zip(part) {
                    let place = &mut work.bytes[HEADER_BYTES..work.front];
                    place.copy_from_slice(&vector[..place.len()]);
                }
            }
        }
    }
}

/// Initialization vectors encrypted at once.
const CHUNK_VECTORS: usize = 32;
