//! TCP segments: what a router reads and changes of them (RFC 9293).

use core::net::{Ipv4Addr, Ipv6Addr};
use core::ops::{BitAnd, BitOr};

use alloc::vec::Vec;

use crate::{Protocol, checksum, put_at, u16_at, u32_at};

/// Bytes of a header without options.
pub const HEADER_LEN: usize = 20;

/// Bytes of the longest header.
pub const HEADER_LEN_MAX: usize = 60;

/// What is wrong with a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Shorter than 20 bytes.
    Truncated,
    /// The data offset is below 5 words.
    DataOffset,
    /// The header is longer than the segment.
    HeaderTruncated,
    /// The checksum is wrong.
    Checksum,
}

/// The control bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u8);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(0x02);
    /// Reset the connection.
    pub const RST: Self = Self(0x04);
    /// Push.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgement number means something.
    pub const ACK: Self = Self(0x10);
    /// The urgent pointer means something.
    pub const URG: Self = Self(0x20);
    /// ECN echo (RFC 3168).
    pub const ECE: Self = Self(0x40);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: Self = Self(0x80);

    /// Whether all of `flags` are set.
    #[inline]
    pub const fn contains(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// These without `flags`.
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

/// A checked view of a segment: fixed header, options, payload.
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
    /// Everything but `Checksum`, which is not looked at.
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

    /// The sender's port.
    #[inline]
    pub fn src_port(&self) -> u16 {
        u16_at(self.header, 0)
    }

    /// The receiver's port.
    #[inline]
    pub fn dst_port(&self) -> u16 {
        u16_at(self.header, 2)
    }

    /// The number of the first byte of the payload, or of SYN.
    #[inline]
    pub fn seq(&self) -> u32 {
        u32_at(self.header, 4)
    }

    /// The number of the byte that the sender waits for.
    #[inline]
    pub fn ack(&self) -> u32 {
        u32_at(self.header, 8)
    }

    /// The header's length in bytes: 20 to 60.
    #[inline]
    pub fn header_len(&self) -> usize {
        HEADER_LEN + self.options.len()
    }

    /// The control bits.
    #[inline]
    pub fn flags(&self) -> Flags {
        Flags(self.header[13])
    }

    /// The receive window, unscaled.
    #[inline]
    pub fn window(&self) -> u16 {
        u16_at(self.header, 14)
    }

    /// The checksum as it stands there.
    #[inline]
    pub fn checksum(&self) -> u16 {
        u16_at(self.header, 16)
    }

    /// The urgent pointer.
    #[inline]
    pub fn urgent(&self) -> u16 {
        u16_at(self.header, 18)
    }

    /// The options' bytes: 0 to 40, a multiple of 4.
    #[inline]
    pub fn options(&self) -> &'a [u8] {
        self.options
    }

    /// The options one by one.
    pub fn options_iter(&self) -> Options<'a> {
        Options {
            options: self.options,
            at: 0,
        }
    }

    /// The maximum segment size that the sender announces, and where its two bytes lie from the
    /// start of the header.
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

    /// What is carried.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Checks the checksum in IPv4.
    ///
    /// # Errors
    /// `Checksum` when it is wrong.
    pub fn verify_v4(&self, src: Ipv4Addr, dst: Ipv4Addr) -> Result<(), Malformed> {
        let len = u16::try_from(self.len()).unwrap_or(u16::MAX);
        self.verify(checksum::pseudo_v4(src, dst, Protocol::TCP, len))
    }

    /// Checks the checksum in IPv6.
    ///
    /// # Errors
    /// `Checksum` when it is wrong.
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

/// An option of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpOption<'a> {
    /// The kind.
    pub kind: u8,
    /// Where it begins in the header, in bytes: 20 to 59.
    pub at: usize,
    /// What follows kind and length.
    pub data: &'a [u8],
}

impl TcpOption<'_> {
    /// End of the list.
    pub const END: u8 = 0;
    /// No operation.
    pub const NOP: u8 = 1;
    /// Maximum segment size.
    pub const MSS: u8 = 2;
    /// Window scale (RFC 7323).
    pub const WINDOW_SCALE: u8 = 3;
    /// Selective acknowledgements are welcome (RFC 2018).
    pub const SACK_PERMITTED: u8 = 4;
    /// Selective acknowledgement (RFC 2018).
    pub const SACK: u8 = 5;
    /// Timestamps (RFC 7323).
    pub const TIMESTAMPS: u8 = 8;
}

/// The option leads out of the header; it begins this many bytes into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedOption(pub usize);

/// The options of a segment, no-operations skipped, up to the end of the list.
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

/// The fixed part of a header, to be changed in place; the checksum is the caller's.
#[derive(Debug)]
pub struct HeaderMut<'a>(&'a mut [u8; HEADER_LEN]);

impl<'a> HeaderMut<'a> {
    /// The header at the start of `bytes`; nothing but the length is checked.
    ///
    /// # Errors
    /// `Truncated` when there are fewer than 20 bytes.
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
    /// The sender's port.
    pub src_port: u16,
    /// The receiver's port.
    pub dst_port: u16,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// The control bits.
    pub flags: Flags,
    /// The receive window.
    pub window: u16,
    /// The urgent pointer.
    pub urgent: u16,
}

impl Repr {
    /// The header of a segment.
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

    /// Appends header, `options` and `payload`; `pseudo` is the sum of the pseudo header for
    /// a segment of this length ([`Self::len`]).
    ///
    /// `options` are at most 40 bytes (more are cut off) and are filled up with end-of-list.
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

    /// Bytes of a segment with these options and payload.
    pub fn len(options: &[u8], payload: &[u8]) -> usize {
        let options = options.len().min(HEADER_LEN_MAX - HEADER_LEN);
        HEADER_LEN + options.next_multiple_of(4) + payload.len()
    }
}
