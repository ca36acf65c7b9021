//! Encapsulation of an OpenVPN session's packets.

use core::net::SocketAddr;
use std::sync::Arc;

use frame::{Frame, Pool};
use openvpn::data::{Fault, Layout, Outgoing, Sending, seal_all};
use openvpn::stream::LENGTH_BYTES;
use smallvec::SmallVec;
use wire::Protocol;

use super::session::{Ovpn, Session, Transport};
use crate::drop::DropReason;
use crate::encap::decrypt::TOGETHER;
use crate::encap::next::{Next, direct};
use crate::encap::outer::UDP_BYTES;
use crate::encap::source::source;
use crate::encap::udp::{self, Content, Room, finish, surround};
use crate::encap::{DEPTH, ETHERNET};
use crate::outlet::Outlet;
use crate::stream::{ChannelId, Window};
use crate::table::Adjacency;
use crate::walk::Context;

/// The path of a batch of packets.
pub(super) struct Path {
    pub(super) sending: Arc<Sending>,
    pub(super) route: Route,
}

/// Where data packets go.
pub(super) enum Route {
    /// Datagrams.
    Datagrams {
        /// Local and remote end.
        ends: (SocketAddr, SocketAddr),
        /// The next hop, if no rule or policy applies to the outer packets.
        direct: Option<Adjacency>,
    },
    /// A byte stream.
    Stream(ToStream),
}

/// The connection of a session.
pub(super) struct ToStream {
    channel: ChannelId,
    window: Arc<Window>,
}

/// A frame whose packet waits for encryption.
pub(super) struct LaidOut {
    /// Position among the frames that are encrypted together.
    pub(super) at: usize,
    /// Room around the payload.
    pub(super) layout: Layout,
    /// Offset of the data packet in its frame.
    pub(super) start: usize,
}

impl ToStream {
    /// Queues a data packet with its length for the connection.
    pub(super) fn queue(&self, packet: &[u8], outlet: &mut Outlet) -> Next {
        let batch = outlet.streams.open(self.channel);
        batch.window.get_or_insert_with(|| Arc::clone(&self.window));
        batch.add(&[packet]);
        Next::Queued
    }
}

impl Path {
    /// Returns the path of a session's packets.
    ///
    /// # Errors
    /// The session has no key yet, or the router has no address towards the other end.
    pub(super) fn of(cx: &Context<'_>, session: &Session) -> Result<Self, DropReason> {
        let sending = session.sending();
        let sending = sending.as_ref().map(Arc::clone);
        let sending = sending.ok_or(DropReason::OvpnKey)?;
        if let Transport::Stream(channel) = session.transport() {
            let window = Arc::clone(&session.window);
            let route = Route::Stream(ToStream { channel, window });
            return Ok(Self { sending, route });
        }
        let (local, remote) = (session.local(), session.remote());
        let own = match local.ip() {
            own if own.is_unspecified() => source(cx, remote.ip(), Protocol::UDP.0),
            own => Some(own),
        };
        let own = own.ok_or(DropReason::TunnelNoSource)?;
        Ok(Self {
            sending,
            route: Route::Datagrams {
                ends: (SocketAddr::new(own, local.port()), remote),
                direct: direct(cx, remote.ip()),
            },
        })
    }

    /// Makes room around the content of a frame, and writes the headers in front. Returns the layout of the data
    /// packet, and its offset in the frame.
    ///
    /// # Errors
    /// The frame passed too many tunnels, is too long, finds no slot, or its connection is too slow.
    pub(super) fn lay_out(
        &self,
        frame: &mut Frame,
        content: Content,
        id: u16,
        pool: &mut Pool,
    ) -> Result<(Layout, usize), DropReason> {
        let layout = self.sending.layout(content.bytes(frame));
        let (front, back) = (layout.front, layout.back);
        match &self.route {
            Route::Datagrams { ends, .. } => {
                let ip = udp::lay_out(frame, content, *ends, Room { front, back }, id, pool)?;
                Ok((layout, ETHERNET + ip + UDP_BYTES))
            }
            Route::Stream(to) => {
                if frame.depth >= DEPTH {
                    return Err(DropReason::TunnelDepth);
                }
                let packet = u16::try_from(front + content.len + back);
                let length = packet.map_err(|_| DropReason::TooBig)?.to_be_bytes();
                let front = LENGTH_BYTES + front;
                surround(frame, content, Room { front, back }, pool)?;
                if let Some(place) = frame.bytes_mut().first_chunk_mut() {
                    *place = length;
                }
                frame.l3 = LENGTH_BYTES as u16;
                match to.window.admit() {
                    true => Ok((layout, LENGTH_BYTES)),
                    false => Err(DropReason::StreamFull),
                }
            }
        }
    }

    /// Encrypts the packets of frames. Returns the length of each data packet in bytes.
    pub(super) fn encrypt_all(
        &self,
        frames: &mut [Frame],
        laid_out: &[LaidOut],
    ) -> SmallVec<[Result<u64, DropReason>; TOGETHER]> {
        let mut packets = SmallVec::<[Outgoing<'_>; TOGETHER]>::new();
        let mut rest = frames.iter_mut().enumerate();
        for packet in laid_out {
            let frame = rest.find(|(at, _)| *at == packet.at);
            let bytes = frame.and_then(|(_, frame)| frame.bytes_mut().get_mut(packet.start..));
            let bytes = bytes.unwrap_or_default();
            packets.push(Outgoing::new(&self.sending, packet.layout, bytes));
        }
        seal_all(&mut packets);
        let results: SmallVec<[_; TOGETHER]> =
            packets.into_iter().map(|packet| packet.result).collect();
        let finish = |(packet, result): (&LaidOut, Result<(), Fault>)| {
            self.finish(&mut frames[packet.at], packet.start, result)
        };
        laid_out.iter().zip(results).map(finish).collect()
    }

    /// Completes a frame whose data packet at `start` was encrypted with this result.
    fn finish(
        &self,
        frame: &mut Frame,
        start: usize,
        result: Result<(), Fault>,
    ) -> Result<u64, DropReason> {
        match &self.route {
            Route::Datagrams { ends, .. } => {
                result.map_err(reason)?;
                finish(frame, *ends, start - ETHERNET - UDP_BYTES)
            }
            Route::Stream(to) => match result {
                Ok(()) => Ok((frame.len() - start) as u64),
                Err(fault) => {
                    to.window.give_back(1);
                    Err(reason(fault))
                }
            },
        }
    }
}

impl Ovpn {
    /// Returns the bytes of a frame that the session carries.
    ///
    /// # Errors
    /// The frame holds no whole packet.
    pub(super) fn content(&self, frame: &mut Frame) -> Result<Content, DropReason> {
        match self.has_frames {
            true => Ok(Content::of_frame(frame)),
            false => Content::of_packet(frame),
        }
    }

    /// Sends a ping, or the notification of the end, by the stream of the session.
    pub(super) fn send_signal(&self, cx: &Context<'_>, payload: &[u8], outlet: &mut Outlet) {
        let path = Path::of(cx, &self.session);
        let (Ok(path), Some(mut frame)) = (path, outlet.pool.alloc(payload.len())) else {
            return outlet.counters.dropped(DropReason::NoBuffer);
        };
        frame.bytes_mut().copy_from_slice(payload);
        let content = Content::of_frame(&mut frame);
        let laid_out = path.lay_out(&mut frame, content, 0, &mut outlet.pool);
        let sealed = laid_out.and_then(|(layout, start)| {
            let packet = LaidOut {
                at: 0,
                layout,
                start,
            };
            let frames = core::slice::from_mut(&mut frame);
            let mut results = path.encrypt_all(frames, &[packet]);
            results.pop().unwrap_or(Err(DropReason::OvpnKey))
        });
        match (sealed, &path.route) {
            (Ok(bytes), Route::Stream(to)) => {
                self.session.sent.add(cx.now, bytes, false);
                to.queue(frame.bytes(), outlet);
                outlet.pool.free(frame);
            }
            (Ok(_), Route::Datagrams { .. }) => outlet.pool.free(frame),
            (Err(reason), _) => outlet.discard(frame, reason),
        }
    }
}

/// Returns the drop reason of packets that a session rejects.
pub(super) const fn reason(fault: Fault) -> DropReason {
    match fault {
        Fault::Malformed => DropReason::OvpnMalformed,
        Fault::Replayed => DropReason::OvpnReplayed,
        Fault::Integrity => DropReason::OvpnIntegrity,
        Fault::Compressed => DropReason::OvpnCompressed,
        Fault::Exhausted => DropReason::OvpnExhausted,
    }
}
