//! OpenVPN over UDP: packets of a session in encrypted datagrams of versions 1 and 2.
//!
//! ```text
//! IP | UDP | opcode and key id [, peer id] | packet id, tag | encrypted packet
//! ```
//! Each session has an interface. Packets of version 2 are found by UDP port and peer id, so that their sender may
//! move; those of version 1 by port and sender. Control packets are a service that control receives.

mod session;
#[cfg(test)]
mod tests;

use core::net::SocketAddr;
use core::ops::Range;
use std::sync::Arc;

use frame::{Frame, InterfaceId, Pool, Segmentation};
use openvpn::data::{
    Fault, Head, Incoming, Layout, Opened, Outgoing, Receiving, Sending, open_all, seal_all,
};
use smallvec::SmallVec;
use wire::Protocol;

pub use self::session::{Ovpn, Session};
use self::session::{by_peer, by_sender};
use super::next::{Next, direct};
use super::outer::{UDP_BYTES, tos, total};
use super::source::source;
use super::udp::{self, Delivery, Room, addresses, datagram, deliver, finish, upper};
use super::{Arrival, Batch, DEPTH, ETHERNET, Encap, Form, OuterPath, divide, put};
use crate::agenda::Item;
use crate::counters::Traffic;
use crate::drop::DropReason;
use crate::interface::{Ends, Interface};
use crate::outlet::Outlet;
use crate::table::Adjacency;
use crate::tap::{self, Direction};
use crate::walk::{Context, Exit};

/// Frames that are encrypted or decrypted together.
const TOGETHER: usize = 16;

impl Encap for Ovpn {
    fn ends(&self) -> [Option<Ends>; 2] {
        [Some(self.session.key()), None]
    }

    fn encapsulate(
        &self,
        cx: &Context<'_>,
        frames: &mut [Frame],
        batch: &mut Batch<'_>,
        outlet: &mut Outlet,
    ) {
        let path = match Path::of(cx, &self.session) {
            Ok(path) => path,
            Err(reason) => return batch.nexts.fill(Next::Lost(reason)),
        };
        for (number, frames) in frames.chunks_mut(TOGETHER).enumerate() {
            let first = number * TOGETHER;
            let mut laid_out = SmallVec::<[LaidOut; TOGETHER]>::new();
            for (at, frame) in frames.iter_mut().enumerate() {
                if !frame.offload.is_finished() {
                    batch
                        .nexts
                        .set(first + at, Next::of_unfinished(self.id, frame));
                    continue;
                }
                let id = outlet.memory.rules.random() as u16;
                match path.lay_out(frame, id, &mut outlet.pool) {
                    Ok((layout, ip)) => laid_out.push(LaidOut { at, layout, ip }),
                    Err(reason) => batch.nexts.set(first + at, Next::Lost(reason)),
                }
            }
            let results = path.encrypt_all(frames, &laid_out);
            for (packet, result) in laid_out.iter().zip(results) {
                let frame = &mut frames[packet.at];
                let next = match result {
                    Ok(bytes) => {
                        self.session.sent.add(cx.now, bytes, true);
                        batch.nexts.by(cx, frame, path.direct.as_ref(), outlet)
                    }
                    Err(reason) => Next::Lost(reason),
                };
                batch.nexts.set(first + packet.at, next);
            }
        }
    }

    fn encapsulate_unencrypted(
        &self,
        cx: &Context<'_>,
        frame: &mut Frame,
        pool: &mut Pool,
    ) -> Result<OuterPath, Exit> {
        let path = Path::of(cx, &self.session).map_err(Exit::Drop)?;
        path.lay_out(frame, 0, pool).map_err(Exit::Drop)?;
        frame.egress = InterfaceId::NONE;
        Ok(OuterPath {
            direct: path.direct,
            copies: 1,
        })
    }

    /// Control packets are left to control's service.
    #[inline(always)]
    fn classify(cx: &Context<'_>, packet: &[u8]) -> Option<Arrival> {
        if !cx.interfaces.has_tunnels_of(Form::Ovpn) {
            return None;
        }
        let upper = upper(packet)?;
        if upper.protocol != Protocol::UDP.0 {
            return None;
        }
        if upper.fragment {
            return Some(Arrival::Fragment);
        }
        let udp = packet.get(upper.offset..)?;
        let [from, from2, to, to2, ..] = *udp.first_chunk::<UDP_BYTES>()?;
        let port = u16::from_be_bytes([to, to2]);
        if !cx.interfaces.has_tunnel_port(Form::Ovpn, port) {
            return None;
        }
        let head = Head::parse(udp.get(UDP_BYTES..)?)?;
        let ends = match head.peer_id {
            Some(peer) => by_peer(port, peer),
            None => {
                let (source, _) = addresses(packet)?;
                let sender = SocketAddr::new(source, u16::from_be_bytes([from, from2]));
                by_sender(port, sender)
            }
        };
        Some(Arrival::Of(ends))
    }

    fn decapsulate(
        &self,
        cx: &Context<'_>,
        frames: impl Iterator<Item = Frame>,
        count: usize,
        interface: &Interface,
        outlet: &mut Outlet,
    ) -> Traffic {
        let item = Item::Arrived(self.id);
        let mut arriving = Decapsulation {
            cx,
            tunnel: self,
            mac: interface.mac.0,
            running: interface.running,
            waiting: SmallVec::new(),
            batch: outlet.agenda.batch(item, count),
            inner: Traffic::default(),
        };
        let mut all = Traffic::default();
        for frame in frames {
            all.packets += 1;
            all.bytes += frame.len() as u64 + u64::from(frame.untagged);
            if frame.offload.segmentation == Segmentation::Udp {
                divide(frame, outlet, |piece, outlet| arriving.add(piece, outlet));
            } else {
                arriving.add(frame, outlet);
            }
        }
        arriving.open_waiting(outlet);
        if let Some(batch) = arriving.batch {
            outlet.agenda.put_batch(item, batch);
        }
        let counters = outlet.counters.interface(self.id);
        counters
            .rx
            .add(arriving.inner.packets, arriving.inner.bytes);
        all
    }
}

/// The path of a batch of packets.
struct Path {
    sending: Arc<Sending>,
    ends: (SocketAddr, SocketAddr),
    /// The next hop, if no rule or policy applies to the outer packets.
    direct: Option<Adjacency>,
}

/// A frame whose packet waits for encryption.
struct LaidOut {
    /// Position among the frames that are encrypted together.
    at: usize,
    layout: Layout,
    /// Bytes of the outer IP header.
    ip: usize,
}

impl Path {
    /// Returns the path of a session's packets.
    ///
    /// # Errors
    /// The session has no key yet, or the router has no address towards the other end.
    fn of(cx: &Context<'_>, session: &Session) -> Result<Self, DropReason> {
        let sending = session.sending();
        let sending = sending.as_ref().map(Arc::clone);
        let sending = sending.ok_or(DropReason::OvpnKey)?;
        let (local, remote) = (session.local(), session.remote());
        let own = match local.ip() {
            own if own.is_unspecified() => source(cx, remote.ip(), Protocol::UDP.0),
            own => Some(own),
        };
        let own = own.ok_or(DropReason::TunnelNoSource)?;
        Ok(Self {
            sending,
            ends: (SocketAddr::new(own, local.port()), remote),
            direct: direct(cx, remote.ip()),
        })
    }

    /// Writes the outer headers of a frame's packet, and makes room around the packet. Returns the layout of the data
    /// packet, and the length of the outer IP header in bytes.
    fn lay_out(
        &self,
        frame: &mut Frame,
        id: u16,
        pool: &mut Pool,
    ) -> Result<(Layout, usize), DropReason> {
        let packet = { frame.bytes() }
            .get(usize::from(frame.l3)..)
            .unwrap_or_default();
        let len = total(packet).ok_or(DropReason::TunnelMalformed)?;
        let packet = packet.get(..len).unwrap_or_default();
        let layout = self.sending.layout(packet);
        let room = Room {
            front: layout.front,
            back: layout.back,
        };
        let ip = udp::lay_out(frame, self.ends, room, id, pool)?;
        Ok((layout, ip))
    }

    /// Encrypts the packets of frames. Returns the length of each data packet in bytes.
    fn encrypt_all(
        &self,
        frames: &mut [Frame],
        laid_out: &[LaidOut],
    ) -> SmallVec<[Result<u64, DropReason>; TOGETHER]> {
        let mut packets = SmallVec::<[Outgoing<'_>; TOGETHER]>::new();
        let mut rest = frames.iter_mut().enumerate();
        for packet in laid_out {
            let frame = rest.find(|(at, _)| *at == packet.at);
            let bytes = frame.and_then(|(_, frame)| {
                let start = ETHERNET + packet.ip + UDP_BYTES;
                frame.bytes_mut().get_mut(start..)
            });
            let bytes = bytes.unwrap_or_default();
            packets.push(Outgoing::new(&self.sending, packet.layout, bytes));
        }
        seal_all(&mut packets);
        let results: SmallVec<[_; TOGETHER]> =
            packets.into_iter().map(|packet| packet.result).collect();
        let finish = |(packet, result): (&LaidOut, Result<(), Fault>)| {
            result.map_err(reason)?;
            finish(&mut frames[packet.at], self.ends, packet.ip)
        };
        laid_out.iter().zip(results).map(finish).collect()
    }
}

/// Returns the drop reason of packets that a session rejects.
const fn reason(fault: Fault) -> DropReason {
    match fault {
        Fault::Malformed => DropReason::OvpnMalformed,
        Fault::Replayed => DropReason::OvpnReplayed,
        Fault::Integrity => DropReason::OvpnIntegrity,
        Fault::Compressed => DropReason::OvpnCompressed,
        Fault::Exhausted => DropReason::OvpnExhausted,
    }
}

/// State of the decapsulation of one vector.
struct Decapsulation<'a> {
    cx: &'a Context<'a>,
    tunnel: &'a Ovpn,
    mac: [u8; 6],
    running: bool,
    /// Frames whose packets wait for decryption.
    waiting: SmallVec<[WaitingPacket; TOGETHER]>,
    batch: Option<Vec<Frame>>,
    inner: Traffic,
}

/// A frame whose packet waits for decryption.
struct WaitingPacket {
    frame: Frame,
    receiving: Arc<Receiving>,
    head: Head,
    /// The data packet's place in the frame.
    at: Range<usize>,
    from: SocketAddr,
    /// Type of service of the outer packet.
    tos: u8,
}

/// A data packet in a frame.
struct Located {
    receiving: Arc<Receiving>,
    head: Head,
    at: Range<usize>,
    from: SocketAddr,
    tos: u8,
}

impl Decapsulation<'_> {
    /// Adds a frame to those that wait, and decrypts these if they are enough.
    fn add(&mut self, frame: Frame, outlet: &mut Outlet) {
        match self.locate(&frame) {
            Ok(Located {
                receiving,
                head,
                at,
                from,
                tos,
            }) => self.waiting.push(WaitingPacket {
                frame,
                receiving,
                head,
                at,
                from,
                tos,
            }),
            Err(reason) => return outlet.discard(frame, reason),
        }
        if self.waiting.len() == TOGETHER {
            self.open_waiting(outlet);
        }
    }

    /// Finds the data packet in a frame, and its key.
    ///
    /// # Errors
    /// The packet is malformed, or the session has no such key.
    fn locate(&self, frame: &Frame) -> Result<Located, DropReason> {
        let malformed = DropReason::OvpnMalformed;
        if frame.depth >= DEPTH {
            return Err(DropReason::TunnelDepth);
        }
        let l3 = usize::from(frame.l3);
        let packet = frame.bytes().get(l3..).ok_or(malformed)?;
        let (from, at) = datagram(packet).ok_or(malformed)?;
        let data = packet.get(at.clone()).ok_or(malformed)?;
        let head = Head::parse(data).ok_or(malformed)?;
        let receiving = self.tunnel.session.receiving(head.key_id);
        Ok(Located {
            receiving: receiving.ok_or(DropReason::OvpnKey)?,
            head,
            at: l3 + at.start..l3 + at.end,
            from,
            tos: tos(packet),
        })
    }

    /// Decrypts the waiting packets, and passes their contents on.
    fn open_waiting(&mut self, outlet: &mut Outlet) {
        let mut waiting = core::mem::take(&mut self.waiting);
        let mut packets = SmallVec::<[Incoming<'_>; TOGETHER]>::new();
        for WaitingPacket {
            frame,
            receiving,
            head,
            at,
            ..
        } in &mut waiting
        {
            let bytes = frame.bytes_mut().get_mut(at.clone()).unwrap_or_default();
            packets.push(Incoming::new(receiving, *head, bytes));
        }
        open_all(&mut packets);
        let results: SmallVec<[_; TOGETHER]> =
            packets.into_iter().map(|packet| packet.result).collect();
        for (packet, result) in waiting.drain(..).zip(results) {
            self.arrive(packet, result, outlet);
        }
        self.waiting = waiting;
    }

    /// Passes the content of a decrypted packet on; pings have none.
    fn arrive(
        &mut self,
        packet: WaitingPacket,
        opened: Result<Opened, Fault>,
        outlet: &mut Outlet,
    ) {
        let mut frame = packet.frame;
        let session = &self.tunnel.session;
        let inner = match opened {
            Ok(opened) => {
                let is_data = matches!(opened, Opened::Payload(_));
                let bytes = packet.at.len() as u64;
                session.received.add(self.cx.now, bytes, is_data);
                session.received_from(packet.from);
                match opened {
                    Opened::Payload(at) => packet.at.start + at.start..packet.at.start + at.end,
                    Opened::Exit => {
                        session.record_exit();
                        return outlet.pool.free(frame);
                    }
                    Opened::Ping | Opened::Options => return outlet.pool.free(frame),
                }
            }
            Err(fault) => return outlet.discard(frame, reason(fault)),
        };
        match self.unwrap(&mut frame, inner, packet.tos) {
            Ok(()) => {
                self.inner.packets += 1;
                self.inner.bytes += frame.len() as u64;
                let (id, direction) = (self.tunnel.id, Direction::Received);
                tap::show(self.cx, id, direction, &frame, 0, outlet);
                put(&mut self.batch, Item::Arrived(id), frame, outlet);
            }
            Err(reason) => outlet.discard(frame, reason),
        }
    }

    /// Removes the outer headers of a decrypted packet, which is at `at` in its frame.
    ///
    /// # Errors
    /// The interface is down, or the content is no IP packet.
    fn unwrap(&self, frame: &mut Frame, at: Range<usize>, tos: u8) -> Result<(), DropReason> {
        if !self.running {
            return Err(DropReason::InterfaceDown);
        }
        let first = frame.bytes().get(at.start).map(|first| first >> 4);
        let ethertype = match first {
            Some(4) => [0x08, 0x00],
            Some(6) => [0x86, 0xdd],
            _ => return Err(DropReason::OvpnMalformed),
        };
        let to = Delivery {
            interface: self.tunnel.id,
            mac: self.mac,
            tos,
        };
        deliver(frame, at, ethertype, &to, DropReason::OvpnMalformed)
    }
}
