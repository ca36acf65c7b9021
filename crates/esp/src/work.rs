//! A packet in progress, and grouping of a batch by algorithms and associations.

use core::ptr;

use smallvec::SmallVec;

use crate::Fault;
use crate::association::{HEADER_BYTES, Shared};
use crate::mac::{CHUNK_MESSAGES, Message, Sum, sums};

/// A packet of a batch during processing.
pub(crate) struct Work<'p, S, O> {
    /// Association of the packet.
    pub(crate) sa: &'p S,
    /// Bytes from the SPI to the end of the ICV.
    pub(crate) bytes: &'p mut [u8],
    /// Start of the ciphertext.
    pub(crate) front: usize,
    /// End of the ciphertext and start of the ICV.
    pub(crate) end: usize,
    /// Length of the payload to seal, in bytes.
    pub(crate) payload: usize,
    /// Complete sequence number.
    pub(crate) number: u64,
    /// Position in the batch.
    pub(crate) index: u16,
    /// Reason to stop processing.
    pub(crate) fault: Option<Fault>,
    /// Destination of the result.
    pub(crate) outcome: &'p mut Result<O, Fault>,
}

impl<S, O> Work<'_, S, O> {
    /// Returns the bytes to encrypt or decrypt.
    pub(crate) fn text(&mut self) -> &mut [u8] {
        self.bytes.get_mut(self.front..self.end).unwrap_or_default()
    }

    /// Returns the bytes that an HMAC covers.
    fn message(&self) -> Message<'_>
    where
        S: AsRef<Shared>,
    {
        let shared = self.sa.as_ref();
        Message {
            mac: &shared.mac,
            bytes: self.bytes.get(..self.end).unwrap_or_default(),
            implied: shared.implied(self.number),
        }
    }

    /// Returns the integrity check value.
    pub(crate) fn icv(&mut self) -> &mut [u8] {
        self.bytes.get_mut(self.end..).unwrap_or_default()
    }

    /// Length of the ciphertext in bytes.
    pub(crate) fn text_len(&self) -> usize {
        self.end - self.front
    }

    /// Returns the initialization vector.
    pub(crate) fn iv(&self) -> &[u8] {
        self.bytes.get(HEADER_BYTES..self.front).unwrap_or_default()
    }
}

/// Prefetches the keys of the first packets of a batch. Each item is a packet's association and the length of its text.
/// The cipher prefetches those of later packets.
#[inline(always)]
pub(crate) fn prefetch_keys<'s>(packets: impl Iterator<Item = (&'s Shared, usize)>) {
    const FIRST: usize = 4;
    let mut last = None;
    for (shared, len) in packets.take(FIRST) {
        if last.replace(ptr::from_ref(shared)) != Some(ptr::from_ref(shared)) {
            shared.cipher.prefetch(len);
        }
    }
}

/// Sorts packets by algorithms, then by association, then by batch position.
pub(crate) fn group<S: AsRef<Shared>, O>(work: &mut [Work<'_, S, O>]) {
    let key = |work: &Work<'_, S, O>| {
        let suite = work.sa.as_ref().suite;
        let address = ptr::from_ref(work.sa).addr();
        (suite.encryption, suite.authentication, address, work.index)
    };
    // Packets of one association are already in order.
    let is_grouped =
        work.is_sorted_by(|one, other| ptr::eq(one.sa, other.sa) || key(one) < key(other));
    if !is_grouped {
        work.sort_unstable_by_key(key);
    }
}

/// Splits a grouped batch into the packets of each association.
pub(crate) fn runs<'w, 'p, S, O>(
    work: &'w mut [Work<'p, S, O>],
) -> impl Iterator<Item = &'w mut [Work<'p, S, O>]> {
    work.chunk_by_mut(|one, other| ptr::eq(one.sa, other.sa))
}

/// Splits a grouped batch into chunks with equal algorithms, small enough for the first-level cache between
/// cipher and hash.
pub(crate) fn parts<'w, 'p, S: AsRef<Shared>, O>(
    work: &'w mut [Work<'p, S, O>],
) -> impl Iterator<Item = &'w mut [Work<'p, S, O>]> {
    let suite = |work: &Work<'_, S, O>| work.sa.as_ref().suite;
    work.chunk_by_mut(move |one, other| ptr::eq(one.sa, other.sa) || suite(one) == suite(other))
        .flat_map(|alike| alike.chunks_mut(CHUNK_PACKETS))
}

/// Calls `give` with each packet without a fault and its HMAC.
pub(crate) fn authenticate<S: AsRef<Shared>, O>(
    work: &mut [Work<'_, S, O>],
    mut give: impl FnMut(&mut Work<'_, S, O>, &Sum),
) {
    let algorithm = |work: &Work<'_, S, O>| work.sa.as_ref().suite.authentication;
    let alike = work.chunk_by_mut(|one, other| algorithm(one) == algorithm(other));
    for part in alike.flat_map(|alike| alike.chunks_mut(CHUNK_MESSAGES)) {
        let sums = {
            let whole = part.iter().filter(|packet| packet.fault.is_none());
            sums(
                &whole
                    .map(Work::message)
                    .collect::<SmallVec<[_; CHUNK_MESSAGES]>>(),
            )
        };
        let whole = part.iter_mut().filter(|packet| packet.fault.is_none());
        for (packet, sum) in whole.zip(&sums) {
            give(packet, sum);
        }
    }
}

/// Packets per chunk: two for each lane of the widest hash.
pub(crate) const CHUNK_PACKETS: usize = 32;
