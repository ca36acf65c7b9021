//! Formats of the bandwidth test: the words and the command of the handshake, the status message,
//! the header of a datagram.
//!
//! ```text
//! hello        01 00 00 00                    server, first
//! command      protocol direction fill count, two sizes, two speeds: 16 bytes, little-endian
//! join         token token 02 00 ...          in place of a command, 16 bytes
//! accepted     01 token token 00              token 0 where the test has one TCP connection
//! challenge    02 00 00 00 and 16 bytes       MD5
//! exchange     03 00 00 00                    EC-SRP5; each message behind a byte with its length
//! refused      00 00 00 00
//! status       07 cpu 00 00, second, bytes    12 bytes, little-endian
//! ```
//!
//! MikroTik publishes no description. Facts are from captures that others made: the README of
//! btest-opensource, and the code and history of btest-rs.

/// TCP port of a server's control connection, for tests of both protocols.
pub const PORT: u16 = 2000;
/// What lies between a server's UDP port and the first one of its client.
pub const CLIENT_PORT_OFFSET: u16 = 256;

/// Length of a command, and of a request to join.
pub const COMMAND_LEN: usize = 16;
/// Length of a word of the server.
pub const WORD_LEN: usize = 4;
/// Length of the challenge behind its word.
pub const CHALLENGE_LEN: usize = 16;
/// Length of a status message.
pub const STATUS_LEN: usize = 12;
/// Length of the number at the beginning of a datagram.
pub const DATAGRAM_HEADER_LEN: usize = 4;

/// A server's first word.
pub const HELLO: [u8; WORD_LEN] = [1, 0, 0, 0];
/// The answer of a server that refuses a command, or a user.
pub const REFUSED: [u8; WORD_LEN] = [0, 0, 0, 0];

/// Bytes of a TCP test in one chunk, as RouterOS asks for them.
pub const TCP_SIZE: u16 = 0x8000;
/// Size of a UDP test's packets, as RouterOS asks for them, with the headers of IP and UDP.
pub const UDP_SIZE: u16 = 1500;

/// What carries the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Datagrams with numbers.
    Udp,
    /// The control connection, and more where the test has more.
    Tcp,
}

/// Who sends data, as the client sees it. RouterOS: `direction` of `/tool/bandwidth-test`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The client.
    Transmit,
    /// The server.
    Receive,
    /// Both.
    Both,
}

impl Direction {
    /// Whether the client sends data.
    pub const fn client_sends(self) -> bool {
        matches!(self, Self::Transmit | Self::Both)
    }

    /// Whether the server sends data.
    pub const fn server_sends(self) -> bool {
        matches!(self, Self::Receive | Self::Both)
    }
}

/// What data consist of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Bytes that no link can compress.
    Random,
    /// Zeros.
    Zeros,
}

/// What a client asks a server for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// What carries the data.
    pub protocol: Protocol,
    /// Who sends data.
    pub direction: Direction,
    /// What the data consist of.
    pub fill: Fill,
    /// Connections as on the wire: 0 is one.
    pub count: u8,
    /// Size that the server sends: of a UDP packet with its headers, or of a chunk of TCP.
    pub server_size: u16,
    /// Size that the client sends, or its buffer; 0 where it does not say.
    pub client_size: u16,
    /// The most that the server shall send, in bit/s; 0 is no limit.
    pub server_speed_bps: u32,
    /// The most that the client means to send, in bit/s; 0 is no limit.
    pub client_speed_bps: u32,
}

impl Command {
    /// Reads a command. None if its protocol or direction does not exist.
    pub fn parse(bytes: &[u8; COMMAND_LEN]) -> Option<Self> {
        let [protocol, direction, fill, count, rest @ ..] = bytes;
        let [s0, s1, c0, c1, r0, r1, r2, r3, l0, l1, l2, l3] = *rest;
        Some(Self {
            protocol: match protocol {
                0 => Protocol::Udp,
                1 => Protocol::Tcp,
                _ => return None,
            },
            // On the wire it is as the server sees it.
            direction: match direction {
                1 => Direction::Transmit,
                2 => Direction::Receive,
                3 => Direction::Both,
                _ => return None,
            },
            fill: if *fill == 0 {
                Fill::Random
            } else {
                Fill::Zeros
            },
            count: *count,
            server_size: u16::from_le_bytes([s0, s1]),
            client_size: u16::from_le_bytes([c0, c1]),
            server_speed_bps: u32::from_le_bytes([r0, r1, r2, r3]),
            client_speed_bps: u32::from_le_bytes([l0, l1, l2, l3]),
        })
    }

    /// The bytes of it.
    pub fn to_bytes(&self) -> [u8; COMMAND_LEN] {
        let [s0, s1] = self.server_size.to_le_bytes();
        let [c0, c1] = self.client_size.to_le_bytes();
        let [r0, r1, r2, r3] = self.server_speed_bps.to_le_bytes();
        let [l0, l1, l2, l3] = self.client_speed_bps.to_le_bytes();
        let protocol = match self.protocol {
            Protocol::Udp => 0,
            Protocol::Tcp => 1,
        };
        let direction = match self.direction {
            Direction::Transmit => 1,
            Direction::Receive => 2,
            Direction::Both => 3,
        };
        let fill = u8::from(self.fill == Fill::Zeros);
        let head = [protocol, direction, fill, self.count];
        let [p, d, f, n] = head;
        [p, d, f, n, s0, s1, c0, c1, r0, r1, r2, r3, l0, l1, l2, l3]
    }

    /// How many connections the test has, or source ports of UDP; at least one.
    pub const fn connections(&self) -> u8 {
        if self.count == 0 { 1 } else { self.count }
    }

    /// Whether further TCP connections join the first one by a token.
    pub const fn has_token(&self) -> bool {
        matches!(self.protocol, Protocol::Tcp) && self.count > 1
    }
}

/// What joins further TCP connections to a test.
///
/// Its first byte is above 1 and its second is not 0, so that no request to join looks like a
/// command, and no accepted word with it like one without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Token(u16);

impl Token {
    /// One from a random number.
    pub const fn new(random: u16) -> Self {
        // One bit of the high byte is enough to pass 1, one of the low byte to pass 0.
        Self(random | 0x0201)
    }

    /// The token of a request to join; None where the bytes are no such request.
    pub fn of_join(bytes: &[u8; COMMAND_LEN]) -> Option<Self> {
        let [high, low, mark, ..] = *bytes;
        // The other bytes of a request are not known.
        (high > 1 && mark == 2).then_some(Self(u16::from_be_bytes([high, low])))
    }

    /// The request to join with it.
    pub fn join(self) -> [u8; COMMAND_LEN] {
        let [high, low] = self.0.to_be_bytes();
        let mut bytes = [0; COMMAND_LEN];
        bytes[..3].copy_from_slice(&[high, low, 2]);
        bytes
    }

    /// The number on the wire.
    pub const fn number(self) -> u16 {
        self.0
    }
}

/// What a server says in a word, behind its hello.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// The test may begin; with a token, further connections may join.
    Accepted(Option<Token>),
    /// The user is to prove who he is by MD5; a challenge follows.
    Challenge,
    /// The user is to prove who he is by EC-SRP5.
    Exchange,
    /// No.
    Refused,
}

impl Word {
    /// Reads a word. None where it is not known.
    pub const fn parse(bytes: [u8; WORD_LEN]) -> Option<Self> {
        match bytes {
            [0, 0, 0, 0] => Some(Self::Refused),
            [1, 0, 0, 0] => Some(Self::Accepted(None)),
            [1, high, low, 0] => {
                let token = Token(u16::from_be_bytes([high, low]));
                Some(Self::Accepted(Some(token)))
            }
            [2, 0, 0, 0] => Some(Self::Challenge),
            [3, 0, 0, 0] => Some(Self::Exchange),
            _ => None,
        }
    }

    /// The bytes of it.
    pub const fn to_bytes(self) -> [u8; WORD_LEN] {
        match self {
            Self::Refused => REFUSED,
            Self::Accepted(None) => [1, 0, 0, 0],
            Self::Accepted(Some(Token(number))) => {
                let [high, low] = number.to_be_bytes();
                [1, high, low, 0]
            }
            Self::Challenge => [2, 0, 0, 0],
            Self::Exchange => [3, 0, 0, 0],
        }
    }
}

/// What one end tells the other about a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Load of the sender's processor in percent, 0 to 100; None where it does not say.
    pub cpu_percent: Option<u8>,
    /// Number of the second, from 1.
    pub second: u32,
    /// Bytes that the sender of this message received in that second. It begins again at 2^32.
    pub bytes: u32,
}

impl Status {
    /// Reads a message. None where a fixed byte is different, or the load above 100.
    pub fn parse(bytes: &[u8; STATUS_LEN]) -> Option<Self> {
        let [7, cpu, 0, 0, s0, s1, s2, s3, b0, b1, b2, b3] = *bytes else {
            return None;
        };
        let cpu_percent = match cpu {
            // RouterOS before 6.44 does not say.
            0 => None,
            0x80..=0xe4 => Some(cpu & 0x7f),
            _ => return None,
        };
        Some(Self {
            cpu_percent,
            second: u32::from_le_bytes([s0, s1, s2, s3]),
            bytes: u32::from_le_bytes([b0, b1, b2, b3]),
        })
    }

    /// The bytes of it.
    pub fn to_bytes(&self) -> [u8; STATUS_LEN] {
        let cpu = match self.cpu_percent {
            None => 0,
            Some(percent) if percent > 100 => 0x80 | 100,
            Some(percent) => 0x80 | percent,
        };
        let [s0, s1, s2, s3] = self.second.to_le_bytes();
        let [b0, b1, b2, b3] = self.bytes.to_le_bytes();
        [7, cpu, 0, 0, s0, s1, s2, s3, b0, b1, b2, b3]
    }
}

/// The number of a datagram; None where it is too short to have one.
pub fn datagram_number(datagram: &[u8]) -> Option<u32> {
    let header = datagram.first_chunk::<DATAGRAM_HEADER_LEN>()?;
    Some(u32::from_be_bytes(*header))
}

/// Writes the number of a datagram. One that is too short for it stays as it is.
pub fn set_datagram_number(datagram: &mut [u8], number: u32) {
    if let Some(header) = datagram.first_chunk_mut::<DATAGRAM_HEADER_LEN>() {
        *header = number.to_be_bytes();
    }
}

#[cfg(test)]
mod tests;
