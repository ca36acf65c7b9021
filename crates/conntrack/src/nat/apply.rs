//! A rewrite meets a packet: new addresses, new ports, and checksums that follow them.
//!
//! | what | its checksum changes by |
//! |---|---|
//! | IPv4 header | the difference of the addresses |
//! | TCP, UDP, UDP-Lite, DCCP, ICMPv6 | that of addresses and ports (pseudo header) |
//! | UDP with 0 | nothing: it has none (RFC 768; RFC 6935) |
//! | ICMP | that of the identifier |
//! | GRE | nothing: it has none over addresses or a call's number |
//! | SCTP | nothing for addresses; a port's change moves through the CRC, which is linear |
//! | unfinished ([`frame::Offload`]) | that of the addresses: the pseudo header's sum stands there |
//! | a later fragment | nothing above IP: the first carries it for all |
//!
//! IPv6: behind a routing header with segments left the pseudo header has the last address of the
//! header, which no translation knows; such packets keep a checksum for the address that they had.

use frame::Offload;
use packet::{Fields, Fragment};
use wire::checksum::combine;

use super::crc32c;
use super::rewrite::{Layer, PORTS, Rewrite};

/// Where things lie in a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Where the upper layer begins, from the network header.
    pub upper: u16,
    /// The packet's length from its network header on, in bytes, without the link's padding.
    pub len: u32,
    /// Which part of its datagram it is.
    pub fragment: Fragment,
    /// The upper layer's checksum is only that of its pseudo header so far.
    pub unfinished: bool,
}

impl Shape {
    /// That of a packet which begins `l3` bytes into its frame.
    #[inline(always)]
    pub fn of(fields: &Fields, offload: &Offload, l3: u16) -> Self {
        let upper = u32::from(l3) + u32::from(fields.upper);
        Self {
            upper: fields.upper,
            len: fields.len,
            fragment: fields.fragment,
            // An unfinished checksum elsewhere is that of a packet inside of this one.
            unfinished: offload.needs_checksum && u32::from(offload.checksum_start) == upper,
        }
    }
}

/// The packet ends before what should be rewritten, or is a part of an SCTP packet whose ports
/// should change; it was not touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// Where the checksum of an IPv4 header lies.
pub(super) const IPV4_CHECKSUM: usize = 10;

/// What a lifetime less by one, the high byte of its word, adds to the sum of an IPv4 header, in the
/// byte order of memory (RFC 1624, 4).
const LIFETIME: u16 = (!0x0100_u16).to_be();

impl<const BYTES: usize> Rewrite<BYTES> {
    /// Where the source address lies; the destination follows it.
    const SOURCE_AT: usize = if BYTES == 4 { 12 } else { 8 };
    /// The length of a header without options, which ends with the addresses.
    pub(super) const HEADER: usize = Self::SOURCE_AT + 2 * BYTES;

    /// Rewrites a packet of the tuple that this rewrite belongs to, from its network header on.
    ///
    /// # Errors
    /// [`Malformed`], and the packet is unchanged.
    #[inline]
    pub fn apply(&self, packet: &mut [u8], shape: Shape) -> Result<(), Malformed> {
        if self.is_identity() {
            return Ok(());
        }
        let upper = usize::from(shape.upper).max(Self::HEADER);
        if shape.fragment == Fragment::Later || self.layer == Layer::Bare {
            return self.write_addresses(packet, 0);
        }
        let (network, upper) = packet.split_at_mut_checked(upper).ok_or(Malformed)?;
        // The layer as a constant: its places are known when this is compiled.
        match self.layer {
            Layer::Tcp => self.write_upper(upper, Layer::Tcp, shape.unfinished)?,
            Layer::Udp => self.write_upper(upper, Layer::Udp, shape.unfinished)?,
            Layer::Sctp => self.write_sctp(upper, shape)?,
            Layer::Gre => self.write_call(upper)?,
            layer => self.write_upper(upper, layer, shape.unfinished)?,
        }
        self.write_addresses(network, 0)
    }

    /// The same for a packet that is forwarded at once: its lifetime, which is above 1, falls too.
    ///
    /// The packet is a whole TCP segment or UDP datagram without options or extension headers.
    ///
    /// # Errors
    /// [`Malformed`], and the packet is unchanged.
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

    /// The network header: addresses, and the checksum of IPv4, which changes by `more` besides.
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

    /// The upper layer's header: ports or identifier, and its checksum.
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

    /// The upper layer's checksum.
    #[inline(always)]
    pub(super) fn carry(&self, checksum: &mut [u8; 2], layer: Layer, unfinished: bool) {
        if unfinished {
            // The sum of the pseudo header, which ICMP does not have.
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

    /// The call's number of a tunnel of PPTP.
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

    /// SCTP's ports and CRC.
    #[cold]
    #[inline(never)]
    fn write_sctp(&self, upper: &mut [u8], shape: Shape) -> Result<(), Malformed> {
        if self.changes & PORTS == 0 {
            return Ok(());
        }
        // A part of a datagram does not say how many bytes the CRC still runs over.
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

/// Writes bytes at a place which lies within.
#[inline(always)]
pub(super) fn put<const BYTES: usize>(into: &mut [u8], at: usize, bytes: [u8; BYTES]) {
    if let Some(place) = into.get_mut(at..).and_then(|tail| tail.first_chunk_mut()) {
        *place = bytes;
    }
}

/// An echo's answer without a payload may be nothing but zeros, the only sum that is 0: its checksum
/// is all ones. A difference leads to the other zero (RFC 1624, 3), and every other message wants it.
#[inline(always)]
fn all_ones_for_nothing(message: &mut [u8], checksum: usize) {
    if message[checksum] == 0 && message.iter().all(|byte| *byte == 0) {
        message[checksum..checksum + 2].fill(0xff);
    }
}

/// Adds a difference to a checksum, both as they lie in memory (RFC 1624, 3, eqn 3).
#[inline(always)]
pub(super) const fn update(checksum: &mut [u8; 2], difference: u16) {
    *checksum = (!combine(!u16::from_ne_bytes(*checksum), difference)).to_ne_bytes();
}
