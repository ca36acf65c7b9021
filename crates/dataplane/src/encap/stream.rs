//! Packets of PPP sessions whose carrier is a byte stream (`stream.rs`), such as SSTP.

#[cfg(test)]
mod tests;

use core::net::{IpAddr, Ipv4Addr};

use frame::Frame;

use super::session_data::{PPP_ADDRESS, PROTOCOL, SessionPacket, data_protocol};
use super::{DEPTH, Form};
use crate::drop::DropReason;
use crate::interface::Ends;
use crate::outlet::Outlet;

/// A session on a byte stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChannelId {
    /// Protocol of the session, as its feature numbers them; not 0.
    pub protocol: u16,
    /// Number within the protocol.
    pub number: u32,
}

impl ChannelId {
    /// Protocol number of SSTP.
    pub const SSTP: u16 = 1;
}

/// Form of the packets on a byte stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// SSTP data packets ([MS-SSTP], 2.2.3).
    Sstp,
}

/// A byte stream as carrier of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// The session.
    pub channel: ChannelId,
    /// Form of its packets.
    pub framing: Framing,
}

/// Returns the key of the packets of a session. Packets of the wire have port 0.
pub(crate) const fn ends(channel: ChannelId) -> Ends {
    Ends {
        form: Form::Plain,
        port: channel.protocol,
        number: channel.number,
        local: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        remote: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    }
}

/// Returns true if the data plane takes a PPP packet.
pub(crate) fn is_data(packet: &[u8]) -> bool {
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
        batch.bytes.extend_from_slice(&header);
        batch.bytes.extend_from_slice(&PPP_ADDRESS);
        batch.bytes.extend_from_slice(packet);
        batch.packets += 1;
        Ok(())
    }
}
