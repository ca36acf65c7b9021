//! MOBIKE (RFC 4555): an IKE SA of IKEv2 and its pairs move to other addresses.
//!
//! ```text
//! initiator: own address changes ─▶ UPDATE_SA_ADDRESSES from the new one ─▶ answer ─▶ pairs move
//! responder: UPDATE_SA_ADDRESSES ─▶ answer, COOKIE2 to the new address ─▶ COOKIE2 comes back ─▶ pairs move
//! ```
//! The responder moves its pairs when the peer has shown that it is reached at the new address (RFC 4555, 3.5 and 3.7):
//! otherwise a peer could have its traffic sent to somebody else.
//!
//! The initiator alone decides which addresses are used (RFC 4555, 2.3). Pairs in transport mode cannot move: their
//! selectors are the addresses.

use core::net::{IpAddr, SocketAddr};

use super::{Request, Sa, Stage, Task, error, exchange, notified, notify, push_notify};
use crate::config::Mode;
use crate::crypto::equal;
use crate::describe;
use crate::engine::core::Context;
use crate::event::{Action, Level, Side, State, Why};
use crate::message::{Chain, Payload};

/// Bytes of a COOKIE2; 8 to 64 are allowed (RFC 4555, 4.2.5).
const COOKIE2_BYTES: usize = 16;

/// A question whether the peer is reached at an address.
pub(super) struct Check {
    cookie: Vec<u8>,
    remote: SocketAddr,
}

impl Sa {
    /// Says that this side knows MOBIKE.
    pub(super) fn push_mobike(chain: &mut Chain) {
        push_notify(chain, notify::MOBIKE, &[]);
    }

    /// Takes over whether the peer knows MOBIKE.
    pub(super) fn read_mobike(&mut self, found: &[Payload<'_>]) {
        self.is_mobile = notified(found, notify::MOBIKE).is_some();
    }

    /// As initiator: moves to another own address. Returns false if the SA or one of its pairs cannot move.
    pub(crate) fn move_to(&mut self, local: IpAddr, cx: &mut Context<'_>) -> bool {
        let is_ready = self.stage == Stage::Done && self.common.state == State::Established;
        let mut own = { cx.core.children.values() }.filter(|kept| kept.child.sa == self.common.id);
        let can_move = own.all(|kept| kept.child.mode == Mode::Tunnel);
        if !self.is_mobile || !is_ready || !can_move || self.common.side == Side::Responder {
            return false;
        }
        self.common.local.set_ip(local);
        // There may be a translator on the new path.
        self.common.move_to_4500();
        if let Some(asked) = &mut self.asked {
            asked.resend.at = cx.now;
        }
        self.tasks.retain(|task| !matches!(task, Task::Move));
        self.tasks.push_front(Task::Move);
        self.say(Level::Info, "moves to another address", cx);
        self.go_on(cx);
        true
    }

    /// Asks the peer to send to the new address.
    pub(super) fn ask_move(&mut self, cx: &mut Context<'_>) {
        let mut chain = Chain::default();
        push_notify(&mut chain, notify::UPDATE_ADDRESSES, &[]);
        self.push_ends(&mut chain);
        self.ask(exchange::INFORMATIONAL, &chain, Request::Move, cx);
    }

    /// Takes the answer.
    ///
    /// # Errors
    /// The peer does not take the new address.
    pub(super) fn moved(&mut self, found: &[Payload<'_>], cx: &mut Context<'_>) -> Result<(), Why> {
        if let Some(number) = error(found) {
            let text = format!(
                "the new address is refused with {}",
                describe::error(number)
            );
            self.say(Level::Error, &text, cx);
            return Err(Why::Reconfigured);
        }
        self.read_ends(found, self.common.spis);
        self.move_pairs(cx);
        Ok(())
    }

    /// As responder: what an INFORMATIONAL request says of addresses, with what belongs in the answer.
    pub(super) fn hear_move(
        &mut self,
        found: &[Payload<'_>],
        ends: (SocketAddr, SocketAddr),
        natt: bool,
        cx: &mut Context<'_>,
    ) -> Chain {
        let mut chain = Chain::default();
        let update = notified(found, notify::UPDATE_ADDRESSES).is_some();
        if update && self.is_mobile && self.common.side == Side::Responder {
            (self.common.local, self.common.remote) = ends;
            self.common.natt = natt;
            self.read_ends(found, self.common.spis);
            self.say(Level::Info, "the peer says that it has moved here", cx);
            self.tasks.retain(|task| !matches!(task, Task::Verify));
            self.tasks.push_front(Task::Verify);
        }
        if self.is_mobile && notified(found, notify::NAT_SOURCE).is_some() {
            self.push_ends(&mut chain);
        }
        // The peer proves that it is reached at its address (RFC 4555, 3.7).
        if let Some(cookie) = notified(found, notify::COOKIE2) {
            push_notify(&mut chain, notify::COOKIE2, cookie.data);
        }
        chain
    }

    /// As responder: asks the peer to send back a random value from its new address.
    pub(super) fn ask_cookie(&mut self, cx: &mut Context<'_>) {
        let check = Check {
            cookie: cx.core.random(COOKIE2_BYTES),
            remote: self.common.remote,
        };
        let mut chain = Chain::default();
        push_notify(&mut chain, notify::COOKIE2, &check.cookie);
        self.ask(exchange::INFORMATIONAL, &chain, Request::Verify(check), cx);
    }

    /// As responder: takes the value that came back, and moves the pairs. Nothing moves if the peer has moved on
    /// meanwhile: its next address is asked for, too.
    ///
    /// # Errors
    /// The value is another one, which ends the SA (RFC 4555, 3.7).
    pub(super) fn verified(
        &mut self,
        check: &Check,
        found: &[Payload<'_>],
        cx: &mut Context<'_>,
    ) -> Result<(), Why> {
        let cookie = notified(found, notify::COOKIE2);
        if cookie.is_none_or(|cookie| !equal(cookie.data, &check.cookie)) {
            self.say(Level::Error, "the peer sends back another COOKIE2", cx);
            return Err(Why::Protocol);
        }
        if check.remote == self.common.remote {
            self.say(Level::Info, "the peer is reached at its new address", cx);
            self.move_pairs(cx);
        }
        Ok(())
    }

    /// Packets of all pairs travel between the ends of the IKE SA from now on.
    fn move_pairs(&mut self, cx: &mut Context<'_>) {
        let (local, remote) = (self.common.local, self.common.remote);
        let natt = self.common.translated != (false, false);
        let own = { cx.core.children.values_mut() }.filter(|kept| kept.child.sa == self.common.id);
        for kept in own {
            let child = &mut kept.child;
            (child.local, child.remote, child.natt) = (local, remote, natt);
            cx.out.push(Action::Moved {
                child: child.id,
                local,
                remote,
                natt,
            });
        }
    }
}
