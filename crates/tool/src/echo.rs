//! Echo requests that the router sends for tools.

use std::net::IpAddr;
use std::task::Waker;
use std::time::Duration;

use menu::Reason;

/// Parameters of an echo request or ARP ping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ping {
    /// Destination.
    pub to: IpAddr,
    /// Source address; `None` lets the router choose.
    pub source: Option<IpAddr>,
    /// Egress interface; `None` uses the routing table.
    pub interface: Option<String>,
    /// Packet length in bytes, from the IP header on.
    pub bytes: u16,
    /// TTL or hop limit.
    pub ttl: u8,
    /// DSCP.
    pub dscp: u8,
    /// Do not fragment.
    pub whole: bool,
    /// Ask by ARP on the interface.
    pub arp: bool,
}

/// Sender of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Responder {
    /// Host or router.
    Address(IpAddr),
    /// MAC address of a neighbour that answered an ARP ping.
    Link([u8; 6]),
}

/// Result of an echo request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pong {
    /// The expected reply arrived.
    pub answered: bool,
    /// Sender; `None` if the request was never sent.
    pub from: Option<Responder>,
    /// Packet length of the answer in bytes.
    pub bytes: u64,
    /// TTL or hop limit of the answer.
    pub ttl: u8,
    /// Round-trip time.
    pub took: Duration,
    /// Text for the status column; `None` for a normal reply.
    pub status: Option<&'static str>,
}

/// Service that sends echo requests and keeps their results.
pub trait Echoes {
    /// Sends a request; returns its ticket. Wakes `news` when there is a result.
    ///
    /// # Errors
    /// Returns why the request cannot be sent.
    fn send(&mut self, ping: &Ping, news: &Waker) -> Result<u64, Reason>;

    /// Returns and removes the result of a request.
    fn take(&mut self, ticket: u64) -> Option<Pong>;
}
