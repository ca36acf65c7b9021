//! Frames of a bridge in PPP packets (RFC 3518, 4.2).
//!
//! ```text
//! 0031 | F I Z B (4), pads (4) | MAC type (8) | LAN id (32, if I) | Ethernet frame | FCS (32, if F) | pads
//! ```

use crate::reason::Fault;

/// The frame ends with its check sequence.
const HAS_CHECK: u8 = 0x80;
/// A LAN identifier precedes the frame.
const HAS_LAN: u8 = 0x40;
/// Zeros at the end of a short frame were removed.
const IS_COMPRESSED: u8 = 0x20;
/// The frame is a control packet of the bridges.
const IS_CONTROL: u8 = 0x10;
const PADS: u8 = 0x0f;
/// Type of MAC: Ethernet.
const ETHERNET: u8 = 1;
/// Bytes of flags and MAC type.
pub const BRIDGED_HEADER: usize = 2;
/// Flags and MAC type in front of each frame that this end sends.
pub const BRIDGED_FRONT: [u8; BRIDGED_HEADER] = [0, ETHERNET];
/// Bytes of a LAN identifier, and of a check sequence.
const WORD: usize = 4;
/// Bytes of an Ethernet header.
const LINK: usize = 14;
/// Bytes of the shortest Ethernet frame without check sequence.
const SHORTEST: usize = 60;

/// A frame in the information field of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BridgedFrame {
    /// Offset of the frame in the information field.
    pub start: usize,
    /// Bytes of the frame, without check sequence and pads.
    pub bytes: usize,
    /// Bytes to which the frame is extended by zeros, because zeros were removed; 0 if none were.
    pub shortest: usize,
}

impl BridgedFrame {
    /// Parses the information field of a packet with the protocol [`BRIDGED`](crate::BRIDGED).
    ///
    /// # Errors
    /// The frame is truncated, or not of Ethernet.
    pub fn parse(information: &[u8]) -> Result<Self, Fault> {
        let Some((&[flags, kind], _)) = information.split_first_chunk() else {
            return Err(Fault::Truncated);
        };
        if kind != ETHERNET || flags & IS_CONTROL != 0 {
            return Err(Fault::BridgedKind);
        }
        let lan = if flags & HAS_LAN != 0 { WORD } else { 0 };
        let check = if flags & HAS_CHECK != 0 { WORD } else { 0 };
        let start = BRIDGED_HEADER + lan;
        let behind = check + usize::from(flags & PADS);
        let end = information.len().checked_sub(behind);
        let bytes = end.and_then(|end| end.checked_sub(start));
        let bytes = bytes.filter(|bytes| *bytes >= LINK);
        Ok(Self {
            start,
            bytes: bytes.ok_or(Fault::Truncated)?,
            shortest: if flags & IS_COMPRESSED != 0 {
                SHORTEST
            } else {
                0
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_lies_between_its_header_and_what_follows_it() {
        let frame = [7; 20];
        let plain = [&BRIDGED_FRONT[..], &frame].concat();
        let expected = BridgedFrame {
            start: 2,
            bytes: 20,
            shortest: 0,
        };
        assert_eq!(BridgedFrame::parse(&plain), Ok(expected));
        let all = [&[0xe3, 1, 0, 0, 0, 9][..], &frame, &[1; 4], &[0; 3]].concat();
        let expected = BridgedFrame {
            start: 6,
            bytes: 20,
            shortest: 60,
        };
        assert_eq!(BridgedFrame::parse(&all), Ok(expected));
    }

    #[test]
    fn truncated_frames_and_other_kinds_are_refused() {
        let all = [&[0xc3, 1, 0, 0, 0, 9][..], &[7; 14], &[1; 4], &[0; 3]].concat();
        assert!(BridgedFrame::parse(&all).is_ok());
        for length in 0..all.len() {
            let cut = BridgedFrame::parse(&all[..length]);
            assert_eq!(cut, Err(Fault::Truncated), "{length}");
        }
        let token_ring = [&[0, 3][..], &[7; 60]].concat();
        assert_eq!(BridgedFrame::parse(&token_ring), Err(Fault::BridgedKind));
        let control = [&[0x10, 1][..], &[7; 60]].concat();
        assert_eq!(BridgedFrame::parse(&control), Err(Fault::BridgedKind));
    }
}
