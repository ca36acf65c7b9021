//! The fields of a TCP segment that connection tracking reads (RFC 9293, 3.1).

use packet::Fields;

/// TCP flags.
pub(in crate::connection) mod flag {
    pub(in crate::connection) const FIN: u8 = 1;
    pub(in crate::connection) const SYN: u8 = 2;
    pub(in crate::connection) const RST: u8 = 4;
    pub(in crate::connection) const ACK: u8 = 16;
}

/// Sequence numbers, window and flags of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::connection) struct Segment {
    /// First sequence number.
    pub(in crate::connection) seq: u32,
    /// The sequence number after the last one; SYN and FIN count as one each.
    pub(in crate::connection) end: u32,
    /// Acknowledgement number, valid if `flags` has ACK.
    pub(in crate::connection) ack: u32,
    /// The window field, not scaled.
    pub(in crate::connection) window: u16,
    /// TCP flags, as in the header.
    pub(in crate::connection) flags: u8,
    /// The window scale that a SYN offers (RFC 7323, 2), at most 14.
    pub(in crate::connection) scale: Option<u8>,
}

impl Segment {
    /// Parses a packet that is TCP and not truncated; `None` if its header is malformed.
    #[inline(always)]
    pub(in crate::connection) fn read(fields: &Fields, packet: &[u8]) -> Option<Self> {
        Self::at(usize::from(fields.upper), fields.len, packet)
    }

    /// Parses a packet of `len` bytes whose TCP header begins at byte `at`.
    #[inline(always)]
    pub(in crate::connection) fn at(at: usize, len: u32, packet: &[u8]) -> Option<Self> {
        let header = packet.get(at..)?.first_chunk::<20>()?;
        let header_len = usize::from(header[12] >> 4) * 4;
        let len = (len as usize).checked_sub(at)?;
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

    /// Returns true if all of `flags` are set.
    #[inline(always)]
    pub(in crate::connection) const fn has(&self, flags: u8) -> bool {
        self.flags & flags == flags
    }

    /// Returns true for an ACK without SYN, FIN and RST.
    #[inline(always)]
    pub(in crate::connection) const fn is_plain(&self) -> bool {
        self.flags & (flag::FIN | flag::SYN | flag::RST | flag::ACK) == flag::ACK
    }

    /// Returns true if the segment has data, SYN or FIN.
    #[inline(always)]
    pub(in crate::connection) const fn spans(&self) -> bool {
        self.end != self.seq
    }
}

/// Returns the window scale option of a SYN; values above 14 count as 14 (RFC 7323, 2.3).
#[cold]
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
    fn the_window_scale_is_found_after_other_options() {
        assert_eq!(scale(&[2, 4, 5, 180, 1, 3, 3, 7]), Some(7));
        assert_eq!(scale(&[3, 3, 200]), Some(14));
        assert_eq!(scale(&[2, 4, 5, 180, 0, 3, 3, 7]), None);
        assert_eq!(scale(&[2, 0, 5, 180]), None);
        assert_eq!(scale(&[2, 40]), None);
        assert_eq!(scale(&[3]), None);
    }
}
