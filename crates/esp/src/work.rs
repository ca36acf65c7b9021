//! A packet at work, and how packets of a batch come together.

use core::ptr;

use crate::Fault;
use crate::association::{HEADER, Shared};
use crate::mac::{Message, Sum, sums};

/// A packet of a batch, while it is worked on.
pub(crate) struct Work<'p, S, O> {
    /// Its association.
    pub(crate) sa: &'p S,
    /// From SPI to the end of the ICV.
    pub(crate) bytes: &'p mut [u8],
    /// Where the ciphertext begins.
    pub(crate) front: usize,
    /// Where it ends, and the ICV begins.
    pub(crate) end: usize,
    /// Bytes of the payload, when it is sealed.
    pub(crate) payload: usize,
    /// Its whole sequence number.
    pub(crate) number: u64,
    /// Its place in the batch.
    pub(crate) index: u16,
    /// Why it goes no further.
    pub(crate) fault: Option<Fault>,
    /// Where the result goes.
    pub(crate) outcome: &'p mut Result<O, Fault>,
}

impl<S, O> Work<'_, S, O> {
    /// What is encrypted.
    pub(crate) fn text(&mut self) -> &mut [u8] {
        self.bytes.get_mut(self.front..self.end).unwrap_or_default()
    }

    /// What an HMAC authenticates.
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

    /// The integrity check value.
    pub(crate) fn icv(&mut self) -> &mut [u8] {
        self.bytes.get_mut(self.end..).unwrap_or_default()
    }

    /// Bytes of what is encrypted.
    pub(crate) fn text_len(&self) -> usize {
        self.end - self.front
    }

    /// The initialization vector, as long as the packet has one.
    pub(crate) fn iv(&self) -> &[u8] {
        self.bytes.get(HEADER..self.front).unwrap_or_default()
    }
}

/// Brings packets together whose associations have the same algorithms, and among them those of one
/// association, in the order of the batch.
pub(crate) fn group<S: AsRef<Shared>, O>(work: &mut [Work<'_, S, O>]) {
    let key = |work: &Work<'_, S, O>| {
        let suite = work.sa.as_ref().suite;
        let address = ptr::from_ref(work.sa).addr();
        (suite.encryption, suite.authentication, address, work.index)
    };
    // Of one association they are in order.
    let is_grouped =
        work.is_sorted_by(|one, other| ptr::eq(one.sa, other.sa) || key(one) < key(other));
    if !is_grouped {
        work.sort_unstable_by_key(key);
    }
}

/// The packets of each association, when they are grouped.
pub(crate) fn runs<'w, 'p, S, O>(
    work: &'w mut [Work<'p, S, O>],
) -> impl Iterator<Item = &'w mut [Work<'p, S, O>]> {
    work.chunk_by_mut(|one, other| ptr::eq(one.sa, other.sa))
}

/// The packets of associations with the same algorithms, when they are grouped, a few at a time:
/// they stay in the first-level cache between cipher and hash.
pub(crate) fn parts<'w, 'p, S: AsRef<Shared>, O>(
    work: &'w mut [Work<'p, S, O>],
) -> impl Iterator<Item = &'w mut [Work<'p, S, O>]> {
    let suite = |work: &Work<'_, S, O>| work.sa.as_ref().suite;
    work.chunk_by_mut(move |one, other| ptr::eq(one.sa, other.sa) || suite(one) == suite(other))
        .flat_map(|alike| alike.chunks_mut(PART))
}

/// Gives each packet without a fault the HMAC of what it authenticates.
pub(crate) fn authenticate<S: AsRef<Shared>, O>(
    work: &mut [Work<'_, S, O>],
    mut give: impl FnMut(&mut Work<'_, S, O>, &Sum),
) {
    let mut waiting: Option<&mut Work<'_, S, O>> = None;
    for packet in work.iter_mut().filter(|packet| packet.fault.is_none()) {
        match waiting.take() {
            None => waiting = Some(packet),
            Some(other) => {
                let [one, two] = sums(&other.message(), &packet.message());
                give(other, &one);
                give(packet, &two);
            }
        }
    }
    if let Some(packet) = waiting {
        let sum = packet.message().sum();
        give(packet, &sum);
    }
}

/// Packets between cipher and hash: as many as the widest cipher's chains on most processors.
const PART: usize = 30;
