//! Frames of PPPoE session data whose packets are encrypted, bridged or in fragments.

use frame::{Frame, InterfaceId, Pool};

use super::multilink::Multilink;
use crate::counters::Traffic;
use crate::demux::pppoe::{self, Header};
use crate::drop::DropReason;
use crate::interface::Interface;
use crate::outlet::Outlet;
use crate::rings::Handed;
use crate::walk;

/// The PPP packet in a frame of session data.
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
}

/// Reads the packet of a received frame whose PPPoE header begins at offset `at`. A multilink fragment is reassembled;
/// `None` means that its packet is incomplete.
///
/// # Errors
/// The frame, and why it is dropped.
pub(super) fn complete(
    frame: Frame,
    at: usize,
    framing: Option<&Multilink>,
    outlet: &mut Outlet,
) -> Result<Option<CompletePacket>, (Frame, DropReason)> {
    let Some(packet) = session_packet(&frame, at) else {
        return Err((frame, DropReason::PppMalformed));
    };
    if packet.protocol != ppp::MULTILINK {
        return Ok(Some(CompletePacket {
            frame,
            packet,
            fragment: None,
        }));
    }
    let Some(framing) = framing else {
        return Err((frame, DropReason::PppoeProtocol));
    };
    let mut incomplete = core::mem::take(&mut outlet.incomplete);
    let joined = framing.reassemble(&frame, &mut incomplete, outlet);
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
        match interface.running {
            true => receive(frame, bytes, outlet),
            false => outlet.discard(frame, DropReason::InterfaceDown),
        }
    }
    all
}
