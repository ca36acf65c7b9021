//! WireGuard (white paper by J. A. Donenfeld, 2020): handshakes as a state machine without I/O, and encryption
//! of sessions.
//!
//! ```text
//! private key, peers ─▶ ┌────────┐ ─▶ Send                           (handshake messages)
//! Datagram ───────────▶ │ Device │ ─▶ Install, Activate, Remove      (keys of sessions)
//! Wanted, Observed ───▶ └────────┘ ─▶ Endpoint, Keepalive, GaveUp
//! ```
//!
//! The library `snow` does the Noise handshake (`Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s`). This crate adds its messages
//! with their MACs, cookies against floods, timers, and the table of peers. The data plane seals and opens data
//! messages by [`session`], and reports the traffic ([`Observation`]).
//!
//! The device owns no socket, no clock and no thread. Its owner passes in an [`Entropy`] source for indices, nonces
//! and jitter; `snow` draws ephemeral keys from the operating system.

#![forbid(unsafe_code)]

mod cookie;
mod device;
mod key;
mod limit;
mod message;
mod message_classifier;
mod noise;
mod numbers;
mod peer;
pub mod session;

pub use device::{Counters, Device, Entropy};
pub use key::{Preshared, Private, Public};
pub use message_classifier::{CHALLENGE_BYTES, MessageClass, MessageClassifier};
pub use peer::{Observation, Peer};

use core::net::SocketAddr;

use zeroize::Zeroizing;

/// Number of a peer, chosen by the owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId(pub u32);

/// Input of a device.
#[derive(Debug)]
pub enum Event<'a> {
    /// Wall-clock time in nanoseconds since 1970, for timestamps in handshakes (replay protection). Sets the
    /// clock at first, and later only forwards.
    Clock(u64),
    /// Sets or removes the private key. A change ends all sessions.
    Private(Option<Private>),
    /// Adds, replaces or (`None`) removes a peer.
    Peer(PeerId, Option<Peer>),
    /// A handshake message arrived.
    Datagram {
        /// Source address and port.
        from: SocketAddr,
        /// The message.
        bytes: &'a [u8],
    },
    /// A packet for a peer waits, and no session exists.
    Wanted(PeerId),
    /// Traffic with a peer.
    Observed(PeerId, Observation),
}

/// Output of a device: work for its owner.
#[derive(Debug)]
pub enum Action {
    /// Sends a handshake message.
    Send {
        /// Destination.
        to: SocketAddr,
        /// The message.
        bytes: Vec<u8>,
    },
    /// Installs the keys of a session.
    Install(Box<Pair>),
    /// Makes this session the one for outbound packets.
    Activate {
        /// Local index of the session.
        local: u32,
    },
    /// Removes a session, in both directions.
    Remove {
        /// Local index of the session.
        local: u32,
    },
    /// The endpoint of a peer has changed.
    Endpoint {
        /// The peer.
        peer: PeerId,
        /// Address and port.
        to: SocketAddr,
    },
    /// Sends an empty data message to the peer.
    Keepalive(PeerId),
    /// Handshakes with a peer failed: the owner drops packets that wait for a session.
    GaveUp(PeerId),
    /// Writes a log entry.
    Log(Log),
}

/// Keys of a session, one per direction.
pub struct Pair {
    /// The peer.
    pub peer: PeerId,
    /// Local index: the receiver index of the peer's messages.
    pub local: u32,
    /// Remote index: the receiver index of messages to the peer.
    pub remote: u32,
    /// Key of messages to the peer.
    pub send: Zeroizing<[u8; 32]>,
    /// Key of messages from the peer.
    pub receive: Zeroizing<[u8; 32]>,
    /// True if this side initiated: it uses the session at once, and its first message confirms the session to
    /// the peer.
    pub is_initiator: bool,
}

impl core::fmt::Debug for Pair {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Pair")
            .field("peer", &self.peer)
            .field("local", &self.local)
            .field("remote", &self.remote)
            .finish_non_exhaustive()
    }
}

/// Severity of a log entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    /// Details for troubleshooting.
    Debug,
    /// Normal events.
    Info,
    /// Failures.
    Error,
}

/// Log entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// Severity.
    pub level: LogLevel,
    /// Message text.
    pub text: String,
}
