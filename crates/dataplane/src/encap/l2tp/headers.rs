//! The header template of a session: the bytes that all of its packets share.

use frame::{Frame, Offload, Pool};
use wire::checksum;

use super::super::session_data::{PPP_ADDRESS, PROTOCOL, add_front, protocol_of};
use super::super::{ETHERNET, mark_encapsulated};
use super::message::{SEQUENCE, UDP_BYTES, VERSION};
use super::settings::{L2tp, Sequence};
use crate::drop::DropReason;
use crate::packet::protocol::UDP;
use crate::table::Adjacency;

/// Bytes of an IPv4 header.
const IPV4: usize = 20;
/// Bytes of all headers without and with sequence numbers.
const PLAIN: usize = IPV4 + UDP_BYTES + 6 + 4;
const NUMBERED: usize = PLAIN + 4;
/// Offset of the sequence number.
const NS: usize = IPV4 + UDP_BYTES + 6;
/// TTL of outer packets.
const TTL: u8 = 64;

/// Header template of a session.
pub(in crate::encap) struct Headers<'a> {
    session: &'a L2tp,
    bytes: [u8; NUMBERED],
    /// Unfolded sum of the words of the IPv4 header.
    sum: u32,
    /// The next hop, if no rule or policy applies to the outer packets.
    pub(in crate::encap) direct: Option<Adjacency>,
}

impl<'a> Headers<'a> {
    /// Builds the template. `direct` is the next hop of outer packets that take the fast path.
    #[inline(always)]
    pub(in crate::encap) fn new(session: &'a L2tp, direct: Option<Adjacency>) -> Self {
        let L2tp { local, remote, .. } = session;
        let mut bytes = [0; NUMBERED];
        (bytes[0], bytes[8], bytes[9]) = (0x45, TTL, UDP);
        bytes[12..16].copy_from_slice(&local.ip().octets());
        bytes[16..20].copy_from_slice(&remote.ip().octets());
        let sum = u32::from(checksum::sum(&bytes[..IPV4]));
        let is_numbered = session.sequence.is_some();
        let flags = if is_numbered {
            VERSION | SEQUENCE
        } else {
            VERSION
        };
        let words = [
            local.port(),
            remote.port(),
            0,
            0,
            flags,
            session.remote_ids.tunnel,
            session.remote_ids.session,
        ];
        let places = bytes[IPV4..].chunks_exact_mut(2);
        for (place, word) in places.zip(words) {
            place.copy_from_slice(&word.to_be_bytes());
        }
        let end = if is_numbered { NUMBERED } else { PLAIN };
        bytes[end - 4..end - 2].copy_from_slice(&PPP_ADDRESS);
        Self {
            session,
            bytes,
            sum,
            direct,
        }
    }

    /// Encapsulates a frame: writes the headers in front of its packet, behind room for an Ethernet header.
    ///
    /// # Errors
    /// The frame passed too many tunnels, has no headroom, or is too long for an outer packet.
    #[inline(always)]
    pub(super) fn encapsulate(&self, frame: &mut Frame, id: u16) -> Result<(), DropReason> {
        mark_encapsulated(frame)?;
        match &self.session.sequence {
            None => self.write::<PLAIN>(frame, id),
            Some(sequence) => {
                self.write::<NUMBERED>(frame, id)?;
                number(frame, sequence);
                Ok(())
            }
        }
    }

    /// Writes the headers in front of a frame in PPP form, behind room for an Ethernet header.
    ///
    /// # Errors
    /// Errors of [`Self::encapsulate`].
    pub(in crate::encap) fn encapsulate_ppp(
        &self,
        frame: &mut Frame,
        id: u16,
        pool: &mut Pool,
    ) -> Result<(), DropReason> {
        self.write_ppp(frame, id, pool)?;
        if let Some(sequence) = &self.session.sequence {
            number(frame, sequence);
        }
        Ok(())
    }

    /// Writes the headers in front of a frame in PPP form for a trace: takes no sequence number.
    ///
    /// # Errors
    /// Errors of [`Self::encapsulate`].
    pub(in crate::encap) fn trace_ppp(
        &self,
        frame: &mut Frame,
        pool: &mut Pool,
    ) -> Result<(), DropReason> {
        self.write_ppp(frame, 0, pool)
    }

    fn write_ppp(&self, frame: &mut Frame, id: u16, pool: &mut Pool) -> Result<(), DropReason> {
        const PLAIN_PPP: usize = PLAIN - PROTOCOL;
        const NUMBERED_PPP: usize = NUMBERED - PROTOCOL;
        mark_encapsulated(frame)?;
        let front = usize::from(frame.l3).saturating_sub(PROTOCOL);
        frame.pull_front(front);
        match self.session.sequence {
            None => {
                add_front(frame, PLAIN_PPP + ETHERNET, pool)?;
                self.put::<PLAIN_PPP>(frame, id).map(|_| ())
            }
            Some(_) => {
                add_front(frame, NUMBERED_PPP + ETHERNET, pool)?;
                self.put::<NUMBERED_PPP>(frame, id).map(|_| ())
            }
        }
    }

    /// Encapsulates a frame for a trace: takes no sequence number.
    ///
    /// # Errors
    /// Errors of [`Self::encapsulate`].
    pub(super) fn trace(&self, frame: &mut Frame) -> Result<(), DropReason> {
        mark_encapsulated(frame)?;
        match self.session.sequence {
            None => self.write::<PLAIN>(frame, 0),
            Some(_) => self.write::<NUMBERED>(frame, 0),
        }
    }

    /// Writes headers of `N` bytes.
    #[inline(always)]
    fn write<const N: usize>(&self, frame: &mut Frame, id: u16) -> Result<(), DropReason> {
        let l3 = usize::from(frame.l3);
        let packet = frame.bytes().get(l3..).unwrap_or_default();
        let protocol = protocol_of(packet).ok_or(DropReason::TunnelMalformed)?;
        frame.pull_front(l3);
        if !frame.push_front(N + ETHERNET) {
            return Err(DropReason::NoBuffer);
        }
        let place = self.put::<N>(frame, id)?;
        place[N - PROTOCOL..].copy_from_slice(&protocol.to_be_bytes());
        Ok(())
    }

    /// Writes the first `N` bytes of the template behind the room for an Ethernet header, and returns them.
    #[inline(always)]
    fn put<'f, const N: usize>(
        &self,
        frame: &'f mut Frame,
        id: u16,
    ) -> Result<&'f mut [u8; N], DropReason> {
        let total = u16::try_from(frame.len() - ETHERNET).map_err(|_| DropReason::TooBig)?;
        frame.l3 = ETHERNET as u16;
        frame.offload = Offload::FINISHED;
        let place = frame.bytes_mut().get_mut(ETHERNET..);
        let place = place.and_then(<[u8]>::first_chunk_mut::<N>);
        let (Some(place), Some(template)) = (place, self.bytes.first_chunk::<N>()) else {
            return Err(DropReason::NoBuffer);
        };
        *place = *template;
        place[2..4].copy_from_slice(&total.to_be_bytes());
        place[4..6].copy_from_slice(&id.to_be_bytes());
        let sum = self.sum + u32::from(total) + u32::from(id);
        let folded = (sum >> 16) + (sum & 0xffff);
        let sum = !((folded >> 16) + folded) as u16;
        place[10..12].copy_from_slice(&sum.to_be_bytes());
        place[24..26].copy_from_slice(&(total - IPV4 as u16).to_be_bytes());
        Ok(place)
    }
}

/// Writes the next sequence number into a frame.
#[inline(always)]
fn number(frame: &mut Frame, sequence: &Sequence) {
    let at = ETHERNET + NS;
    if let Some(field) = frame.bytes_mut().get_mut(at..at + 2) {
        field.copy_from_slice(&sequence.next().to_be_bytes());
    }
}
