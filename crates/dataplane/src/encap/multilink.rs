//! PPPoE sessions with multilink framing on their one link (RFC 1990): packets that exceed the link's MTU travel in
//! fragments, up to the MRRU of the other end.
//!
//! Packets that fit the link carry no multilink header, and take the walk of other sessions when they arrive. All
//! packets of a session leave by one worker, so that their order on the wire is the order of the sequence numbers. Each
//! worker reassembles the fragments that it receives, with bounded memory.

mod settings;

use core::sync::atomic::Ordering;

use frame::{Frame, InterfaceId, Offload, Pool};
use ppp::{Fragment, fragments};

pub use self::settings::{Multilink, Sequence};

use super::incomplete::Incomplete;
use super::session_data::receive_all;
use super::{Arrival, Batch, ETHERNET, Encap, Next, OuterPath, mark_decapsulated, put};
use crate::agenda::Item;
use crate::bridge::packet_at;
use crate::counters::Traffic;
use crate::demux::pppoe::{self, HEADER, Header};
use crate::drop::DropReason;
use crate::interface::{Ends, Interface};
use crate::out::OutId;
use crate::outlet::{Dispatch, Outlet};
use crate::table::{Adjacency, Kind};
use crate::tap::{self, Direction};
use crate::walk::{Context, Exit};

/// Bytes of the PPP protocol in front of a packet.
const PROTOCOL: usize = 2;

impl Multilink {
    /// Returns the worker by which all packets of the session leave; `None` if it is this worker.
    fn home(&self, outlet: &Outlet) -> Option<u16> {
        outlet.home_of(self.id)
    }

    /// Splits a frame of session data into fragments, which are added to the outlet's pieces.
    fn split(&self, frame: &Frame, outlet: &mut Outlet) -> Result<(), DropReason> {
        let at = usize::from(frame.l3).saturating_sub(PROTOCOL);
        if !pppoe::is_behind(frame.bytes(), frame.l3.into()) {
            return Err(DropReason::PppoeMalformed);
        }
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
            piece.l3 = front.len() as u16;
            piece.offload = Offload::FINISHED;
            outlet.pieces.push(piece);
        }
        self.sequence.0.store(sequence, Ordering::Relaxed);
        Ok(())
    }

    /// Adds a fragment. Returns a frame with the packet that the fragment completes.
    fn receive(
        &self,
        cx: &Context<'_>,
        frame: &Frame,
        interface: &Interface,
        reassembly: &mut Incomplete,
        outlet: &mut Outlet,
    ) -> Result<Option<Frame>, DropReason> {
        let Some((mut whole, protocol)) = self.reassemble(frame, reassembly, outlet)? else {
            return Ok(None);
        };
        let Some(ethertype) = pppoe::ethertype_of(protocol) else {
            outlet.pool.free(whole);
            return Err(DropReason::PppoeProtocol);
        };
        if let Some(link) = whole.bytes_mut().first_chunk_mut::<ETHERNET>() {
            link[..6].copy_from_slice(&interface.mac.0);
            link[12..].copy_from_slice(&ethertype.to_be_bytes());
        }
        mark_decapsulated(&mut whole, self.id);
        if cx.interfaces.taps().any() {
            tap::show(cx, self.id, Direction::Received, &whole, 0, outlet);
        }
        Ok(Some(whole))
    }

    /// Adds a fragment. Returns a frame with the packet that the fragment completes, behind the link addresses of the
    /// fragment, and the protocol of the packet.
    pub(super) fn reassemble(
        &self,
        frame: &Frame,
        incomplete: &mut Incomplete,
        outlet: &mut Outlet,
    ) -> Result<Option<(Frame, u16)>, DropReason> {
        let fragment = fragment_of(frame.bytes()).ok_or(DropReason::PppMalformed)?;
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

/// Returns the fragment in a frame of session data; `None` where lengths contradict each other.
fn fragment_of(bytes: &[u8]) -> Option<Fragment<'_>> {
    let behind = bytes.get(packet_at(bytes)..)?;
    let (header, rest) = behind.split_first_chunk()?;
    let information = Header::new(*header).packet_bytes(rest.len())?;
    Fragment::parse(rest.get(..information)?).ok()
}

/// Returns the lowest interface below a session.
pub(super) fn below(cx: &Context<'_>, id: InterfaceId) -> InterfaceId {
    cx.interfaces.get(id).map_or(id, |line| line.under)
}

/// Returns the path of a frame of session data whose link header is written.
pub(super) fn direct(frame: &Frame, out: OutId) -> Result<OuterPath, Exit> {
    let mut adjacency = Adjacency {
        kind: Kind::Forward,
        header_len: frame.l3 as u8,
        out,
        mtu: u32::MAX,
        egress: frame.egress,
        ..Adjacency::default()
    };
    let l3 = usize::from(frame.l3);
    let header = frame.bytes().get(..l3).zip(adjacency.header.get_mut(..l3));
    let (from, to) = header.ok_or(Exit::Drop(DropReason::NoBuffer))?;
    to.copy_from_slice(from);
    Ok(OuterPath {
        direct: Some(adjacency),
        copies: 1,
    })
}

impl Encap for Multilink {
    fn ends(&self) -> [Option<Ends>; 2] {
        [None, None]
    }

    fn encapsulate(
        &self,
        cx: &Context<'_>,
        frames: &mut [Frame],
        batch: &mut Batch<'_>,
        outlet: &mut Outlet,
    ) {
        let elsewhere = self.home(outlet);
        let under = below(cx, self.id);
        for (at, frame) in frames.iter_mut().enumerate() {
            let longest = usize::from(frame.l3) + usize::from(self.mtu);
            let next = if let Some(home) = elsewhere {
                Next::HandOver(home)
            } else if frame.len() <= longest {
                frame.egress = under;
                Next::Out(self.out)
            } else {
                Next::Fragments
            };
            batch.nexts.set(at, next);
        }
    }

    fn encapsulate_unencrypted(
        &self,
        _: &Context<'_>,
        frame: &mut Frame,
        _: &mut Pool,
    ) -> Result<OuterPath, Exit> {
        direct(frame, self.out)
    }

    fn send_long(&self, cx: &Context<'_>, frame: Frame, outlet: &mut Outlet) {
        let made = self.split(&frame, outlet);
        let mut pieces = core::mem::take(&mut outlet.pieces);
        match made {
            Ok(()) => {
                let under = below(cx, frame.egress);
                let bytes: usize = pieces.iter().map(Frame::len).sum();
                let more = (pieces.len() as u64).saturating_sub(1);
                let headers = bytes.saturating_sub(frame.len()) as u64;
                outlet.counters.interface(under).tx.add(more, headers);
                outlet.pool.free(frame);
                for mut piece in pieces.drain(..) {
                    piece.egress = under;
                    outlet.dispatch(cx, piece, self.out);
                }
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
        let mut incomplete = core::mem::take(&mut outlet.incomplete);
        let all = receive_all(
            self.id,
            interface,
            None,
            frames,
            outlet,
            |frame, _, outlet| match self.receive(cx, &frame, interface, &mut incomplete, outlet) {
                Ok(whole) => {
                    outlet.pool.free(frame);
                    if let Some(whole) = whole {
                        let counters = outlet.counters.interface(self.id);
                        counters.rx.add(1, (whole.len() + HEADER) as u64);
                        put(&mut None, Item::Arrived(self.id), whole, outlet);
                    }
                }
                Err(reason) => outlet.discard(frame, reason),
            },
        );
        outlet.incomplete = incomplete;
        all
    }
}
