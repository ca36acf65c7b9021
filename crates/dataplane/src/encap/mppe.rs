//! PPP sessions encrypted by MPPE (RFC 3078), with or without multilink framing below.
//!
//! ```text
//! headers of the carrier | 00fd | flags, count (16) | RC4 { protocol (16) | packet }
//! ```
//! All packets of a direction depend on earlier ones, so that one worker encrypts and decrypts all packets of a
//! session; other workers hand their frames over. A packet in clear text does not enter an encrypted session. After a
//! loss that a stateful cipher cannot bridge, control receives the packet, and requests a reset from the other end.

mod settings;

use frame::{Frame, Offload, Pool};
use ppp::{ENCRYPTED, Encryptor, MPPE_HEADER, MppeFault};

pub use self::settings::{Ciphers, Mppe};

use super::session_data::{PROTOCOL, SessionPacket, add_front, complete, receive_all};
use super::{Arrival, Batch, Encap, Next, OuterPath, put};
use crate::agenda::Item;
use crate::counters::Traffic;
use crate::drop::DropReason;
use crate::interface::{Ends, Interface};
use crate::outlet::Outlet;
use crate::walk::{Context, Exit};

/// Bytes that the encryption adds to a packet.
const ADDED: usize = PROTOCOL + MPPE_HEADER;

impl Mppe {
    /// Returns the worker by which all packets of the session pass; `None` if it is this worker.
    fn home(&self, outlet: &Outlet) -> Option<u16> {
        outlet.home_of(self.id)
    }

    /// Encrypts a frame in PPP form in place. The packet of the frame begins behind the outer protocol field then.
    ///
    /// # Errors
    /// There is no room for four more bytes.
    pub(super) fn encrypt(
        cipher: &mut Encryptor,
        frame: &mut Frame,
        pool: &mut Pool,
    ) -> Result<(), DropReason> {
        let front = usize::from(frame.l3).saturating_sub(PROTOCOL);
        add_front(frame, ADDED, pool)?;
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

    /// Encrypts a frame in PPP form in place.
    ///
    /// # Errors
    /// The frame cannot be encrypted, or another worker uses the cipher.
    pub(super) fn encrypt_one(
        &self,
        frame: &mut Frame,
        outlet: &mut Outlet,
    ) -> Result<(), DropReason> {
        let encrypted =
            { &self.ciphers }.transmit(|cipher| Self::encrypt(cipher, frame, &mut outlet.pool));
        encrypted.unwrap_or(Err(DropReason::MppeBusy))
    }

    /// Decrypts a received frame, which ends behind its packet and begins with an Ethernet header then. Returns `None`
    /// for a fragment of an incomplete packet.
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
        let Some(mut whole) = complete(cx, frame, &self.carrier, self.framing.as_ref(), outlet)?
        else {
            return Ok(None);
        };
        let inner = self.decrypt(&mut whole.frame, &whole.packet);
        let frame = whole.deliver(cx, self.id, inner, &self.carrier, interface, outlet)?;
        Ok(Some(frame))
    }

    /// Decrypts a packet in a frame, in place. Returns the inner packet.
    ///
    /// # Errors
    /// The packet is in clear text, or cannot be decrypted.
    pub(super) fn decrypt(
        &self,
        frame: &mut Frame,
        packet: &SessionPacket,
    ) -> Result<SessionPacket, DropReason> {
        if packet.protocol != ENCRYPTED {
            return Err(DropReason::MppePlain);
        }
        let bytes = frame.bytes_mut().get_mut(packet.start..packet.end);
        let bytes = bytes.ok_or(DropReason::MppeMalformed)?;
        let decrypted = self.ciphers.receive(|cipher| {
            let packet = cipher.decrypt(bytes).map_err(drop_reason)?;
            let (protocol, inner) = ppp::split(packet).map_err(|_| DropReason::MppeMalformed)?;
            Ok((protocol, inner.len()))
        });
        let (protocol, inner) = decrypted.unwrap_or(Err(DropReason::MppeBusy))?;
        Ok(SessionPacket {
            protocol,
            start: packet.end - inner,
            end: packet.end,
        })
    }

    /// Hands a packet that a stateful cipher cannot decrypt to control, which requests a reset; without a service for
    /// it the frame is dropped.
    pub(super) fn request_reset(&self, cx: &Context<'_>, mut frame: Frame, outlet: &mut Outlet) {
        outlet.counters.dropped(DropReason::MppeLost);
        if let Some(packet) = self.carrier.locate(&frame)
            && let Some(protocol) = frame.bytes_mut().get_mut(packet.start - 1)
        {
            // A fragment stands for its packet. Both protocols begin with a byte of zero, which may be left out.
            *protocol = ENCRYPTED as u8;
        }
        match self.carrier.service(cx, self.id, &frame) {
            Exit::Punt(why) => outlet.punt(frame, why),
            _ => outlet.pool.free(frame),
        }
    }
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
        let encrypted = self.ciphers.transmit(|cipher| {
            for (at, frame) in frames.iter_mut().enumerate() {
                let next = if !frame.offload.is_finished() {
                    Next::of_unfinished(self.id, frame)
                } else {
                    let formed = self.carrier.form(frame, &mut outlet.pool);
                    match formed.and_then(|()| Self::encrypt(cipher, frame, &mut outlet.pool)) {
                        Ok(()) => {
                            sender.send_within(cx, frame, self.mtu, has_framing, batch, outlet)
                        }
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
        cx: &Context<'_>,
        frame: &mut Frame,
        pool: &mut Pool,
    ) -> Result<OuterPath, Exit> {
        self.carrier.form(frame, pool).map_err(Exit::Drop)?;
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
            |frame, bytes, outlet| match self.receive(cx, frame, interface, outlet) {
                Ok(Some(packet)) => {
                    let bytes = self.carrier.counted(bytes, &packet);
                    outlet.counters.interface(self.id).rx.add(1, bytes);
                    put(&mut None, Item::Arrived(self.id), packet, outlet);
                }
                Ok(None) => {}
                Err((frame, DropReason::MppeLost)) => self.request_reset(cx, frame, outlet),
                Err((frame, reason)) => outlet.discard(frame, reason),
            },
        )
    }
}
