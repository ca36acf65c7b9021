//! Echo requests, as a router sends them for those who ask.

use std::net::IpAddr;
use std::task::Waker;
use std::time::Duration;

use menu::Reason;

/// An echo request, or a question for a link address, that somebody wants sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ping {
    /// Whom it is for.
    pub to: IpAddr,
    /// The sender, if it is not left to the router.
    pub source: Option<IpAddr>,
    /// The interface that it leaves by, if it is not left to the routes.
    pub interface: Option<String>,
    /// The length of its packet in bytes, from the IP header on.
    pub bytes: u16,
    /// Its TTL, or hop limit.
    pub ttl: u8,
    /// Its DSCP.
    pub dscp: u8,
    /// Whether it must not be cut into fragments.
    pub whole: bool,
    /// Whether it is asked by ARP, on the interface.
    pub arp: bool,
}

/// Who answered a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Responder {
    /// A host or a router.
    Address(IpAddr),
    /// Somebody on the link, who was asked for his address there.
    Link([u8; 6]),
}

/// What came of an echo request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pong {
    /// Whether it is the answer that was asked for.
    pub answered: bool,
    /// Who said so; nobody where the request never went out.
    pub from: Option<Responder>,
    /// The length of the answer's packet in bytes.
    pub bytes: u64,
    /// Its TTL, or hop limit.
    pub ttl: u8,
    /// How long it took.
    pub took: Duration,
    /// What is said of it; nothing if it is an answer that needs no words.
    pub status: Option<&'static str>,
}

/// What sends echo requests and keeps what comes of them.
pub trait Echoes {
    /// Sends a request; gives its ticket. `news` is woken when there is an answer.
    ///
    /// # Errors
    /// Why it cannot be sent, whatever the router's neighbours do.
    fn send(&mut self, ping: &Ping, news: &Waker) -> Result<u64, Reason>;

    /// What has come of a request; it is forgotten with that.
    fn take(&mut self, ticket: u64) -> Option<Pong>;
}
