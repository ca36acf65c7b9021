//! State of a session's encryption: CCP, keys, and the outstanding Reset-Request.

use machine::{Duration, Instant};

use crate::ccp::CcpOptions;
use crate::event::Action;
use crate::mppe::{KeyLengths, MppeKeys};
use crate::negotiation::Negotiation;
use crate::packet::{CCP, Control, RESET_REQUEST};
use crate::settings::EncryptionPolicy;

/// Time between Reset-Requests without an answer.
const RESET_INTERVAL: Duration = Duration::from_secs(1);
/// Reset-Requests without an answer.
const MAX_RESETS: u8 = 10;

/// State of the encryption of a session.
#[derive(Debug)]
pub(crate) struct EncryptionState {
    pub(crate) ccp: Negotiation<CcpOptions>,
    pub(crate) policy: EncryptionPolicy,
    pub(crate) keys: MppeKeys,
    /// Both directions are encrypted.
    pub(crate) is_up: bool,
    /// Received packets depend on earlier ones, so that a loss requires a reset.
    pub(crate) is_stateful: bool,
    pub(crate) reset: Reset,
}

/// An outstanding Reset-Request.
#[derive(Debug, Default)]
pub(crate) struct Reset {
    pub(crate) id: u8,
    /// Transmissions that are left.
    tries: u8,
    pub(crate) expires: Option<Instant>,
}

impl EncryptionState {
    /// Returns the state before CCP has opened.
    pub(crate) fn new(policy: EncryptionPolicy, lengths: KeyLengths, keys: MppeKeys) -> Self {
        Self {
            ccp: Negotiation::new(CcpOptions::new(lengths)),
            policy,
            keys,
            is_up: false,
            is_stateful: false,
            reset: Reset::default(),
        }
    }

    /// Returns true if network protocols may be up.
    pub(crate) fn permits_data(&self) -> bool {
        self.is_up || self.policy == EncryptionPolicy::Allowed && self.ccp.is_at_rest()
    }

    /// Returns when a timer of CCP or of a reset expires.
    pub(crate) fn expires(&self) -> Option<Instant> {
        let both = [self.ccp.expires(), self.reset.expires];
        both.into_iter().flatten().min()
    }

    /// Asks the peer to begin again, until it answers.
    pub(crate) fn request_reset(&mut self, now: Instant, out: &mut Vec<Action>) {
        self.reset.id = self.reset.id.wrapping_add(1);
        self.reset.tries = MAX_RESETS;
        self.send_reset(now, out);
    }

    /// Repeats a Reset-Request whose time has come.
    pub(crate) fn repeat_reset(&mut self, now: Instant, out: &mut Vec<Action>) {
        let is_due = self.reset.expires.take_if(|at| *at <= now).is_some();
        if is_due && self.reset.tries > 0 {
            self.send_reset(now, out);
        }
    }

    fn send_reset(&mut self, now: Instant, out: &mut Vec<Action>) {
        self.reset.tries = self.reset.tries.saturating_sub(1);
        self.reset.expires = Some(now + RESET_INTERVAL);
        let request = Control {
            code: RESET_REQUEST,
            id: self.reset.id,
            data: &[],
        };
        out.push(Action::Send(request.build(CCP)));
    }
}
