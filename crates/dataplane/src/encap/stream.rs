//! Packets of PPP sessions whose carrier is a byte stream (`stream.rs`), such as SSTP.

mod key;
mod settings;
#[cfg(test)]
mod tests;

use frame::{Frame, InterfaceId, Offload};

pub(crate) use self::key::ends;
pub use self::settings::{Framing, Stream};
use super::session_data::{PPP_ADDRESS, PROTOCOL, SessionPacket, data_protocol};
use super::{DEPTH, ETHERNET, arrive};
use crate::drop::DropReason;
use crate::outlet::Outlet;
use crate::stream::{Batch, ChannelId};
use crate::walk::Context;

/// Batches that a worker takes in one step, so that its ports are not starved.
const PER_STEP: usize = 32;

/// Returns true if the data plane takes a PPP packet that arrived on a byte stream; others are for control.
pub fn is_data(packet: &[u8]) -> bool {
    data_protocol(packet).is_some()
}

/// Returns the PPP packet in a received frame.
pub(super) fn locate(frame: &Frame) -> Option<SessionPacket> {
    let at = usize::from(frame.l3);
    let (protocol, header) = data_protocol(frame.bytes().get(at..)?)?;
    Some(SessionPacket {
        protocol,
        start: at + header,
        end: frame.len(),
    })
}

impl Stream {
    /// Queues a frame in PPP form for the connection of the session.
    ///
    /// # Errors
    /// The frame passed too many tunnels, or is too long for a packet of the protocol.
    pub(super) fn queue(&self, frame: &Frame, outlet: &mut Outlet) -> Result<(), DropReason> {
        if frame.depth >= DEPTH {
            return Err(DropReason::TunnelDepth);
        }
        let start = usize::from(frame.l3).saturating_sub(PROTOCOL);
        let packet = frame.bytes().get(start..).unwrap_or_default();
        let header = match self.framing {
            Framing::Sstp => sstp::data_header(PPP_ADDRESS.len() + packet.len()),
        };
        let header = header.ok_or(DropReason::TooBig)?;
        let batch = outlet.streams.open(self.channel);
        batch.add(&[&header, &PPP_ADDRESS, packet]);
        Ok(())
    }
}

/// Returns the worker by which all packets of a session pass; `None` if it is this worker.
pub(super) fn home(channel: ChannelId, outlet: &Outlet) -> Option<u16> {
    let (worker, workers) = outlet.place_among();
    let home = channel.worker(workers) as u16;
    (home != worker).then_some(home)
}

/// Decapsulates the packets that tasks received. Returns their number.
pub(crate) fn receive(cx: &Context<'_>, outlet: &mut Outlet) -> u32 {
    let mut count = 0;
    for _ in 0..PER_STEP {
        let Some(batch) = outlet.streams.take_received() else {
            break;
        };
        count += batch.packets;
        receive_batch(cx, &batch, outlet);
        outlet.streams.recycle(batch);
    }
    let lost = outlet.streams.take_lost();
    if lost > 0 {
        outlet.counters.dropped_many(DropReason::StreamFull, lost);
    }
    count
}

fn receive_batch(cx: &Context<'_>, batch: &Batch, outlet: &mut Outlet) {
    let Some(id) = cx.interfaces.tunnel_of(&ends(batch.channel)) else {
        let packets = batch.packets.into();
        let counters = &outlet.counters;
        return counters.dropped_many(DropReason::StreamUnknown, packets);
    };
    let mut frames = core::mem::take(&mut outlet.joining);
    let mut bytes = &batch.bytes[..];
    while let Some(packet) = Batch::next(&mut bytes) {
        match outlet.pool.alloc(ETHERNET + packet.len()) {
            Some(frame) => frames.push(filled(frame, packet)),
            None => outlet.counters.dropped(DropReason::NoBuffer),
        }
    }
    let count = frames.len();
    arrive(cx, frames.drain(..), count, id, outlet);
    outlet.joining = frames;
}

/// Returns the frame of a packet, behind room for an Ethernet header.
fn filled(mut frame: Frame, packet: &[u8]) -> Frame {
    let (link, rest) = frame.bytes_mut().split_at_mut(ETHERNET);
    link.fill(0);
    rest.copy_from_slice(packet);
    frame.l3 = ETHERNET as u16;
    frame.offload = Offload::FINISHED;
    frame.ingress = InterfaceId::NONE;
    frame.egress = InterfaceId::NONE;
    frame
}
