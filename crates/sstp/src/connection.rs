//! One connection with its call ([MS-SSTP], 3.2 and 3.3).

use core::net::IpAddr;
use std::sync::Arc;

use machine::{Duration, Instant};

use crate::binding::{ALL_HASHES, BindingHash, Nonce, SessionKeys, is_equal};
use crate::event::Reason;
use crate::fault::Fault;
use crate::http;
use crate::message::{Message, PPP, Status, StatusInfo};
use crate::packet::Cutter;

/// Time from the beginning of a connection to its call.
const OPEN_TIMEOUT: Duration = Duration::from_secs(15);
/// Time from the beginning of a call to its crypto binding ([MS-SSTP], 3.2.2).
const NEGOTIATION_TIMEOUT: Duration = Duration::from_secs(60);
/// Time without packets before an echo request, and for its answer ([MS-SSTP], 3.1.2).
const HELLO_INTERVAL: Duration = Duration::from_secs(60);
/// Time for the answer to an abort or a disconnect.
const END_TIMEOUT: Duration = Duration::from_secs(3);
/// Refused requests of a client after which the server aborts.
const MAX_REFUSALS: u8 = 3;

/// State of a connection.
#[derive(Debug)]
pub(crate) enum State {
    /// A client's TLS connection is being established.
    Connecting(Box<str>),
    /// A client's HTTP request has no response yet.
    AwaitsResponse,
    /// A client's request for a call has no answer yet.
    AwaitsAck,
    /// The HTTP request of a client of this server has not arrived.
    AwaitsRequest,
    /// The request for a call has not arrived; refused requests so far.
    AwaitsConnect(u8),
    /// The call is open, and PPP authenticates.
    Negotiating(Negotiating),
    /// The call is open, and bound to the TLS session.
    Bound,
    /// This end has ended the call, and the other end has not answered.
    Ending,
}

/// Crypto binding of a call that is not complete.
#[derive(Debug)]
pub(crate) struct Negotiating {
    /// Hashes that the server offered, as bits.
    hashes: u8,
    nonce: Nonce,
    /// Keys of PPP, once it has authenticated the peer.
    keys: Option<SessionKeys>,
    /// The client's message, once it has arrived.
    connected: Option<Message>,
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) state: State,
    pub(crate) remote: IpAddr,
    /// Client that dialled; `None` for a connection to the server.
    pub(crate) client: Option<u64>,
    pub(crate) cutter: Cutter,
    /// When the state or the silence is over.
    pub(crate) due: Instant,
    /// Certificate of the server, as DER.
    certificate: Arc<[u8]>,
    /// Nonce of the server, and number of the client's connection in logs.
    random: Nonce,
    /// An echo request has no answer yet.
    awaits_echo: bool,
}

/// What a message or a timer leads to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Nothing more.
    Nothing,
    /// Send bytes.
    Send(Vec<u8>),
    /// The call is open, after optional bytes.
    Opened(Option<Vec<u8>>),
    /// The crypto binding is complete, after optional bytes.
    Bound(Option<Vec<u8>>),
    /// The call ends for a reason; a message waits for its answer.
    Abort(Reason, StatusInfo),
    /// The connection ends for a reason, after optional bytes.
    End(Reason, Option<Vec<u8>>),
    /// The message was ignored.
    Ignored(Fault),
    /// A message was refused with an answer.
    Refused(Fault, Vec<u8>),
}

impl Connection {
    pub(crate) fn new(
        state: State,
        remote: IpAddr,
        client: Option<u64>,
        random: Nonce,
        now: Instant,
    ) -> Self {
        Self {
            state,
            remote,
            client,
            cutter: Cutter::default(),
            due: now + OPEN_TIMEOUT,
            certificate: Arc::default(),
            random,
            awaits_echo: false,
        }
    }

    /// Sets the certificate of the server in the TLS session.
    pub(crate) fn set_certificate(&mut self, certificate: Arc<[u8]>) {
        self.certificate = certificate;
    }

    /// Whether the owner knows of a call.
    pub(crate) const fn has_call(&self) -> bool {
        matches!(self.state, State::Negotiating(_) | State::Bound)
    }

    /// Handles a client's established TLS connection.
    pub(crate) fn connected(&mut self, certificate: Arc<[u8]>) -> Outcome {
        let State::Connecting(host) = &self.state else {
            return Outcome::Nothing;
        };
        let number = self.random.first_chunk().copied().unwrap_or_default();
        let request = http::request(host, u128::from_be_bytes(number));
        self.certificate = certificate;
        self.state = State::AwaitsResponse;
        Outcome::Send(request)
    }

    /// Handles the head of an HTTP request or response.
    pub(crate) fn head(&mut self, head: &[u8]) -> Outcome {
        match self.state {
            State::AwaitsRequest => match http::check_request(head) {
                Ok(()) => {
                    self.state = State::AwaitsConnect(0);
                    Outcome::Send(http::acceptance())
                }
                Err(refusal) => {
                    Outcome::End(Reason::Protocol(Fault::Http), Some(refusal.response()))
                }
            },
            State::AwaitsResponse => match http::status(head) {
                Some(200) => {
                    self.state = State::AwaitsAck;
                    Outcome::Send(Message::ConnectRequest(PPP).build())
                }
                status => Outcome::End(Reason::Http(status.unwrap_or_default()), None),
            },
            _ => Outcome::Ignored(Fault::State),
        }
    }

    /// Notes a data packet. Returns false if the state admits none.
    pub(crate) fn data(&mut self, now: Instant) -> bool {
        self.heard(now);
        self.has_call()
    }

    /// A packet shows that the other end is alive.
    fn heard(&mut self, now: Instant) {
        if matches!(self.state, State::Bound) {
            (self.due, self.awaits_echo) = (now + HELLO_INTERVAL, false);
        }
    }

    /// Handles a control message.
    pub(crate) fn receive(&mut self, message: Message, now: Instant) -> Outcome {
        self.heard(now);
        match (&mut self.state, message) {
            (
                State::Ending,
                Message::DisconnectAck | Message::Abort(_) | Message::Disconnect(_),
            ) => Outcome::End(Reason::Peer, None),
            (State::Ending, _) => Outcome::Nothing,
            (State::AwaitsConnect(_), Message::ConnectRequest(PPP)) => {
                let ack = Message::ConnectAck {
                    hashes: ALL_HASHES,
                    nonce: self.random,
                };
                self.negotiate(ALL_HASHES, self.random, now);
                Outcome::Opened(Some(ack.build()))
            }
            (State::AwaitsConnect(refusals), Message::ConnectRequest(_)) => {
                *refusals += 1;
                match *refusals >= MAX_REFUSALS {
                    true => Outcome::Abort(
                        Reason::Protocol(Fault::Protocol),
                        StatusInfo::of(Status::RETRIES),
                    ),
                    false => Outcome::Refused(
                        Fault::Protocol,
                        Message::ConnectNak(StatusInfo::PROTOCOL).build(),
                    ),
                }
            }
            (State::AwaitsAck, Message::ConnectAck { hashes, nonce }) => {
                match BindingHash::best_of(hashes) {
                    Some(_) => {
                        self.negotiate(hashes, nonce, now);
                        Outcome::Opened(None)
                    }
                    None => Outcome::Abort(Reason::Protocol(Fault::Binding), StatusInfo::BINDING),
                }
            }
            (State::AwaitsAck, Message::ConnectNak(info)) => {
                Outcome::End(Reason::Refused(info), None)
            }
            (State::Negotiating(of), connected @ Message::Connected { .. })
                if self.client.is_none() && of.connected.is_none() =>
            {
                of.connected = Some(connected);
                self.bind(now)
            }
            (_, Message::Abort(info)) => {
                let answer = Message::Abort(None).build();
                let info = info.unwrap_or(StatusInfo::of(Status::NONE));
                Outcome::End(Reason::Refused(info), Some(answer))
            }
            (_, Message::Disconnect(_)) => {
                Outcome::End(Reason::Peer, Some(Message::DisconnectAck.build()))
            }
            (State::Negotiating(_) | State::Bound, Message::EchoRequest) => {
                Outcome::Send(Message::EchoResponse.build())
            }
            (State::Negotiating(_) | State::Bound, Message::EchoResponse) => Outcome::Nothing,
            _ => Outcome::Ignored(Fault::State),
        }
    }

    fn negotiate(&mut self, hashes: u8, nonce: Nonce, now: Instant) {
        self.due = now + NEGOTIATION_TIMEOUT;
        self.state = State::Negotiating(Negotiating {
            hashes,
            nonce,
            keys: None,
            connected: None,
        });
    }

    /// Handles the end of the PPP authentication.
    pub(crate) fn authenticated(&mut self, keys: SessionKeys, now: Instant) -> Outcome {
        let State::Negotiating(of) = &mut self.state else {
            return Outcome::Nothing;
        };
        if self.client.is_none() {
            of.keys.get_or_insert(keys);
            return self.bind(now);
        }
        let Some(hash) = BindingHash::best_of(of.hashes) else {
            return Outcome::Nothing;
        };
        let message = Message::connected(hash, of.nonce, &self.certificate, &keys);
        self.bound(now);
        Outcome::Bound(Some(message.build()))
    }

    /// Verifies the crypto binding of a client once its message and the keys are there.
    fn bind(&mut self, now: Instant) -> Outcome {
        let State::Negotiating(of) = &self.state else {
            return Outcome::Nothing;
        };
        let (Some(keys), Some(message)) = (&of.keys, &of.connected) else {
            return Outcome::Nothing;
        };
        let Message::Connected { hash, mac, .. } = message else {
            return Outcome::Nothing;
        };
        let hash = BindingHash::new(*hash).filter(|hash| *hash as u8 & of.hashes != 0);
        let expected = hash.map(|hash| Message::connected(hash, of.nonce, &self.certificate, keys));
        // The MAC is compared in constant time; then the other fields are no secret.
        let is_mac = matches!(&expected, Some(Message::Connected { mac: right, .. }) if is_equal(mac, right));
        let is_right = is_mac && expected.as_ref() == Some(message);
        if !is_right {
            return Outcome::Abort(Reason::Binding, StatusInfo::BINDING);
        }
        self.bound(now);
        Outcome::Bound(None)
    }

    fn bound(&mut self, now: Instant) {
        self.state = State::Bound;
        (self.due, self.awaits_echo) = (now + HELLO_INTERVAL, false);
    }

    /// Handles the end of the time until `due`.
    pub(crate) fn expire(&mut self, now: Instant) -> Outcome {
        match self.state {
            State::Negotiating(_) => {
                Outcome::Abort(Reason::Timeout, StatusInfo::of(Status::TIMEOUT))
            }
            State::Bound if self.awaits_echo => {
                Outcome::Abort(Reason::Timeout, StatusInfo::of(Status::NONE))
            }
            State::Bound => {
                (self.due, self.awaits_echo) = (now + HELLO_INTERVAL, true);
                Outcome::Send(Message::EchoRequest.build())
            }
            _ => Outcome::End(Reason::Timeout, None),
        }
    }

    /// Begins the end of the call by this end. Returns the message for that; `None` if there is no call.
    pub(crate) fn end(&mut self, info: Option<StatusInfo>, now: Instant) -> Option<Vec<u8>> {
        let message = match info {
            Some(_) => Message::Abort(info),
            None => Message::Disconnect(Some(StatusInfo::of(Status::NONE))),
        };
        let speaks = !matches!(
            self.state,
            State::Connecting(_) | State::AwaitsResponse | State::AwaitsRequest | State::Ending
        );
        (self.state, self.due) = (State::Ending, now + END_TIMEOUT);
        speaks.then(|| message.build())
    }
}
