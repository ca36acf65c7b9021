//! What a client is to test, and RouterOS's words for how it goes.

use std::net::IpAddr;

use machine::Duration;

use crate::password::Password;
use crate::wire::{Command, Direction, Fill, Protocol, TCP_SIZE, UDP_SIZE};

/// What is to be tested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// The server.
    pub server: IpAddr,
    /// What carries the data.
    pub protocol: Protocol,
    /// Who sends data.
    pub direction: Direction,
    /// What the data consist of.
    pub fill: Fill,
    /// Size of what the client sends in bytes: a UDP packet with its headers, or a chunk of TCP; 0
    /// is RouterOS's.
    pub local_size: u16,
    /// The same of what the server sends.
    pub remote_size: u16,
    /// The most that the client sends in bit/s; 0 is no limit.
    pub local_speed_bps: u64,
    /// The most that the server sends in bit/s; 0 is no limit. The wire has room for 32 bits: above
    /// that it is the most that they can say.
    pub remote_speed_bps: u64,
    /// TCP connections, or source ports of UDP; at least one.
    pub connections: u8,
    /// The user's name at the server.
    pub user: String,
    /// His password.
    pub password: Password,
    /// How long data flow; None until it is stopped.
    pub duration: Option<Duration>,
}

impl Test {
    /// The command that asks for it.
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

/// What the operator sees of how a test goes, in RouterOS's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// No data flow yet.
    Connecting,
    /// This end has no port.
    CanNotStart,
    /// The server does not answer.
    CanNotConnect,
    /// The server takes no test.
    RemoteBusy,
    /// The server does not know such a test.
    Unsupported,
    /// Data flow.
    Running,
    /// The server has gone.
    Disconnected,
    /// The server does not know the user, or this password of his; or it does not know the password.
    AuthenticationFailed,
    /// It was stopped, or its time is over.
    Done,
}

impl Status {
    /// RouterOS: the words of `status`.
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
