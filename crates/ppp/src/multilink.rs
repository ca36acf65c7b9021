//! Multilink framing on one link: fragments with long sequence numbers (RFC 1990, 3).
//!
//! A packet that exceeds the MTU of the link travels in several fragments. With one link below, fragments arrive in
//! order, and a gap in the sequence is a loss.

use crate::packet::MULTILINK;
use crate::reason::Fault;

const FIRST: u8 = 0x80;
const LAST: u8 = 0x40;
/// Flags and sequence number.
const HEADER: usize = 4;
/// Sequence numbers have 24 bits.
const SEQUENCE_MASK: u32 = 0x00ff_ffff;
/// Protocol field within a reassembled packet.
const PROTOCOL_FIELD: usize = 2;

/// A fragment of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment<'a> {
    /// The packet begins with this fragment.
    pub is_first: bool,
    /// The packet ends with this fragment.
    pub is_last: bool,
    /// Sequence number of the fragment, 24 bits.
    pub sequence: u32,
    /// Bytes of the packet, which begins with its protocol field.
    pub data: &'a [u8],
}

impl<'a> Fragment<'a> {
    /// Parses the information field of a packet with the protocol [`MULTILINK`].
    pub fn parse(information: &'a [u8]) -> Result<Self, Fault> {
        let Some((&[flags, high, middle, low], data)) = information.split_first_chunk() else {
            return Err(Fault::Fragment);
        };
        Ok(Self {
            is_first: flags & FIRST != 0,
            is_last: flags & LAST != 0,
            sequence: u32::from_be_bytes([0, high, middle, low]),
            data,
        })
    }

    /// Returns the bytes before `data`: protocol field, flags, sequence number.
    pub fn header(&self) -> [u8; PROTOCOL_FIELD + HEADER] {
        let [protocol_high, protocol_low] = MULTILINK.to_be_bytes();
        let [_, high, middle, low] = self.sequence.to_be_bytes();
        let first = if self.is_first { FIRST } else { 0 };
        let last = if self.is_last { LAST } else { 0 };
        [protocol_high, protocol_low, first | last, high, middle, low]
    }
}

/// Splits a packet, from its protocol field on, into fragments for a link with the given MTU in bytes.
///
/// `sequence` is the number of the next fragment and is advanced. An MTU of fewer than 5 bytes counts as 5.
pub fn fragments<'a>(
    packet: &'a [u8],
    mtu: u16,
    sequence: &mut u32,
) -> impl Iterator<Item = Fragment<'a>> {
    let size = usize::from(mtu).saturating_sub(HEADER).max(1);
    let count = packet.len().div_ceil(size);
    let first = *sequence;
    *sequence = first.wrapping_add(count as u32) & SEQUENCE_MASK;
    packet
        .chunks(size)
        .enumerate()
        .map(move |(at, data)| Fragment {
            is_first: at == 0,
            is_last: at + 1 == count,
            sequence: first.wrapping_add(at as u32) & SEQUENCE_MASK,
            data,
        })
}

/// What a fragment completes and what it shows to be lost.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Reassembled<'a> {
    /// A complete packet, from its protocol field on.
    pub packet: Option<&'a [u8]>,
    /// Why fragments were discarded.
    pub fault: Option<Fault>,
}

/// Reassembly of the fragments of one link. Holds one incomplete packet of at most the MRRU.
#[derive(Debug)]
pub struct Reassembly {
    limit: usize,
    buffer: Vec<u8>,
    /// Sequence number of the next fragment of an incomplete packet.
    next: Option<u32>,
}

impl Reassembly {
    /// Creates a reassembly for packets whose information field has at most `mrru` bytes.
    pub const fn new(mrru: u16) -> Self {
        Self {
            limit: PROTOCOL_FIELD + mrru as usize,
            buffer: Vec::new(),
            next: None,
        }
    }

    /// Adds a fragment.
    pub fn push<'a>(&'a mut self, fragment: Fragment<'a>) -> Reassembled<'a> {
        let expected = self.next.take();
        let interrupted = expected.filter(|next| fragment.is_first || *next != fragment.sequence);
        let fault = interrupted.map(|_| Fault::FragmentLost);
        let begins = match fragment.is_first {
            true => 0,
            false if expected.is_none() || fault.is_some() => {
                return Reassembled {
                    packet: None,
                    fault: Some(Fault::FragmentLost),
                };
            }
            false => self.buffer.len(),
        };
        self.buffer.truncate(begins);
        if begins + fragment.data.len() > self.limit {
            return Reassembled {
                packet: None,
                fault: Some(Fault::TooLong),
            };
        }
        if fragment.is_first && fragment.is_last {
            return Reassembled {
                packet: Some(fragment.data),
                fault,
            };
        }
        self.buffer.extend_from_slice(fragment.data);
        if !fragment.is_last {
            self.next = Some(fragment.sequence.wrapping_add(1) & SEQUENCE_MASK);
            return Reassembled {
                packet: None,
                fault,
            };
        }
        Reassembled {
            packet: Some(&self.buffer),
            fault,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packet(length: usize) -> Vec<u8> {
        (0..length).map(|at| at as u8).collect()
    }

    proptest! {
        #[test]
        fn fragments_fit_the_link_and_give_the_packet_again(
            length in 1_usize..3_000,
            mtu in 5_u16..1_600,
            start in 0_u32..=SEQUENCE_MASK,
        ) {
            let packet = packet(length);
            let mut sequence = start;
            let mut reassembly = Reassembly::new(3_000);
            let mut complete = None;
            for fragment in fragments(&packet, mtu, &mut sequence) {
                prop_assert!(HEADER + fragment.data.len() <= usize::from(mtu));
                let wire = [&fragment.header()[..], fragment.data].concat();
                let fragment = Fragment::parse(&wire[PROTOCOL_FIELD..]).expect("a whole header");
                let Reassembled { packet, fault } = reassembly.push(fragment);
                prop_assert_eq!(fault, None);
                prop_assert!(complete.is_none(), "a packet is complete once");
                complete = packet.map(<[u8]>::to_vec);
            }
            prop_assert_eq!(complete, Some(packet));
            prop_assert!(sequence <= SEQUENCE_MASK);
        }

        #[test]
        fn a_packet_with_a_lost_fragment_is_never_delivered(lost in 0_usize..5) {
            let packet = packet(500);
            let mut sequence = SEQUENCE_MASK - 2;
            let mut reassembly = Reassembly::new(1_500);
            let all: Vec<_> = fragments(&packet, 104, &mut sequence).collect();
            prop_assert_eq!(all.len(), 5);
            for (at, fragment) in all.iter().enumerate().filter(|(at, _)| *at != lost) {
                prop_assert_eq!(reassembly.push(*fragment).packet, None, "{}", at);
            }
            let whole: Vec<_> = fragments(&packet, 1_500, &mut sequence).collect();
            let last = reassembly.push(whole[0]);
            prop_assert_eq!(last.packet, Some(&packet[..]));
        }
    }

    #[test]
    fn a_packet_is_bounded_by_the_mrru() {
        let mut reassembly = Reassembly::new(100);
        let (packet, mut sequence) = (packet(103), 0);
        let faults = fragments(&packet, 64, &mut sequence).map(|fragment| {
            let Reassembled { packet, fault } = reassembly.push(fragment);
            assert_eq!(packet, None);
            fault
        });
        assert!(faults.eq([None, Some(Fault::TooLong)]));
    }
}
