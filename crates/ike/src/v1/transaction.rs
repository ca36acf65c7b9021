//! Transaction exchange (draft-dukes-ike-mode-cfg-02): one side requests or sets attributes, the other answers
//! under the same message ID. XAuth and mode config use it between phase 1 and the first pair.
//!
//! ```text
//!  initiator                       responder
//!             ◀ REQUEST name, password        if the method of phase 1 says so (XAuth)
//!  REPLY name, password ▶
//!             ◀ SET status
//!  ACK ▶
//!  REQUEST address, networks ▶                if the initiator is configured to ask (mode config)
//!             ◀ REPLY address, networks
//! ```

use super::{Bad, PHASE1_TIMEOUT, Sa, Step, body, exchange, kind};
use crate::engine::core::{Context, Resend};
use crate::event::{State, Why};
use crate::message::{Chain, Configuration, Header};

pub(super) const REQUEST: u8 = 1;
pub(super) const REPLY: u8 = 2;
pub(super) const SET: u8 = 3;
pub(super) const ACK: u8 = 4;

/// Phase before the IKE SA is usable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// Phase 1 is running.
    Phase1,
    /// The initiator logs in.
    Login,
    /// The login failed; the responder sends the status.
    Refused,
    /// The initiator requests its configuration.
    Lease,
    /// Complete.
    Done,
}

/// A transaction of this side, and the initialisation vector of its response.
#[derive(Debug)]
pub(super) struct Asking {
    id: u32,
    iv: Vec<u8>,
}

/// A request of the peer that waits for the pool.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) said: Configuration,
    pub(super) reply_to: ReplyTo,
}

/// Message ID and initialisation vector for the response.
#[derive(Debug)]
pub(super) struct ReplyTo {
    id: u32,
    iv: Vec<u8>,
    heard: Vec<u8>,
}

impl Sa {
    /// Processes a message of the transaction exchange.
    pub(super) fn transaction(
        &mut self,
        header: &Header,
        message: &[u8],
        cx: &mut Context<'_>,
    ) -> Result<(), Bad> {
        if self.step != Step::Done {
            return Err(Bad::Ignored("ike1-unexpected"));
        }
        if let Some(answer) = self.transaction.again(message) {
            if let Some(answer) = answer {
                self.common.send(answer, cx);
            }
            return Ok(());
        }
        let waits = |pending: &Pending| pending.reply_to.id == header.id;
        if self.recent.contains(&header.id) || self.pending.as_ref().is_some_and(waits) {
            return Err(Bad::Ignored("ike1-repeated"));
        }
        let asking = self.asking.as_ref().filter(|one| one.id == header.id);
        let (is_answer, iv) = match asking {
            Some(asking) => (true, asking.iv.clone()),
            None => (false, self.first_iv(header.id)),
        };
        let (plain, next) = self.open(header, &iv, message)?;
        let found = self.verified(header, &plain, &[&header.id.to_be_bytes()])?;
        let said = Configuration::read(body(&found, kind::ATTRIBUTES)?)?;
        self.heard(cx.now);
        let reply_to = ReplyTo {
            id: header.id,
            iv: next,
            heard: message.to_vec(),
        };
        match (said.kind, is_answer) {
            (REPLY | ACK, true) => {
                (self.asking, self.resend) = (None, None);
                self.remember(header.id);
                self.answered(&said, cx)
            }
            (REQUEST, false) => self.requested(said, reply_to, cx),
            (SET, false) => self.was_set(&said, reply_to, cx),
            _ => Err(Bad::Ignored("ike1-unexpected")),
        }
    }

    /// Enters a phase with the time limit of phase 1.
    pub(super) fn wait_for(&mut self, opening: Opening, cx: &Context<'_>) {
        self.opening = opening;
        self.common.state = State::Eap;
        self.over_at = cx.now + PHASE1_TIMEOUT;
    }

    /// Starts a transaction and retransmits until it is answered.
    pub(super) fn transact(&mut self, said: &Configuration, cx: &mut Context<'_>) {
        let id = self.fresh_id(cx);
        let mut iv = self.first_iv(id);
        if let Some(bytes) = self.seal_transaction(id, &mut iv, said) {
            self.asking = Some(Asking { id, iv });
            self.resend = Some(Resend::new(vec![bytes.clone()], cx.now));
            self.common.send(bytes, cx);
        }
    }

    /// Answers a transaction of the peer.
    pub(super) fn reply(&mut self, mut to: ReplyTo, said: &Configuration, cx: &mut Context<'_>) {
        if let Some(bytes) = self.seal_transaction(to.id, &mut to.iv, said) {
            self.transaction.set(&to.heard, Some(bytes.clone()));
            self.common.send(bytes, cx);
        }
        self.remember(to.id);
    }

    fn seal_transaction(&self, id: u32, iv: &mut Vec<u8>, said: &Configuration) -> Option<Vec<u8>> {
        let chain = Chain::default().with(kind::ATTRIBUTES, &said.write());
        self.sealed(exchange::TRANSACTION, id, iv, &[&id.to_be_bytes()], &chain)
    }

    /// Processes the response to the local transaction.
    fn answered(&mut self, said: &Configuration, cx: &mut Context<'_>) -> Result<(), Bad> {
        match (self.opening, said.kind) {
            (Opening::Login, REPLY) => self.judge_login(said, cx),
            (Opening::Refused, _) => return Err(Bad::Over(Why::Authentication)),
            (Opening::Lease, REPLY) => self.take_lease(said, cx),
            // Acknowledgement of the login status.
            _ => {}
        }
        Ok(())
    }

    /// Processes a request of the peer.
    fn requested(
        &mut self,
        said: Configuration,
        to: ReplyTo,
        cx: &mut Context<'_>,
    ) -> Result<(), Bad> {
        if super::login::is_login(&said) {
            return self.log_in(&said, to, cx);
        }
        self.give_lease(said, to, cx)
    }

    /// Processes a SET of the peer.
    fn was_set(
        &mut self,
        said: &Configuration,
        to: ReplyTo,
        cx: &mut Context<'_>,
    ) -> Result<(), Bad> {
        if super::login::is_login(said) {
            return self.hear_verdict(said, to, cx);
        }
        self.take_pushed(said, to, cx)
    }
}
