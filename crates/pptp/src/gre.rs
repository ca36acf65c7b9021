//! Enhanced GRE, version 1 (RFC 2637, 4.1): PPP packets of a call, their numbers, and acknowledgements.
//!
//! ```text
//! flags, version (16) | 880b (16) | length (16) | call (16) [| sequence (32)] [| acknowledgement (32)] | payload
//! ```
//! The receiver of the packet assigned the call number. A packet without payload has no sequence number.

/// Bits of the first word.
const KEY: u16 = 0x2000;
const SEQUENCE: u16 = 0x1000;
const ACKNOWLEDGEMENT: u16 = 0x0080;
const VERSION: u16 = 1;
/// Bits that must be equal in all packets: checksum, routing, key, strict route, recursion, flags, version. Some
/// senders set recursion bits (RFC 2637 says 0), which are ignored.
const FIXED: u16 = 0xe87f;
/// Protocol type of PPP.
const PPP: u16 = 0x880b;
/// Bytes without and with all optional fields.
const SHORTEST: usize = 8;
/// Largest header in bytes.
pub const MAX_HEADER: usize = 16;

/// A packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Number of the call at the receiver.
    pub call: u16,
    /// Number of the packet; `None` for a packet without payload.
    pub sequence: Option<u32>,
    /// Number of the last packet that the sender received.
    pub acknowledged: Option<u32>,
    /// Offset of the payload: a PPP packet.
    pub start: usize,
    /// Offset behind the payload.
    pub end: usize,
}

impl Packet {
    /// Parses the payload of an IP packet with protocol 47. Returns `None` for other versions of GRE, and where lengths
    /// contradict each other.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let [a, b, c, d, e, f, g, h] = *bytes.first_chunk::<SHORTEST>()?;
        let flags = u16::from_be_bytes([a, b]);
        if flags & FIXED != KEY | VERSION || u16::from_be_bytes([c, d]) != PPP {
            return None;
        }
        let number = |at: usize| {
            let number = bytes.get(at..)?.first_chunk()?;
            Some(u32::from_be_bytes(*number))
        };
        let mut start = SHORTEST;
        let mut sequence = None;
        if flags & SEQUENCE != 0 {
            sequence = Some(number(start)?);
            start += 4;
        }
        let mut acknowledged = None;
        if flags & ACKNOWLEDGEMENT != 0 {
            acknowledged = Some(number(start)?);
            start += 4;
        }
        let end = start + usize::from(u16::from_be_bytes([e, f]));
        let has_payload = end > start;
        (end <= bytes.len() && has_payload == sequence.is_some()).then_some(Self {
            call: u16::from_be_bytes([g, h]),
            sequence,
            acknowledged,
            start,
            end,
        })
    }
}

/// Writes a header at the beginning of `place`. Returns its length in bytes.
///
/// `payload` is the length of the payload in bytes; a packet with a payload needs a sequence number.
#[inline]
pub fn write(
    place: &mut [u8; MAX_HEADER],
    call: u16,
    payload: u16,
    sequence: Option<u32>,
    acknowledged: Option<u32>,
) -> usize {
    let mut flags = KEY | VERSION;
    let mut end = SHORTEST;
    let numbers = [(sequence, SEQUENCE), (acknowledged, ACKNOWLEDGEMENT)];
    for (number, flag) in numbers {
        if let Some(number) = number {
            flags |= flag;
            place[end..end + 4].copy_from_slice(&number.to_be_bytes());
            end += 4;
        }
    }
    let words = [flags, PPP, payload, call];
    for (place, word) in place.chunks_exact_mut(2).zip(words) {
        place.copy_from_slice(&word.to_be_bytes());
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_as_they_were_written() {
        for sequence in [None, Some(0), Some(0xffff_ffff)] {
            for acknowledged in [None, Some(7)] {
                let mut bytes = vec![0; 64];
                let mut header = [0; MAX_HEADER];
                let payload = if sequence.is_some() { 9 } else { 0 };
                let length = write(&mut header, 0x1234, payload, sequence, acknowledged);
                bytes[..length].copy_from_slice(&header[..length]);
                let packet = Packet::parse(&bytes).expect("a packet");
                assert_eq!((packet.call, packet.sequence), (0x1234, sequence));
                assert_eq!(packet.acknowledged, acknowledged);
                assert_eq!(packet.end - packet.start, usize::from(payload));
                for end in 0..packet.end {
                    assert_eq!(Packet::parse(&bytes[..end]), None, "{end}");
                }
            }
        }
    }

    #[test]
    fn other_versions_and_protocols_are_no_packets() {
        let good = [0x20, 0x81, 0x88, 0x0b, 0, 0, 0, 1, 0, 0, 0, 5];
        assert!(Packet::parse(&good).is_some());
        for (at, value) in [(0, 0), (1, 0x80), (2, 0x08), (0, 0xa0), (0, 0x60)] {
            let mut bad = good;
            bad[at] = value;
            assert_eq!(Packet::parse(&bad), None, "{at} {value:02x}");
        }
        // A sequence number without payload.
        assert_eq!(
            Packet::parse(&[0x30, 1, 0x88, 0x0b, 0, 0, 0, 1, 0, 0, 0, 5]),
            None
        );
    }
}
