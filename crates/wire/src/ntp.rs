//! NTP packets (RFC 5905, 7.3): 48 bytes, followed by key id and digest if the peers share a key.
//!
//! ```text
//! leap (2 bits), version (3), mode (3) | stratum | poll | precision
//! root delay | root dispersion | reference id
//! reference, origin, receive and transmit timestamp: 64 bits each
//! ```
//! A timestamp counts seconds since 1900 with a 32-bit fraction; it wraps every 136 years.

use crate::{bytes_at, put_at, u32_at};

/// UDP port of servers and clients.
pub const PORT: u16 = 123;
/// Length of a packet without authentication.
pub const HEADER_LEN: usize = 48;
/// Length of key id and MD5 digest.
pub const MAC_LEN: usize = 20;
/// Stratum of an unsynchronized server; encoded as 0.
pub const UNSYNCHRONIZED: u8 = 16;
/// Highest supported version.
pub const VERSION: u8 = 4;

/// Reason why a packet is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Shorter than the header.
    Truncated,
    /// Unsupported version (not 1 to 4).
    Version,
    /// The bytes after the header are neither a digest nor extension fields.
    Trailer,
}

/// Mode of a packet (RFC 5905, figure 10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode(pub u8);

impl Mode {
    /// Client request.
    pub const CLIENT: Self = Self(3);
    /// Server answer.
    pub const SERVER: Self = Self(4);
    /// Broadcast.
    pub const BROADCAST: Self = Self(5);
}

/// Seconds since 1900 modulo 2^32, with a 32-bit fraction; 0 means unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamp(pub u64);

/// Seconds from 1900 to 1970.
const TO_UNIX: i64 = 2_208_988_800;
const NANOS: i64 = 1_000_000_000;

impl Timestamp {
    /// Timestamp of a time in nanoseconds since 1970.
    pub fn from_unix_nanos(nanos: i64) -> Self {
        let seconds = nanos.div_euclid(NANOS).wrapping_add(TO_UNIX) as u32;
        let rest = nanos.rem_euclid(NANOS) as u64;
        let fraction = (rest << 32) / NANOS as u64;
        Self((u64::from(seconds) << 32) | fraction)
    }

    /// Time in nanoseconds since 1970; resolves the wrap by choosing the value nearest to `about`.
    pub fn to_unix_nanos(self, about: i64) -> i64 {
        about.saturating_add(self.nanos_since(Self::from_unix_nanos(about)))
    }

    /// Nanoseconds from `other` to this timestamp; negative if this one is earlier. At most 68 years.
    pub fn nanos_since(self, other: Self) -> i64 {
        let span = self.0.wrapping_sub(other.0) as i64;
        ((i128::from(span) * i128::from(NANOS)) >> 32) as i64
    }

    /// True unless the timestamp is 0.
    pub const fn is_known(self) -> bool {
        self.0 != 0
    }
}

/// Duration in seconds, with 16 integer bits and a 16-bit fraction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Short(pub u32);

impl Short {
    /// Duration of these nanoseconds, rounded up and saturated to the representable range.
    pub fn from_nanos(nanos: i64) -> Self {
        let span = (i128::from(nanos.max(0)) << 16).saturating_add(i128::from(NANOS) - 1);
        Self(u32::try_from(span / i128::from(NANOS)).unwrap_or(u32::MAX))
    }

    /// Duration in nanoseconds.
    pub const fn to_nanos(self) -> i64 {
        (self.0 as i64 * NANOS) >> 16
    }
}

/// A packet as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Leap indicator: 0, last minute of the day has 61 (1) or 59 (2) seconds, or unsynchronized (3).
    pub leap: u8,
    /// Version, 1 to 4.
    pub version: u8,
    /// Mode.
    pub mode: Mode,
    /// Stratum; 0 marks a kiss-o'-death packet.
    pub stratum: u8,
    /// Poll interval as a power of two seconds.
    pub poll: i8,
    /// Precision of the clock as a power of two seconds.
    pub precision: i8,
    /// Root delay.
    pub root_delay: Short,
    /// Root dispersion.
    pub root_dispersion: Short,
    /// Reference id: address of the sender's server, or four letters.
    pub reference_id: [u8; 4],
    /// Reference timestamp: last correction of the sender's clock.
    pub reference: Timestamp,
    /// Origin timestamp: transmit timestamp of the request.
    pub origin: Timestamp,
    /// Receive timestamp: arrival of the request.
    pub receive: Timestamp,
    /// Transmit timestamp.
    pub transmit: Timestamp,
}

/// A received packet with its authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Header.
    pub repr: Repr,
    /// Bytes that the digest covers.
    pub signed: &'a [u8],
    /// Key id and digest.
    pub mac: Option<(u32, &'a [u8; 16])>,
}

impl<'a> Packet<'a> {
    /// Parses the payload of a datagram.
    ///
    /// # Errors
    /// Returns [`Malformed`] if the packet is truncated, has an unsupported version or an invalid trailer.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let header: &[u8; HEADER_LEN] = bytes.first_chunk().ok_or(Malformed::Truncated)?;
        let repr = Repr::read(header);
        if !(1..=VERSION).contains(&repr.version) {
            return Err(Malformed::Version);
        }
        let end = fields_end(bytes).ok_or(Malformed::Trailer)?;
        let (signed, trailer) = bytes.split_at_checked(end).ok_or(Malformed::Trailer)?;
        let mac = match *trailer {
            // No trailer, or a crypto-NAK (RFC 5905, 7.3).
            [] | [0, 0, 0, 0] => None,
            _ => {
                let (key, digest) = trailer.split_first_chunk().ok_or(Malformed::Trailer)?;
                let digest = digest.try_into().map_err(|_| Malformed::Trailer)?;
                Some((u32::from_be_bytes(*key), digest))
            }
        };
        Ok(Self { repr, signed, mac })
    }
}

/// End of the extension fields (RFC 7822, 3): the rest is too short for a field.
fn fields_end(bytes: &[u8]) -> Option<usize> {
    /// Minimum length of a field that is not the last, and maximum length of a digest.
    const SHORTEST: usize = 16;
    const DIGEST_MOST: usize = 24;
    let mut at = HEADER_LEN;
    while bytes.len() - at > DIGEST_MOST {
        let length = bytes.get(at + 2..at + 4)?;
        let length = usize::from(u16::from_be_bytes([length[0], length[1]]));
        if length < SHORTEST || length % 4 != 0 || at + length > bytes.len() {
            return None;
        }
        at += length;
    }
    Some(at)
}

impl Repr {
    fn read(header: &[u8; HEADER_LEN]) -> Self {
        let stamp = |at| Timestamp(u64::from_be_bytes(bytes_at(header, at)));
        Self {
            leap: header[0] >> 6,
            version: (header[0] >> 3) & 7,
            mode: Mode(header[0] & 7),
            stratum: header[1],
            poll: header[2] as i8,
            precision: header[3] as i8,
            root_delay: Short(u32_at(header, 4)),
            root_dispersion: Short(u32_at(header, 8)),
            reference_id: bytes_at(header, 12),
            reference: stamp(16),
            origin: stamp(24),
            receive: stamp(32),
            transmit: stamp(40),
        }
    }

    /// Encodes the packet.
    pub fn to_bytes(&self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        bytes[0] = (self.leap << 6) | ((self.version & 7) << 3) | (self.mode.0 & 7);
        bytes[1] = self.stratum;
        bytes[2] = self.poll as u8;
        bytes[3] = self.precision as u8;
        put_at(&mut bytes, 4, self.root_delay.0.to_be_bytes());
        put_at(&mut bytes, 8, self.root_dispersion.0.to_be_bytes());
        put_at(&mut bytes, 12, self.reference_id);
        let stamps = [self.reference, self.origin, self.receive, self.transmit];
        for (at, stamp) in (16..).step_by(8).zip(stamps) {
            put_at(&mut bytes, at, stamp.0.to_be_bytes());
        }
        bytes
    }

    /// Creates a request that reveals nothing about the client; the answer must return `cookie`.
    pub const fn question(cookie: u64) -> Self {
        Self {
            leap: 0,
            version: VERSION,
            mode: Mode::CLIENT,
            stratum: 0,
            poll: 0,
            precision: 0x20,
            root_delay: Short(0),
            root_dispersion: Short(0),
            reference_id: [0; 4],
            reference: Timestamp(0),
            origin: Timestamp(0),
            receive: Timestamp(0),
            transmit: Timestamp(cookie),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ntp_timestamps_round_trip_across_the_2036_era() {
        let at = 1_795_000_000_123_456_789;
        let stamp = Timestamp::from_unix_nanos(at);
        assert!((stamp.to_unix_nanos(at + 5 * NANOS) - at).abs() <= 1);
        assert_eq!(stamp.0 >> 32, 1_795_000_000 + TO_UNIX as u64);

        // 7 February 2036, 06:28:16: the seconds wrap.
        let turn = ((1_i64 << 32) - TO_UNIX) * NANOS;
        let after = Timestamp::from_unix_nanos(turn + NANOS / 2);
        assert_eq!(after.0, 1 << 31);
        let before = Timestamp::from_unix_nanos(turn - NANOS);
        assert_eq!(after.nanos_since(before), NANOS * 3 / 2);
        assert_eq!(before.nanos_since(after), -NANOS * 3 / 2);
    }

    #[test]
    fn short_spans_are_rounded_up_and_bounded() {
        assert_eq!(Short::from_nanos(1), Short(1));
        assert_eq!(Short::from_nanos(NANOS), Short(1 << 16));
        assert_eq!(Short::from_nanos(-5), Short(0));
        assert_eq!(Short::from_nanos(i64::MAX), Short(u32::MAX));
        assert_eq!(Short(1 << 15).to_nanos(), NANOS / 2);
    }

    #[test]
    fn a_packet_is_parsed_with_digest_and_extension_fields() {
        let bytes = Repr::question(7).to_bytes();
        let plain = Packet::parse(&bytes).expect("a question");
        assert_eq!((plain.repr, plain.mac), (Repr::question(7), None));

        let signed = [&bytes[..], &[0, 0, 0, 9], &[5; 16]].concat();
        let read = Packet::parse(&signed).expect("a question with a digest");
        assert_eq!(read.mac, Some((9, &[5; 16])));
        assert_eq!(read.signed, bytes);

        let mut field = [0_u8; 28];
        field[3] = 28;
        let with_field = [&bytes[..], &field, &[0, 0, 0, 9], &[5; 16]].concat();
        let read = Packet::parse(&with_field).expect("a question with a field");
        assert_eq!(
            (read.signed.len(), read.mac.map(|mac| mac.0)),
            (76, Some(9))
        );

        for bad in [&bytes[..47], &[&bytes[..], &[1; 7]].concat(), &[0; 48]] {
            assert!(Packet::parse(bad).is_err());
        }
    }
}
