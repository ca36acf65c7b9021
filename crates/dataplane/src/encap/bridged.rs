//! PPP sessions that carry the frames of a bridge (BCP, RFC 3518), with or without MPPE and multilink framing.
//!
//! ```text
//! headers of the carrier | 0031 | flags (8), MAC type (8) | Ethernet frame
//! ```
//! With MPPE the packet is encrypted from its protocol field on. A frame that exceeds the link travels in fragments.

mod settings;

use frame::{Frame, Offload, Pool};
use ppp::{BRIDGED, BRIDGED_FRONT, BridgedFrame};

pub use self::settings::Bridged;

use super::session_data::{CompletePacket, PROTOCOL, add_front, complete, receive_all};
use super::{Arrival, Batch, DEPTH, ETHERNET, Encap, Next, OuterPath, mark_decapsulated, put};
use crate::agenda::Item;
use crate::counters::Traffic;
use crate::drop::DropReason;
use crate::encap::mppe::Mppe;
use crate::interface::{Ends, Interface};
use crate::outlet::Outlet;
use crate::tap::{self, Direction};
use crate::walk::{Context, Exit};

/// Destination of BPDUs (802.1D, 7.12.3).
const BRIDGES: [u8; 6] = [0x01, 0x80, 0xc2, 0, 0, 0];
/// EtherTypes of VLAN tags.
const TAGS: [[u8; 2]; 2] = [[0x81, 0x00], [0x88, 0xa8]];

impl Bridged {
    /// Returns the worker by which all frames of the session pass, if their order matters to cipher or framing; `None`
    /// if it is this worker.
    fn home(&self, outlet: &Outlet) -> Option<u16> {
        let is_ordered = self.encryption.is_some() || self.framing.is_some();
        is_ordered.then(|| outlet.home_of(self.id)).flatten()
    }

    /// Puts the headers in front of a frame, which is in PPP form then.
    ///
    /// # Errors
    /// The other end does not take the frame, or it has passed too many tunnels.
    fn enclose(&self, frame: &mut Frame, pool: &mut Pool) -> Result<(), DropReason> {
        let bytes = frame.bytes();
        let link = bytes.first_chunk::<ETHERNET>();
        let link = link.ok_or(DropReason::TunnelMalformed)?;
        let (is_bpdu, is_tagged) = (link[..6] == BRIDGES, TAGS.contains(&[link[12], link[13]]));
        if is_bpdu && !self.has_bpdus || is_tagged && !self.has_tags {
            return Err(DropReason::PppBridged);
        }
        if frame.depth >= DEPTH {
            return Err(DropReason::TunnelDepth);
        }
        let carried = (2 + BRIDGED_FRONT.len() + bytes.len()) as u16;
        let header = self.header.len();
        let front = header + BRIDGED_FRONT.len();
        add_front(frame, front, pool)?;
        frame.depth += 1;
        let (outer, flags) = frame.bytes_mut()[..front].split_at_mut(header);
        outer.copy_from_slice(&self.header);
        let before = outer[..header - PROTOCOL].last_chunk_mut();
        if let Some(length) = before {
            *length = carried.to_be_bytes();
        }
        flags.copy_from_slice(&BRIDGED_FRONT);
        frame.l3 = header as u16;
        Ok(())
    }

    /// Cuts a received frame down to the bridged frame. Returns `None` for a fragment of an incomplete packet.
    ///
    /// # Errors
    /// The received frame, and why it is dropped.
    fn receive(
        &self,
        cx: &Context<'_>,
        frame: Frame,
        outlet: &mut Outlet,
    ) -> Result<Option<Frame>, (Frame, DropReason)> {
        let Some(mut whole) = complete(cx, frame, &self.carrier, self.framing.as_ref(), outlet)?
        else {
            return Ok(None);
        };
        if let Err(reason) = extract(self.encryption.as_ref(), &mut whole) {
            return Err((whole.into_received(outlet), reason));
        }
        let mut frame = whole.into_frame(outlet);
        mark_decapsulated(&mut frame, self.id);
        (frame.flow, frame.l3, frame.offload) = (0, ETHERNET as u16, Offload::FINISHED);
        if cx.interfaces.taps().any() {
            tap::show(cx, self.id, Direction::Received, &frame, 0, outlet);
        }
        Ok(Some(frame))
    }
}

/// Decrypts a packet, and cuts its frame down to the bridged frame.
fn extract(encryption: Option<&Mppe>, whole: &mut CompletePacket) -> Result<(), DropReason> {
    let packet = match encryption {
        Some(encryption) => &encryption.decrypt(&mut whole.frame, &whole.packet)?,
        None => &whole.packet,
    };
    if packet.protocol != BRIDGED {
        return Err(DropReason::PppProtocol);
    }
    if whole.frame.depth >= DEPTH {
        return Err(DropReason::TunnelDepth);
    }
    let information = whole.frame.bytes().get(packet.start..packet.end);
    let inner = BridgedFrame::parse(information.unwrap_or_default());
    let inner = inner.map_err(|_| DropReason::PppMalformed)?;
    let start = packet.start + inner.start;
    let bytes = inner.bytes.max(inner.shortest);
    if !whole.frame.set_len(start + bytes) {
        return Err(DropReason::NoBuffer);
    }
    whole.frame.bytes_mut()[start + inner.bytes..].fill(0);
    whole.frame.pull_front(start);
    Ok(())
}

impl Encap for Bridged {
    fn ends(&self) -> [Option<Ends>; 2] {
        self.carrier.ends()
    }

    fn encapsulate(
        &self,
        cx: &Context<'_>,
        frames: &mut [Frame],
        batch: &mut Batch<'_>,
        outlet: &mut Outlet,
    ) {
        if let Some(home) = self.home(outlet) {
            return batch.nexts.fill(Next::HandOver(home));
        }
        let sender = match self.carrier.sender(cx, self.id) {
            Ok(sender) => sender,
            Err(reason) => return batch.nexts.fill(Next::Lost(reason)),
        };
        let has_framing = self.framing.is_some();
        for (at, frame) in frames.iter_mut().enumerate() {
            let next = if frame.offload.is_finished() {
                let enclosed = self.enclose(frame, &mut outlet.pool);
                let ready = enclosed.and_then(|()| match &self.encryption {
                    None => Ok(()),
                    Some(encryption) => encryption.encrypt_one(frame, outlet),
                });
                match ready {
                    Ok(()) => sender.send_within(cx, frame, self.mtu, has_framing, batch, outlet),
                    Err(reason) => Next::Lost(reason),
                }
            } else {
                Next::of_unfinished(self.id, frame)
            };
            batch.nexts.set(at, next);
        }
    }

    fn encapsulate_unencrypted(
        &self,
        cx: &Context<'_>,
        frame: &mut Frame,
        pool: &mut Pool,
    ) -> Result<OuterPath, Exit> {
        self.enclose(frame, pool).map_err(Exit::Drop)?;
        self.carrier.trace(cx, frame, pool)
    }

    fn send_long(&self, cx: &Context<'_>, frame: Frame, outlet: &mut Outlet) {
        match &self.framing {
            Some(framing) => framing.send_long(cx, frame, outlet),
            None => outlet.lose(frame, DropReason::TooBig),
        }
    }

    fn leaves_elsewhere(&self, outlet: &Outlet) -> bool {
        self.home(outlet).is_some()
    }

    fn classify(_: &Context<'_>, _: &[u8]) -> Option<Arrival> {
        None
    }

    fn decapsulate(
        &self,
        cx: &Context<'_>,
        frames: impl Iterator<Item = Frame>,
        _: usize,
        interface: &Interface,
        outlet: &mut Outlet,
    ) -> Traffic {
        let home = self.home(outlet);
        receive_all(
            self.id,
            interface,
            home,
            frames,
            outlet,
            |frame, _, outlet| match (self.receive(cx, frame, outlet), &self.encryption) {
                (Ok(Some(frame)), _) => put(&mut None, Item::Framed(self.id), frame, outlet),
                (Ok(None), _) => {}
                (Err((frame, DropReason::MppeLost)), Some(encryption)) => {
                    encryption.request_reset(cx, frame, outlet);
                }
                (Err((frame, reason)), _) => outlet.discard(frame, reason),
            },
        )
    }
}
