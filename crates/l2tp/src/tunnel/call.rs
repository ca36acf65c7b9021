//! The state of a call.

use machine::Instant;

/// A call.
#[derive(Clone, Debug)]
pub(super) struct Call {
    /// Session number of the other end; 0 while unknown.
    pub(super) remote: u16,
    pub(super) state: CallState,
    /// Number of the caller, if the other end named one.
    pub(super) calling_number: Option<Box<str>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallState {
    /// This end sent ICRQ. The call fails at this time.
    AwaitsReply(Instant),
    /// This end sent ICRP. The call fails at this time.
    AwaitsConnect(Instant),
    /// Packets pass.
    Open,
}

impl Call {
    /// Returns true if packets pass.
    pub(super) fn is_open(&self) -> bool {
        self.state == CallState::Open
    }

    /// Returns when the call fails; `None` for an open call.
    pub(super) fn fails_at(&self) -> Option<Instant> {
        match self.state {
            CallState::AwaitsReply(at) | CallState::AwaitsConnect(at) => Some(at),
            CallState::Open => None,
        }
    }
}
