//! Translation of ICMP errors: the quoted packet is translated back (RFC 5508, 4.2 and 4.3; RFC 3022, 4.3).
//!
//! An error travels in the opposite direction of the packet that it quotes. The rewrite of the error's
//! direction, with source and destination exchanged, restores the quoted packet as its sender wrote it; the
//! rewrite itself translates the error's own addresses. The error's sender may be a router on the path
//! instead of an end of the connection. It gets the translated source of the connection's packets, so that no
//! inside address is visible outside.
//!
//! The quoted packet may be truncated anywhere after its network header. A quoted SCTP packet keeps its CRC,
//! which cannot be checked without the rest of the packet (RFC 9260, 10).

use packet::{Fields, Fragment};
use wire::checksum::{combine, sum};

use super::apply::{Malformed, PacketLayout, update};
use super::rewrite::{Layer, PORTS, Rewrite, difference};

/// Length of the ICMP header before the quoted packet (RFC 792; RFC 4443, 3).
const ICMP: usize = 8;

impl<const BYTES: usize> Rewrite<BYTES> {
    /// Rewrites an ICMP error, from its network header on. This rewrite must be that of the error's
    /// direction: it belongs to the reverse of the quoted packet's tuple.
    ///
    /// # Errors
    /// Returns [`Malformed`] with the packet unchanged if the error is a fragment or does not quote a packet
    /// of its own family.
    pub fn apply_error(&self, packet: &mut [u8], shape: PacketLayout) -> Result<(), Malformed> {
        if self.is_identity() {
            return Ok(());
        }
        if shape.fragment != Fragment::Whole {
            return Err(Malformed);
        }
        let packet = packet.get_mut(..shape.len as usize).ok_or(Malformed)?;
        let upper = usize::from(shape.upper).max(Self::HEADER);
        let (network, message) = packet.split_at_mut_checked(upper).ok_or(Malformed)?;
        let (icmp, quoted) = message.split_at_mut_checked(ICMP).ok_or(Malformed)?;
        let inside = self.mirrored().apply_quoted(quoted)?;
        let outside = self.write_own_addresses(network);
        // The checksum of ICMP for IPv4 does not cover the addresses.
        let mut whole = if BYTES == 4 {
            inside
        } else {
            combine(inside, outside)
        };
        if shape.unfinished {
            whole = if BYTES == 4 { 0 } else { outside };
        }
        if let Some(checksum) = icmp[2..].first_chunk_mut() {
            match shape.unfinished {
                true => *checksum = combine(u16::from_ne_bytes(*checksum), whole).to_ne_bytes(),
                false => update(checksum, whole),
            }
        }
        Ok(())
    }

    /// Returns the rewrite with source and destination exchanged: it undoes the other direction's rewrite.
    /// The checksum difference is the same.
    fn mirrored(&self) -> Self {
        let [a, b, c, d] = self.ports;
        let ports = match self.layer {
            Layer::Icmp | Layer::Icmp6 => self.ports,
            _ => [c, d, a, b],
        };
        Self {
            source: self.destination,
            destination: self.source,
            ports,
            // A call ID belongs to one direction only.
            layer: match self.layer {
                Layer::Gre => Layer::Bare,
                layer => layer,
            },
            ..*self
        }
    }

    /// Rewrites the quoted packet as far as it is present; returns the change of the sum of its bytes in
    /// memory byte order.
    fn apply_quoted(&self, quoted: &mut [u8]) -> Result<u16, Malformed> {
        let version = quoted.first().map(|first| first >> 4);
        if version != Some(if BYTES == 4 { 4 } else { 6 }) || quoted.len() < Self::HEADER {
            return Err(Malformed);
        }
        let fields = Fields::of(quoted);
        let upper = usize::from(fields.upper).max(Self::HEADER);
        let places = self.layer.places();
        // All changes lie before `end`, which is even unless the packet itself ends there.
        let end = (upper + places.reach().next_multiple_of(2)).min(quoted.len());
        let before = sum(&quoted[..end]);
        self.write_addresses(quoted, 0)?;
        if fields.upper != 0 && fields.fragment != Fragment::Later && self.layer != Layer::Bare {
            self.write_what_is_there(quoted.get_mut(upper..).unwrap_or_default());
        }
        Ok(combine(!before, sum(&quoted[..end])).to_be())
    }

    /// Rewrites ports and checksum of the quoted upper layer as far as they are present.
    fn write_what_is_there(&self, upper: &mut [u8]) {
        let places = self.layer.places();
        let ports = upper.get_mut(places.ports..places.ports + places.ports_len);
        if let Some(ports) = ports.filter(|_| self.changes & PORTS != 0) {
            ports.copy_from_slice(&self.ports[..places.ports_len]);
        }
        let checksum = upper.get_mut(places.checksum..);
        if let Some(checksum) = checksum.and_then(|tail| tail.first_chunk_mut())
            && self.layer != Layer::Sctp
        {
            self.carry(checksum, self.layer, false);
        }
    }

    /// Rewrites the error's own addresses as far as they change in this direction; returns the change of the
    /// sum in memory byte order.
    fn write_own_addresses(&self, network: &mut [u8]) -> u16 {
        let (before, addresses) = network.split_at_mut(Self::HEADER - 2 * BYTES);
        let (source, rest) = addresses.split_at_mut(BYTES);
        let destination = &mut rest[..BYTES];
        let mut change = 0;
        for (address, new, differs) in [
            (source, &self.source, self.changes_source()),
            (destination, &self.destination, self.changes_destination()),
        ] {
            if differs {
                change = combine(change, difference(address, new));
                address.copy_from_slice(new);
            }
        }
        if BYTES == 4
            && let Some(checksum) = before.last_chunk_mut()
        {
            update(checksum, change.to_be());
        }
        change.to_be()
    }
}
