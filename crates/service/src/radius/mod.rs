//! RADIUS client (RFC 2865, 2866, 2869, 2548, 3579, 5080), and requests of RADIUS servers (RFC 5176).
//!
//! - [`request`]: requests and their packets.
//! - [`answer`], [`authorization`]: answers and the attributes that authorize a session.
//! - [`client`]: sends many requests to a list of servers: order, retransmissions, limits.
//! - [`incoming`]: requests of servers to change or end sessions.
//! - [`secret`]: authentication and encryption with the shared secret.

pub mod answer;
pub mod authorization;
pub mod client;
pub mod incoming;
pub mod request;
mod secret;
#[cfg(test)]
mod tests;

use core::net::IpAddr;

use machine::Duration;

pub use answer::{Accept, Answer, Key, MppeKeys, Outcome, Reject};
pub use authorization::Authorization;
pub use client::{Action, Client, Event, LineId, Query};
pub use incoming::{
    ErrorCause, Fault, Incoming, Received, RequestId, RequestKind, SessionFacts, SessionKeys,
    SessionRequest,
};
pub use request::{
    Accounting, Authentic, Port, PortType, Question, Request, Service, Status, TerminateCause,
    Through, Traffic,
};
pub use secret::{PASSWORD, is_servers, sign_as_server};

/// Maximum number of servers that receive one request.
pub const SERVERS: usize = 8;

/// Server of `/radius`.
#[derive(Clone, PartialEq, Eq)]
pub struct Server {
    /// Item id.
    pub id: u64,
    /// Services whose requests it receives.
    pub services: Vec<Service>,
    /// Required Called-Station-Id of requests; empty accepts all.
    pub called: String,
    /// Windows domain to send as MS-CHAP-Domain; empty for none.
    pub domain: String,
    /// Address.
    pub address: IpAddr,
    /// Authentication port.
    pub authentication: u16,
    /// Accounting port.
    pub accounting: u16,
    /// Shared secret.
    pub secret: Vec<u8>,
    /// Timeout of an answer.
    pub timeout: Duration,
    /// Receives requests only if other servers do not answer.
    pub is_backup: bool,
    /// Source address of requests.
    pub source: Option<IpAddr>,
    /// NAS-IP-Address without a source address.
    pub nas_address: Option<IpAddr>,
    /// Realm to append to user names without `@`.
    pub realm: String,
    /// Require a Message-Authenticator in answers to access requests.
    pub needs_message_authenticator: bool,
}

impl Server {
    /// True if open requests to a server may go on after this change of its settings.
    fn is_same(&self, changed: &Self) -> bool {
        let nas_address = self.nas_address;
        let changed = changed.clone();
        *self
            == Self {
                nas_address,
                ..changed
            }
    }
}

impl core::fmt::Debug for Server {
    /// Omits the secret.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Server({} {})", self.id, self.address)
    }
}

/// Counters of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// First transmission of a request.
    Request,
    /// Retransmission.
    Resend,
    /// Access accept.
    Accept,
    /// Access reject.
    Reject,
    /// Access challenge.
    Challenge,
    /// Accounting response.
    Noted,
    /// Request without an answer after all retransmissions.
    Timeout,
    /// Request that the owner cancelled before an answer.
    Cancelled,
    /// Answer to a request that is no longer open: a duplicate, or a late one.
    Late,
    /// Malformed or unauthenticated answer.
    Bad,
}
