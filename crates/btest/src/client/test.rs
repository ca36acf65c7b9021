//! Parameters of a test, and its status in RouterOS's words.

use std::net::IpAddr;

use machine::Duration;

use crate::password::Password;
use crate::wire::{Command, Direction, Fill, Protocol, TCP_SIZE, UDP_SIZE};

/// Parameters of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// Address of the server.
    pub server: IpAddr,
    /// Transport of the data.
    pub protocol: Protocol,
    /// Direction of the data.
    pub direction: Direction,
    /// Contents of the data.
    pub fill: Fill,
    /// Size that the client sends in bytes: of UDP packets with headers, or of TCP chunks; 0 selects RouterOS's
    /// default.
    pub local_size: u16,
    /// Size that the server sends in bytes; 0 selects RouterOS's default.
    pub remote_size: u16,
    /// Rate limit of the client in bit/s; 0 means none.
    pub local_speed_bps: u64,
    /// Rate limit of the server in bit/s; 0 means none. The wire format has 32 bits: higher limits become its
    /// maximum.
    pub remote_speed_bps: u64,
    /// Number of TCP connections, or of UDP source ports; at least 1.
    pub connections: u8,
    /// User name on the server.
    pub user: String,
    /// Password on the server.
    pub password: Password,
    /// Duration of the data transfer; `None` until stopped.
    pub duration: Option<Duration>,
}

impl Test {
    /// Returns the command for the server.
    pub fn command(&self) -> Command {
        let size = |size: u16| match (size, self.protocol) {
            (0, Protocol::Udp) => UDP_SIZE,
            (0, Protocol::Tcp) => TCP_SIZE,
            _ => size,
        };
        let speed = |bps: u64| u32::try_from(bps).unwrap_or(u32::MAX);
        Command {
            protocol: self.protocol,
            direction: self.direction,
            fill: self.fill,
            count: if self.connections > 1 {
                self.connections
            } else {
                0
            },
            server_size: size(self.remote_size),
            client_size: self.local_size,
            server_speed_bps: speed(self.remote_speed_bps),
            client_speed_bps: speed(self.local_speed_bps),
        }
    }
}

/// Status of a test in RouterOS's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Before the data transfer.
    Connecting,
    /// No local UDP port is free.
    CanNotStart,
    /// The server does not answer.
    CanNotConnect,
    /// The server refuses further tests.
    RemoteBusy,
    /// The server does not support the test.
    Unsupported,
    /// Data transfer.
    Running,
    /// The server closed the connection.
    Disconnected,
    /// Wrong user or password, or a server that does not know the password.
    AuthenticationFailed,
    /// Stopped, or end of the duration.
    Done,
}

impl Status {
    /// Returns the value of `status`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::CanNotStart => "can not start test",
            Self::CanNotConnect => "can not connect",
            Self::RemoteBusy => "remote is busy",
            Self::Unsupported => "test unsupported",
            Self::Running => "running",
            Self::Disconnected => "disconnected",
            Self::AuthenticationFailed => "authentication failed",
            Self::Done => "done testing",
        }
    }
}
