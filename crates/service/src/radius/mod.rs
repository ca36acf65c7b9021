//! RADIUS client (RFC 2865, 2866, 2869, 2548, 3579, 5080, 6614), and requests of RADIUS servers (RFC 5176).
//!
//! - [`request`]: requests and their packets.
//! - [`answer`], [`authorization`]: answers and the attributes that authorize a session.
//! - [`backlog`]: ends of accounted sessions that no server has answered yet.
//! - [`client`]: sends many requests to a list of servers: order, retransmissions, limits.
//! - [`incoming`]: requests of servers to change or end sessions.
//! - [`stored`]: the stored form of a report of a session's end.
//! - [`secret`]: authentication and encryption with the shared secret.

pub mod answer;
pub mod authorization;
pub mod backlog;
pub mod client;
pub mod incoming;
pub mod request;
mod secret;
pub mod stored;
#[cfg(test)]
mod tests;

use core::net::IpAddr;
use std::sync::Arc;

use machine::Duration;

pub use answer::{Accept, Answer, Key, MppeKeys, MsChapKeys, Outcome, Reject};
pub use authorization::{Authorization, Prefix6};
pub use backlog::Backlog;
pub use client::{Action, Client, Event, LineId, Query};
pub use incoming::{
    ErrorCause, Fault, Incoming, Received, RequestId, RequestKind, SessionFacts, SessionKeys,
    SessionRequest,
};
pub use request::{
    Accounting, Authentic, Port, PortType, Question, Request, RouterStatus, Service, Status,
    SubscriberLine, TerminateCause, Through, Traffic,
};
pub use secret::{PASSWORD, is_servers, sign_as_server};

/// Number of transmissions to one server over UDP.
const UDP_TRIES: u32 = 3;
/// Shared secret of all servers over TLS (RFC 6614, 2.3).
pub const TLS_SECRET: &[u8] = b"radsec";
/// Port of servers over TLS, for all kinds of requests.
pub const TLS_PORT: u16 = 2083;

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
    /// TLS settings of a server over TLS; `None` uses UDP.
    pub tls: Option<Arc<TlsServer>>,
}

/// Settings of a server over TLS (RFC 6614).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsServer {
    /// Item id of the server.
    pub id: u64,
    /// Name or address, as configured.
    pub host: String,
    /// Name of the client certificate of the TLS connection.
    pub certificate: Option<String>,
}

impl Server {
    /// Returns the number of transmissions of a request. TLS repeats lost bytes itself (RFC 6614, 2.1).
    const fn tries(&self) -> u32 {
        match self.tls {
            Some(_) => 1,
            None => UDP_TRIES,
        }
    }

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
    /// Authenticated answer without the Message-Authenticator that [`Server::needs_message_authenticator`] demands.
    Unsigned,
}
