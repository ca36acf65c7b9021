//! WireGuard (white paper by J. A. Donenfeld, 2020): handshakes as a machine without I/O, and the data of sessions.
//!
//! ```text
//! private key, peers ─▶ ┌────────┐ ─▶ Send                           (messages of handshakes)
//! Datagram ───────────▶ │ Device │ ─▶ Install, Activate, Remove      (pairs of keys)
//! Wanted, Observed ───▶ └────────┘ ─▶ Endpoint, Keepalive, GaveUp
//! ```
//!
//! The handshake itself is that of Noise (`Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s`), by the library `snow`. Here are its
//! messages with their sums, cookies against floods, timers, and what peers may do. Packets with data are not the
//! machine's: who has them seals and opens them by [`session`], and tells the machine what passed ([`Observation`]).
//!
//! The machine owns no socket, no clock and no thread. Indexes, nonces and jitter come from a source that its owner
//! gives it; `snow` draws its own ephemeral keys from the system.

#![forbid(unsafe_code)]

mod cookie;
mod device;
mod door;
mod key;
mod limit;
mod message;
mod noise;
mod numbers;
mod peer;
pub mod session;

pub use device::{Counters, Device, Entropy};
pub use door::{CHALLENGE_BYTES, Door, Sort};
pub use key::{Preshared, Private, Public};
pub use peer::{Observation, Peer};

use core::net::SocketAddr;

use zeroize::Zeroizing;

/// A peer's number, which its owner chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId(pub u32);

/// What can happen to a device.
#[derive(Debug)]
pub enum Event<'a> {
    /// The time of day: nanoseconds since 1970. Handshakes carry it, so that none comes twice. The first one counts,
    /// and later ones as far as they are ahead of it.
    Clock(u64),
    /// The device has this private key from now on, or none: sessions of another one are over.
    Private(Option<Private>),
    /// A peer is to be, as it is now; or is not any more.
    Peer(PeerId, Option<Peer>),
    /// A message of a handshake came.
    Datagram {
        /// Who sent it.
        from: SocketAddr,
        /// It.
        bytes: &'a [u8],
    },
    /// There is a packet for a peer, and no session to send it by.
    Wanted(PeerId),
    /// What passed between this end and a peer.
    Observed(PeerId, Observation),
}

/// What a device wants done.
#[derive(Debug)]
pub enum Action {
    /// A message of a handshake is to be sent.
    Send {
        /// Where to.
        to: SocketAddr,
        /// It.
        bytes: Vec<u8>,
    },
    /// A pair of keys is agreed on.
    Install(Box<Pair>),
    /// Packets to the peer leave by this pair from now on.
    Activate {
        /// The pair.
        local: u32,
    },
    /// A pair is not used any more, in either direction.
    Remove {
        /// The pair.
        local: u32,
    },
    /// A peer is there.
    Endpoint {
        /// The peer.
        peer: PeerId,
        /// Its address and port.
        to: SocketAddr,
    },
    /// A message without a packet is to be sent to the peer.
    Keepalive(PeerId),
    /// No handshake with a peer came to an end in time: packets that wait for one are lost.
    GaveUp(PeerId),
    /// A line of the log.
    Log(Log),
}

/// A pair of keys, one for each direction.
pub struct Pair {
    /// Whose it is.
    pub peer: PeerId,
    /// What the peer's messages call it.
    pub local: u32,
    /// What messages to the peer call it.
    pub remote: u32,
    /// The key of messages to the peer.
    pub send: Zeroizing<[u8; 32]>,
    /// The key of the peer's messages.
    pub receive: Zeroizing<[u8; 32]>,
    /// Whether this end began: then packets leave by it at once, and a first one tells the peer that it may, too.
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

/// How much a line of the log matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    /// Who looks for a mistake wants it.
    Debug,
    /// Something came to be, or ended.
    Info,
    /// Something is wrong.
    Error,
}

/// A line of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// How much it matters.
    pub level: LogLevel,
    /// What it says.
    pub text: String,
}
