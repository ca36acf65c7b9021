//! TCP segments: the parts that a router reads and changes (RFC 9293).

use core::net::{Ipv4Addr, Ipv6Addr};
use core::ops::{BitAnd, BitOr};

use alloc::vec::Vec;

use crate::{Protocol, checksum, put_at, u16_at, u32_at};

/// Length of a header without options.
pub const HEADER_LEN: usize = 20;

/// Maximum length of a header.
pub const HEADER_LEN_MAX: usize = 60;

/// Reason why a segment is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Shorter than 20 bytes.
    Truncated,
    /// Data offset below 5 words.
    DataOffset,
    /// The header is longer than the segment.
    HeaderTruncated,
    /// The checksum is wrong.
    Checksum,
}

/// Control bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u8);

impl Flags {
    /// FIN: no more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// SYN: synchronize sequence numbers.
    pub const SYN: Self = Self(0x02);
    /// RST: reset the connection.
    pub const RST: Self = Self(0x04);
    /// PSH: push.
    pub const PSH: Self = Self(0x08);
    /// ACK: the acknowledgement number is valid.
    pub const ACK: Self = Self(0x10);
    /// URG: the urgent pointer is valid.
    pub const URG: Self = Self(0x20);
    /// ECN echo (RFC 3168).
    pub const ECE: Self = Self(0x40);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: Self = Self(0x80);

    /// True if all of `flags` are set.
    #[inline]
    pub const fn contains(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// Returns the flags without `flags`.
    #[inline]
    pub const fn without(self, flags: Self) -> Self {
        Self(self.0 & !flags.0)
    }
}

impl BitOr for Flags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitAnd for Flags {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

/// Checked view of a segment: fixed header, options, payload.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    header: &'a [u8; HEADER_LEN],
    options: &'a [u8],
    payload: &'a [u8],
}

impl<'a> Segment<'a> {
    /// Views the payload of an IP packet as a segment.
    ///
    /// # Errors
    /// Returns any fault except `Checksum`, which is not verified.
    #[inline]
    pub fn new_checked(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (header, rest): (&[u8; HEADER_LEN], _) =
            bytes.split_first_chunk().ok_or(Malformed::Truncated)?;
        let len = usize::from(header[12] >> 4) * 4;
        let options_len = len.checked_sub(HEADER_LEN).ok_or(Malformed::DataOffset)?;
        let (options, payload) = rest
            .split_at_checked(options_len)
            .ok_or(Malformed::HeaderTruncated)?;
        Ok(Self {
            header,
            options,
            payload,
        })
    }

    /// Source port.
    #[inline]
    pub fn src_port(&self) -> u16 {
        u16_at(self.header, 0)
    }

    /// Destination port.
    #[inline]
    pub fn dst_port(&self) -> u16 {
        u16_at(self.header, 2)
    }

    /// Sequence number of the first byte of the payload, or of SYN.
    #[inline]
    pub fn seq(&self) -> u32 {
        u32_at(self.header, 4)
    }

    /// Acknowledgement number: next sequence number that the sender expects.
    #[inline]
    pub fn ack(&self) -> u32 {
        u32_at(self.header, 8)
    }

    /// Length of the header in bytes: 20 to 60.
    #[inline]
    pub fn header_len(&self) -> usize {
        HEADER_LEN + self.options.len()
    }

    /// Control bits.
    #[inline]
    pub fn flags(&self) -> Flags {
        Flags(self.header[13])
    }

    /// Receive window, unscaled.
    #[inline]
    pub fn window(&self) -> u16 {
        u16_at(self.header, 14)
    }

    /// Checksum field.
    #[inline]
    pub fn checksum(&self) -> u16 {
        u16_at(self.header, 16)
    }

    /// Urgent pointer.
    #[inline]
    pub fn urgent(&self) -> u16 {
        u16_at(self.header, 18)
    }

    /// Bytes of the options: 0 to 40, a multiple of 4.
    #[inline]
    pub fn options(&self) -> &'a [u8] {
        self.options
    }

    /// Iterates over the options.
    pub fn options_iter(&self) -> Options<'a> {
        Options {
            options: self.options,
            at: 0,
        }
    }

    /// Maximum segment size option, and the offset of its value from the start of the header.
    pub fn mss(&self) -> Option<(u16, usize)> {
        self.options_iter()
            .map_while(Result::ok)
            .find_map(|option| match option.kind {
                TcpOption::MSS => {
                    let &bytes = option.data.as_array()?;
                    Some((u16::from_be_bytes(bytes), option.at + 2))
                }
                _ => None,
            })
    }

    /// Payload.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Verifies the checksum in IPv4.
    ///
    /// # Errors
    /// Returns `Checksum` if it is wrong.
    pub fn verify_v4(&self, src: Ipv4Addr, dst: Ipv4Addr) -> Result<(), Malformed> {
        let len = u16::try_from(self.len()).unwrap_or(u16::MAX);
        self.verify(checksum::pseudo_v4(src, dst, Protocol::TCP, len))
    }

    /// Verifies the checksum in IPv6.
    ///
    /// # Errors
    /// Returns `Checksum` if it is wrong.
    pub fn verify_v6(&self, src: Ipv6Addr, dst: Ipv6Addr) -> Result<(), Malformed> {
        let len = u32::try_from(self.len()).unwrap_or(u32::MAX);
        self.verify(checksum::pseudo_v6(src, dst, Protocol::TCP, len))
    }

    fn len(&self) -> usize {
        self.header_len() + self.payload.len()
    }

    fn verify(&self, pseudo: u16) -> Result<(), Malformed> {
        let header = checksum::combine(checksum::sum_20(self.header), checksum::sum(self.options));
        let data = checksum::combine(header, checksum::sum(self.payload));
        match checksum::combine(pseudo, data) {
            checksum::INTACT => Ok(()),
            _ => Err(Malformed::Checksum),
        }
    }
}

/// Option of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpOption<'a> {
    /// Kind.
    pub kind: u8,
    /// Offset in the header in bytes: 20 to 59.
    pub at: usize,
    /// Data after kind and length.
    pub data: &'a [u8],
}

impl TcpOption<'_> {
    /// End of the option list.
    pub const END: u8 = 0;
    /// No operation.
    pub const NOP: u8 = 1;
    /// Maximum segment size.
    pub const MSS: u8 = 2;
    /// Window scale (RFC 7323).
    pub const WINDOW_SCALE: u8 = 3;
    /// Selective acknowledgement permitted (RFC 2018).
    pub const SACK_PERMITTED: u8 = 4;
    /// Selective acknowledgement (RFC 2018).
    pub const SACK: u8 = 5;
    /// Timestamps (RFC 7323).
    pub const TIMESTAMPS: u8 = 8;
}

/// The option at this offset exceeds the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedOption(pub usize);

/// Iterator over the options of a segment, up to the end of the list; skips no-operations.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    options: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Options<'a> {
    type Item = Result<TcpOption<'a>, MalformedOption>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let rest = self.options.get(self.at..)?;
            let at = HEADER_LEN + self.at;
            match *rest {
                [] | [TcpOption::END, ..] => return None,
                [TcpOption::NOP, ..] => self.at += 1,
                [kind, len, ..] if (2..=rest.len()).contains(&usize::from(len)) => {
                    self.at += usize::from(len);
                    let data = rest.get(2..usize::from(len)).unwrap_or_default();
                    return Some(Ok(TcpOption { kind, at, data }));
                }
                _ => {
                    self.at = self.options.len();
                    return Some(Err(MalformedOption(at)));
                }
            }
        }
    }
}

/// Fixed part of a header, for changes in place; the caller updates the checksum.
#[derive(Debug)]
pub struct HeaderMut<'a>(&'a mut [u8; HEADER_LEN]);

impl<'a> HeaderMut<'a> {
    /// Header at the start of `bytes`; only the length is checked.
    ///
    /// # Errors
    /// Returns `Truncated` if there are fewer than 20 bytes.
    #[inline]
    pub fn new_checked(bytes: &'a mut [u8]) -> Result<Self, Malformed> {
        bytes
            .first_chunk_mut()
            .map(Self)
            .ok_or(Malformed::Truncated)
    }

    /// Sets the sequence number.
    #[inline]
    pub fn set_seq(&mut self, seq: u32) {
        put_at(self.0, 4, seq.to_be_bytes());
    }

    /// Sets the control bits.
    #[inline]
    pub fn set_flags(&mut self, flags: Flags) {
        self.0[13] = flags.0;
    }

    /// Sets the checksum.
    #[inline]
    pub fn set_checksum(&mut self, checksum: u16) {
        put_at(self.0, 16, checksum.to_be_bytes());
    }
}

/// A header as a value, without options, checksum and reserved bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// Control bits.
    pub flags: Flags,
    /// Receive window.
    pub window: u16,
    /// Urgent pointer.
    pub urgent: u16,
}

impl Repr {
    /// Reads the header of a segment.
    pub fn parse(segment: &Segment<'_>) -> Self {
        Self {
            src_port: segment.src_port(),
            dst_port: segment.dst_port(),
            seq: segment.seq(),
            ack: segment.ack(),
            flags: segment.flags(),
            window: segment.window(),
            urgent: segment.urgent(),
        }
    }

    /// Appends header, `options` and `payload`; `pseudo` is the sum of the pseudo header for a segment of this length
    /// ([`Self::len`]).
    ///
    /// `options` are truncated to 40 bytes and padded with end-of-list.
    pub fn emit(&self, options: &[u8], payload: &[u8], pseudo: u16, out: &mut Vec<u8>) {
        let options = options
            .get(..HEADER_LEN_MAX - HEADER_LEN)
            .unwrap_or(options);
        let header_len = HEADER_LEN + options.len().next_multiple_of(4);
        let mut bytes = [0; HEADER_LEN];
        put_at(&mut bytes, 0, self.src_port.to_be_bytes());
        put_at(&mut bytes, 2, self.dst_port.to_be_bytes());
        put_at(&mut bytes, 4, self.seq.to_be_bytes());
        put_at(&mut bytes, 8, self.ack.to_be_bytes());
        put_at(
            &mut bytes,
            12,
            [((header_len / 4) << 4) as u8, self.flags.0],
        );
        put_at(&mut bytes, 14, self.window.to_be_bytes());
        put_at(&mut bytes, 18, self.urgent.to_be_bytes());
        let upper = checksum::combine(checksum::sum(options), checksum::sum(payload));
        let sum = checksum::combine(checksum::combine(pseudo, checksum::sum_20(&bytes)), upper);
        put_at(&mut bytes, 16, (!sum).to_be_bytes());
        let start = out.len();
        out.extend_from_slice(&bytes);
        out.extend_from_slice(options);
        out.resize(start + header_len, 0);
        out.extend_from_slice(payload);
    }

    /// Length of a segment with these options and payload, in bytes.
    pub fn len(options: &[u8], payload: &[u8]) -> usize {
        let options = options.len().min(HEADER_LEN_MAX - HEADER_LEN);
        HEADER_LEN + options.next_multiple_of(4) + payload.len()
    }
}
