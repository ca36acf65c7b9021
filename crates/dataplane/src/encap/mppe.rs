//! PPPoE sessions encrypted by MPPE (RFC 3078), with or without multilink framing below.
//!
//! ```text
//! Ethernet | PPPoE | 00fd | flags, count (16) | RC4 { protocol (16) | packet }
//! ```
//! All packets of a direction depend on earlier ones, so that one worker encrypts and decrypts all packets of a
//! session; other workers hand their frames over. A packet in clear text does not enter an encrypted session. After a
//! loss that a stateful cipher cannot bridge, control receives the packet, and requests a reset from the other end.

mod settings;

use frame::{Frame, InterfaceId, Offload, Pool, Segmentation};
use ppp::{ENCRYPTED, Encryptor, MPPE_HEADER, MppeFault};

pub use self::settings::{Ciphers, Mppe};

use super::multilink::{below, direct};
use super::{Arrival, Batch, Encap, Next, OuterPath, mark_decapsulated, put, settle};
use crate::agenda::Item;
use crate::bridge::packet_at;
use crate::counters::Traffic;
use crate::demux::pppoe::{self, Header};
use crate::drop::DropReason;
use crate::interface::{Ends, Interface};
use crate::out::OutId;
use crate::outlet::Outlet;
use crate::rings::Handed;
use crate::tap::{self, Direction};
use crate::walk::{self, Context, Exit};

/// Bytes of the PPP protocol in front of a packet.
const PROTOCOL: usize = 2;
/// Bytes that the encryption adds to a packet.
const ADDED: usize = PROTOCOL + MPPE_HEADER;

impl Mppe {
    /// Returns the worker by which all packets of the session pass; `None` if it is this worker.
    fn home(&self, outlet: &Outlet) -> Option<u16> {
        outlet.home_of(self.id)
    }

    /// Encrypts a frame of session data in place. The packet of the frame begins behind the outer protocol field then.
    ///
    /// # Errors
    /// The frame has no session header, or there is no room for four more bytes.
    fn encrypt(
        cipher: &mut Encryptor,
        frame: &mut Frame,
        pool: &mut Pool,
    ) -> Result<(), DropReason> {
        let l3 = usize::from(frame.l3);
        if !pppoe::is_behind(frame.bytes(), l3) {
            return Err(DropReason::PppoeMalformed);
        }
        add_front(frame, pool)?;
        let front = l3 - PROTOCOL;
        let bytes = frame.bytes_mut();
        bytes.copy_within(ADDED..ADDED + front, 0);
        let (link, rest) = bytes.split_at_mut(front);
        let carried = rest.len() as u16;
        if let Some(length) = link.last_chunk_mut() {
            *length = carried.to_be_bytes();
        }
        let (outer, packet) = rest.split_at_mut(ADDED);
        let header = cipher.encrypt(packet);
        outer[..PROTOCOL].copy_from_slice(&ENCRYPTED.to_be_bytes());
        outer[PROTOCOL..].copy_from_slice(&header);
        frame.offload = Offload::FINISHED;
        Ok(())
    }

    /// Returns where an encrypted frame goes: whole or in fragments to the interface below.
    fn next(&self, frame: &mut Frame, under: InterfaceId) -> Next {
        let longest = usize::from(frame.l3) + usize::from(self.mtu);
        if frame.len() <= longest {
            frame.egress = under;
            return Next::Out(self.out);
        }
        match self.framing {
            Some(_) => Next::Fragments,
            None => Next::Lost(DropReason::TooBig),
        }
    }

    /// Decrypts a received frame, which ends behind its packet and begins with an Ethernet header then. Returns `None`
    /// for a fragment of an incomplete packet.
    ///
    /// # Errors
    /// The frame, and why it is dropped.
    fn receive(
        &self,
        cx: &Context<'_>,
        mut frame: Frame,
        outlet: &mut Outlet,
    ) -> Result<Option<Frame>, (Frame, DropReason)> {
        let at = packet_at(frame.bytes());
        let Some(mut packet) = session_packet(&frame, at) else {
            return Err((frame, DropReason::PppMalformed));
        };
        let mut fragment = None;
        if packet.protocol == ppp::MULTILINK {
            match self.join(&frame, outlet) {
                Ok(Some((whole, protocol))) => {
                    packet = SessionPacket {
                        protocol,
                        start: usize::from(whole.l3),
                        end: whole.len(),
                    };
                    fragment = Some(core::mem::replace(&mut frame, whole));
                }
                Ok(None) => {
                    outlet.pool.free(frame);
                    return Ok(None);
                }
                Err(reason) => return Err((frame, reason)),
            }
        }
        let opened = self.open(&mut frame, &packet);
        match (opened, fragment) {
            (Ok(()), fragment) => {
                fragment.map(|fragment| outlet.pool.free(fragment));
                mark_decapsulated(&mut frame, self.id);
                if cx.interfaces.taps().any() {
                    tap::show(cx, self.id, Direction::Received, &frame, 0, outlet);
                }
                Ok(Some(frame))
            }
            (Err(reason), Some(fragment)) => {
                outlet.pool.free(frame);
                Err((fragment, reason))
            }
            (Err(reason), None) => Err((frame, reason)),
        }
    }

    /// Reassembles a fragment. Returns the complete packet as a frame whose `l3` is behind the protocol field, and its
    /// protocol.
    fn join(&self, frame: &Frame, outlet: &mut Outlet) -> Result<Option<(Frame, u16)>, DropReason> {
        let framing = self.framing.as_ref().ok_or(DropReason::PppoeProtocol)?;
        let mut incomplete = core::mem::take(&mut outlet.incomplete);
        let joined = framing.reassemble(frame, &mut incomplete, outlet);
        outlet.incomplete = incomplete;
        joined
    }

    /// Decrypts the packet in a frame, and cuts the frame down to it, behind an Ethernet header.
    fn open(&self, frame: &mut Frame, packet: &SessionPacket) -> Result<(), DropReason> {
        if packet.protocol != ENCRYPTED {
            return Err(DropReason::MppePlain);
        }
        let (start, kind) = self.decrypt(frame, packet)?;
        let cut = frame
            .set_len(packet.end)
            .then(|| settle(frame, start, kind));
        cut.flatten().ok_or(DropReason::MppeMalformed)
    }

    /// Decrypts a packet in a frame. Returns the offset of the IP packet and its EtherType.
    fn decrypt(
        &self,
        frame: &mut Frame,
        packet: &SessionPacket,
    ) -> Result<(usize, [u8; 2]), DropReason> {
        let bytes = frame.bytes_mut().get_mut(packet.start..packet.end);
        let bytes = bytes.ok_or(DropReason::MppeMalformed)?;
        let decrypted = self.ciphers.receive(|cipher| {
            let packet = cipher.decrypt(bytes).map_err(drop_reason)?;
            let (protocol, inner) = ppp::split(packet).map_err(|_| DropReason::MppeMalformed)?;
            let kind = pppoe::ethertype_of(protocol).ok_or(DropReason::PppoeProtocol)?;
            Ok((inner.len(), kind.to_be_bytes()))
        });
        let (inner, kind) = decrypted.unwrap_or(Err(DropReason::MppeBusy))?;
        Ok((packet.end - inner, kind))
    }

    /// Hands a packet that a stateful cipher cannot decrypt to control, which requests a reset; without a service for
    /// it the frame is dropped.
    fn request_reset(&self, cx: &Context<'_>, mut frame: Frame, outlet: &mut Outlet) {
        outlet.counters.dropped(DropReason::MppeLost);
        let at = packet_at(frame.bytes());
        let protocol = frame.bytes_mut().get_mut(at + pppoe::HEADER - PROTOCOL..);
        if let Some(protocol) = protocol.and_then(<[u8]>::first_chunk_mut) {
            // A fragment stands for its packet.
            *protocol = ENCRYPTED.to_be_bytes();
        }
        let on = cx.interfaces.carrier(self.id);
        match walk::service_of_session_data(cx, on, frame.bytes(), at as u16) {
            Exit::Punt(why) => outlet.punt(frame, why),
            _ => outlet.pool.free(frame),
        }
    }
}

/// The PPP packet in a frame of session data.
struct SessionPacket {
    protocol: u16,
    /// Offset of the information field.
    start: usize,
    /// Offset behind the information field.
    end: usize,
}

/// Returns the PPP packet behind the PPPoE header at offset `at`; `None` where lengths contradict each other.
fn session_packet(frame: &Frame, at: usize) -> Option<SessionPacket> {
    let (header, rest) = frame.bytes().get(at..)?.split_first_chunk()?;
    let header = Header::new(*header);
    let start = at + pppoe::HEADER;
    Some(SessionPacket {
        protocol: header.protocol(),
        start,
        end: start + header.packet_bytes(rest.len())?,
    })
}

/// Extends a frame at its front by the bytes that the encryption adds.
fn add_front(frame: &mut Frame, pool: &mut Pool) -> Result<(), DropReason> {
    if frame.push_front(ADDED) {
        return Ok(());
    }
    let larger = pool.alloc(ADDED + frame.len());
    let mut larger = larger.ok_or(DropReason::NoBuffer)?;
    larger.bytes_mut()[ADDED..].copy_from_slice(frame.bytes());
    larger.copy_meta(frame);
    larger.l3 = frame.l3;
    pool.free(core::mem::replace(frame, larger));
    Ok(())
}

/// Returns the drop of a packet that cannot be decrypted.
const fn drop_reason(fault: MppeFault) -> DropReason {
    match fault {
        MppeFault::Malformed => DropReason::MppeMalformed,
        MppeFault::Late => DropReason::MppeLate,
        MppeFault::Lost => DropReason::MppeLost,
        MppeFault::AwaitsReset => DropReason::MppeReset,
        MppeFault::Garbage => DropReason::MppeKey,
        MppeFault::Gap => DropReason::MppeGap,
    }
}

impl Encap for Mppe {
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
        if let Some(home) = self.home(outlet) {
            return batch.nexts.fill(Next::HandOver(home));
        }
        let under = below(cx, self.id);
        let encrypted = self.ciphers.transmit(|cipher| {
            for (at, frame) in frames.iter_mut().enumerate() {
                let next = if !frame.offload.is_finished() {
                    unfinished(self.id, frame)
                } else {
                    match Self::encrypt(cipher, frame, &mut outlet.pool) {
                        Ok(()) => self.next(frame, under),
                        Err(reason) => Next::Lost(reason),
                    }
                };
                batch.nexts.set(at, next);
            }
        });
        if encrypted.is_none() {
            batch.nexts.fill(Next::Lost(DropReason::MppeBusy));
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
        let mut all = Traffic::default();
        let home = self.home(outlet);
        for frame in frames {
            let bytes = walk::received(&frame);
            if let Some(home) = home {
                if let Some((frame, reason)) = outlet.hand(home, Handed::Joining(frame, self.id)) {
                    outlet.discard(frame, reason);
                }
                continue;
            }
            all.packets += 1;
            all.bytes += bytes;
            if !interface.running {
                outlet.discard(frame, DropReason::InterfaceDown);
                continue;
            }
            match self.receive(cx, frame, outlet) {
                Ok(Some(packet)) => {
                    outlet.counters.interface(self.id).rx.add(1, bytes);
                    put(&mut None, Item::Arrived(self.id), packet, outlet);
                }
                Ok(None) => {}
                Err((frame, DropReason::MppeLost)) => self.request_reset(cx, frame, outlet),
                Err((frame, reason)) => outlet.discard(frame, reason),
            }
        }
        all
    }
}

/// Sends a frame with a pending checksum or segmentation to be finished. The frame, or its segments, return here.
#[cold]
fn unfinished(id: InterfaceId, frame: &mut Frame) -> Next {
    if frame.offload.segmentation == Segmentation::Fragments {
        frame.offload.segmentation = Segmentation::None;
    }
    Next::Finish(OutId::tunnel(id), u32::MAX)
}
