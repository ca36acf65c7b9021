//! OpenVPN: packets or frames of a session in encrypted data packets of versions 1 and 2, in datagrams or on a byte
//! stream.
//!
//! ```text
//! IP | UDP | opcode and key id [, peer id] | packet id, tag | encrypted packet or frame
//!  length  | opcode and key id [, peer id] | packet id, tag | encrypted packet or frame
//! ```
//! Each session has an interface. Datagrams of version 2 are found by UDP port and peer id, so that their sender may
//! move; those of version 1 by port and sender; packets of a stream by its channel. Control packets are received by
//! control. One worker sends all packets of a stream: the other end demands consecutive packet ids.

mod receive;
mod send;
mod session;
#[cfg(test)]
mod tests;

use core::net::SocketAddr;

use frame::{Frame, InterfaceId, Pool};
use openvpn::data::Head;
use smallvec::SmallVec;
use wire::Protocol;

use self::receive::Receiver;
use self::send::{LaidOut, Path, Route};
pub use self::session::{Notices, Ovpn, Session, Transport};
use self::session::{by_peer, by_sender};
use super::decrypt::{TOGETHER, decapsulate};
use super::next::Next;
use super::outer::UDP_BYTES;
use super::udp::{addresses, upper};
use super::{Arrival, Batch, Encap, Form, OuterPath, stream};
use crate::agenda::Item;
use crate::counters::Traffic;
use crate::interface::{Ends, Interface};
use crate::outlet::Outlet;
use crate::walk::{Context, Exit};

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
        if let Some(home) = self.home(outlet) {
            return batch.nexts.fill(Next::HandOver(home));
        }
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
                let content = self.content(frame);
                let id = outlet.memory.rules.random() as u16;
                let placed =
                    content.and_then(|content| path.lay_out(frame, content, id, &mut outlet.pool));
                match placed {
                    Ok((layout, start)) => laid_out.push(LaidOut { at, layout, start }),
                    Err(reason) => batch.nexts.set(first + at, Next::Lost(reason)),
                }
            }
            let results = path.encrypt_all(frames, &laid_out);
            let sent: u64 = results.iter().flatten().sum();
            if sent > 0 {
                self.session.sent.add(cx.now, sent, true);
            }
            for (packet, result) in laid_out.iter().zip(results) {
                let frame = &mut frames[packet.at];
                let next = match (result, &path.route) {
                    (Ok(_), Route::Datagrams { direct, .. }) => {
                        batch.nexts.by(cx, frame, direct.as_ref(), outlet)
                    }
                    (Ok(_), Route::Stream(to)) => to.queue(frame.bytes(), outlet),
                    (Err(reason), _) => Next::Lost(reason),
                };
                batch.nexts.set(first + packet.at, next);
            }
        }
        if path.sending.is_exhausted() {
            self.session.notify();
        }
    }

    fn encapsulate_unencrypted(
        &self,
        cx: &Context<'_>,
        frame: &mut Frame,
        pool: &mut Pool,
    ) -> Result<OuterPath, Exit> {
        let path = Path::of(cx, &self.session).map_err(Exit::Drop)?;
        let Route::Datagrams { direct, .. } = path.route else {
            return Err(Exit::Stream);
        };
        let content = self.content(frame).map_err(Exit::Drop)?;
        path.lay_out(frame, content, 0, pool).map_err(Exit::Drop)?;
        frame.egress = InterfaceId::NONE;
        Ok(OuterPath { direct, copies: 1 })
    }

    fn leaves_elsewhere(&self, outlet: &Outlet) -> bool {
        self.home(outlet).is_some()
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
        let item = match self.has_frames {
            true => Item::Framed(self.id),
            false => Item::Arrived(self.id),
        };
        let mut receiver = Receiver::new(cx, self, interface);
        let all = decapsulate(&mut receiver, cx, item, frames, count, outlet);
        if let Some(signal) = receiver.signal {
            self.send_signal(cx, signal, outlet);
        }
        all
    }
}

impl Ovpn {
    /// Returns the worker that sends all packets of a session on a stream; `None` if it is this worker, or any.
    fn home(&self, outlet: &Outlet) -> Option<u16> {
        match self.session.transport() {
            Transport::Datagrams => None,
            Transport::Stream(channel) => stream::home(channel, outlet),
        }
    }
}
