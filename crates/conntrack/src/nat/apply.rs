//! Applies a rewrite to a packet: new addresses, new ports, and updated checksums.
//!
//! | what | change of its checksum |
//! |---|---|
//! | IPv4 header | the difference of the addresses |
//! | TCP, UDP, UDP-Lite, DCCP, ICMPv6 | the difference of addresses and ports (pseudo header) |
//! | UDP with 0 | none: 0 means no checksum (RFC 768; RFC 6935) |
//! | ICMP | the difference of the identifier |
//! | GRE | none: its checksum covers neither addresses nor call ID |
//! | SCTP | none for addresses; a port's change is propagated through the CRC, which is linear |
//! | unfinished ([`frame::Offload`]) | the difference of the addresses: the field holds the pseudo header's sum |
//! | a later fragment | none above IP: the first fragment carries the header |
//!
//! IPv6: after a routing header with segments left, the pseudo header contains the last address of that
//! header, which is not translated; such packets keep a checksum for their original address.

use frame::Offload;
use packet::{Fields, Fragment};
use wire::checksum::combine;

use super::crc32c;
use super::rewrite::{Layer, PORTS, Rewrite};

/// Layout of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketLayout {
    /// Offset of the upper layer from the network header.
    pub upper: u16,
    /// Length from the network header on in bytes, without link padding.
    pub len: u32,
    /// Which part of its datagram the packet is.
    pub fragment: Fragment,
    /// True if the upper layer's checksum field holds only the pseudo header's sum.
    pub unfinished: bool,
}

impl PacketLayout {
    /// Returns the layout of a packet that begins `l3` bytes into its frame.
    #[inline(always)]
    pub fn of(fields: &Fields, offload: &Offload, l3: u16) -> Self {
        let upper = u32::from(l3) + u32::from(fields.upper);
        Self {
            upper: fields.upper,
            len: fields.len,
            fragment: fields.fragment,
            // An unfinished checksum elsewhere belongs to an inner packet.
            unfinished: offload.needs_checksum && u32::from(offload.checksum_start) == upper,
        }
    }
}

/// The packet is too short for the rewrite, or it is a fragment of an SCTP packet whose ports change. The
/// packet is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// Offset of the checksum in an IPv4 header.
pub(super) const IPV4_CHECKSUM: usize = 10;

/// The change of the IPv4 header's sum if the TTL, the high byte of its word, is decremented; in memory byte
/// order (RFC 1624, 4).
const LIFETIME: u16 = (!0x0100_u16).to_be();

impl<const BYTES: usize> Rewrite<BYTES> {
    /// Offset of the source address; the destination follows it.
    const SOURCE_AT: usize = if BYTES == 4 { 12 } else { 8 };
    /// Length of a header without options, which ends with the addresses.
    pub(super) const HEADER: usize = Self::SOURCE_AT + 2 * BYTES;

    /// Rewrites a packet of this rewrite's tuple, from its network header on.
    ///
    /// # Errors
    /// Returns [`Malformed`] with the packet unchanged.
    #[inline]
    pub fn apply(&self, packet: &mut [u8], shape: PacketLayout) -> Result<(), Malformed> {
        if self.is_identity() {
            return Ok(());
        }
        let upper = usize::from(shape.upper).max(Self::HEADER);
        if shape.fragment == Fragment::Later || self.layer == Layer::Bare {
            return self.write_addresses(packet, 0);
        }
        let (network, upper) = packet.split_at_mut_checked(upper).ok_or(Malformed)?;
        // The layer is passed as a constant, so that its offsets are known at compile time.
        match self.layer {
            Layer::Tcp => self.write_upper(upper, Layer::Tcp, shape.unfinished)?,
            Layer::Udp => self.write_upper(upper, Layer::Udp, shape.unfinished)?,
            Layer::Sctp => self.write_sctp(upper, shape)?,
            Layer::Gre => self.write_call(upper)?,
            layer => self.write_upper(upper, layer, shape.unfinished)?,
        }
        self.write_addresses(network, 0)
    }

    /// Rewrites a packet that is forwarded at once and decrements its TTL or hop limit, which must be above
    /// 1.
    ///
    /// The packet must be a whole TCP segment or UDP datagram without options or extension headers.
    ///
    /// # Errors
    /// Returns [`Malformed`] with the packet unchanged.
    #[inline(always)]
    pub fn forward(&self, packet: &mut [u8], unfinished: bool) -> Result<(), Malformed> {
        let (network, upper) = packet.split_at_mut_checked(Self::HEADER).ok_or(Malformed)?;
        match self.layer {
            Layer::Tcp => self.write_upper(upper, Layer::Tcp, unfinished)?,
            Layer::Udp => self.write_upper(upper, Layer::Udp, unfinished)?,
            _ => return Err(Malformed),
        }
        let lifetime = &mut network[if BYTES == 4 { 8 } else { 7 }];
        *lifetime = lifetime.wrapping_sub(1);
        self.write_addresses(network, LIFETIME)
    }

    /// Rewrites the network header: addresses, and the IPv4 checksum, to which `more` is added as well.
    #[inline(always)]
    pub(super) fn write_addresses(&self, packet: &mut [u8], more: u16) -> Result<(), Malformed> {
        let header = packet.get_mut(..Self::HEADER).ok_or(Malformed)?;
        put(header, Self::SOURCE_AT, self.source);
        put(header, Self::SOURCE_AT + BYTES, self.destination);
        if BYTES == 4
            && let Some(checksum) = header[IPV4_CHECKSUM..].first_chunk_mut()
        {
            update(checksum, combine(self.addresses, more));
        }
        Ok(())
    }

    /// Rewrites the upper layer's header: ports or identifier, and checksum.
    #[inline(always)]
    fn write_upper(
        &self,
        upper: &mut [u8],
        layer: Layer,
        unfinished: bool,
    ) -> Result<(), Malformed> {
        let places = layer.places();
        let header = upper.get_mut(..places.reach()).ok_or(Malformed)?;
        let [a, b, ..] = self.ports;
        match layer {
            Layer::Icmp | Layer::Icmp6 => put(header, places.ports, [a, b]),
            _ => put(header, places.ports, self.ports),
        }
        if let Some(checksum) = header[places.checksum..].first_chunk_mut() {
            self.carry(checksum, layer, unfinished);
        }
        if layer == Layer::Icmp {
            all_ones_for_nothing(upper, places.checksum);
        }
        Ok(())
    }

    /// Updates the upper layer's checksum.
    #[inline(always)]
    pub(super) fn carry(&self, checksum: &mut [u8; 2], layer: Layer, unfinished: bool) {
        if unfinished {
            // The field holds the pseudo header's sum; ICMP has no pseudo header.
            if layer != Layer::Icmp {
                let sum = combine(u16::from_ne_bytes(*checksum), self.addresses);
                *checksum = sum.to_ne_bytes();
            }
            return;
        }
        if layer == Layer::Udp && *checksum == [0, 0] {
            return;
        }
        update(checksum, self.upper);
        if matches!(layer, Layer::Udp | Layer::UdpLite) && *checksum == [0, 0] {
            *checksum = [0xff; 2];
        }
    }

    /// Rewrites the call ID of a PPTP tunnel packet.
    #[cold]
    #[inline(never)]
    fn write_call(&self, upper: &mut [u8]) -> Result<(), Malformed> {
        if let Some(call) = self.call() {
            let places = Layer::Gre.places();
            let header = upper.get_mut(..places.reach()).ok_or(Malformed)?;
            put(header, places.ports, call.to_be_bytes());
        }
        Ok(())
    }

    /// Rewrites SCTP ports and updates the CRC.
    #[cold]
    #[inline(never)]
    fn write_sctp(&self, upper: &mut [u8], shape: PacketLayout) -> Result<(), Malformed> {
        if self.changes & PORTS == 0 {
            return Ok(());
        }
        // For a fragment the number of bytes that the CRC covers is unknown.
        if shape.fragment != Fragment::Whole {
            return Err(Malformed);
        }
        let len = (shape.len as usize).checked_sub(usize::from(shape.upper));
        let segment = len.and_then(|len| upper.get_mut(..len));
        let segment = segment.filter(|segment| segment.len() >= crc32c::HEADER);
        crc32c::replace_ports(segment.ok_or(Malformed)?, self.ports);
        Ok(())
    }
}

/// Writes bytes at an offset within `into`.
#[inline(always)]
pub(super) fn put<const BYTES: usize>(into: &mut [u8], at: usize, bytes: [u8; BYTES]) {
    if let Some(place) = into.get_mut(at..).and_then(|tail| tail.first_chunk_mut()) {
        *place = bytes;
    }
}

/// Writes the checksum of an ICMP message that consists of zeros only, an echo reply without payload: it is
/// 0xffff. The update by difference yields 0 (RFC 1624, 3), which is right for every other message.
#[inline(always)]
fn all_ones_for_nothing(message: &mut [u8], checksum: usize) {
    if message[checksum] == 0 && message.iter().all(|byte| *byte == 0) {
        message[checksum..checksum + 2].fill(0xff);
    }
}

/// Adds a difference to a checksum, both in memory byte order (RFC 1624, 3, eqn 3).
#[inline(always)]
pub(super) const fn update(checksum: &mut [u8; 2], difference: u16) {
    *checksum = (!combine(!u16::from_ne_bytes(*checksum), difference)).to_ne_bytes();
}
