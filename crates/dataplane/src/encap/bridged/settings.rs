//! Settings of a PPP session that carries frames of a bridge.

use frame::InterfaceId;

use crate::encap::carrier::Carrier;
use crate::encap::mppe::Mppe;
use crate::encap::multilink::Multilink;

/// A bridged session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bridged {
    /// The session's interface.
    pub id: InterfaceId,
    /// What carries the session.
    pub carrier: Carrier,
    /// The longest PPP packet in bytes that the link carries whole, without protocol field.
    pub mtu: u16,
    /// Headers in front of a packet: Ethernet, VLAN tags and PPPoE, whose length is filled in, or none; behind them the
    /// protocol field.
    pub header: Box<[u8]>,
    /// The other end takes frames with VLAN tags.
    pub has_tags: bool,
    /// The other end takes BPDUs as frames.
    pub has_bpdus: bool,
    /// Encryption of the packets.
    pub encryption: Option<Mppe>,
    /// Multilink framing below the encryption.
    pub framing: Option<Multilink>,
}

impl Bridged {
    /// Returns the PPP protocol of the frames on the link.
    pub(in crate::encap) const fn protocol(&self) -> u16 {
        match self.encryption {
            Some(_) => ppp::ENCRYPTED,
            None => ppp::BRIDGED,
        }
    }
}
