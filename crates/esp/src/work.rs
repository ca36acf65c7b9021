//! A packet at work, and how packets of a batch come together.

use core::cmp::Ordering;
use core::ptr;

use crate::Fault;
use crate::association::{HEADER, Shared};

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

    /// Bytes of what is encrypted.
    pub(crate) fn text_len(&self) -> usize {
        self.end - self.front
    }

    /// The initialization vector, as long as the packet has one.
    pub(crate) fn iv(&self) -> &[u8] {
        self.bytes.get(HEADER..self.front).unwrap_or_default()
    }
}

/// Which associations are worked on with one another: `kind` first, then each alone, packets in their
/// order.
pub(crate) fn group<S, O>(work: &mut [Work<'_, S, O>], shared: impl Fn(&S) -> &Shared) {
    let order = |one: &Work<'_, S, O>, other: &Work<'_, S, O>| -> Ordering {
        let key = |work: &Work<'_, S, O>| {
            let suite = shared(work.sa).suite;
            let address = ptr::from_ref(work.sa).addr();
            (suite.authentication, suite.encryption, address, work.index)
        };
        key(one).cmp(&key(other))
    };
    if !work.is_sorted_by(|one, other| order(one, other).is_lt()) {
        work.sort_unstable_by(order);
    }
}

/// The packets of each association, when they are grouped.
pub(crate) fn runs<'w, 'p, S, O>(
    work: &'w mut [Work<'p, S, O>],
) -> impl Iterator<Item = &'w mut [Work<'p, S, O>]> {
    work.chunk_by_mut(|one, other| ptr::eq(one.sa, other.sa))
}
