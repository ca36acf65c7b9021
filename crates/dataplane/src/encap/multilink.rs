//! PPP sessions with multilink framing on their one link (RFC 1990): packets that exceed the link's MTU travel in
//! fragments, up to the MRRU of the other end.
//!
//! Packets that fit the link carry no multilink header, and take the walk of other sessions when they arrive. All
//! packets of a session leave by one worker, so that their order on the wire is the order of the sequence numbers. Each
//! worker reassembles the fragments that it receives, with bounded memory.

mod settings;

use core::sync::atomic::Ordering;

use frame::{Frame, Offload, Pool};
use ppp::{Fragment, fragments};

pub use self::settings::{Multilink, Sequence};

use super::carrier::{Carrier, below};
use super::incomplete::Incomplete;
use super::session_data::{PROTOCOL, SessionPacket, complete, receive_all};
use super::{Arrival, Batch, ETHERNET, Encap, Next, Nexts, OuterPath, put};
use crate::agenda::Item;
use crate::counters::Traffic;
use crate::demux::pppoe::HEADER;
use crate::drop::DropReason;
use crate::interface::{Ends, Interface};
use crate::outlet::Outlet;
use crate::walk::{Context, Exit};

impl Multilink {
    /// Returns the worker by which all packets of the session leave; `None` if it is this worker.
    fn home(&self, outlet: &Outlet) -> Option<u16> {
        outlet.home_of(self.id)
    }

    /// Splits a frame in PPP form into fragments, which are added to the outlet's pieces.
    fn split(&self, frame: &Frame, outlet: &mut Outlet) -> Result<(), DropReason> {
        let at = usize::from(frame.l3).saturating_sub(PROTOCOL);
        let (front, packet) = frame.bytes().split_at(at);
        let mut sequence = self.sequence.0.load(Ordering::Relaxed);
        for fragment in fragments(packet, self.mtu, &mut sequence) {
            let header = fragment.header();
            let carried = header.len() + fragment.data.len();
            let piece = outlet.pool.alloc(front.len() + carried);
            let mut piece = piece.ok_or(DropReason::NoBuffer)?;
            let (link, rest) = piece.bytes_mut().split_at_mut(front.len());
            link.copy_from_slice(front);
            if let Some(length) = link.last_chunk_mut() {
                *length = (carried as u16).to_be_bytes();
            }
            let (flags, data) = rest.split_at_mut(header.len());
            flags.copy_from_slice(&header);
            data.copy_from_slice(fragment.data);
            piece.copy_meta(frame);
            piece.l3 = (front.len() + PROTOCOL) as u16;
            piece.offload = Offload::FINISHED;
            outlet.pieces.push(piece);
        }
        self.sequence.0.store(sequence, Ordering::Relaxed);
        Ok(())
    }

    /// Receives a frame of the session. Returns a frame with its packet; `None` for a fragment of an incomplete packet.
    ///
    /// # Errors
    /// The frame, and why it is dropped.
    fn receive(
        &self,
        cx: &Context<'_>,
        frame: Frame,
        interface: &Interface,
        outlet: &mut Outlet,
    ) -> Result<Option<Frame>, (Frame, DropReason)> {
        let Some(whole) = complete(cx, frame, &self.carrier, Some(self), outlet)? else {
            return Ok(None);
        };
        let inner = Ok(whole.packet);
        let frame = whole.deliver(cx, self.id, inner, &self.carrier, interface, outlet)?;
        Ok(Some(frame))
    }

    /// Adds the fragment in a frame. Returns a frame with the packet that the fragment completes, behind the link
    /// addresses of the fragment, and the protocol of the packet.
    pub(super) fn reassemble(
        &self,
        frame: &Frame,
        at: &SessionPacket,
        incomplete: &mut Incomplete,
        outlet: &mut Outlet,
    ) -> Result<Option<(Frame, u16)>, DropReason> {
        let information = frame.bytes().get(at.start..at.end).unwrap_or_default();
        let fragment = Fragment::parse(information).map_err(|_| DropReason::PppMalformed)?;
        let reassembled = incomplete.of(self.id, self.mrru).push(fragment);
        let lost = reassembled.fault.map(|_| DropReason::PppFragment);
        let Some(packet) = reassembled.packet else {
            return lost.map_or(Ok(None), Err);
        };
        // The packet is whole, and the fault concerns earlier fragments.
        if let Some(lost) = lost {
            outlet.counters.dropped(lost);
        }
        let (protocol, packet) = ppp::split(packet).map_err(|_| DropReason::PppMalformed)?;
        let whole = outlet.pool.alloc(ETHERNET + packet.len());
        let mut whole = whole.ok_or(DropReason::NoBuffer)?;
        let (link, rest) = whole.bytes_mut().split_at_mut(ETHERNET);
        rest.copy_from_slice(packet);
        link[..12].copy_from_slice(frame.bytes().get(..12).unwrap_or(&[0; 12]));
        link[12..].fill(0);
        whole.copy_meta(frame);
        (whole.l3, whole.offload) = (ETHERNET as u16, Offload::FINISHED);
        Ok(Some((whole, protocol)))
    }
}

impl Encap for Multilink {
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
        // The port below a PPPoE session finishes its frames.
        let finishes = !matches!(self.carrier, Carrier::Pppoe(_));
        for (at, frame) in frames.iter_mut().enumerate() {
            let next = if finishes && !frame.offload.is_finished() {
                Next::of_unfinished(self.id, frame)
            } else {
                match self.carrier.form(frame, &mut outlet.pool) {
                    Ok(()) => sender.send_within(cx, frame, self.mtu, true, batch, outlet),
                    Err(reason) => Next::Lost(reason),
                }
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
        self.carrier.form(frame, pool).map_err(Exit::Drop)?;
        self.carrier.trace(cx, frame, pool)
    }

    fn send_long(&self, cx: &Context<'_>, frame: Frame, outlet: &mut Outlet) {
        let sender = match self.carrier.sender(cx, frame.egress) {
            Ok(sender) => sender,
            Err(reason) => return outlet.lose(frame, reason),
        };
        let made = self.split(&frame, outlet);
        let mut pieces = core::mem::take(&mut outlet.pieces);
        match made {
            Ok(()) => {
                if let Carrier::Pppoe(_) = self.carrier {
                    let bytes: usize = pieces.iter().map(Frame::len).sum();
                    let more = (pieces.len() as u64).saturating_sub(1);
                    let headers = bytes.saturating_sub(frame.len()) as u64;
                    let under = outlet.counters.interface(below(cx, frame.egress));
                    under.tx.add(more, headers);
                }
                outlet.pool.free(frame);
                let mut nexts = Nexts::new();
                for mut piece in pieces.drain(..) {
                    let next = sender.send(cx, &mut piece, &mut nexts, outlet);
                    next.send(cx, piece, outlet);
                }
                nexts.flush(cx, outlet);
            }
            Err(reason) => {
                pieces.drain(..).for_each(|piece| outlet.pool.free(piece));
                outlet.lose(frame, reason);
            }
        }
        outlet.pieces = pieces;
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
        receive_all(
            self.id,
            interface,
            None,
            frames,
            outlet,
            |frame, _, outlet| match self.receive(cx, frame, interface, outlet) {
                Ok(Some(packet)) => {
                    let bytes = self
                        .carrier
                        .counted((packet.len() + HEADER) as u64, &packet);
                    outlet.counters.interface(self.id).rx.add(1, bytes);
                    put(&mut None, Item::Arrived(self.id), packet, outlet);
                }
                Ok(None) => {}
                Err((frame, reason)) => outlet.discard(frame, reason),
            },
        )
    }
}
