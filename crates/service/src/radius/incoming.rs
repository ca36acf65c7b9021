//! Requests of RADIUS servers to change or end sessions: CoA and Disconnect (RFC 5176).
//!
//! ```text
//! datagram ─▶ receive ─┬─ invalid ─────────▶ Fault, counted
//!                      ├─ seen before ─────▶ the earlier response again (5176, 2.3)
//!                      ├─ not applicable ──▶ NAK
//!                      └─ SessionRequest ─▶ owner of sessions ─▶ respond ─▶ ACK or NAK
//! ```
//! A request is authenticated by the secret of its sender. Requests are remembered by their authenticator for
//! [`REPLAY_WINDOW`], and an Event-Timestamp outside of this window is refused (RFC 5176, 6.3): a replayed request has
//! no effect.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::collections::{BTreeMap, VecDeque};

use machine::{Duration, Instant};
use wire::radius::{Builder, Packet, code, kind};

use super::authorization::{Authorization, text};
use super::{Server, secret};

/// Time for which requests are remembered, and maximum age of an Event-Timestamp (RFC 5176, 6.3).
pub const REPLAY_WINDOW: Duration = Duration::from_secs(300);
/// Maximum number of remembered requests; the oldest is forgotten first.
const MAX_REMEMBERED: usize = 4_096;
/// Service-Type of a request to authorize a session anew (RFC 5176, 3.2).
const AUTHORIZE_ONLY: u32 = 17;

/// Request of a server about sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRequest {
    /// Whether sessions end or change.
    pub kind: RequestKind,
    /// Sessions that the request is about.
    pub sessions: SessionKeys,
    /// New attributes of the sessions; for [`RequestKind::Change`].
    pub authorization: Authorization,
    /// NAS-Identifier.
    router: Option<String>,
    /// Service-Type.
    service_type: Option<u32>,
}

/// Kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// End sessions (Disconnect-Request).
    Disconnect,
    /// Change the authorization of sessions (CoA-Request).
    Change,
}

/// Attributes that identify sessions. A session must have all that are given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionKeys {
    /// User-Name.
    pub user: Option<String>,
    /// Acct-Session-Id.
    pub session: Option<String>,
    /// Framed-IP-Address.
    pub address: Option<Ipv4Addr>,
    /// Calling-Station-Id.
    pub calling: Option<String>,
}

/// Session of a feature, for comparison with [`SessionKeys`].
#[derive(Clone, Copy, Debug)]
pub struct SessionFacts<'a> {
    /// User name.
    pub user: &'a str,
    /// Acct-Session-Id.
    pub session: &'a str,
    /// Address of the user.
    pub address: Option<IpAddr>,
    /// Calling-Station-Id.
    pub calling: &'a str,
}

impl SessionKeys {
    const fn is_empty(&self) -> bool {
        let Self {
            user,
            session,
            address,
            calling,
        } = self;
        user.is_none() && session.is_none() && address.is_none() && calling.is_none()
    }

    /// True if a session has all given attributes.
    pub fn fit(&self, facts: &SessionFacts<'_>) -> bool {
        let is = |key: &Option<String>, value: &str| key.as_deref().is_none_or(|key| key == value);
        let has_address = |key| facts.address == Some(IpAddr::V4(key));
        is(&self.user, facts.user)
            && is(&self.session, facts.session)
            && self.address.is_none_or(has_address)
            && { self.calling.as_deref() }
                .is_none_or(|calling| calling.eq_ignore_ascii_case(facts.calling))
    }
}

/// Reason of a refusal (RFC 5176, 3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorCause {
    /// An attribute is not supported.
    UnsupportedAttribute = 401,
    /// An attribute is missing: nothing identifies the session.
    MissingAttribute = 402,
    /// The request is for another router.
    NasIdentificationMismatch = 403,
    /// The request is invalid in another way.
    InvalidRequest = 404,
    /// The Service-Type is not supported.
    UnsupportedService = 405,
    /// An attribute has an invalid value.
    InvalidAttributeValue = 407,
    /// The router does not permit it.
    AdministrativelyProhibited = 501,
    /// There is no such session.
    SessionContextNotFound = 503,
    /// The session cannot be ended.
    SessionContextNotRemovable = 504,
    /// Resources for the change are missing.
    ResourcesUnavailable = 506,
}

/// Reason why a datagram is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The datagram is no packet, or no request.
    Malformed,
    /// No configured server has the sender's address.
    UnknownServer,
    /// Authentication failed.
    Unauthenticated,
    /// The Event-Timestamp is too old or in the future.
    Stale,
    /// A duplicate of a request that is not answered yet.
    Pending,
}

/// Identifies a request until its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestId {
    from: SocketAddr,
    authenticator: [u8; 16],
}

/// Result of a datagram.
#[derive(Debug, PartialEq, Eq)]
pub enum Received {
    /// A request; [`Incoming::respond`] follows.
    Request(RequestId, Box<SessionRequest>),
    /// The response of an equal request that was handled before.
    Repeat(Vec<u8>),
}

/// Requests of servers, and responses that may be repeated.
#[derive(Debug, Default)]
pub struct Incoming {
    remembered: BTreeMap<RequestId, Remembered>,
    /// Remembered requests, oldest first, with the time to forget them.
    order: VecDeque<(Instant, RequestId)>,
}

/// Request that must not be carried out again.
#[derive(Debug)]
enum Remembered {
    Pending(Box<PendingRequest>),
    Answered(Vec<u8>),
}

/// What the response to a request needs.
struct PendingRequest {
    ack: u8,
    id: u8,
    secret: Vec<u8>,
    /// Proxy-State attributes to return (RFC 5176, 3.1).
    proxy_states: Vec<Vec<u8>>,
}

impl core::fmt::Debug for PendingRequest {
    /// Omits the secret.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "PendingRequest({})", self.id)
    }
}

impl Incoming {
    /// Handles a datagram. `unix_seconds` is the time of day, if known.
    ///
    /// # Errors
    /// The reason why the datagram is ignored.
    pub fn receive(
        &mut self,
        from: SocketAddr,
        bytes: &[u8],
        servers: &[Server],
        now: Instant,
        unix_seconds: Option<u32>,
    ) -> Result<Received, Fault> {
        let packet = Packet::new_checked(bytes).map_err(|_| Fault::Malformed)?;
        let (kind, ack) = match packet.code() {
            code::DISCONNECT_REQUEST => (RequestKind::Disconnect, code::DISCONNECT_ACK),
            code::COA_REQUEST => (RequestKind::Change, code::COA_ACK),
            _ => return Err(Fault::Malformed),
        };
        let from = SocketAddr::new(from.ip().to_canonical(), from.port());
        let is_sender = |server: &&Server| server.address == from.ip();
        let mut senders = servers.iter().filter(is_sender).peekable();
        senders.peek().ok_or(Fault::UnknownServer)?;
        let sender = senders.find(|server| secret::is_servers(&packet, &server.secret));
        let secret = sender.ok_or(Fault::Unauthenticated)?.secret.clone();
        self.forget_old(now);
        let id = RequestId {
            from,
            authenticator: packet.authenticator(),
        };
        match self.remembered.get(&id) {
            Some(Remembered::Answered(response)) => return Ok(Received::Repeat(response.clone())),
            Some(Remembered::Pending(_)) => return Err(Fault::Pending),
            None => {}
        }
        let timestamp = packet.number(kind::EVENT_TIMESTAMP).zip(unix_seconds);
        let is_stale =
            |(sent, now): (u32, u32)| u64::from(sent.abs_diff(now)) > REPLAY_WINDOW.as_secs();
        if timestamp.is_some_and(is_stale) {
            return Err(Fault::Stale);
        }
        let states = packet
            .attributes()
            .filter(|of| of.kind == kind::PROXY_STATE);
        let pending = PendingRequest {
            ack,
            id: packet.id(),
            secret,
            proxy_states: states.map(|of| of.value.to_vec()).collect(),
        };
        self.remember(id, Remembered::Pending(Box::new(pending)), now);
        Ok(Received::Request(
            id,
            Box::new(SessionRequest::read(&packet, kind)),
        ))
    }

    /// Builds the response to a request: an ACK, or a NAK with the reason. Returns `None` if the request is unknown.
    pub fn respond(&mut self, id: RequestId, result: Result<(), ErrorCause>) -> Option<Vec<u8>> {
        let remembered = self.remembered.get_mut(&id)?;
        let Remembered::Pending(pending) = &*remembered else {
            return None;
        };
        // Each NAK has the number behind its ACK.
        let code = match result {
            Ok(()) => pending.ack,
            Err(_) => pending.ack + 1,
        };
        let mut built = Builder::new(code, pending.id, id.authenticator)
            .with(kind::MESSAGE_AUTHENTICATOR, &[0; 16]);
        if let Err(cause) = result {
            built = built.with_number(kind::ERROR_CAUSE, cause as u32);
        }
        let states = pending.proxy_states.iter();
        let built = states.fold(built, |built, state| built.with(kind::PROXY_STATE, state));
        let mut bytes = built.finish()?;
        secret::sign_as_server(&mut bytes, &pending.secret);
        *remembered = Remembered::Answered(bytes.clone());
        Some(bytes)
    }

    fn remember(&mut self, id: RequestId, request: Remembered, now: Instant) {
        if self.remembered.len() >= MAX_REMEMBERED
            && let Some((_, oldest)) = self.order.pop_front()
        {
            self.remembered.remove(&oldest);
        }
        self.remembered.insert(id, request);
        self.order.push_back((now + REPLAY_WINDOW, id));
    }

    fn forget_old(&mut self, now: Instant) {
        while let Some((until, id)) = self.order.front().copied()
            && until <= now
        {
            self.order.pop_front();
            self.remembered.remove(&id);
        }
    }
}

impl SessionRequest {
    /// Reads an authenticated request.
    fn read(packet: &Packet<'_>, kind: RequestKind) -> Self {
        let first = |kind| packet.get(kind).and_then(|of| text(of.value));
        let address = packet.number(kind::FRAMED_IP_ADDRESS);
        Self {
            kind,
            sessions: SessionKeys {
                user: first(kind::USER_NAME),
                session: first(kind::SESSION),
                address: address.map(Ipv4Addr::from_bits),
                calling: first(kind::CALLING_STATION),
            },
            authorization: Authorization::read(packet),
            router: first(kind::NAS_IDENTIFIER),
            service_type: packet.number(kind::SERVICE_TYPE),
        }
    }

    /// Checks what can be checked without the sessions. `identity` is the name of this router.
    ///
    /// # Errors
    /// The reason to refuse the request.
    pub fn check(&self, identity: &str) -> Result<(), ErrorCause> {
        if { self.router.as_deref() }.is_some_and(|router| router != identity) {
            return Err(ErrorCause::NasIdentificationMismatch);
        }
        if self.service_type == Some(AUTHORIZE_ONLY) {
            return Err(ErrorCause::UnsupportedService);
        }
        match self.sessions.is_empty() {
            true => Err(ErrorCause::MissingAttribute),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::radius::tests::server;

    const NOW: Instant = Instant::ZERO;
    const UNIX: u32 = 1_000_000;

    fn from(last: u8) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, last], 40_000))
    }

    /// A server's request with these attributes.
    fn request(code: u8, with: impl Fn(Builder) -> Builder) -> Vec<u8> {
        let built = Builder::new(code, 7, [0; 16]);
        let mut bytes = with(built).finish().expect("it fits");
        secret::sign_as_server(&mut bytes, b"xyzzy5461");
        bytes
    }

    fn of_anna(built: Builder) -> Builder {
        built
            .with(kind::USER_NAME, b"anna")
            .with(kind::SESSION, b"81000001")
            .with(kind::FRAMED_IP_ADDRESS, &[10, 0, 0, 7])
            .with(kind::CALLING_STATION, b"aa:bb:cc:00:00:01")
            .with(kind::PROXY_STATE, b"one")
            .with(kind::PROXY_STATE, b"two")
            .with_number(kind::SESSION_TIMEOUT, 60)
    }

    fn received(incoming: &mut Incoming, bytes: &[u8], now: Instant) -> Result<Received, Fault> {
        incoming.receive(from(1), bytes, &[server(1, 1)], now, Some(UNIX))
    }

    #[test]
    fn a_request_is_read_and_its_response_is_signed() {
        for (code, kind, ack) in [
            (code::DISCONNECT_REQUEST, RequestKind::Disconnect, 41),
            (code::COA_REQUEST, RequestKind::Change, 44),
        ] {
            let (mut incoming, bytes) = (Incoming::default(), request(code, of_anna));
            let Ok(Received::Request(id, request)) = received(&mut incoming, &bytes, NOW) else {
                panic!("it is a request");
            };
            assert_eq!((request.kind, request.check("bras")), (kind, Ok(())));
            assert_eq!(request.authorization.session_timeout, Some(60));
            let facts = SessionFacts {
                user: "anna",
                session: "81000001",
                address: Some([10, 0, 0, 7].into()),
                calling: "AA:BB:CC:00:00:01",
            };
            assert!(request.sessions.fit(&facts));
            let others = [
                SessionFacts { user: "x", ..facts },
                SessionFacts {
                    session: "",
                    ..facts
                },
                SessionFacts {
                    address: None,
                    ..facts
                },
                SessionFacts {
                    calling: "AA",
                    ..facts
                },
            ];
            assert!(others.iter().all(|facts| !request.sessions.fit(facts)));
            assert_eq!(received(&mut incoming, &bytes, NOW), Err(Fault::Pending));

            let response = incoming.respond(id, Ok(())).expect("it was not answered");

            let asked = Packet::new_checked(&bytes)
                .expect("a packet")
                .authenticator();
            let packet = Packet::new_checked(&response).expect("a packet");
            assert_eq!((packet.code(), packet.id()), (ack, 7));
            assert!(secret::is_proved(&packet, &asked, b"xyzzy5461", true));
            assert_eq!(packet.whole(kind::PROXY_STATE), b"onetwo");
            // A repeated request has the response again, and no effect.
            let repeat = Ok(Received::Repeat(response.clone()));
            assert_eq!(received(&mut incoming, &bytes, NOW), repeat);
            assert_eq!(incoming.respond(id, Ok(())), None);
        }
    }

    #[test]
    fn a_refusal_has_its_cause() {
        let mut incoming = Incoming::default();
        let bytes = request(code::COA_REQUEST, of_anna);
        let Ok(Received::Request(id, _)) = received(&mut incoming, &bytes, NOW) else {
            panic!("it is a request");
        };
        let response = incoming.respond(id, Err(ErrorCause::SessionContextNotFound));
        let response = response.expect("it was not answered");
        let packet = Packet::new_checked(&response).expect("a packet");
        assert_eq!(packet.code(), code::COA_NAK);
        assert_eq!(packet.number(kind::ERROR_CAUSE), Some(503));
    }

    #[test]
    fn requests_that_no_server_sent_are_ignored() {
        let good = request(code::DISCONNECT_REQUEST, of_anna);
        let mut forged = good.clone();
        forged[25] ^= 1;
        let with_time = |seconds| {
            request(code::COA_REQUEST, move |built| {
                of_anna(built).with_number(kind::EVENT_TIMESTAMP, seconds)
            })
        };
        let mut incoming = Incoming::default();
        let mut fault = |bytes: &[u8]| received(&mut incoming, bytes, NOW).err();
        assert_eq!(fault(&good[..19]), Some(Fault::Malformed));
        assert_eq!(
            fault(&request(code::ACCESS_ACCEPT, of_anna)),
            Some(Fault::Malformed)
        );
        assert_eq!(fault(&forged), Some(Fault::Unauthenticated));
        assert_eq!(fault(&with_time(UNIX - 301)), Some(Fault::Stale));
        assert_eq!(fault(&with_time(UNIX + 301)), Some(Fault::Stale));
        assert_eq!(fault(&with_time(UNIX - 299)), None);
        let servers = [server(1, 1)];
        let unknown = incoming.receive(from(2), &good, &servers, NOW, None);
        assert_eq!(unknown, Err(Fault::UnknownServer));
        assert_eq!(incoming.remembered.len(), 1);
    }

    #[test]
    fn what_is_for_others_or_for_nobody_is_refused() {
        let check = |with: fn(Builder) -> Builder| {
            let bytes = request(code::COA_REQUEST, with);
            match received(&mut Incoming::default(), &bytes, NOW) {
                Ok(Received::Request(_, request)) => request.check("bras").err(),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(check(|built| built), Some(ErrorCause::MissingAttribute));
        let other = |built| of_anna(built).with(kind::NAS_IDENTIFIER, b"other");
        assert_eq!(check(other), Some(ErrorCause::NasIdentificationMismatch));
        let this = |built| of_anna(built).with(kind::NAS_IDENTIFIER, b"bras");
        assert_eq!(check(this), None);
        let again = |built| of_anna(built).with_number(kind::SERVICE_TYPE, AUTHORIZE_ONLY);
        assert_eq!(check(again), Some(ErrorCause::UnsupportedService));
    }

    #[test]
    fn requests_are_forgotten_in_time_and_in_number() {
        let mut incoming = Incoming::default();
        for number in 0..5_000_u32 {
            let bytes = request(code::COA_REQUEST, |built| {
                of_anna(built).with_number(kind::NAS_PORT, number)
            });
            assert!(received(&mut incoming, &bytes, NOW).is_ok());
        }
        assert_eq!(incoming.remembered.len(), MAX_REMEMBERED);
        let bytes = request(code::DISCONNECT_REQUEST, of_anna);
        assert!(received(&mut incoming, &bytes, NOW + REPLAY_WINDOW).is_ok());
        assert_eq!(incoming.remembered.len(), 1);
        assert_eq!(incoming.order.len(), 1);
    }
}
