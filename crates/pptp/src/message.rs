//! Control messages (RFC 2637, 2).
//!
//! ```text
//! length (16) | 1 (16) | cookie 1a2b3c4d (32) | type (16) | 0 (16) | fields of the type
//! ```

use crate::event::Fault;

/// Bytes of the header.
pub(crate) const HEADER: usize = 12;
/// Longest message in bytes: Incoming-Call-Request.
pub(crate) const LONGEST: usize = 220;
/// Message type of control messages; management messages do not exist.
const CONTROL: u16 = 1;
const COOKIE: u32 = 0x1a2b_3c4d;
/// Protocol version 1.0.
pub(crate) const VERSION: u16 = 0x0100;
/// Packets that this end receives without acknowledging them.
const WINDOW: u16 = 64;
/// Speed in bits per second that this end names; nothing depends on it.
const SPEED: u32 = 100_000_000;
/// Framing and bearer capabilities: synchronous and asynchronous, digital and analogue.
const ALL_KINDS: u32 = 3;
/// Bytes of a name.
const NAME: usize = 64;

/// Lengths of messages by type, from 1 on.
const LENGTHS: [u16; 15] = [
    156, 156, 16, 16, 16, 20, 168, 32, 220, 24, 28, 16, 148, 40, 24,
];

/// Fields of Start-Control-Connection-Request and -Reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartFields {
    /// Protocol version.
    pub version: u16,
    /// Result code of a reply; 1: success.
    pub result: u8,
    /// Error code of a reply.
    pub error: u8,
}

/// A control message, with the fields that matter to this end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// Start-Control-Connection-Request (2.1).
    StartRequest(StartFields),
    /// Start-Control-Connection-Reply (2.2).
    StartReply(StartFields),
    /// Stop-Control-Connection-Request (2.3) with its reason.
    StopRequest(u8),
    /// Stop-Control-Connection-Reply (2.4).
    StopReply,
    /// Echo-Request (2.5) with its identifier.
    EchoRequest(u32),
    /// Echo-Reply (2.6) with the identifier of the request.
    EchoReply(u32),
    /// Outgoing-Call-Request (2.7).
    CallRequest {
        /// Number of the call at the sender.
        call: u16,
        /// Serial number of the call.
        serial: u16,
    },
    /// Outgoing-Call-Reply (2.8).
    CallReply {
        /// Number of the call at the sender.
        call: u16,
        /// Number of the call at the receiver.
        peer_call: u16,
        /// Result code; 1: connected.
        result: u8,
        /// Error code.
        error: u8,
    },
    /// Incoming-Call-Request (2.9): a PAC reports a call, which this end refuses.
    IncomingRequest {
        /// Number of the call at the sender.
        call: u16,
    },
    /// Incoming-Call-Reply (2.10) that refuses a call.
    IncomingRefusal {
        /// Number of the call at the receiver.
        peer_call: u16,
    },
    /// Call-Clear-Request (2.12) with the number of the call at the sender.
    Clear(u16),
    /// Call-Disconnect-Notify (2.13).
    Disconnect {
        /// Number of the call at the sender.
        call: u16,
        /// Result code.
        result: u8,
    },
    /// WAN-Error-Notify (2.14) with the number of the call at the receiver.
    WanError(u16),
    /// Set-Link-Info (2.15) with the number of the call at the receiver. Its character maps concern asynchronous lines.
    LinkInfo(u16),
}

/// Returns the length of the message that begins with a header.
///
/// # Errors
/// The header is that of no message.
pub(crate) fn length(header: &[u8; HEADER]) -> Result<usize, Fault> {
    let [a, b, c, d, e, f, g, h, ..] = *header;
    let length = usize::from(u16::from_be_bytes([a, b]));
    let is_control = u16::from_be_bytes([c, d]) == CONTROL;
    let has_cookie = u32::from_be_bytes([e, f, g, h]) == COOKIE;
    let is_plausible = (HEADER..=LONGEST).contains(&length);
    match is_control && has_cookie && is_plausible {
        true => Ok(length),
        false => Err(Fault::Malformed),
    }
}

impl Message {
    /// Parses a whole message.
    ///
    /// # Errors
    /// [`Fault::Unknown`] for an unknown type, and [`Fault::Malformed`] for a wrong length.
    pub fn parse(bytes: &[u8]) -> Result<Self, Fault> {
        let header = bytes.first_chunk().ok_or(Fault::Malformed)?;
        if length(header)? != bytes.len() {
            return Err(Fault::Malformed);
        }
        let word = |at: usize| {
            let word = bytes.get(at..).and_then(<[u8]>::first_chunk);
            word.map_or(0, |word| u16::from_be_bytes(*word))
        };
        let double = |at: usize| u32::from(word(at)) << 16 | u32::from(word(at + 2));
        let byte = |at: usize| bytes.get(at).copied().unwrap_or_default();
        let kind = word(8);
        let expected = LENGTHS.get(usize::from(kind).wrapping_sub(1));
        let expected = *expected.ok_or(Fault::Unknown)?;
        if usize::from(expected) != bytes.len() {
            return Err(Fault::Malformed);
        }
        let start = StartFields {
            version: word(12),
            result: byte(14),
            error: byte(15),
        };
        Ok(match kind {
            1 => Self::StartRequest(start),
            2 => Self::StartReply(start),
            3 => Self::StopRequest(byte(12)),
            4 => Self::StopReply,
            5 => Self::EchoRequest(double(12)),
            6 => Self::EchoReply(double(12)),
            7 => Self::CallRequest {
                call: word(12),
                serial: word(14),
            },
            8 => Self::CallReply {
                call: word(12),
                peer_call: word(14),
                result: byte(16),
                error: byte(17),
            },
            9 => Self::IncomingRequest { call: word(12) },
            10 => Self::IncomingRefusal {
                peer_call: word(14),
            },
            12 => Self::Clear(word(12)),
            13 => Self::Disconnect {
                call: word(12),
                result: byte(14),
            },
            14 => Self::WanError(word(12)),
            15 => Self::LinkInfo(word(12)),
            _ => return Err(Fault::Unknown),
        })
    }

    /// Builds the message. Start messages contain `host_name`, the name of this router.
    pub fn build(&self, host_name: &str) -> Vec<u8> {
        let mut out = Builder::new();
        match *self {
            Self::StartRequest(fields) => out.start(1, fields, host_name),
            Self::StartReply(fields) => out.start(2, fields, host_name),
            Self::StopRequest(reason) => out.kind(3).bytes(&[reason, 0, 0, 0]),
            Self::StopReply => out.kind(4).bytes(&[1, 0, 0, 0]),
            Self::EchoRequest(id) => out.kind(5).double(id),
            Self::EchoReply(id) => out.kind(6).double(id).bytes(&[1, 0, 0, 0]),
            Self::CallRequest { call, serial } => {
                out.kind(7).word(call).word(serial);
                out.double(300)
                    .double(SPEED)
                    .double(ALL_KINDS)
                    .double(ALL_KINDS);
                out.word(WINDOW).word(0).word(0).word(0).zeros(2 * NAME)
            }
            Self::CallReply {
                call,
                peer_call,
                result,
                error,
            } => {
                out.kind(8).word(call).word(peer_call);
                out.bytes(&[result, error]).word(0).double(SPEED);
                out.word(WINDOW).word(0).double(0)
            }
            Self::IncomingRequest { call } => {
                out.kind(9).word(call).word(0).double(ALL_KINDS).double(0);
                out.word(0).word(0).zeros(3 * NAME)
            }
            // Result 3: do not accept.
            Self::IncomingRefusal { peer_call } => {
                out.kind(10).word(0).word(peer_call);
                out.bytes(&[3, 0]).word(0).word(0).word(0)
            }
            Self::Clear(call) => out.kind(12).word(call).word(0),
            Self::Disconnect { call, result } => {
                out.kind(13).word(call).bytes(&[result, 0]);
                out.word(0).word(0).zeros(2 * NAME)
            }
            Self::WanError(call) => out.kind(14).word(call).word(0).zeros(24),
            Self::LinkInfo(call) => {
                out.kind(15).word(call).word(0);
                out.double(u32::MAX).double(u32::MAX)
            }
        };
        out.finish()
    }
}

/// Builds a message.
struct Builder(Vec<u8>);

impl Builder {
    fn new() -> Self {
        Self(Vec::with_capacity(LONGEST))
    }

    fn kind(&mut self, kind: u16) -> &mut Self {
        self.word(0).word(CONTROL).double(COOKIE).word(kind).word(0)
    }

    fn start(&mut self, kind: u16, fields: StartFields, host_name: &str) -> &mut Self {
        self.kind(kind).word(fields.version);
        self.bytes(&[fields.result, fields.error]);
        // No maximum of calls, firmware revision 1.
        self.double(ALL_KINDS).double(ALL_KINDS).word(0).word(1);
        self.name(host_name).name("ferroute")
    }

    /// Appends a name, which a byte of zero ends.
    fn name(&mut self, name: &str) -> &mut Self {
        let bytes = name.as_bytes();
        let bytes = bytes.get(..NAME - 1).unwrap_or(bytes);
        self.bytes(bytes).zeros(NAME - bytes.len())
    }

    fn word(&mut self, word: u16) -> &mut Self {
        self.bytes(&word.to_be_bytes())
    }

    fn double(&mut self, double: u32) -> &mut Self {
        self.bytes(&double.to_be_bytes())
    }

    fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend(bytes);
        self
    }

    fn zeros(&mut self, count: usize) -> &mut Self {
        self.0.resize(self.0.len() + count, 0);
        self
    }

    fn finish(mut self) -> Vec<u8> {
        let length = self.0.len() as u16;
        self.0[..2].copy_from_slice(&length.to_be_bytes());
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Message> {
        let start = StartFields {
            version: VERSION,
            result: 1,
            error: 0,
        };
        vec![
            Message::StartRequest(start),
            Message::StartReply(start),
            Message::StopRequest(3),
            Message::StopReply,
            Message::EchoRequest(0x1234_5678),
            Message::EchoReply(7),
            Message::CallRequest { call: 5, serial: 6 },
            Message::CallReply {
                call: 1,
                peer_call: 2,
                result: 1,
                error: 0,
            },
            Message::IncomingRequest { call: 9 },
            Message::IncomingRefusal { peer_call: 9 },
            Message::Clear(3),
            Message::Disconnect { call: 3, result: 4 },
            Message::WanError(1),
            Message::LinkInfo(2),
        ]
    }

    #[test]
    fn messages_are_read_as_they_were_built_and_no_part_of_them_is() {
        for message in all() {
            let bytes = message.build("router");
            assert_eq!(Message::parse(&bytes), Ok(message));
            for end in 0..bytes.len() {
                assert!(Message::parse(&bytes[..end]).is_err(), "{message:?} {end}");
            }
            for bit in 0..bytes.len() * 8 {
                let mut bytes = bytes.clone();
                bytes[bit / 8] ^= 1 << (bit % 8);
                let _ = Message::parse(&bytes);
            }
        }
    }

    #[test]
    fn a_call_request_has_the_bytes_of_the_rfc() {
        let bytes = Message::CallRequest { call: 5, serial: 6 }.build("");
        let head = [0, 168, 0, 1, 0x1a, 0x2b, 0x3c, 0x4d, 0, 7, 0, 0, 0, 5, 0, 6];
        assert_eq!(bytes[..16], head);
        assert_eq!(bytes[32..36], [0, 64, 0, 0], "window and delay");
    }
}
