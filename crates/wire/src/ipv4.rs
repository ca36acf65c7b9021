//! IPv4 packets (RFC 791; checks of a router: RFC 1812, 5.2.2; options: RFC 1812, 4.2.2.1 and 5.2.4).

use core::net::Ipv4Addr;
use core::ops::Deref;

use alloc::vec::Vec;

mod options;

pub use options::{IpOption, MalformedOption, Options, record};

use crate::{Protocol, bytes_at, checksum, put_at, u16_at};

/// Length of a header without options.
pub const HEADER_LEN: usize = 20;

/// Maximum length of a header.
pub const HEADER_LEN_MAX: usize = 60;

/// Maximum length of the options.
pub const OPTIONS_LEN_MAX: usize = HEADER_LEN_MAX - HEADER_LEN;

/// Reason why a packet is malformed, in the order of the checks.
///
/// RFC 1812, 5.2.2 checks the checksum second. As the header length determines the bytes that it covers, version and
/// lengths are checked first, as in Linux and BSD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Shorter than 20 bytes (RFC 1812, 5.2.2 (1)).
    Truncated,
    /// Version is not 4 (RFC 1812, 5.2.2 (3)).
    Version,
    /// Header length below 5 words (RFC 1812, 5.2.2 (4)).
    HeaderLength,
    /// The header is longer than the received bytes.
    HeaderTruncated,
    /// Wrong checksum (RFC 1812, 5.2.2 (2)).
    Checksum,
    /// The total length is smaller than the header (RFC 1812, 5.2.2 (5)).
    TotalLengthTooSmall,
    /// The total length exceeds the received bytes.
    TotalLengthTooLarge,
}

/// Flags and fragment offset: one word of the header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fragment(pub u16);

impl Fragment {
    /// An unfragmented packet with DF set.
    pub const DONT: Self = Self(0x4000);
    /// An unfragmented packet.
    pub const WHOLE: Self = Self(0);

    /// Fragment at `offset` bytes into the payload; `offset` is rounded down to a multiple of 8.
    #[inline]
    pub const fn piece(offset: u16, more: bool) -> Self {
        Self(offset >> 3 | (more as u16) << 13)
    }

    /// Fragment offset in bytes: 0 to 65,528.
    #[inline]
    pub const fn offset(self) -> u16 {
        self.0 << 3
    }

    /// More fragments follow (MF).
    #[inline]
    pub const fn more(self) -> bool {
        self.0 & 0x2000 != 0
    }

    /// Must not be fragmented (DF).
    #[inline]
    pub const fn dont(self) -> bool {
        self.0 & 0x4000 != 0
    }

    /// True for a fragment.
    #[inline]
    pub const fn is_piece(self) -> bool {
        self.0 & 0x3fff != 0
    }

    /// True for a fragment with non-zero offset.
    #[inline]
    pub const fn is_later_piece(self) -> bool {
        self.0 & 0x1fff != 0
    }
}

/// Read-only view of the fixed part of a header; [`Packet`] checks it.
#[derive(Clone, Copy, Debug)]
pub struct Header<'a>(&'a [u8; HEADER_LEN]);

impl<'a> Header<'a> {
    /// Views 20 bytes as a header without checks.
    #[inline]
    pub const fn new(bytes: &'a [u8; HEADER_LEN]) -> Self {
        Self(bytes)
    }

    /// Bytes of the header.
    #[inline]
    pub const fn bytes(&self) -> &'a [u8; HEADER_LEN] {
        self.0
    }

    /// Version.
    #[inline]
    pub const fn version(&self) -> u8 {
        self.0[0] >> 4
    }

    /// Length of the header in bytes, as encoded: 0 to 60.
    #[inline]
    pub const fn header_len(&self) -> usize {
        (self.0[0] & 0xf) as usize * 4
    }

    /// TOS byte: DSCP and ECN.
    #[inline]
    pub const fn tos(&self) -> u8 {
        self.0[1]
    }

    /// DSCP, 0 to 63 (RFC 2474).
    #[inline]
    pub const fn dscp(&self) -> u8 {
        self.0[1] >> 2
    }

    /// ECN bits, 0 to 3 (RFC 3168).
    #[inline]
    pub const fn ecn(&self) -> u8 {
        self.0[1] & 3
    }

    /// Total length of header and payload in bytes, as encoded.
    #[inline]
    pub fn total_len(&self) -> u16 {
        u16_at(self.0, 2)
    }

    /// Identification, shared by the fragments of a packet.
    #[inline]
    pub fn id(&self) -> u16 {
        u16_at(self.0, 4)
    }

    /// Flags and fragment offset.
    #[inline]
    pub fn fragment(&self) -> Fragment {
        Fragment(u16_at(self.0, 6))
    }

    /// Time to live.
    #[inline]
    pub const fn ttl(&self) -> u8 {
        self.0[8]
    }

    /// Protocol of the payload.
    #[inline]
    pub const fn protocol(&self) -> Protocol {
        Protocol(self.0[9])
    }

    /// Header checksum field.
    #[inline]
    pub fn checksum(&self) -> u16 {
        u16_at(self.0, 10)
    }

    /// Source address.
    #[inline]
    pub fn src(&self) -> Ipv4Addr {
        Ipv4Addr::from(bytes_at::<4, _>(self.0, 12))
    }

    /// Destination address.
    #[inline]
    pub fn dst(&self) -> Ipv4Addr {
        Ipv4Addr::from(bytes_at::<4, _>(self.0, 16))
    }
}

/// Checked view of a packet: fixed header, options, payload.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    header: Header<'a>,
    options: &'a [u8],
    payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Views the payload of a frame as a packet; padding after the total length is cut off.
    ///
    /// # Errors
    /// Returns any fault except `Checksum`, which is not verified.
    #[inline]
    pub fn new_checked(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (header, options) = split(bytes)?;
        Self::with_lengths(header, options, bytes)
    }

    /// Views the payload of a frame as a packet and verifies its header checksum.
    ///
    /// # Errors
    /// Returns the first fault, in the order of [`Malformed`].
    #[inline]
    pub fn new_verified(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (header, options) = split(bytes)?;
        if header_sum(header, options) != checksum::INTACT {
            return Err(Malformed::Checksum);
        }
        Self::with_lengths(header, options, bytes)
    }

    /// Views a packet quoted in an ICMP error, whose end may be missing.
    ///
    /// # Errors
    /// Returns the faults of [`Self::new_checked`] except `TotalLengthTooLarge`.
    pub fn new_quoted(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (header, options) = split(bytes)?;
        let len = usize::from(header.total_len()).min(bytes.len());
        let payload = bytes
            .get(header.header_len()..len)
            .ok_or(Malformed::TotalLengthTooSmall)?;
        Ok(Self {
            header,
            options,
            payload,
        })
    }

    #[inline]
    fn with_lengths(
        header: Header<'a>,
        options: &'a [u8],
        bytes: &'a [u8],
    ) -> Result<Self, Malformed> {
        let total = usize::from(header.total_len());
        if total < header.header_len() {
            return Err(Malformed::TotalLengthTooSmall);
        }
        let payload = bytes
            .get(header.header_len()..total)
            .ok_or(Malformed::TotalLengthTooLarge)?;
        Ok(Self {
            header,
            options,
            payload,
        })
    }

    /// True if the header checksum is correct.
    #[inline]
    pub fn verify_checksum(&self) -> bool {
        header_sum(self.header, self.options) == checksum::INTACT
    }

    /// Bytes of the options: 0 to 40, a multiple of 4.
    #[inline]
    pub fn options(&self) -> &'a [u8] {
        self.options
    }

    /// Payload; only a part of the upper-layer packet if [`Fragment::is_piece`] is true.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Iterates over the options.
    pub fn options_iter(&self) -> Options<'a> {
        Options::new(self.options)
    }
}

impl<'a> Deref for Packet<'a> {
    type Target = Header<'a>;

    #[inline]
    fn deref(&self) -> &Header<'a> {
        &self.header
    }
}

/// Splits off header and options.
#[inline]
fn split(bytes: &[u8]) -> Result<(Header<'_>, &[u8]), Malformed> {
    let header = Header(bytes.first_chunk().ok_or(Malformed::Truncated)?);
    if header.version() != 4 {
        return Err(Malformed::Version);
    }
    let len = header.header_len();
    if len < HEADER_LEN {
        return Err(Malformed::HeaderLength);
    }
    let options = bytes
        .get(HEADER_LEN..len)
        .ok_or(Malformed::HeaderTruncated)?;
    Ok((header, options))
}

/// Sum over header and options.
#[inline]
fn header_sum(header: Header<'_>, options: &[u8]) -> u16 {
    let sum = checksum::sum_20(header.0);
    if options.is_empty() {
        sum
    } else {
        checksum::combine(sum, checksum::sum(options))
    }
}

/// Fixed part of a header, for changes in place. Setters update the checksum unless stated otherwise.
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

    /// Read-only view of the header.
    #[inline]
    pub fn view(&self) -> Header<'_> {
        Header(self.0)
    }

    /// Decrements the TTL, which must be above zero, and updates the checksum (RFC 1624).
    #[inline]
    pub fn decrement_ttl(&mut self) {
        debug_assert!(self.0[8] > 0, "a packet with TTL 0 is never forwarded");
        self.0[8] = self.0[8].wrapping_sub(1);
        let sum = checksum::decrement_ttl(self.view().checksum());
        put_at(self.0, 10, sum.to_be_bytes());
    }

    /// Sets the TTL.
    #[inline]
    pub fn set_ttl(&mut self, ttl: u8) {
        self.set_u16(8, u16::from_be_bytes([ttl, self.0[9]]));
    }

    /// Sets DSCP and ECN.
    #[inline]
    pub fn set_tos(&mut self, tos: u8) {
        self.set_u16(0, u16::from_be_bytes([self.0[0], tos]));
    }

    /// Sets the total length; the caller adjusts the payload.
    #[inline]
    pub fn set_total_len(&mut self, len: u16) {
        self.set_u16(2, len);
    }

    /// Sets the identification.
    #[inline]
    pub fn set_id(&mut self, id: u16) {
        self.set_u16(4, id);
    }

    /// Sets flags and fragment offset.
    #[inline]
    pub fn set_fragment(&mut self, fragment: Fragment) {
        self.set_u16(6, fragment.0);
    }

    /// Sets the source address; the caller updates the upper-layer checksum.
    #[inline]
    pub fn set_src(&mut self, src: Ipv4Addr) {
        self.set_u32(12, src.to_bits());
    }

    /// Sets the destination address; the caller updates the upper-layer checksum.
    #[inline]
    pub fn set_dst(&mut self, dst: Ipv4Addr) {
        self.set_u32(16, dst.to_bits());
    }

    /// Recomputes the checksum from the header and the `options` that follow it.
    pub fn fill_checksum(&mut self, options: &[u8]) {
        put_at(self.0, 10, [0, 0]);
        let sum = !header_sum(self.view(), options);
        put_at(self.0, 10, sum.to_be_bytes());
    }

    #[inline]
    fn set_u16(&mut self, at: usize, new: u16) {
        let sum = checksum::update_u16(self.view().checksum(), u16_at(self.0, at), new);
        put_at(self.0, at, new.to_be_bytes());
        put_at(self.0, 10, sum.to_be_bytes());
    }

    #[inline]
    fn set_u32(&mut self, at: usize, new: u32) {
        let sum = checksum::update_u32(self.view().checksum(), crate::u32_at(self.0, at), new);
        put_at(self.0, at, new.to_be_bytes());
        put_at(self.0, 10, sum.to_be_bytes());
    }
}

/// A header as a value, without options and lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// DSCP and ECN.
    pub tos: u8,
    /// Identification.
    pub id: u16,
    /// Flags and fragment offset.
    pub fragment: Fragment,
    /// Time to live.
    pub ttl: u8,
    /// Protocol of the payload.
    pub protocol: Protocol,
    /// Source address.
    pub src: Ipv4Addr,
    /// Destination address.
    pub dst: Ipv4Addr,
}

impl Repr {
    /// Header of an unfragmented packet with TTL 64 and without DF.
    pub const fn new(protocol: Protocol, src: Ipv4Addr, dst: Ipv4Addr) -> Self {
        Self {
            tos: 0,
            id: 0,
            fragment: Fragment::WHOLE,
            ttl: 64,
            protocol,
            src,
            dst,
        }
    }

    /// Reads the fields of a header.
    pub fn parse(header: &Header<'_>) -> Self {
        Self {
            tos: header.tos(),
            id: header.id(),
            fragment: header.fragment(),
            ttl: header.ttl(),
            protocol: header.protocol(),
            src: header.src(),
            dst: header.dst(),
        }
    }

    /// Encodes a header without options for a payload of `payload_len` bytes (at most 65,515), including the
    /// checksum.
    #[inline]
    pub fn to_bytes(&self, payload_len: usize) -> [u8; HEADER_LEN] {
        self.fixed(&[], payload_len)
    }

    /// Appends a header with `options` for a payload of `payload_len` bytes, including the checksum.
    ///
    /// `options` are truncated to 40 bytes and padded with end-of-list to a multiple of 4.
    pub fn emit(&self, options: &[u8], payload_len: usize, out: &mut Vec<u8>) {
        let mut padded = [0; OPTIONS_LEN_MAX];
        for (slot, byte) in padded.iter_mut().zip(options) {
            *slot = *byte;
        }
        let len = options.len().min(OPTIONS_LEN_MAX).next_multiple_of(4);
        let (options, _) = padded.split_at(len);
        out.extend_from_slice(&self.fixed(options, payload_len));
        out.extend_from_slice(options);
    }

    fn fixed(&self, options: &[u8], payload_len: usize) -> [u8; HEADER_LEN] {
        let header_len = HEADER_LEN + options.len();
        let total = u16::try_from(header_len + payload_len).unwrap_or(u16::MAX);
        let mut bytes = [0; HEADER_LEN];
        put_at(&mut bytes, 0, [0x40 | (header_len / 4) as u8, self.tos]);
        put_at(&mut bytes, 2, total.to_be_bytes());
        put_at(&mut bytes, 4, self.id.to_be_bytes());
        put_at(&mut bytes, 6, self.fragment.0.to_be_bytes());
        put_at(&mut bytes, 8, [self.ttl, self.protocol.0]);
        put_at(&mut bytes, 12, self.src.octets());
        put_at(&mut bytes, 16, self.dst.octets());
        HeaderMut(&mut bytes).fill_checksum(options);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    const REPR: Repr = Repr {
        tos: 0xb8,
        id: 0x1234,
        fragment: Fragment::DONT,
        ttl: 64,
        protocol: Protocol::UDP,
        src: Ipv4Addr::new(10, 0, 0, 1),
        dst: Ipv4Addr::new(10, 0, 0, 2),
    };

    fn packet(options: &[u8], payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![];
        REPR.emit(options, payload.len(), &mut bytes);
        bytes.extend_from_slice(payload);
        bytes
    }

    #[test]
    fn a_packet_round_trips_and_padding_is_cut_off() {
        let mut bytes = packet(&[7, 7, 4, 0, 0, 0, 0], &[1, 2, 3]);
        bytes.extend_from_slice(&[0; 9]);

        let view = Packet::new_verified(&bytes).unwrap();

        assert_eq!(Repr::parse(&view), REPR);
        assert_eq!(view.payload(), [1, 2, 3]);
        assert_eq!(view.header_len(), 28);
        let record = IpOption {
            kind: 7,
            at: 20,
            data: &[4, 0, 0, 0, 0],
        };
        assert!(view.options_iter().eq([Ok(record)]));
    }

    #[test]
    fn each_header_fault_has_its_name() {
        let good = packet(&[], &[0; 8]);
        let flawed = |at: usize, value: u8| {
            let mut bytes = good.clone();
            bytes[at] = value;
            bytes
        };
        let checked = |bytes: &[u8]| Packet::new_checked(bytes).err();

        assert_eq!(checked(&good[..19]), Some(Malformed::Truncated));
        assert_eq!(checked(&flawed(0, 0x65)), Some(Malformed::Version));
        assert_eq!(checked(&flawed(0, 0x44)), Some(Malformed::HeaderLength));
        assert_eq!(checked(&flawed(0, 0x4f)), Some(Malformed::HeaderTruncated));
        assert_eq!(
            checked(&flawed(3, 19)),
            Some(Malformed::TotalLengthTooSmall)
        );
        assert_eq!(
            checked(&flawed(3, 29)),
            Some(Malformed::TotalLengthTooLarge)
        );
        assert_eq!(checked(&flawed(10, 0)), None);
        assert_eq!(
            Packet::new_verified(&flawed(10, 0)).err(),
            Some(Malformed::Checksum)
        );
    }

    #[test]
    fn setters_keep_the_checksum_right() {
        let mut bytes = packet(&[], &[0; 8]);
        let mut header = HeaderMut::new_checked(&mut bytes).unwrap();

        header.decrement_ttl();
        header.set_tos(1);
        header.set_id(0xffff);
        header.set_fragment(Fragment::piece(1480, true));
        header.set_src(Ipv4Addr::new(192, 0, 2, 1));
        header.set_dst(Ipv4Addr::new(198, 51, 100, 255));

        let view = Packet::new_verified(&bytes).unwrap();
        assert_eq!((view.ttl(), view.tos(), view.id()), (63, 1, 0xffff));
        assert_eq!(
            (view.fragment().offset(), view.fragment().more()),
            (1480, true)
        );
        assert_eq!(view.src(), Ipv4Addr::new(192, 0, 2, 1));
        assert_eq!(view.dst(), Ipv4Addr::new(198, 51, 100, 255));
    }
}
