//! One control connection with its call (RFC 2637, 3.1 and 3.2).

use core::net::Ipv4Addr;

use machine::{Duration, Instant};

use crate::event::{CallId, Fault, Reason};
use crate::message::{Message, StartFields, VERSION};
use crate::stream::Stream;

/// Time from the beginning of a connection to its open call.
const OPEN_TIMEOUT: Duration = Duration::from_secs(15);
/// Time without messages before an Echo-Request, and for its answer (RFC 2637, 3.1.4).
const ECHO_INTERVAL: Duration = Duration::from_secs(60);

/// Result of a reply that accepts.
const SUCCESS: u8 = 1;
/// Results of refused connections and calls (RFC 2637, 2.2 and 2.8).
const START_VERSION: u8 = 5;
const CALL_REFUSED: u8 = 7;
/// Result of Call-Disconnect-Notify (2.13): the other end requested it.
const BY_REQUEST: u8 = 4;
const BY_ADMINISTRATOR: u8 = 3;
/// Reasons of Stop-Control-Connection-Request (2.3).
const STOP_GENERAL: u8 = 1;

/// State of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// A client's TCP connection is being established.
    Connecting,
    /// The other end has to start the control connection.
    AwaitsStart,
    /// A client's request to start has no reply yet.
    AwaitsStartReply,
    /// The control connection is started, and there is no call.
    Started,
    /// A client's call has no reply yet.
    AwaitsCallReply,
    /// The call is open; its number at the other end.
    Open(u16),
}

/// A control connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) state: State,
    pub(crate) local: Ipv4Addr,
    pub(crate) remote: Ipv4Addr,
    /// Client that dialled; `None` for a connection to the server.
    pub(crate) client: Option<u64>,
    /// Number of its call at this end.
    pub(crate) call: CallId,
    pub(crate) stream: Stream,
    /// When the state or the silence is over.
    pub(crate) due: Instant,
    /// An Echo-Request has no answer yet.
    awaits_echo: bool,
    echo_id: u32,
}

/// What a message or a timer leads to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Nothing more.
    Nothing,
    /// Send a message.
    Send(Message),
    /// The call is open: its number at the other end, and an optional message to send.
    Opened(u16, Option<Message>),
    /// The connection ends for a reason, after an optional message.
    End(Reason, Option<Message>),
    /// The message was ignored.
    Ignored(Fault),
    /// A message was refused with an answer.
    Refused(Fault, Message),
}

impl Connection {
    pub(crate) fn new(
        state: State,
        ends: [Ipv4Addr; 2],
        client: Option<u64>,
        call: CallId,
        now: Instant,
    ) -> Self {
        let [local, remote] = ends;
        Self {
            state,
            local,
            remote,
            client,
            call,
            stream: Stream::default(),
            due: now + OPEN_TIMEOUT,
            awaits_echo: false,
            echo_id: 0,
        }
    }

    pub(crate) const fn is_open(&self) -> bool {
        matches!(self.state, State::Open(_))
    }

    /// Begins the control connection of a client.
    pub(crate) fn connected(&mut self, local: Ipv4Addr) -> Message {
        self.local = local;
        self.state = State::AwaitsStartReply;
        Message::StartRequest(start(0))
    }

    /// Handles a message.
    pub(crate) fn receive(&mut self, message: Message, now: Instant) -> Outcome {
        if self.is_open() {
            (self.due, self.awaits_echo) = (now + ECHO_INTERVAL, false);
        }
        match (self.state, message) {
            (_, Message::EchoRequest(id)) => Outcome::Send(Message::EchoReply(id)),
            (_, Message::EchoReply(_) | Message::LinkInfo(_) | Message::WanError(_))
                if self.is_open() =>
            {
                Outcome::Nothing
            }
            (_, Message::StopRequest(_)) => Outcome::End(Reason::Peer, Some(Message::StopReply)),
            (State::AwaitsStart, Message::StartRequest(fields)) if fields.version == VERSION => {
                self.state = State::Started;
                Outcome::Send(Message::StartReply(start(SUCCESS)))
            }
            (State::AwaitsStart, Message::StartRequest(_)) => {
                let refusal = Message::StartReply(start(START_VERSION));
                Outcome::End(Reason::Protocol(Fault::Version), Some(refusal))
            }
            (State::AwaitsStartReply, Message::StartReply(fields)) => match fields.result {
                SUCCESS => {
                    self.state = State::AwaitsCallReply;
                    Outcome::Send(Message::CallRequest {
                        call: self.call,
                        serial: self.call,
                    })
                }
                result => Outcome::End(refused(result, fields.error), None),
            },
            (State::Started, Message::CallRequest { call, .. }) => {
                self.opened(call, now);
                Outcome::Opened(call, Some(reply(self.call, call, SUCCESS)))
            }
            // A control connection carries one call.
            (State::Open(_), Message::CallRequest { call, .. }) => {
                Outcome::Refused(Fault::Full, reply(0, call, CALL_REFUSED))
            }
            (
                State::AwaitsCallReply,
                Message::CallReply {
                    call,
                    peer_call,
                    result,
                    error,
                },
            ) => match (peer_call == self.call, result) {
                (false, _) => Outcome::Ignored(Fault::Call),
                (true, SUCCESS) => {
                    self.opened(call, now);
                    Outcome::Opened(call, None)
                }
                (true, result) => Outcome::End(refused(result, error), None),
            },
            (State::Started | State::Open(_), Message::IncomingRequest { call }) => {
                Outcome::Refused(Fault::State, Message::IncomingRefusal { peer_call: call })
            }
            (State::Open(remote), Message::Clear(call)) => match call == remote {
                true => Outcome::End(Reason::Peer, Some(disconnect(self.call, BY_REQUEST))),
                false => Outcome::Ignored(Fault::Call),
            },
            (State::Open(remote), Message::Disconnect { call, .. }) => match call == remote {
                true => Outcome::End(Reason::Peer, None),
                false => Outcome::Ignored(Fault::Call),
            },
            _ => Outcome::Ignored(Fault::State),
        }
    }

    fn opened(&mut self, remote_call: u16, now: Instant) {
        self.state = State::Open(remote_call);
        (self.due, self.awaits_echo) = (now + ECHO_INTERVAL, false);
    }

    /// Handles the end of the time until `due`.
    pub(crate) fn expire(&mut self, now: Instant) -> Outcome {
        if !self.is_open() {
            let message = match self.state {
                State::Connecting => None,
                _ => Some(Message::StopRequest(STOP_GENERAL)),
            };
            return Outcome::End(Reason::Timeout, message);
        }
        if self.awaits_echo {
            return Outcome::End(Reason::Timeout, Some(Message::StopRequest(STOP_GENERAL)));
        }
        self.due = now + ECHO_INTERVAL;
        self.awaits_echo = true;
        self.echo_id = self.echo_id.wrapping_add(1);
        Outcome::Send(Message::EchoRequest(self.echo_id))
    }

    /// Returns the messages by which this end ends the connection.
    pub(crate) fn farewell(&self) -> Vec<Message> {
        let of_call = match (self.state, self.client) {
            (State::Connecting, _) => return Vec::new(),
            (State::Open(_), Some(_)) => Some(Message::Clear(self.call)),
            (State::Open(_), None) => Some(disconnect(self.call, BY_ADMINISTRATOR)),
            _ => None,
        };
        let stop = Message::StopRequest(STOP_GENERAL);
        of_call.into_iter().chain([stop]).collect()
    }
}

const fn start(result: u8) -> StartFields {
    StartFields {
        version: VERSION,
        result,
        error: 0,
    }
}

const fn refused(result: u8, error: u8) -> Reason {
    Reason::Refused { result, error }
}

const fn disconnect(call: u16, result: u8) -> Message {
    Message::Disconnect { call, result }
}

const fn reply(call: u16, peer_call: u16, result: u8) -> Message {
    Message::CallReply {
        call,
        peer_call,
        result,
        error: 0,
    }
}
