//! Settings of sessions on byte streams.

use crate::stream::ChannelId;

/// Form of the packets on a byte stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// SSTP data packets ([MS-SSTP], 2.2.3).
    Sstp,
}

/// A byte stream as carrier of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// The session.
    pub channel: ChannelId,
    /// Form of its packets.
    pub framing: Framing,
}
