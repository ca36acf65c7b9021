//! IPv6 packets and their extension headers (RFC 8200).

mod extension;

pub use extension::{Extension, Extensions, Fragment, IpOption, MalformedOption, Options, Unknown};

use core::net::Ipv6Addr;
use core::ops::Deref;

use crate::{Protocol, bytes_at, put_at, u16_at, u32_at};

/// Length of the fixed header.
pub const HEADER_LEN: usize = 40;

/// Length of a fragment header.
pub const FRAGMENT_HEADER_LEN: usize = 8;

/// Maximum number of extension headers that are parsed; more count as an attack (RFC 8504, 5.3).
pub const EXTENSIONS_MAX: usize = 8;

/// Minimum link MTU in bytes (RFC 8200, 5).
pub const MTU_MIN: u16 = 1280;

/// Reason why a packet is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Shorter than 40 bytes.
    Truncated,
    /// The version is not 6.
    Version,
    /// The payload length exceeds the received bytes.
    PayloadLength,
    /// An extension header exceeds the packet.
    ExtensionTruncated,
    /// More than [`EXTENSIONS_MAX`] extension headers.
    TooManyExtensions,
    /// Hop-by-hop options are not the first extension header (RFC 8200, 4.1).
    HopByHopNotFirst,
}

/// Read-only view of the fixed header; [`Packet`] checks it.
#[derive(Clone, Copy, Debug)]
pub struct Header<'a>(&'a [u8; HEADER_LEN]);

impl<'a> Header<'a> {
    /// Views 40 bytes as a header without checks.
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

    /// Traffic class: DSCP and ECN.
    #[inline]
    pub fn traffic_class(&self) -> u8 {
        (u16_at(self.0, 0) >> 4) as u8
    }

    /// DSCP, 0 to 63 (RFC 2474).
    #[inline]
    pub fn dscp(&self) -> u8 {
        self.traffic_class() >> 2
    }

    /// ECN bits, 0 to 3 (RFC 3168).
    #[inline]
    pub fn ecn(&self) -> u8 {
        self.traffic_class() & 3
    }

    /// Flow label, 20 bits (RFC 6437).
    #[inline]
    pub fn flow_label(&self) -> u32 {
        u32_at(self.0, 0) & 0xf_ffff
    }

    /// Payload length in bytes, as encoded.
    #[inline]
    pub fn payload_len(&self) -> u16 {
        u16_at(self.0, 4)
    }

    /// Next header: an extension header or the protocol of the payload.
    #[inline]
    pub const fn next_header(&self) -> Protocol {
        Protocol(self.0[6])
    }

    /// Hop limit.
    #[inline]
    pub const fn hop_limit(&self) -> u8 {
        self.0[7]
    }

    /// Source address.
    #[inline]
    pub fn src(&self) -> Ipv6Addr {
        Ipv6Addr::from(bytes_at::<16, _>(self.0, 8))
    }

    /// Destination address; the next destination if there is a routing header.
    #[inline]
    pub fn dst(&self) -> Ipv6Addr {
        Ipv6Addr::from(bytes_at::<16, _>(self.0, 24))
    }
}

/// Checked view of a packet: fixed header and payload, including extension headers.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    header: Header<'a>,
    payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Views the payload of a frame as a packet; padding after the payload length is cut off.
    ///
    /// # Errors
    /// Returns `Truncated`, `Version` or `PayloadLength`; extension headers are not checked.
    #[inline]
    pub fn new_checked(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (header, rest) = split(bytes)?;
        let payload = rest
            .get(..usize::from(header.payload_len()))
            .ok_or(Malformed::PayloadLength)?;
        Ok(Self { header, payload })
    }

    /// Views a packet quoted in an ICMPv6 error, whose end may be missing.
    ///
    /// # Errors
    /// Returns `Truncated` or `Version`.
    pub fn new_quoted(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (header, rest) = split(bytes)?;
        let payload = rest
            .get(..usize::from(header.payload_len()))
            .unwrap_or(rest);
        Ok(Self { header, payload })
    }

    /// Bytes after the fixed header.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Iterates over the extension headers.
    pub fn extensions(&self) -> Extensions<'a> {
        Extensions::new(self.next_header(), self.payload)
    }

    /// Skips the extension headers and returns the upper-layer part.
    ///
    /// # Errors
    /// Returns `ExtensionTruncated`, `TooManyExtensions` or `HopByHopNotFirst`.
    #[inline]
    pub fn upper(&self) -> Result<Upper<'a>, Malformed> {
        if !self.next_header().is_ipv6_extension() {
            return Ok(Upper::plain(self.next_header(), self.payload));
        }
        let mut upper = Upper::plain(self.next_header(), self.payload);
        let mut walk = self.extensions();
        for extension in walk.by_ref() {
            let extension = extension?;
            match extension.kind {
                Protocol::HOP_BY_HOP => upper.hop_by_hop = true,
                Protocol::ROUTING => upper.routing = Some(extension.at),
                Protocol::FRAGMENT => upper.fragment = extension.fragment(),
                _ => {}
            }
        }
        (upper.protocol, upper.at, upper.payload) = walk.rest();
        Ok(upper)
    }
}

impl<'a> Deref for Packet<'a> {
    type Target = Header<'a>;

    #[inline]
    fn deref(&self) -> &Header<'a> {
        &self.header
    }
}

#[inline]
fn split(bytes: &[u8]) -> Result<(Header<'_>, &[u8]), Malformed> {
    let (header, rest) = bytes.split_first_chunk().ok_or(Malformed::Truncated)?;
    let header = Header(header);
    if header.version() != 6 {
        return Err(Malformed::Version);
    }
    Ok((header, rest))
}

/// Upper-layer part of a packet, after its extension headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Upper<'a> {
    /// Upper-layer protocol. In a later fragment this is the next header of the unfragmented packet at this position,
    /// possibly another extension header.
    pub protocol: Protocol,
    /// Offset of `payload` from the end of the fixed header.
    pub at: usize,
    /// Upper-layer header and its payload.
    pub payload: &'a [u8],
    /// Fragment header, if there is one.
    pub fragment: Option<Fragment>,
    /// True if there are hop-by-hop options.
    pub hop_by_hop: bool,
    /// Offset of the routing header from the end of the fixed header.
    pub routing: Option<usize>,
}

impl<'a> Upper<'a> {
    #[inline]
    fn plain(protocol: Protocol, payload: &'a [u8]) -> Self {
        Self {
            protocol,
            at: 0,
            payload,
            fragment: None,
            hop_by_hop: false,
            routing: None,
        }
    }

    /// True for a fragment with non-zero offset.
    #[inline]
    pub fn is_later_piece(&self) -> bool {
        self.fragment.is_some_and(|fragment| fragment.offset > 0)
    }
}

/// Fixed header, for changes in place. It has no checksum; the caller updates upper-layer checksums.
#[derive(Debug)]
pub struct HeaderMut<'a>(&'a mut [u8; HEADER_LEN]);

impl<'a> HeaderMut<'a> {
    /// Header at the start of `bytes`; only the length is checked.
    ///
    /// # Errors
    /// Returns `Truncated` if there are fewer than 40 bytes.
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

    /// Decrements the hop limit, which must be above zero.
    #[inline]
    pub fn decrement_hop_limit(&mut self) {
        debug_assert!(
            self.0[7] > 0,
            "a packet with hop limit 0 is never forwarded"
        );
        self.0[7] = self.0[7].wrapping_sub(1);
    }

    /// Sets the hop limit.
    #[inline]
    pub fn set_hop_limit(&mut self, hop_limit: u8) {
        self.0[7] = hop_limit;
    }

    /// Sets DSCP and ECN.
    #[inline]
    pub fn set_traffic_class(&mut self, class: u8) {
        let [high, low] = (u16_at(self.0, 0) & 0xf00f | u16::from(class) << 4).to_be_bytes();
        put_at(self.0, 0, [high, low]);
    }

    /// Sets the payload length; the caller adjusts the payload.
    #[inline]
    pub fn set_payload_len(&mut self, len: u16) {
        put_at(self.0, 4, len.to_be_bytes());
    }

    /// Sets the next header.
    #[inline]
    pub fn set_next_header(&mut self, next: Protocol) {
        self.0[6] = next.0;
    }

    /// Sets the source address.
    #[inline]
    pub fn set_src(&mut self, src: Ipv6Addr) {
        put_at(self.0, 8, src.octets());
    }

    /// Sets the destination address.
    #[inline]
    pub fn set_dst(&mut self, dst: Ipv6Addr) {
        put_at(self.0, 24, dst.octets());
    }
}

/// A fixed header as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// DSCP and ECN.
    pub traffic_class: u8,
    /// Flow label, 20 bits.
    pub flow_label: u32,
    /// Next header.
    pub next_header: Protocol,
    /// Hop limit.
    pub hop_limit: u8,
    /// Source address.
    pub src: Ipv6Addr,
    /// Destination address.
    pub dst: Ipv6Addr,
}

impl Repr {
    /// Header of a packet with hop limit 64.
    pub const fn new(next_header: Protocol, src: Ipv6Addr, dst: Ipv6Addr) -> Self {
        Self {
            traffic_class: 0,
            flow_label: 0,
            next_header,
            hop_limit: 64,
            src,
            dst,
        }
    }

    /// Reads the fields of a header.
    pub fn parse(header: &Header<'_>) -> Self {
        Self {
            traffic_class: header.traffic_class(),
            flow_label: header.flow_label(),
            next_header: header.next_header(),
            hop_limit: header.hop_limit(),
            src: header.src(),
            dst: header.dst(),
        }
    }

    /// Encodes the header for a payload of `payload_len` bytes (at most 65,535).
    #[inline]
    pub fn to_bytes(&self, payload_len: usize) -> [u8; HEADER_LEN] {
        let first = 6 << 28 | u32::from(self.traffic_class) << 20 | self.flow_label & 0xf_ffff;
        let len = u16::try_from(payload_len).unwrap_or(u16::MAX);
        let mut bytes = [0; HEADER_LEN];
        put_at(&mut bytes, 0, first.to_be_bytes());
        put_at(&mut bytes, 4, len.to_be_bytes());
        put_at(&mut bytes, 6, [self.next_header.0, self.hop_limit]);
        put_at(&mut bytes, 8, self.src.octets());
        put_at(&mut bytes, 24, self.dst.octets());
        bytes
    }
}

/// Solicited-node multicast address of `target` (RFC 4291, 2.7.1).
pub const fn solicited_node(target: Ipv6Addr) -> Ipv6Addr {
    let [.., a, b, c] = target.octets();
    Ipv6Addr::new(
        0xff02,
        0,
        0,
        0,
        0,
        1,
        0xff00 | a as u16,
        u16::from_be_bytes([b, c]),
    )
}
