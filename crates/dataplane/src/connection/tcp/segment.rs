//! What tracking reads of a segment (RFC 9293, 3.1).

use crate::packet::Fields;

/// The flags of TCP.
pub(in super::super) mod flag {
    pub(in super::super::super) const FIN: u8 = 1;
    pub(in super::super::super) const SYN: u8 = 2;
    pub(in super::super::super) const RST: u8 = 4;
    pub(in super::super::super) const ACK: u8 = 16;
}

/// A segment's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Segment {
    /// Its first sequence number.
    pub(in super::super) seq: u32,
    /// The number behind its last: SYN and FIN count.
    pub(in super::super) end: u32,
    /// What it acknowledges, if `flags` has ACK.
    pub(in super::super) ack: u32,
    /// The window field, not scaled.
    pub(in super::super) window: u16,
    /// Its flags.
    pub(in super::super) flags: u8,
    /// The window scale that a SYN offers (RFC 7323, 2), at most 14.
    pub(in super::super) scale: Option<u8>,
}

impl Segment {
    /// Reads a packet whose fields say TCP, not truncated; none when its header does not fit.
    #[inline]
    pub(in super::super) fn read(fields: &Fields, packet: &[u8]) -> Option<Self> {
        let at = usize::from(fields.upper);
        let header = packet.get(at..)?.first_chunk::<20>()?;
        let header_len = usize::from(header[12] >> 4) * 4;
        let len = (fields.len as usize).checked_sub(at)?;
        if header_len < 20 {
            return None;
        }
        let data = len.checked_sub(header_len)? as u32;
        let flags = header[13];
        let word = |at: usize| {
            u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
        };
        let seq = word(4);
        let span = data + u32::from(flags & flag::SYN != 0) + u32::from(flags & flag::FIN != 0);
        Some(Self {
            seq,
            end: seq.wrapping_add(span),
            ack: word(8),
            window: u16::from_be_bytes([header[14], header[15]]),
            flags,
            scale: match flags & flag::SYN {
                0 => None,
                _ => packet.get(at + 20..at + header_len).and_then(scale),
            },
        })
    }

    /// Whether it has all of these flags.
    #[inline(always)]
    pub(in super::super) const fn has(&self, flags: u8) -> bool {
        self.flags & flags == flags
    }

    /// Whether it carries data, SYN or FIN.
    #[inline(always)]
    pub(in super::super) const fn spans(&self) -> bool {
        self.end != self.seq
    }
}

/// The window scale among a SYN's options; more than 14 counts as 14 (RFC 7323, 2.3).
fn scale(mut options: &[u8]) -> Option<u8> {
    loop {
        match *options {
            [] | [0, ..] => return None,
            [1, ..] => options = &options[1..],
            [3, 3, shift, ..] => return Some(shift.min(14)),
            [_, len, ..] if len >= 2 => options = options.get(usize::from(len)..)?,
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_is_found_behind_other_options() {
        assert_eq!(scale(&[2, 4, 5, 180, 1, 3, 3, 7]), Some(7));
        assert_eq!(scale(&[3, 3, 200]), Some(14));
        assert_eq!(scale(&[2, 4, 5, 180, 0, 3, 3, 7]), None);
        assert_eq!(scale(&[2, 0, 5, 180]), None);
        assert_eq!(scale(&[2, 40]), None);
        assert_eq!(scale(&[3]), None);
    }
}
