//! Events and actions of a session.

use core::net::Ipv4Addr;

use crate::auth::claim::{Claim, Proof};
use crate::mppe::{Encryption, KeyLengths, MppeKeys};
use crate::packet::Packet;
use crate::reason::{CloseReason, DownReason, Fault};
use crate::settings::{EncryptionPolicy, Method};

/// An input of a [`Session`](crate::Session).
#[derive(Debug)]
pub enum Event<'a> {
    /// The carrier is ready for PPP packets.
    LowerUp,
    /// The carrier is gone: the session ends at once with [`DownReason::CarrierLost`].
    LowerDown,
    /// A received packet, from its protocol field on. Address and control field (`FF 03`) may precede it.
    Packet(&'a [u8]),
    /// Answer to [`Action::Verify`]: the peer is who it claims to be.
    Granted(Box<Grant>),
    /// Answer to [`Action::Verify`]: the peer is refused, with a text for it (PAP Nak, CHAP Failure). A text that
    /// begins with `E=` is an MS-CHAP error (RFC 2759, 6) and is sent unchanged.
    Refused(Box<str>),
    /// Answer to [`Action::QueryTraffic`]: whether packets of the peer have arrived since the previous query.
    Traffic {
        /// True if at least one packet has arrived.
        received: bool,
    },
    /// Ends the session: LCP sends Terminate-Requests, then [`Action::Down`] follows.
    Close(CloseReason),
}

/// Parameters of a session whose peer is authenticated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Addresses for IPCP; without them the session has no IPv4.
    pub ipv4: Option<Ipv4Grant>,
    /// Opens IPv6CP.
    pub ipv6: bool,
    /// Opens BCP: frames of a bridge pass, and other network protocols stay closed.
    pub bridging: bool,
    /// Encryption by MPPE.
    pub encryption: EncryptionPolicy,
    /// Key lengths of the encryption.
    pub key_lengths: KeyLengths,
    /// Proof of this end's knowledge of the password, from [`Claim::check`] or a RADIUS server.
    pub proof: Proof,
}

impl Default for Grant {
    /// Returns a session without network protocols and encryption.
    fn default() -> Self {
        Self {
            ipv4: None,
            ipv6: false,
            bridging: false,
            encryption: EncryptionPolicy::Off,
            key_lengths: KeyLengths::ALL,
            proof: Proof::default(),
        }
    }
}

/// IPv4 addresses that a server assigns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4Grant {
    /// Address of this end.
    pub local: Ipv4Addr,
    /// Address of the peer.
    pub remote: Ipv4Addr,
    /// Primary and secondary DNS server (RFC 1877).
    pub dns: [Option<Ipv4Addr>; 2],
    /// Primary and secondary NBNS server (RFC 1877).
    pub wins: [Option<Ipv4Addr>; 2],
}

/// The result of IPCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4Link {
    /// Address of this end.
    pub local: Ipv4Addr,
    /// Address of the peer; `None` if the peer did not say.
    pub remote: Option<Ipv4Addr>,
    /// DNS servers that a client learned.
    pub dns: [Option<Ipv4Addr>; 2],
}

/// The result of IPv6CP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv6Link {
    /// Interface identifier of this end's link-local address.
    pub local: [u8; 8],
    /// Interface identifier of the peer's link-local address.
    pub remote: [u8; 8],
}

/// The result of BCP: which frames the peer receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BridgeLink {
    /// Frames with VLAN tags.
    pub has_tags: bool,
    /// BPDUs as frames.
    pub has_inline_management: bool,
}

/// Multilink framing on the link (RFC 1990).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Multilink {
    /// Largest packet that the peer reassembles; `None` if it accepts no fragments.
    pub transmit_mrru: Option<u16>,
    /// Largest packet that this end reassembles; `None` if the peer sends no fragments.
    pub receive_mrru: Option<u16>,
}

/// The result of LCP and authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Largest packet that this end may send, in bytes behind the protocol field.
    pub mtu: u16,
    /// Largest packet that the peer may send, in bytes behind the protocol field.
    pub mru: u16,
    /// Multilink framing.
    pub multilink: Multilink,
    /// Method by which the client authenticated itself; `None` if the server demanded none.
    pub method: Option<Method>,
}

/// An output of a [`Session`](crate::Session), for its owner to execute in order.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a packet, from its protocol field on, without `FF 03`.
    Send(Packet),
    /// Server: verify the peer's claim, then answer with [`Event::Granted`] or [`Event::Refused`].
    Verify(Box<Claim>),
    /// Say whether packets have arrived since the previous query, with [`Event::Traffic`]. Without an answer within
    /// a second the session takes the peer for silent.
    QueryTraffic,
    /// The peer is authenticated; with the keys that derive from an MS-CHAP login. Only for settings that ask for it
    /// ([`Settings::reports_keys`](crate::Settings::reports_keys)), in front of [`Action::LinkUp`].
    Authenticated(Option<Box<MppeKeys>>),
    /// The peer is authenticated, and the network protocols begin. Happens once.
    LinkUp(Link),
    /// The MTU probe failed: set the MTU of the interface to this value.
    MtuReduced(u16),
    /// Data packets are encrypted from now on, in both directions. Precedes [`Action::Ipv4Up`] and
    /// [`Action::Ipv6Up`], unless the peer opened encryption late. The owner passes an encrypted packet to the session
    /// as [`Event::Packet`] after a loss that stateful decryption cannot bridge. Happens once.
    EncryptionUp(Box<Encryption>),
    /// The peer lost an encrypted packet: begin again with the current key.
    FlushEncryption,
    /// IPv4 packets may pass.
    Ipv4Up(Ipv4Link),
    /// IPv4 packets must not pass any longer.
    Ipv4Down,
    /// IPv6 packets may pass.
    Ipv6Up(Ipv6Link),
    /// IPv6 packets must not pass any longer.
    Ipv6Down,
    /// Frames of a bridge may pass.
    BridgeUp(BridgeLink),
    /// Frames of a bridge must not pass any longer.
    BridgeDown,
    /// A data packet that arrived in multilink fragments, from its protocol field on.
    Deliver(Vec<u8>),
    /// The session has ended and ignores all further events. Comes once, as the last action.
    Down(DownReason),
    /// An input was malformed or unexpected, and was discarded.
    Count(Fault),
}
