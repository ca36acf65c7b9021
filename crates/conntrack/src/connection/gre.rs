//! The GRE header of a connection's first packet (RFC 2784, 2890; PPTP: RFC 2637, 4.1), for display.
//!
//! It lies in a word of the shared line that otherwise holds TCP state. Lookups do not use it, except that a
//! PPTP call ID is part of the tuple.

use packet::{Fields, protocol};

/// GRE header fields of a connection's first packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gre {
    /// The version: 0, or 1 for PPTP.
    pub version: u8,
    /// Ethernet type of the payload.
    pub protocol: u16,
    /// The key; in version 1 the call ID.
    pub key: Option<u32>,
}

/// Flags of the header's first byte.
const CHECKSUM: u8 = 0x80;
const ROUTING: u8 = 0x40;
const KEY: u8 = 0x20;

/// Positions of the fields in the word.
const PROTOCOL_SHIFT: u32 = 32;
const VERSION_SHIFT: u32 = 48;
const HAS_KEY: u64 = 1 << 56;
const KNOWN: u64 = 1 << 57;

impl Gre {
    /// Returns the header of a packet if the packet is GRE and not truncated.
    pub(super) fn of(fields: &Fields, packet: &[u8]) -> Option<Self> {
        let upper = usize::from(fields.upper);
        let found = fields.tuple.protocol == protocol::GRE && upper > 0;
        found.then(|| Self::read(packet.get(upper..)?)).flatten()
    }

    /// Parses the header after the network header; `None` if it is truncated.
    fn read(upper: &[u8]) -> Option<Self> {
        let [flags, version, high, low] = *upper.first_chunk()?;
        let version = version & 7;
        // A checksum adds four bytes before the key; routing (RFC 1701) shares them.
        let at = if flags & (CHECKSUM | ROUTING) != 0 {
            8
        } else {
            4
        };
        let key = || upper.get(at..)?.first_chunk().copied();
        let key = match (flags & KEY != 0, version) {
            (false, _) => None,
            // Payload length, then call ID.
            (true, 1) => key().map(|[_, _, high, low]| u16::from_be_bytes([high, low]).into()),
            (true, _) => key().map(u32::from_be_bytes),
        };
        Some(Self {
            version,
            protocol: u16::from_be_bytes([high, low]),
            key,
        })
    }

    pub(super) fn to_word(self) -> u64 {
        let key = self.key.map_or(0, |key| u64::from(key) | HAS_KEY);
        let protocol = u64::from(self.protocol) << PROTOCOL_SHIFT;
        KNOWN | u64::from(self.version) << VERSION_SHIFT | protocol | key
    }

    pub(super) fn of_word(word: u64) -> Option<Self> {
        (word & KNOWN != 0).then_some(Self {
            version: (word >> VERSION_SHIFT) as u8,
            protocol: (word >> PROTOCOL_SHIFT) as u16,
            key: (word & HAS_KEY != 0).then_some(word as u32),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gre_header_round_trips_through_a_word() {
        let gre = |version, protocol, key| {
            Some(Gre {
                version,
                protocol,
                key,
            })
        };
        let headers: [(&[u8], _); 6] = [
            (&[0, 0, 8, 0], gre(0, 0x0800, None)),
            (
                &[0x20, 0, 0x65, 0x58, 0xff, 0, 0, 7],
                gre(0, 0x6558, Some(0xff00_0007)),
            ),
            (
                &[0xa0, 0, 8, 0, 1, 2, 0, 0, 0, 0, 0, 9],
                gre(0, 0x0800, Some(9)),
            ),
            (
                &[0x30, 0x81, 0x88, 0x0b, 0, 20, 0x12, 0x34],
                gre(1, 0x880b, Some(0x1234)),
            ),
            (&[0x20, 0, 8, 0, 1], gre(0, 0x0800, None)),
            (&[0, 0, 8], None),
        ];

        for (header, said) in headers {
            assert_eq!(Gre::read(header), said, "{header:?}");
            let kept = said.map_or(0, Gre::to_word);
            assert_eq!(Gre::of_word(kept), said);
        }
    }
}
