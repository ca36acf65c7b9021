//! Sealing: payloads become ESP packets (RFC 4303, 3.3).

use cipher::Array;
use smallvec::SmallVec;

use crate::association::{HEADER, Outbound, TRAILER};
use crate::work::{Work, group, runs};
use crate::{BATCH, Fault, suite::Encryption};

/// A packet to be sealed.
pub struct Sealing<'a> {
    /// The association that it leaves by.
    pub sa: &'a Outbound,
    /// Room in front, payload, room behind, as [`Outbound::room`] has them; from SPI to ICV when it
    /// is sealed. After a fault its content is not specified.
    pub bytes: &'a mut [u8],
    /// Bytes of the payload.
    pub payload: usize,
    /// Protocol of the payload.
    pub next_header: u8,
    /// The sequence number, or why the packet must not be sent. [`Fault::Pending`] beforehand.
    pub outcome: Result<u64, Fault>,
}

impl<'a> Sealing<'a> {
    /// A packet that waits for [`seal`].
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

type Packets<'p> = SmallVec<[Work<'p, Outbound, u64>; BATCH]>;

/// Seals packets of any associations, in place, and writes what came of each into its outcome.
/// Packets of one association get their numbers in the order in which they stand here.
pub fn seal(batch: &mut [Sealing<'_>]) {
    for part in batch.chunks_mut(BATCH) {
        seal_part(part);
    }
}

fn seal_part(part: &mut [Sealing<'_>]) {
    let mut work = Packets::new();
    for (index, packet) in (0..).zip(part) {
        let (front, back) = packet.sa.room(packet.payload);
        if packet.bytes.len() != front + packet.payload + back {
            packet.outcome = Err(Fault::Room);
            continue;
        }
        let end = packet.bytes.len() - packet.sa.shared.suite.icv_len();
        pad(
            &mut packet.bytes[front + packet.payload..end],
            packet.next_header,
        );
        work.push(Work {
            sa: packet.sa,
            bytes: packet.bytes,
            front,
            end,
            payload: packet.payload,
            number: 0,
            index,
            fault: None,
            outcome: &mut packet.outcome,
        });
    }
    group(&mut work, |sa| &sa.shared);
    for run in runs(&mut work) {
        seal_run(run);
    }
}

/// Padding, its length, and the next header (RFC 4303, 2.4 to 2.6).
fn pad(trailer: &mut [u8], next_header: u8) {
    let Some((padding, end)) = trailer.split_last_chunk_mut::<TRAILER>() else {
        return;
    };
    *end = [padding.len() as u8, next_header];
    for (number, byte) in (1..).zip(padding) {
        *byte = number;
    }
}

/// Seals the packets of one association.
fn seal_run(run: &mut [Work<'_, Outbound, u64>]) {
    let Some(sa) = run.first().map(|work| work.sa) else {
        return;
    };
    let numbers = sa.reserve(run.len());
    let (run, rest) = run.split_at_mut((numbers.end - numbers.start) as usize);
    for work in rest {
        *work.outcome = Err(Fault::Exhausted);
    }
    for (work, number) in run.iter_mut().zip(numbers) {
        work.number = number;
        if let Some(header) = work.bytes.first_chunk_mut::<HEADER>() {
            header[..4].copy_from_slice(&sa.shared.spi.to_be_bytes());
            header[4..].copy_from_slice(&(number as u32).to_be_bytes());
        }
    }
    write_vectors(sa, run);
    if sa.shared.cipher.is_aead() {
        for work in &mut *run {
            sa.shared.cipher.lock(work, sa.shared.implied(work.number));
        }
    } else {
        sa.shared.cipher.encrypt(run);
        for work in &mut *run {
            let implied = sa.shared.implied(work.number);
            let implied = implied.as_ref().map_or(&[][..], |high| &high[..]);
            let (message, icv) = work.bytes.split_at_mut(work.end);
            let sum = sa.shared.mac.sum(message, implied);
            icv.copy_from_slice(&sum[..icv.len()]);
        }
    }
    let mut bytes = 0;
    for work in &mut *run {
        bytes += work.payload as u64;
        *work.outcome = work.fault.map_or(Ok(work.number), Err);
    }
    sa.count(run.len() as u64, bytes);
}

/// Initialization vectors: numbers where they must be unique, and encrypted ones where they must be
/// unpredictable.
fn write_vectors(sa: &Outbound, run: &mut [Work<'_, Outbound, u64>]) {
    match sa.shared.suite.encryption {
        Encryption::Null => {}
        Encryption::AesCtr(_) | Encryption::AesGcm(_) | Encryption::ChaCha20Poly1305 => {
            for work in run {
                let number = work.number.to_be_bytes();
                work.bytes[HEADER..work.front].copy_from_slice(&number);
            }
        }
        _ => {
            for part in run.chunks_mut(VECTORS) {
                let mut vectors = [Array::default(); VECTORS];
                for (vector, work) in vectors.iter_mut().zip(&*part) {
                    vector[..8].copy_from_slice(&work.number.to_be_bytes());
                }
                sa.unpredictable(&mut vectors[..part.len()]);
                for (vector, work) in vectors.iter().zip(part) {
                    let place = &mut work.bytes[HEADER..work.front];
                    place.copy_from_slice(&vector[..place.len()]);
                }
            }
        }
    }
}

/// Vectors that are made at once.
const VECTORS: usize = 32;
