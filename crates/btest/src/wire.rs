//! Wire formats of the bandwidth test: commands and replies of the handshake, status messages, and
//! the sequence number of datagrams.
//!
//! ```text
//! hello        01 00 00 00                    server, first
//! command      protocol direction fill count, two sizes, two speeds: 16 bytes, little-endian
//! join         token token 02 00 ...          in place of a command, 16 bytes
//! accepted     01 token token 00              token 0 where the test has one TCP connection
//! challenge    02 00 00 00 and 16 bytes       MD5
//! exchange     03 00 00 00                    EC-SRP5; each message has a leading length byte
//! refused      00 00 00 00
//! status       07 cpu 00 00, second, bytes    12 bytes, little-endian
//! ```
//!
//! MikroTik publishes no description. The facts come from captures of other projects: the README of
//! btest-opensource, and code and history of btest-rs.

/// TCP port of the control connection, for both protocols.
pub const PORT: u16 = 2000;
/// Difference between the first UDP ports of client and server.
pub const CLIENT_PORT_OFFSET: u16 = 256;

/// Length of a command, and of a request to join.
pub const COMMAND_LEN: usize = 16;
/// Length of a server reply.
pub const WORD_LEN: usize = 4;
/// Length of the challenge after its reply.
pub const CHALLENGE_LEN: usize = 16;
/// Length of a status message.
pub const STATUS_LEN: usize = 12;
/// Length of the sequence number at the start of a datagram.
pub const DATAGRAM_HEADER_LEN: usize = 4;

/// First message of a server.
pub const HELLO: [u8; WORD_LEN] = [1, 0, 0, 0];
/// Reply that refuses a command or a user.
pub const REFUSED: [u8; WORD_LEN] = [0, 0, 0, 0];

/// RouterOS: bytes per chunk of a TCP test.
pub const TCP_SIZE: u16 = 0x8000;
/// RouterOS: packet size of a UDP test, including the headers of IP and UDP.
pub const UDP_SIZE: u16 = 1500;

/// Transport of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// UDP datagrams with sequence numbers.
    Udp,
    /// The control connection, and further TCP connections.
    Tcp,
}

/// Direction of the data, from the client's view. RouterOS: `direction` of `/tool/bandwidth-test`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The client sends.
    Transmit,
    /// The server sends.
    Receive,
    /// Both send.
    Both,
}

impl Direction {
    /// Returns true if the client sends data.
    pub const fn client_sends(self) -> bool {
        matches!(self, Self::Transmit | Self::Both)
    }

    /// Returns true if the server sends data.
    pub const fn server_sends(self) -> bool {
        matches!(self, Self::Receive | Self::Both)
    }
}

/// Contents of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Incompressible bytes.
    Random,
    /// Zeros.
    Zeros,
}

/// A client's request for a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// Transport of the data.
    pub protocol: Protocol,
    /// Direction of the data.
    pub direction: Direction,
    /// Contents of the data.
    pub fill: Fill,
    /// Number of connections as on the wire: 0 means 1.
    pub count: u8,
    /// Size that the server sends: of UDP packets with headers, or of TCP chunks.
    pub server_size: u16,
    /// Size that the client sends, or its buffer; 0 if unspecified.
    pub client_size: u16,
    /// Rate limit of the server in bit/s; 0 means none.
    pub server_speed_bps: u32,
    /// Rate limit of the client in bit/s; 0 means none.
    pub client_speed_bps: u32,
}

impl Command {
    /// Decodes a command; `None` for an unknown protocol or direction.
    pub fn parse(bytes: &[u8; COMMAND_LEN]) -> Option<Self> {
        let [protocol, direction, fill, count, rest @ ..] = bytes;
        let [s0, s1, c0, c1, r0, r1, r2, r3, l0, l1, l2, l3] = *rest;
        Some(Self {
            protocol: match protocol {
                0 => Protocol::Udp,
                1 => Protocol::Tcp,
                _ => return None,
            },
            // The wire format has the server's view.
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

    /// Encodes the command.
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

    /// Returns the number of connections, or of UDP source ports; at least 1.
    pub const fn connections(&self) -> u8 {
        if self.count == 0 { 1 } else { self.count }
    }

    /// Returns true if further TCP connections join by a token.
    pub const fn has_token(&self) -> bool {
        matches!(self.protocol, Protocol::Tcp) && self.count > 1
    }
}

/// Token by which further TCP connections join a test.
///
/// Its first byte is above 1 and its second is not 0, so that a request to join differs from every command, and
/// an accepting reply with token from one without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Token(u16);

impl Token {
    /// Derives a token from a random number.
    pub const fn new(random: u16) -> Self {
        // A bit in the high byte makes it greater than 1, a bit in the low byte nonzero.
        Self(random | 0x0201)
    }

    /// Decodes a request to join; `None` for other messages.
    pub fn of_join(bytes: &[u8; COMMAND_LEN]) -> Option<Self> {
        let [high, low, mark, ..] = *bytes;
        // The meaning of the other bytes is unknown.
        (high > 1 && mark == 2).then_some(Self(u16::from_be_bytes([high, low])))
    }

    /// Encodes a request to join.
    pub fn join(self) -> [u8; COMMAND_LEN] {
        let [high, low] = self.0.to_be_bytes();
        let mut bytes = [0; COMMAND_LEN];
        bytes[..3].copy_from_slice(&[high, low, 2]);
        bytes
    }

    /// Returns the number on the wire.
    pub const fn number(self) -> u16 {
        self.0
    }
}

/// Reply of a server after its hello.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// The test may start; with a token, further connections may join.
    Accepted(Option<Token>),
    /// MD5 authentication; a challenge follows.
    Challenge,
    /// EC-SRP5 authentication.
    Exchange,
    /// Refusal.
    Refused,
}

impl Word {
    /// Decodes a reply; `None` if unknown.
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

    /// Encodes the reply.
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

/// Status message about one second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// CPU load of the sender in percent, 0 to 100; `None` if unspecified.
    pub cpu_percent: Option<u8>,
    /// Number of the second, from 1.
    pub second: u32,
    /// Bytes that the sender of the message received in that second, modulo 2^32.
    pub bytes: u32,
}

impl Status {
    /// Decodes a message; `None` if a fixed byte differs or the load exceeds 100.
    pub fn parse(bytes: &[u8; STATUS_LEN]) -> Option<Self> {
        let [7, cpu, 0, 0, s0, s1, s2, s3, b0, b1, b2, b3] = *bytes else {
            return None;
        };
        let cpu_percent = match cpu {
            // RouterOS before 6.44 omits the load.
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

    /// Encodes the message.
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

/// Returns the sequence number of a datagram; `None` if it is too short.
pub fn datagram_number(datagram: &[u8]) -> Option<u32> {
    let header = datagram.first_chunk::<DATAGRAM_HEADER_LEN>()?;
    Some(u32::from_be_bytes(*header))
}

/// Writes the sequence number of a datagram, if it is long enough.
pub fn set_datagram_number(datagram: &mut [u8], number: u32) {
    if let Some(header) = datagram.first_chunk_mut::<DATAGRAM_HEADER_LEN>() {
        *header = number.to_be_bytes();
    }
}

#[cfg(test)]
mod tests;
