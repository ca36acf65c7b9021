//! Protocol between client and router on the local stream socket: a request, then messages in both directions.
//!
//! A message consists of a type byte, a length of four bytes (big endian), and the body. Unknown types and
//! lengths over [`MESSAGE_BYTES`] are errors.

use std::io::{self, Read, Write};

/// Maximum length of a message in bytes.
pub const MESSAGE_BYTES: usize = 1 << 20;

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Client: open a console on a terminal of this size.
    Console {
        /// Columns.
        columns: u16,
        /// Rows.
        rows: u16,
        /// True if the terminal shows colours.
        colours: bool,
    },
    /// Client: run one command.
    Exec {
        /// The command.
        command: String,
        /// True to get the answer as JSON in REST format.
        json: bool,
    },
    /// Client: requests the path of the network namespace of the router's own services.
    Namespace,
    /// Client: typed bytes.
    Input(Vec<u8>),
    /// Client: new terminal size in columns and rows.
    Resize(u16, u16),
    /// Router: bytes for the standard output.
    Output(Vec<u8>),
    /// Router: bytes for the standard error.
    Error(Vec<u8>),
    /// Router: end of the session with this exit code.
    Exit(u8),
}

impl Message {
    fn encode(&self) -> (u8, Vec<u8>) {
        match self {
            Self::Console {
                columns,
                rows,
                colours,
            } => {
                let (c, r) = (columns.to_be_bytes(), rows.to_be_bytes());
                (b'c', vec![c[0], c[1], r[0], r[1], u8::from(*colours)])
            }
            Self::Exec { command, json } => {
                let mut body = vec![u8::from(*json)];
                body.extend_from_slice(command.as_bytes());
                (b'x', body)
            }
            Self::Namespace => (b'n', Vec::new()),
            Self::Input(bytes) => (b'i', bytes.clone()),
            Self::Resize(columns, rows) => {
                (b'r', [columns.to_be_bytes(), rows.to_be_bytes()].concat())
            }
            Self::Output(bytes) => (b'o', bytes.clone()),
            Self::Error(bytes) => (b'e', bytes.clone()),
            Self::Exit(code) => (b'q', vec![*code]),
        }
    }

    fn decode(kind: u8, body: Vec<u8>) -> Option<Self> {
        let pair = |at: usize| Some(u16::from_be_bytes([*body.get(at)?, *body.get(at + 1)?]));
        Some(match kind {
            b'c' => Self::Console {
                columns: pair(0)?,
                rows: pair(2)?,
                colours: *body.get(4)? != 0,
            },
            b'x' => {
                let (json, command) = body.split_first()?;
                Self::Exec {
                    command: String::from_utf8(command.to_vec()).ok()?,
                    json: *json != 0,
                }
            }
            b'n' => Self::Namespace,
            b'i' => Self::Input(body),
            b'r' => Self::Resize(pair(0)?, pair(2)?),
            b'o' => Self::Output(body),
            b'e' => Self::Error(body),
            b'q' => Self::Exit(*body.first()?),
            _ => return None,
        })
    }
}

/// Writes a message. Long input and output is split into several messages.
///
/// # Errors
/// An I/O error of the stream, or `InvalidInput` for a command longer than a message, which must not be split.
pub fn send(stream: &mut impl Write, message: &Message) -> io::Result<()> {
    let (kind, body) = message.encode();
    if matches!(message, Message::Exec { .. }) && body.len() > MESSAGE_BYTES {
        let text = "the command is too long: the limit is 1 MB; use /import for longer commands";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    let mut parts = body.chunks(MESSAGE_BYTES);
    let mut part = parts.next().unwrap_or_default();
    loop {
        let mut bytes = Vec::with_capacity(part.len() + 5);
        bytes.push(kind);
        bytes.extend_from_slice(&(part.len() as u32).to_be_bytes());
        bytes.extend_from_slice(part);
        stream.write_all(&bytes)?;
        let Some(next) = parts.next() else {
            return stream.flush();
        };
        part = next;
    }
}

/// Reads a message; `None` at the end of the stream.
///
/// # Errors
/// An I/O error of the stream, or `InvalidData` for an invalid message.
pub fn receive(stream: &mut impl Read) -> io::Result<Option<Message>> {
    let mut head = [0; 5];
    match stream.read(&mut head[..1])? {
        0 => return Ok(None),
        _ => stream.read_exact(&mut head[1..])?,
    }
    let len = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
    if len > MESSAGE_BYTES {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "message longer than 1 MB",
        ));
    }
    let mut body = vec![0; len];
    stream.read_exact(&mut body)?;
    let unknown = || io::Error::new(io::ErrorKind::InvalidData, "not a message of this protocol");
    Message::decode(head[0], body).ok_or_else(unknown).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_as_they_were_sent() {
        let messages = [
            Message::Console {
                columns: 80,
                rows: 24,
                colours: true,
            },
            Message::Exec {
                command: String::from("/ip/route/print"),
                json: true,
            },
            Message::Namespace,
            Message::Input(vec![0, 255]),
            Message::Resize(300, 1),
            Message::Output(Vec::new()),
            Message::Error(vec![7; 70_000]),
            Message::Exit(1),
        ];
        let mut stream = Vec::new();
        for message in &messages {
            send(&mut stream, message).expect("a vector takes it");
        }

        let mut reader = stream.as_slice();
        for message in messages {
            assert_eq!(receive(&mut reader).expect("a message"), Some(message));
        }
        assert_eq!(receive(&mut reader).expect("the end"), None);
    }

    #[test]
    fn a_too_long_command_is_refused_before_sending() {
        let mut stream = Vec::new();
        let command = Message::Exec {
            command: ":put 1;".repeat(MESSAGE_BYTES / 7 + 1),
            json: false,
        };

        let error = send(&mut stream, &command).expect_err("too long");

        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        assert!(stream.is_empty());
    }

    #[test]
    fn malformed_messages_are_errors() {
        for bytes in [
            &b"z\0\0\0\0"[..],
            b"i\xff\xff\xff\xff",
            b"i\0\0\0\x09abc",
            b"c\0\0\0\x01a",
        ] {
            assert!(receive(&mut &bytes[..]).is_err());
        }
    }
}
