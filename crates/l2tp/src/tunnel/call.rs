//! The state of a call.

use machine::Instant;

use crate::dialect::CallName;
use crate::event::OpenedPseudowire;

/// A call.
#[derive(Clone, Debug)]
pub(super) struct Call {
    /// Session number of the other end; 0 while unknown.
    pub(super) remote: u32,
    pub(super) state: CallState,
    /// Number of the caller, if the other end named one.
    pub(super) calling_number: Option<Box<str>>,
    /// Form of packets in version 3; what the other end needs is unknown until its ICRP.
    pub(super) pseudowire: Option<OpenedPseudowire>,
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

    /// Returns the call as messages name it; `id` is its session number.
    pub(super) fn name(&self, id: u32) -> CallName<'_> {
        let pseudowire = self.pseudowire.as_ref();
        CallName {
            id,
            remote: self.remote,
            cookie: pseudowire.map_or(&[], |pseudowire| &pseudowire.local_cookie),
            has_sublayer: pseudowire.is_some_and(|pseudowire| pseudowire.local_sublayer),
        }
    }

    /// Returns when the call fails; `None` for an open call.
    pub(super) fn fails_at(&self) -> Option<Instant> {
        match self.state {
            CallState::AwaitsReply(at) | CallState::AwaitsConnect(at) => Some(at),
            CallState::Open => None,
        }
    }
}
