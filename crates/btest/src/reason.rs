//! Why a connection or a test ended.

use core::fmt;

/// Why a connection or a test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The operator stopped it.
    Stopped,
    /// Its time is over.
    Duration,
    /// No connection to the server came about.
    NotConnected,
    /// The other end closed the connection.
    Closed,
    /// The test that the connection was of has ended.
    TestEnded,
    /// The other end did not go on with the handshake.
    Timeout,
    /// The server's first word is no hello.
    BadHello,
    /// A word of the server that is not known.
    BadWord,
    /// A command that does not exist.
    BadCommand,
    /// A request to join a test that is not, or is complete.
    BadToken,
    /// A message of the exchange of a length that it cannot have, or a name that is no text.
    BadExchange,
    /// A point of the exchange that is none.
    BadPoint,
    /// A proof of a password that is wrong, or a user that is not known.
    BadProof,
    /// A name or password that the exchange has no room for.
    BadUser,
    /// Bytes where a status message should be.
    BadStatus,
    /// The server has no token for further connections.
    NoToken,
    /// No UDP port is to be had.
    NoPort,
    /// There are as many tests as may be.
    Sessions,
    /// There are as many connections without a test as may be.
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
