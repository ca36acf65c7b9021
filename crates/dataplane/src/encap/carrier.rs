//! Carriers of PPP sessions: the headers around a PPP packet that other encapsulations encrypt, split or bridge.
//!
//! A frame in PPP form has the protocol field of a PPP packet in the two bytes in front of `frame.l3`. In front of the
//! protocol field stand the headers of PPPoE, which egress writes, or nothing: L2TP and PPTP write their
//! headers last, and sessions on byte streams are copied.

mod settings;

use frame::{Frame, InterfaceId, Pool};

pub use self::settings::Carrier;

use super::l2tp;
use super::pptp;
use super::session_data::{PROTOCOL, SessionPacket, add_front, protocol_of, session_packet};
use super::stream::{self, Stream};
use super::{Next, Nexts, OuterPath};
use crate::bridge::packet_at;
use crate::demux::pppoe;
use crate::drop::DropReason;
use crate::interface::Ends;
use crate::out::OutId;
use crate::outlet::Outlet;
use crate::table::{Adjacency, Kind};
use crate::walk::{self, Context, Exit};

impl Carrier {
    /// Returns the keys of the packets of the session; none for PPPoE, whose frames demux finds.
    pub(super) fn ends(&self) -> [Option<Ends>; 2] {
        match self {
            Self::Pppoe(_) => [None, None],
            Self::L2tp(session) => [Some(session.key()), None],
            Self::Pptp(call) => [Some(call.key()), None],
            Self::Stream(session) => [Some(stream::ends(session.channel)), None],
        }
    }

    /// Brings a packet that egress prepared for the session into PPP form.
    ///
    /// # Errors
    /// The frame has no packet, or no session header of PPPoE.
    pub(super) fn form(&self, frame: &mut Frame, pool: &mut Pool) -> Result<(), DropReason> {
        let l3 = usize::from(frame.l3);
        match self {
            Self::Pppoe(_) if pppoe::is_behind(frame.bytes(), l3) => Ok(()),
            Self::Pppoe(_) => Err(DropReason::PppoeMalformed),
            Self::L2tp(_) | Self::Pptp(_) | Self::Stream(_) => {
                let packet = frame.bytes().get(l3..).unwrap_or_default();
                let protocol = protocol_of(packet).ok_or(DropReason::TunnelMalformed)?;
                frame.pull_front(l3);
                add_front(frame, PROTOCOL, pool)?;
                frame.bytes_mut()[..PROTOCOL].copy_from_slice(&protocol.to_be_bytes());
                frame.offload.shift(-(l3 as i16) + PROTOCOL as i16);
                frame.l3 = PROTOCOL as u16;
                Ok(())
            }
        }
    }

    /// Prepares the transmission of frames of the session `id` in PPP form.
    ///
    /// # Errors
    /// The session must not send.
    pub(super) fn sender<'a>(
        &'a self,
        cx: &Context<'_>,
        id: InterfaceId,
    ) -> Result<Sender<'a>, DropReason> {
        Ok(match self {
            Self::Pppoe(out) => Sender::Pppoe {
                under: below(cx, id),
                out: *out,
            },
            Self::L2tp(session) if !session.may_pass(&cx.snapshot.ipsec) => {
                return Err(DropReason::L2tpUnprotected);
            }
            Self::L2tp(session) => Sender::L2tp(l2tp::Headers::new(session, session.direct(cx))),
            Self::Pptp(call) => Sender::Pptp(pptp::Headers::new(cx, call)),
            Self::Stream(session) => Sender::Stream(*session),
        })
    }

    /// Returns the path of a frame in PPP form, behind the headers of the carrier, for a trace.
    ///
    /// # Errors
    /// There is no room for the headers.
    pub(super) fn trace(
        &self,
        cx: &Context<'_>,
        frame: &mut Frame,
        pool: &mut Pool,
    ) -> Result<OuterPath, Exit> {
        let (done, next_hop) = match self {
            Self::Pppoe(out) => return direct(frame, *out),
            Self::L2tp(session) => {
                let headers = l2tp::Headers::new(session, session.direct(cx));
                (headers.trace_ppp(frame, pool), headers.direct)
            }
            Self::Pptp(call) => {
                let headers = pptp::Headers::new(cx, call);
                (headers.trace(frame, pool), headers.direct)
            }
            Self::Stream(_) => return Err(Exit::Stream),
        };
        done.map_err(Exit::Drop)?;
        frame.egress = InterfaceId::NONE;
        Ok(OuterPath {
            direct: next_hop,
            copies: 1,
        })
    }

    /// Returns the PPP packet in a received frame; `None` where lengths contradict each other.
    pub(super) fn locate(&self, frame: &Frame) -> Option<SessionPacket> {
        match self {
            Self::Pppoe(_) => session_packet(frame, packet_at(frame.bytes())),
            Self::L2tp(_) => l2tp::locate(frame).map(|located| located.packet),
            Self::Pptp(_) => pptp::locate(frame),
            Self::Stream(_) => stream::locate(frame),
        }
    }

    /// Admits a received frame. Returns its PPP packet; `None` for a frame without one.
    ///
    /// # Errors
    /// The frame is malformed, repeated, from a foreign address, or not protected.
    pub(super) fn admit(
        &self,
        cx: &Context<'_>,
        frame: &Frame,
        outlet: &mut Outlet,
    ) -> Result<Option<SessionPacket>, DropReason> {
        match self {
            Self::Pppoe(_) | Self::Stream(_) => {
                self.locate(frame).map(Some).ok_or(DropReason::PppMalformed)
            }
            Self::L2tp(session) => {
                let is_protected = session.may_pass(&cx.snapshot.ipsec);
                session.admit(frame, is_protected).map(Some)
            }
            Self::Pptp(call) => {
                let admitted = call.admit(frame);
                call.acknowledge(outlet);
                admitted
            }
        }
    }

    /// Returns the length in bytes under which a received frame with this packet is counted: without the headers of
    /// tunnels.
    pub(super) fn counted(&self, received: u64, packet: &Frame) -> u64 {
        match self {
            Self::Pppoe(_) => received,
            Self::L2tp(_) | Self::Pptp(_) | Self::Stream(_) => packet.len() as u64,
        }
    }

    /// Returns the exit of a received frame that its session leaves to control: that of its service, if there is one.
    pub(super) fn service(&self, cx: &Context<'_>, id: InterfaceId, frame: &Frame) -> Exit {
        match self {
            Self::Pppoe(_) => {
                let (on, at) = (cx.interfaces.carrier(id), packet_at(frame.bytes()));
                walk::service_of_session_data(cx, on, frame.bytes(), at as u16)
            }
            Self::L2tp(_) | Self::Pptp(_) => walk::service_of_packet(cx, frame),
            // Tasks leave packets of control to control.
            Self::Stream(_) => Exit::Drop(DropReason::PppProtocol),
        }
    }
}

/// Transmission of the frames of a session.
pub(super) enum Sender<'a> {
    /// To the interface below.
    Pppoe { under: InterfaceId, out: OutId },
    /// Behind the headers of L2TP.
    L2tp(l2tp::Headers<'a>),
    /// Behind the headers of PPTP.
    Pptp(pptp::Headers<'a>),
    /// Into the batch for a connection.
    Stream(Stream),
}

impl Sender<'_> {
    /// Completes a frame in PPP form. Returns where it goes.
    pub(super) fn send(
        &self,
        cx: &Context<'_>,
        frame: &mut Frame,
        nexts: &mut Nexts,
        outlet: &mut Outlet,
    ) -> Next {
        let id = outlet.memory.rules.random() as u16;
        let (done, next_hop) = match self {
            Self::Pppoe { under, out } => {
                frame.egress = *under;
                return Next::Out(*out);
            }
            Self::L2tp(headers) => {
                let done = headers.encapsulate_ppp(frame, id, &mut outlet.pool);
                (done, &headers.direct)
            }
            Self::Stream(session) => {
                return match session.queue(frame, outlet) {
                    Ok(()) => Next::Queued,
                    Err(reason) => Next::Lost(reason),
                };
            }
            Self::Pptp(headers) => {
                let done = headers.encapsulate(frame, id, &mut outlet.pool);
                (done, &headers.direct)
            }
        };
        match done {
            Ok(()) => nexts.by(cx, frame, next_hop.as_ref(), outlet),
            Err(reason) => Next::Lost(reason),
        }
    }

    /// Completes a frame in PPP form that fits a link with this MTU in bytes. A longer frame travels in fragments if
    /// the session has multilink framing, and is lost otherwise.
    pub(super) fn send_within(
        &self,
        cx: &Context<'_>,
        frame: &mut Frame,
        mtu: u16,
        has_framing: bool,
        batch: &mut super::Batch<'_>,
        outlet: &mut Outlet,
    ) -> Next {
        if frame.len() <= usize::from(frame.l3) + usize::from(mtu) {
            return self.send(cx, frame, batch.nexts, outlet);
        }
        match has_framing {
            true => Next::Fragments,
            false => Next::Lost(DropReason::TooBig),
        }
    }
}

/// Returns the lowest interface below a session.
pub(super) fn below(cx: &Context<'_>, id: InterfaceId) -> InterfaceId {
    cx.interfaces.get(id).map_or(id, |line| line.under)
}

/// Returns the path of a frame of session data whose link header is written.
fn direct(frame: &Frame, out: OutId) -> Result<OuterPath, Exit> {
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
