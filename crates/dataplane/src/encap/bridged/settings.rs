//! Settings of a PPP session that carries frames of a bridge.

use frame::InterfaceId;

use crate::encap::mppe::Mppe;
use crate::encap::multilink::Multilink;
use crate::out::OutId;

/// A bridged session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bridged {
    /// The session's interface.
    pub id: InterfaceId,
    /// The out of the interface that carries the session.
    pub out: OutId,
    /// The longest PPP packet in bytes that the link carries whole, without protocol field.
    pub mtu: u16,
    /// Headers in front of a packet: Ethernet, VLAN tags, PPPoE, and the protocol field. The length is filled in.
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
    /// Returns true if the session takes session data of this PPP protocol.
    pub(in crate::encap) fn takes(&self, protocol: u16) -> bool {
        match self.encryption {
            Some(_) => protocol == ppp::ENCRYPTED,
            None => protocol == ppp::BRIDGED,
        }
    }
}
