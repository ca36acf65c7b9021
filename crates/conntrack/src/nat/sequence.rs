//! Adjusts TCP sequence numbers after a helper changed payload lengths.
//!
//! Each direction stores the position of its last change and the offsets before and after that position. Two offsets
//! suffice: data before the previous change was acknowledged, or is retransmitted with the offset that it had
//! (as netfilter's `seqadj`).

use wire::checksum::combine;

use super::apply::{Malformed, update};
use super::rewrite::difference;

/// The TCP options that the code reads (RFC 9293, 3.1; RFC 2018, 3).
mod option {
    pub(super) const END: u8 = 0;
    pub(super) const NO_OPERATION: u8 = 1;
    pub(super) const SACK: u8 = 5;
}

/// Sequence offsets of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shift {
    /// Sequence number of the last changed segment, in the sender's numbering.
    at: u32,
    /// Offset of numbers up to `at`.
    before: i32,
    /// Offset of later numbers.
    behind: i32,
}

/// Returns true if `a` is later than `b` (RFC 9293, 3.4).
const fn later(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

impl Shift {
    /// Returns true if no number changes.
    #[inline]
    pub const fn is_none(&self) -> bool {
        self.before == 0 && self.behind == 0
    }

    /// Records that the segment beginning at `sequence`, in the sender's numbering, grew by `bytes`
    /// (negative: shrank). A retransmission of the segment changes nothing.
    pub fn record(&mut self, sequence: u32, bytes: i32) {
        if bytes != 0 && (self.before == self.behind || later(sequence, self.at)) {
            *self = Self {
                at: sequence,
                before: self.behind,
                behind: self.behind.wrapping_add(bytes),
            };
        }
    }

    /// Converts a sequence number from the sender's numbering to the receiver's.
    pub const fn forth(&self, sequence: u32) -> u32 {
        let shift = if later(sequence, self.at) {
            self.behind
        } else {
            self.before
        };
        sequence.wrapping_add_signed(shift)
    }

    /// Converts an acknowledgement number from the receiver's numbering to the sender's.
    pub const fn back(&self, acknowledged: u32) -> u32 {
        let unshifted = acknowledged.wrapping_add_signed(self.before.wrapping_neg());
        let shift = if later(unshifted, self.at) {
            self.behind
        } else {
            self.before
        };
        acknowledged.wrapping_add_signed(shift.wrapping_neg())
    }
}

/// Adjusts the numbers of a segment, from its TCP header on: its sequence number by the offsets of its
/// direction, its acknowledgement number by those of the other. An unfinished checksum does not cover them.
///
/// # Errors
/// Returns [`Malformed`] with the segment unchanged if the header is truncated.
pub fn shift(
    segment: &mut [u8],
    own: &Shift,
    other: &Shift,
    unfinished: bool,
) -> Result<(), Malformed> {
    let len = segment
        .get(12)
        .map_or(0, |first| usize::from(first >> 4) * 4);
    if len < 20 {
        return Err(Malformed);
    }
    let header = segment.get_mut(..len).ok_or(Malformed)?;
    let acknowledges = header[13] & 0x10 != 0;
    let mut change = renumber(header, 4, |number| own.forth(number));
    if acknowledges {
        change = combine(change, renumber(header, 8, |number| other.back(number)));
        change = combine(change, selective(header, other));
    }
    if !unfinished && let Some(checksum) = header[16..].first_chunk_mut() {
        update(checksum, change.to_be());
    }
    Ok(())
}

/// Adjusts selective acknowledgements (RFC 2018, 3); returns the change of the sum.
fn selective(header: &mut [u8], other: &Shift) -> u16 {
    let (mut at, mut change) = (20, 0);
    while let Some(kind) = header.get(at).copied() {
        let len = match kind {
            option::END => break,
            option::NO_OPERATION => 1,
            _ => usize::from(header.get(at + 1).copied().unwrap_or_default()),
        };
        if len == 0 || (kind != option::NO_OPERATION && len < 2) {
            break;
        }
        if kind == option::SACK {
            for edge in (at + 2..(at + len).min(header.len())).step_by(4) {
                change = combine(change, renumber(header, edge, |number| other.back(number)));
            }
        }
        at += len;
    }
    change
}

/// Replaces one number; returns the change of the header's sum.
fn renumber(header: &mut [u8], at: usize, to: impl Fn(u32) -> u32) -> u16 {
    let Some(field) = header
        .get_mut(at..)
        .and_then(|tail| tail.first_chunk_mut::<4>())
    else {
        return 0;
    };
    let old = *field;
    *field = to(u32::from_be_bytes(old)).to_be_bytes();
    match difference(&old, field) {
        // At an odd offset the bytes are in the other halves of the words (RFC 1071, 2).
        change if at % 2 == 1 => change.swap_bytes(),
        change => change,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use samples::sum;

    #[test]
    fn sequence_numbers_after_an_edit_are_shifted_in_both_directions() {
        let mut shift = Shift::default();
        shift.record(1000, 5);

        assert_eq!(
            [shift.forth(999), shift.forth(1000), shift.forth(1020)],
            [999, 1000, 1025]
        );
        assert_eq!([shift.back(1000), shift.back(1025)], [1000, 1020]);
    }

    #[test]
    fn a_retransmitted_segment_is_shifted_once() {
        let mut shift = Shift::default();
        shift.record(1000, 5);
        shift.record(1000, 5);
        assert_eq!(shift.forth(1001), 1006);

        shift.record(2000, -7);
        assert_eq!(
            [shift.forth(1500), shift.forth(2000), shift.forth(2001)],
            [1505, 2005, 1999]
        );
    }

    proptest! {
        #[test]
        fn acknowledgements_refer_to_the_original_stream(
            start in any::<u32>(),
            segments in proptest::collection::vec((20..1400_u32, -9..9_i32), 1..40),
        ) {
            // Segments one after another, each acknowledged before the next.
            let (mut shift, mut sent, mut received) = (Shift::default(), start, start);
            for (bytes, change) in segments {
                shift.record(sent, change);
                prop_assert_eq!(shift.forth(sent), received);
                sent = sent.wrapping_add(bytes);
                received = received.wrapping_add(bytes).wrapping_add_signed(change);
                prop_assert_eq!(shift.back(received), sent);
            }
        }

        #[test]
        fn the_checksum_is_updated_with_the_sequence_numbers(
            mut segment in proptest::collection::vec(any::<u8>(), 20..80),
            own in any::<(u32, i32)>(),
            other in any::<(u32, i32)>(),
        ) {
            segment[16..18].fill(0);
            let checksum = !sum(&segment);
            segment[16..18].copy_from_slice(&checksum.to_be_bytes());
            let (mut one, mut two) = (Shift::default(), Shift::default());
            one.record(own.0, own.1);
            two.record(other.0, other.1);

            let _ = shift(&mut segment, &one, &two, false);

            prop_assert_eq!(sum(&segment), 0xffff);
        }
    }

    #[test]
    fn selective_acknowledgements_are_shifted_back() {
        let mut segment = vec![0; 32];
        segment[12] = 0x80;
        segment[13] = 0x10;
        segment[8..12].copy_from_slice(&1000_u32.to_be_bytes());
        segment[20..24].copy_from_slice(&[1, 1, 5, 10]);
        segment[24..28].copy_from_slice(&2005_u32.to_be_bytes());
        segment[28..32].copy_from_slice(&3005_u32.to_be_bytes());
        let mut other = Shift::default();
        other.record(1000, 5);

        shift(&mut segment, &Shift::default(), &other, false).unwrap();

        assert_eq!(segment[8..12], 1000_u32.to_be_bytes());
        assert_eq!(segment[24..28], 2000_u32.to_be_bytes());
        assert_eq!(segment[28..32], 3000_u32.to_be_bytes());
    }
}
