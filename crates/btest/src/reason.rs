//! Reasons for the end of a connection or test.

use core::fmt;

/// Reason for the end of a connection or test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Stopped by the operator.
    Stopped,
    /// End of the configured duration.
    Duration,
    /// The connection to the server failed.
    NotConnected,
    /// The other end closed the connection.
    Closed,
    /// The test of the connection has ended.
    TestEnded,
    /// The other end exceeded the time limit of the handshake.
    Timeout,
    /// The server's first message is no hello.
    BadHello,
    /// Unknown reply of the server.
    BadWord,
    /// Unknown command.
    BadCommand,
    /// Request to join an unknown or complete test.
    BadToken,
    /// Key exchange message of an impossible length, or a name that is not UTF-8.
    BadExchange,
    /// Invalid public point.
    BadPoint,
    /// Wrong proof of the password, or unknown user.
    BadProof,
    /// Name or password too long for the exchange.
    BadUser,
    /// Invalid bytes in place of a status message.
    BadStatus,
    /// The server sent no token for further connections.
    NoToken,
    /// No UDP port is free.
    NoPort,
    /// Too many tests.
    Sessions,
    /// Too many connections without a test.
    Connections,
    /// The server refused the command.
    RefusedCommand,
    /// The server refused the user.
    RefusedUser,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stopped => "stopped",
            Self::Duration => "its time is over",
            Self::NotConnected => "no connection",
            Self::Closed => "closed by the other end",
            Self::TestEnded => "the test has ended",
            Self::Timeout => "no answer in time",
            Self::BadHello => "the first word is no hello",
            Self::BadWord => "an unknown word",
            Self::BadCommand => "an unknown command",
            Self::BadToken => "no test to join",
            Self::BadExchange => "a malformed message of the exchange",
            Self::BadPoint => "a bad point in the exchange",
            Self::BadProof => "wrong user name or password",
            Self::BadUser => "a user name that is too long",
            Self::BadStatus => "no status message",
            Self::NoToken => "no further connections",
            Self::NoPort => "no UDP port",
            Self::Sessions => "too many sessions",
            Self::Connections => "too many connections",
            Self::RefusedCommand => "command refused",
            Self::RefusedUser => "user refused",
        })
    }
}
