//! A rewrite meets a packet: new addresses, new ports, and checksums that follow them.
//!
//! | what | checksum |
//! |---|---|
//! | IPv4 header | the difference of the addresses |
//! | TCP, UDP, UDP-Lite, DCCP, ICMPv6 | that of addresses and ports (pseudo header) |
//! | UDP with 0 | stays 0: it has none (RFC 768; RFC 6935) |
//! | ICMP | that of the identifier |
//! | SCTP | none for addresses; a port's change moves through the CRC, which is linear |
//! | unfinished ([`frame::Offload`]) | that of the addresses, to the pseudo header's sum that stands there |
//! | a later fragment | none above IP: the first carries it for all |

use frame::Offload;
use wire::checksum::combine;

use super::rewrite::{Layer, PORTS, Rewrite};
use crate::packet::{Fields, Fragment};

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

impl<const BYTES: usize> Rewrite<BYTES> {
    /// Where the source address lies; the destination follows it.
    const SOURCE_AT: usize = if BYTES == 4 { 12 } else { 8 };

    /// Rewrites a packet of the tuple that this rewrite belongs to, from its network header on.
    ///
    /// # Errors
    /// [`Malformed`], and the packet is unchanged.
    #[inline]
    pub fn apply(&self, packet: &mut [u8], shape: Shape) -> Result<(), Malformed> {
        if self.is_identity() {
            return Ok(());
        }
        if shape.fragment != Fragment::Later && self.layer != Layer::Bare {
            let (header, upper) = packet
                .split_at_mut_checked(usize::from(shape.upper))
                .ok_or(Malformed)?;
            if header.len() < Self::SOURCE_AT + 2 * BYTES {
                return Err(Malformed);
            }
            self.apply_upper(upper, shape)?;
        }
        self.apply_addresses(packet)
    }

    /// The network header: addresses, and the checksum of IPv4.
    #[inline(always)]
    pub(super) fn apply_addresses(&self, packet: &mut [u8]) -> Result<(), Malformed> {
        let end = Self::SOURCE_AT + 2 * BYTES;
        let header = packet.get_mut(..end).ok_or(Malformed)?;
        let (before, addresses) = header.split_at_mut(Self::SOURCE_AT);
        let (source, destination) = addresses.split_at_mut(BYTES);
        source.copy_from_slice(&self.source);
        destination.copy_from_slice(&self.destination);
        if BYTES == 4
            && let Some(checksum) = before.last_chunk_mut()
        {
            update(checksum, self.addresses);
        }
        Ok(())
    }

    /// The upper layer's header: ports or identifier, and its checksum.
    #[inline(always)]
    fn apply_upper(&self, upper: &mut [u8], shape: Shape) -> Result<(), Malformed> {
        let (checksum_at, ports_at, ports_len) = match self.layer {
            Layer::Bare => return Ok(()),
            Layer::Tcp => (16, 0, 4),
            Layer::Udp | Layer::UdpLite | Layer::Dccp => (6, 0, 4),
            Layer::Sctp => return self.apply_sctp(upper, shape),
            Layer::Icmp | Layer::Icmp6 => (2, 4, 2),
        };
        let ports_end = ports_at + ports_len;
        let reach = usize::max(checksum_at + 2, ports_end);
        let header = upper.get_mut(..reach).ok_or(Malformed)?;
        if self.changes & PORTS != 0 {
            header[ports_at..ports_end].copy_from_slice(&self.ports[..ports_len]);
        }
        let checksum = header[checksum_at..].first_chunk_mut().ok_or(Malformed)?;
        match (shape.unfinished, self.layer) {
            (true, Layer::Icmp) => {}
            (true, _) => {
                let sum = combine(u16::from_ne_bytes(*checksum), self.addresses);
                *checksum = sum.to_ne_bytes();
            }
            (false, Layer::Udp) if *checksum == [0, 0] => {}
            (false, Layer::Udp | Layer::UdpLite) => {
                update(checksum, self.upper);
                if *checksum == [0, 0] {
                    *checksum = [0xff; 2];
                }
            }
            (false, _) => update(checksum, self.upper),
        }
        Ok(())
    }

    /// SCTP's ports; see [`super::crc32c`].
    #[cold]
    #[inline(never)]
    fn apply_sctp(&self, upper: &mut [u8], shape: Shape) -> Result<(), Malformed> {
        if self.changes & PORTS == 0 {
            return Ok(());
        }
        // A part of a datagram does not say how many bytes the CRC still runs over.
        if shape.fragment != Fragment::Whole {
            return Err(Malformed);
        }
        let len = (shape.len as usize).checked_sub(usize::from(shape.upper));
        let segment = len.and_then(|len| upper.get_mut(..len));
        let segment = segment
            .filter(|segment| segment.len() >= 12)
            .ok_or(Malformed)?;
        super::crc32c::replace_ports(segment, self.ports);
        Ok(())
    }
}

/// Adds a difference to a checksum, both as they lie in memory (RFC 1624, 3, eqn 3).
#[inline(always)]
pub(super) fn update(checksum: &mut [u8; 2], difference: u16) {
    *checksum = (!combine(!u16::from_ne_bytes(*checksum), difference)).to_ne_bytes();
}
