//! The two ends of a session.

use core::net::SocketAddr;

/// Transport of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Transport {
    /// A packet is a datagram.
    Udp,
    /// A packet follows its length in a stream.
    Tcp,
}

/// The two ends of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path {
    /// Address and port of this end.
    pub local: SocketAddr,
    /// Address and port of the other end.
    pub remote: SocketAddr,
    /// Transport.
    pub transport: Transport,
}
