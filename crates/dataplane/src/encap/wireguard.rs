//! WireGuard: packets in encrypted messages (white paper, 5.4.6).
//!
//! The destination of a packet selects the peer, whose session control has negotiated. Without a
//! session the packet is punted, and control holds it until the handshake ends. The source of a
//! decrypted packet must belong to its peer (cryptokey routing). Handshakes are a service that
//! control receives.

mod peers;
#[cfg(test)]
mod tests;

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::ops::Range;
use std::sync::Arc;

use frame::{Frame, InterfaceId, Pool};
use smallvec::SmallVec;
use wire::Protocol;
use wireguard::session::{
    self, FRONT, Fault, Incoming, Outgoing, Sending, TAG, open_all, padded, seal_all,
};

pub use self::peers::{Allowed, Arriving, Passed, Peer, Sessions, Wireguard};

use super::decrypt::{Contents, Decrypt, EncryptedPacket, TOGETHER, WaitingPacket, decapsulate};
use super::next::{Next, Nexts, direct};
use super::outer::UDP_BYTES;
use super::source::source;
use super::udp::{self, Content, Delivery, Room, addresses, datagram, deliver, finish, upper};
use super::{Arrival, Batch, ETHERNET, Encap, Form, OuterPath, tos};
use crate::agenda::Item;
use crate::counters::Traffic;
use crate::drop::DropReason;
use crate::interface::{Ends, Interface};
use crate::outlet::Outlet;
use crate::punt::PuntReason;
use crate::table::Adjacency;
use crate::walk::{Context, Exit};

/// Types of handshake messages.
const HANDSHAKE: core::ops::RangeInclusive<u8> = 1..=3;

impl Encap for Wireguard {
    fn ends(&self) -> [Option<Ends>; 2] {
        [Some(key(self.port)), None]
    }

    fn encapsulate(
        &self,
        cx: &Context<'_>,
        frames: &mut [Frame],
        batch: &mut Batch<'_>,
        outlet: &mut Outlet,
    ) {
        let mut paths = SmallVec::<[Path; TOGETHER]>::new();
        for (number, frames) in frames.chunks_mut(TOGETHER).enumerate() {
            // The next packets probably have the last path, too.
            let before = paths.len().saturating_sub(1);
            paths.drain(..before);
            let first = number * TOGETHER;
            let laid_out = lay_out_all(cx, self, frames, first, &mut paths, batch.nexts, outlet);
            let results = encrypt_all(frames, &laid_out, &paths);
            for (message, result) in laid_out.iter().zip(results) {
                let (frame, path) = (&mut frames[message.at], &paths[message.path]);
                let next = match result {
                    Ok(bytes) => {
                        path.peer.sent.add(cx.now, bytes, true);
                        (batch.nexts).by(cx, frame, path.direct.as_ref(), outlet)
                    }
                    Err(DropReason::WireguardExhausted) => {
                        Next::Punt(PuntReason::Keyless(path.peer.number))
                    }
                    Err(reason) => Next::Lost(reason),
                };
                batch.nexts.set(first + message.at, next);
            }
        }
    }

    fn encapsulate_unencrypted(
        &self,
        cx: &Context<'_>,
        frame: &mut Frame,
        pool: &mut Pool,
    ) -> Result<OuterPath, Exit> {
        let packet = frame.bytes().get(usize::from(frame.l3)..);
        let ends = addresses(packet.unwrap_or_default());
        let (_, to) = ends.ok_or(Exit::Drop(DropReason::TunnelMalformed))?;
        let peer = self.allowed.get(to);
        let peer = peer.ok_or(Exit::Drop(DropReason::WireguardNoPeer))?;
        let path = Path::to(cx, self, peer).map_err(|next| match next {
            Next::Punt(why) => Exit::Punt(why),
            Next::Lost(reason) => Exit::Drop(reason),
            Next::Out(_)
            | Next::Finish(..)
            | Next::Own
            | Next::Queued
            | Next::Fragments
            | Next::HandOver(_) => Exit::Drop(DropReason::NoRoute),
        })?;
        lay_out(frame, &path, 0, pool).map_err(Exit::Drop)?;
        frame.egress = InterfaceId::NONE;
        Ok(OuterPath {
            direct: path.direct,
            copies: 1,
        })
    }

    /// Handshake messages are left to control's service.
    #[inline(always)]
    fn classify(cx: &Context<'_>, packet: &[u8]) -> Option<Arrival> {
        if !cx.interfaces.has_tunnels_of(Form::Wireguard) {
            return None;
        }
        let upper = upper(packet)?;
        if upper.protocol != Protocol::UDP.0 {
            return None;
        }
        if upper.fragment {
            return Some(Arrival::Fragment);
        }
        let datagram = packet.get(upper.offset..)?;
        let [_, _, a, b, ..] = *datagram.first_chunk::<UDP_BYTES>()?;
        let port = u16::from_be_bytes([a, b]);
        if !cx.interfaces.has_tunnel_port(Form::Wireguard, port) {
            return None;
        }
        match datagram.get(UDP_BYTES..)? {
            [session::DATA, 0, 0, 0, ..] => Some(Arrival::Of(key(port))),
            [kind, 0, 0, 0, ..] if HANDSHAKE.contains(kind) => None,
            _ => Some(Arrival::Malformed(DropReason::WireguardMalformed)),
        }
    }

    fn decapsulate(
        &self,
        cx: &Context<'_>,
        frames: impl Iterator<Item = Frame>,
        count: usize,
        interface: &Interface,
        outlet: &mut Outlet,
    ) -> Traffic {
        let mut receiver = Receiver {
            cx,
            network: self,
            mac: interface.mac.0,
            running: interface.running,
            last: None,
        };
        decapsulate(
            &mut receiver,
            cx,
            Item::Arrived(self.id),
            frames,
            count,
            outlet,
        )
    }
}

/// Returns the key of messages to this UDP port, at any local address.
const fn key(port: u16) -> Ends {
    Ends {
        form: Form::Wireguard,
        port,
        number: 0,
        local: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        remote: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    }
}

/// The path to a peer, shared by consecutive packets.
struct Path {
    peer: Arc<Peer>,
    session: Arc<Sending>,
    ends: (SocketAddr, SocketAddr),
    /// The next hop, if no rule or policy applies to the outer packets.
    direct: Option<Adjacency>,
}

impl Path {
    /// Looks up the path to a peer.
    ///
    /// # Errors
    /// The packet's destination instead: a punt without a session or an endpoint, a drop without a
    /// route.
    fn to(cx: &Context<'_>, network: &Wireguard, peer: &Arc<Peer>) -> Result<Self, Next> {
        let keyless = Next::Punt(PuntReason::Keyless(peer.number));
        let session = peer.sending().as_ref().map(Arc::clone).ok_or(keyless)?;
        let remote = peer.endpoint().ok_or(keyless)?;
        let local = source(cx, remote.ip(), Protocol::UDP.0);
        let local = local.ok_or(Next::Lost(DropReason::TunnelNoSource))?;
        Ok(Self {
            peer: Arc::clone(peer),
            session,
            ends: (SocketAddr::new(local, network.port), remote),
            direct: direct(cx, remote.ip()),
        })
    }
}

/// A frame whose message waits for encryption.
struct LaidOut {
    /// Position among the frames that are encrypted together.
    at: usize,
    /// Position of its path.
    path: usize,
    /// Bytes of the outer IP header.
    ip: usize,
}

/// Lays out frames, the first of which is the vector's frame `first`. Finds their paths, and sets the destinations of
/// the frames that are not encrypted.
fn lay_out_all(
    cx: &Context<'_>,
    network: &Wireguard,
    frames: &mut [Frame],
    first: usize,
    paths: &mut SmallVec<[Path; TOGETHER]>,
    nexts: &mut Nexts,
    outlet: &mut Outlet,
) -> SmallVec<[LaidOut; TOGETHER]> {
    let mut all = SmallVec::new();
    for (at, frame) in frames.iter_mut().enumerate() {
        if !frame.offload.is_finished() {
            nexts.set(first + at, Next::of_unfinished(network.id, frame));
            continue;
        }
        let laid_out = find_path(cx, network, frame, paths).and_then(|path| {
            let id = outlet.memory.rules.random() as u16;
            let ip = lay_out(frame, &paths[path], id, &mut outlet.pool).map_err(Next::Lost)?;
            Ok(LaidOut { at, path, ip })
        });
        match laid_out {
            Ok(message) => all.push(message),
            Err(next) => nexts.set(first + at, next),
        }
    }
    all
}

/// Returns the position of a packet's path in `paths`, and adds the path if it is not the last one.
///
/// # Errors
/// The packet's destination instead: it has no peer, or its peer no path.
fn find_path(
    cx: &Context<'_>,
    network: &Wireguard,
    frame: &Frame,
    paths: &mut SmallVec<[Path; TOGETHER]>,
) -> Result<usize, Next> {
    let packet = { frame.bytes() }
        .get(usize::from(frame.l3)..)
        .unwrap_or_default();
    let malformed = Next::Lost(DropReason::TunnelMalformed);
    let (_, to) = addresses(packet).ok_or(malformed)?;
    let peer = network.allowed.get(to);
    let peer = peer.ok_or(Next::Lost(DropReason::WireguardNoPeer))?;
    let is_last = |path: &Path| Arc::ptr_eq(&path.peer, peer);
    if !paths.last().is_some_and(is_last) {
        paths.push(Path::to(cx, network, peer)?);
    }
    Ok(paths.len() - 1)
}

/// Encrypts the messages of frames. Returns the length of each message in bytes.
fn encrypt_all(
    frames: &mut [Frame],
    laid_out: &[LaidOut],
    paths: &[Path],
) -> SmallVec<[Result<u64, DropReason>; TOGETHER]> {
    let mut messages = SmallVec::<[Outgoing<'_>; TOGETHER]>::new();
    let mut rest = frames.iter_mut().enumerate();
    for message in laid_out {
        let frame = rest.find(|(at, _)| *at == message.at);
        let bytes = frame.and_then(|(_, frame)| {
            frame
                .bytes_mut()
                .get_mut(ETHERNET + message.ip + UDP_BYTES..)
        });
        let session = &*paths[message.path].session;
        messages.push(Outgoing::new(session, bytes.unwrap_or_default()));
    }
    seal_all(&mut messages);
    let results: SmallVec<[_; TOGETHER]> =
        messages.into_iter().map(|message| message.result).collect();
    let finish = |(message, result): (&LaidOut, Result<(), Fault>)| {
        result.map_err(reason)?;
        finish(
            &mut frames[message.at],
            paths[message.path].ends,
            message.ip,
        )
    };
    laid_out.iter().zip(results).map(finish).collect()
}

/// Writes the headers around a frame's packet, and makes room for padding and authentication tag.
/// Returns the length in bytes of the outer IP header, whose identification is `id` in IPv4.
fn lay_out(frame: &mut Frame, path: &Path, id: u16, pool: &mut Pool) -> Result<usize, DropReason> {
    let content = Content::of_packet(frame)?;
    let room = Room {
        front: FRONT,
        back: padded(content.len) - content.len + TAG,
    };
    udp::lay_out(frame, content, path.ends, room, id, pool)
}

/// Returns the drop reason of messages that a session rejects.
const fn reason(fault: Fault) -> DropReason {
    match fault {
        Fault::Malformed => DropReason::WireguardMalformed,
        Fault::Replayed => DropReason::WireguardReplayed,
        Fault::Integrity => DropReason::WireguardIntegrity,
        Fault::Exhausted => DropReason::WireguardExhausted,
    }
}

/// Receives the messages of one vector.
struct Receiver<'a> {
    cx: &'a Context<'a>,
    network: &'a Wireguard,
    mac: [u8; 6],
    running: bool,
    /// Receiver index and session of the last message.
    last: Option<(u32, Arc<Arriving>)>,
}

impl Decrypt for Receiver<'_> {
    type Key = Arc<Arriving>;

    fn locate(&mut self, frame: &Frame) -> Result<EncryptedPacket<Arc<Arriving>>, DropReason> {
        let malformed = DropReason::WireguardMalformed;
        let l3 = usize::from(frame.l3);
        let packet = frame.bytes().get(l3..).ok_or(malformed)?;
        let (from, at) = datagram(packet).ok_or(malformed)?;
        let message = packet.get(at.clone()).ok_or(malformed)?;
        let number = session::receiver(message).ok_or(malformed)?;
        Ok(EncryptedPacket {
            key: self.session(number)?,
            at: l3 + at.start..l3 + at.end,
            from,
            tos: tos(packet),
        })
    }

    fn decrypt(&self, packets: &mut [WaitingPacket<Arc<Arriving>>]) -> Contents {
        let mut messages = SmallVec::<[Incoming<'_>; TOGETHER]>::new();
        for waiting in &mut *packets {
            let (session, message) = waiting.parts();
            messages.push(Incoming::new(&session.session, message));
        }
        open_all(&mut messages);
        let results: SmallVec<[_; TOGETHER]> =
            messages.into_iter().map(|message| message.result).collect();
        type Waiting = WaitingPacket<Arc<Arriving>>;
        let content = |(waiting, result): (&Waiting, Result<Range<usize>, Fault>)| {
            let opened = result.map_err(reason)?;
            let EncryptedPacket { key, at, from, .. } = &waiting.packet;
            let is_data = !opened.is_empty();
            key.peer.received.add(self.cx.now, at.len() as u64, is_data);
            key.peer.heard_from(*from);
            Ok(is_data.then(|| at.start + opened.start..at.start + opened.end))
        };
        packets.iter().zip(results).map(content).collect()
    }

    fn extract(
        &self,
        frame: &mut Frame,
        at: Range<usize>,
        packet: &EncryptedPacket<Arc<Arriving>>,
    ) -> Result<(), DropReason> {
        let malformed = DropReason::WireguardMalformed;
        if !self.running {
            return Err(DropReason::InterfaceDown);
        }
        let inner = frame.bytes().get(at.clone()).ok_or(malformed)?;
        let ethertype = admit(inner, &self.network.allowed, &packet.key.peer)?;
        let to = Delivery {
            interface: self.network.id,
            mac: self.mac,
            tos: packet.tos,
        };
        deliver(frame, at, ethertype, &to, malformed)
    }
}

impl Receiver<'_> {
    /// Looks up a session of this interface by its receiver index.
    fn session(&mut self, number: u32) -> Result<Arc<Arriving>, DropReason> {
        if let Some((last, session)) = &self.last
            && *last == number
        {
            return Ok(Arc::clone(session));
        }
        let found = self.cx.interfaces.sessions().get(number);
        let found = found.filter(|session| session.interface == self.network.id);
        let found = found.ok_or(DropReason::WireguardUnknown)?;
        self.last = Some((number, Arc::clone(&found)));
        Ok(found)
    }
}

/// Returns the EtherType of a decrypted packet.
///
/// # Errors
/// The bytes are no IP packet, or the source does not belong to the peer.
fn admit(packet: &[u8], allowed: &Allowed, peer: &Arc<Peer>) -> Result<[u8; 2], DropReason> {
    let (source, _) = addresses(packet).ok_or(DropReason::WireguardMalformed)?;
    match allowed.get(source) {
        Some(of) if Arc::ptr_eq(of, peer) => {}
        _ => return Err(DropReason::WireguardSource),
    }
    Ok(match source {
        IpAddr::V4(_) => [0x08, 0x00],
        IpAddr::V6(_) => [0x86, 0xdd],
    })
}
