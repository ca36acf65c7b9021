//! Frames of PPP sessions whose packets are encrypted, bridged or in fragments.

use frame::{Frame, InterfaceId, Pool, Segmentation};

use super::carrier::Carrier;
use super::multilink::Multilink;
use super::{divide, mark_decapsulated, settle};
use crate::counters::Traffic;
use crate::demux::pppoe::{self, Header, PPP_IPV4, PPP_IPV6};
use crate::drop::DropReason;
use crate::interface::Interface;
use crate::outlet::Outlet;
use crate::rings::Handed;
use crate::tap::{self, Direction};
use crate::walk::{self, Context, Exit};

pub(super) use crate::demux::pppoe::PROTOCOL;

/// Address and control field of PPP (RFC 1662, 3.1).
pub(super) const PPP_ADDRESS: [u8; 2] = [0xff, 0x03];

/// The PPP packet in a frame of session data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SessionPacket {
    pub(super) protocol: u16,
    /// Offset of the information field.
    pub(super) start: usize,
    /// Offset behind the information field.
    pub(super) end: usize,
}

/// Returns the PPP packet behind the PPPoE header at offset `at`; `None` where lengths contradict each other.
pub(super) fn session_packet(frame: &Frame, at: usize) -> Option<SessionPacket> {
    let (header, rest) = frame.bytes().get(at..)?.split_first_chunk()?;
    let header = Header::new(*header);
    let start = at + pppoe::HEADER;
    Some(SessionPacket {
        protocol: header.protocol(),
        start,
        end: start + header.packet_bytes(rest.len())?,
    })
}

/// Returns the PPP protocol of an IP packet; `None` for other bytes.
pub(super) fn protocol_of(packet: &[u8]) -> Option<u16> {
    match packet.first()? >> 4 {
        4 => Some(PPP_IPV4),
        6 => Some(PPP_IPV6),
        _ => None,
    }
}

/// Returns the protocol of a PPP packet for the data plane, and the bytes in front of its information: address, control
/// and protocol field, which may be compressed (RFC 1661, 6.5 and 6.6). Returns `None` for packets of control.
#[inline(always)]
pub(super) fn data_protocol(packet: &[u8]) -> Option<(u16, usize)> {
    let address = if packet.starts_with(&PPP_ADDRESS) {
        2
    } else {
        0
    };
    let (protocol, length) = match packet.get(address..)? {
        [0, low, ..] => (u16::from(*low), address + 2),
        [low, ..] if low & 1 == 1 => (u16::from(*low), address + 1),
        _ => return None,
    };
    let is_data = pppoe::ethertype_of(protocol).is_some()
        || matches!(protocol, ppp::ENCRYPTED | ppp::BRIDGED)
        || protocol == ppp::MULTILINK && pppoe::is_fragment_of_data(packet.get(length..)?);
    is_data.then_some((protocol, length))
}

/// Extends a frame at its front by `count` bytes.
///
/// # Errors
/// No slot is large enough, or none is free.
pub(super) fn add_front(
    frame: &mut Frame,
    count: usize,
    pool: &mut Pool,
) -> Result<(), DropReason> {
    if frame.push_front(count) {
        return Ok(());
    }
    let larger = pool.alloc(count + frame.len());
    let mut larger = larger.ok_or(DropReason::NoBuffer)?;
    larger.bytes_mut()[count..].copy_from_slice(frame.bytes());
    larger.copy_meta(frame);
    larger.l3 = frame.l3;
    pool.free(core::mem::replace(frame, larger));
    Ok(())
}

/// A frame with a complete PPP packet.
pub(super) struct CompletePacket {
    pub(super) frame: Frame,
    pub(super) packet: SessionPacket,
    /// The fragment that completed the packet, on a link with multilink framing.
    pub(super) fragment: Option<Frame>,
}

impl CompletePacket {
    /// Returns the received frame, to be dropped or punted.
    pub(super) fn into_received(self, outlet: &mut Outlet) -> Frame {
        match self.fragment {
            Some(fragment) => {
                outlet.pool.free(self.frame);
                fragment
            }
            None => self.frame,
        }
    }

    /// Returns the frame with the packet, and frees the fragment.
    pub(super) fn into_frame(self, outlet: &mut Outlet) -> Frame {
        if let Some(fragment) = self.fragment {
            outlet.pool.free(fragment);
        }
        self.frame
    }

    /// Returns the frame with the IP packet `inner` of the session `id`, as its interface receives it, and shows it to
    /// taps.
    ///
    /// # Errors
    /// The received frame, and why it is dropped: the error of `inner`, or that of [`cut`].
    pub(super) fn deliver(
        mut self,
        cx: &Context<'_>,
        id: InterfaceId,
        inner: Result<SessionPacket, DropReason>,
        carrier: &Carrier,
        interface: &Interface,
        outlet: &mut Outlet,
    ) -> Result<Frame, (Frame, DropReason)> {
        let done = inner.and_then(|inner| cut(&mut self.frame, &inner, carrier, interface));
        if let Err(reason) = done {
            return Err((self.into_received(outlet), reason));
        }
        let mut frame = self.into_frame(outlet);
        mark_decapsulated(&mut frame, id);
        tap::show(cx, id, Direction::Received, &frame, 0, outlet);
        Ok(frame)
    }
}

/// Admits a received frame of a carrier. A multilink fragment is reassembled; `None` means that its packet is
/// incomplete, or that the frame has none.
///
/// # Errors
/// The frame, and why it is dropped.
pub(super) fn complete(
    cx: &Context<'_>,
    frame: Frame,
    carrier: &Carrier,
    framing: Option<&Multilink>,
    outlet: &mut Outlet,
) -> Result<Option<CompletePacket>, (Frame, DropReason)> {
    let packet = match carrier.admit(cx, &frame, outlet) {
        Ok(Some(packet)) => packet,
        Ok(None) => {
            outlet.pool.free(frame);
            return Ok(None);
        }
        Err(reason) => return Err((frame, reason)),
    };
    if packet.protocol != ppp::MULTILINK {
        return Ok(Some(CompletePacket {
            frame,
            packet,
            fragment: None,
        }));
    }
    let Some(framing) = framing else {
        return Err((frame, DropReason::PppProtocol));
    };
    let mut incomplete = core::mem::take(&mut outlet.incomplete);
    let joined = framing.reassemble(&frame, &packet, &mut incomplete, outlet);
    outlet.incomplete = incomplete;
    match joined {
        Ok(Some((whole, protocol))) => Ok(Some(CompletePacket {
            packet: SessionPacket {
                protocol,
                start: usize::from(whole.l3),
                end: whole.len(),
            },
            frame: whole,
            fragment: Some(frame),
        })),
        Ok(None) => {
            outlet.pool.free(frame);
            Ok(None)
        }
        Err(reason) => Err((frame, reason)),
    }
}

/// Cuts a received frame down to the IP packet of a session, behind an Ethernet header to the session's interface.
///
/// # Errors
/// The packet is no IP packet, or the frame is shorter than the packet.
fn cut(
    frame: &mut Frame,
    packet: &SessionPacket,
    carrier: &Carrier,
    interface: &Interface,
) -> Result<(), DropReason> {
    let kind = pppoe::ethertype_of(packet.protocol).ok_or(DropReason::PppProtocol)?;
    let is_cut = frame.set_len(packet.end);
    let is_cut = is_cut.then(|| settle(frame, packet.start, kind.to_be_bytes()));
    is_cut.flatten().ok_or(DropReason::PppMalformed)?;
    if let Some(link) = frame.bytes_mut().first_chunk_mut::<12>() {
        link[..6].copy_from_slice(&interface.mac.0);
        if !matches!(carrier, Carrier::Pppoe(_)) {
            link[6..].fill(0);
        }
    }
    frame.flow = 0;
    Ok(())
}

/// Receives session data of the interface `id`. Frames for the session's worker `home` are handed over; `receive` gets
/// the others, with their lengths in bytes, if the interface is running. Returns the traffic that was not handed over.
pub(super) fn receive_all(
    id: InterfaceId,
    interface: &Interface,
    home: Option<u16>,
    frames: impl Iterator<Item = Frame>,
    outlet: &mut Outlet,
    mut receive: impl FnMut(Frame, u64, &mut Outlet),
) -> Traffic {
    let mut all = Traffic::default();
    for frame in frames {
        let bytes = walk::received(&frame);
        if let Some(home) = home {
            if let Some((frame, reason)) = outlet.hand(home, Handed::Joining(frame, id)) {
                outlet.discard(frame, reason);
            }
            continue;
        }
        all.packets += 1;
        all.bytes += bytes;
        match (interface.running, frame.offload.segmentation) {
            (false, _) => outlet.discard(frame, DropReason::InterfaceDown),
            (true, Segmentation::Udp) => divide(frame, outlet, |piece, outlet| {
                let bytes = walk::received(&piece);
                receive(piece, bytes, outlet);
            }),
            (true, _) => receive(frame, bytes, outlet),
        }
    }
    all
}

/// Leaves a received frame to the service that `exit` names; without a service drops it under this name.
pub(super) fn leave_to_service(exit: Exit, frame: Frame, reason: DropReason, outlet: &mut Outlet) {
    match exit {
        Exit::Punt(why) => outlet.punt(frame, why),
        _ => outlet.discard(frame, reason),
    }
}
