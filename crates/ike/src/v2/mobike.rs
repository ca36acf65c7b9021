//! MOBIKE (RFC 4555): moves an IKEv2 SA and its pairs to other addresses.
//!
//! ```text
//! initiator: local address changes ─▶ UPDATE_SA_ADDRESSES from the new one ─▶ response ─▶ pairs move
//! responder: UPDATE_SA_ADDRESSES ─▶ response, COOKIE2 to the new address ─▶ COOKIE2 returns ─▶ pairs move
//! ```
//!
//! The responder moves its pairs after a return routability check of the new address (RFC 4555, 3.5 and 3.7):
//! otherwise a peer could redirect its traffic to a victim.
//!
//! The initiator alone chooses the addresses (RFC 4555, 2.3). Pairs in transport mode cannot move: their
//! selectors are the addresses.

use core::net::{IpAddr, SocketAddr};

use super::{Request, Sa, Stage, Task, error, exchange, notified, notify, push_notify};
use crate::config::Mode;
use crate::crypto::equal;
use crate::describe;
use crate::engine::core::{Context, Path};
use crate::event::{Action, Level, Side, State, Why};
use crate::message::{Chain, Payload};

/// Length of a COOKIE2 in bytes; 8 to 64 are allowed (RFC 4555, 4.2.5).
const COOKIE2_BYTES: usize = 16;

/// Return routability check of a new address.
pub(super) struct Check {
    cookie: Vec<u8>,
    remote: SocketAddr,
}

impl Sa {
    /// Appends MOBIKE_SUPPORTED.
    pub(super) fn push_mobike(chain: &mut Chain) {
        push_notify(chain, notify::MOBIKE, &[]);
    }

    /// Records whether the peer supports MOBIKE.
    pub(super) fn read_mobike(&mut self, found: &[Payload<'_>]) {
        self.is_mobile = notified(found, notify::MOBIKE).is_some();
    }

    /// Initiator: moves to another local address. Returns false if the SA or one of its pairs cannot move.
    pub(crate) fn move_to(&mut self, local: IpAddr, cx: &mut Context<'_>) -> bool {
        let is_ready = self.stage == Stage::Done && self.common.state == State::Established;
        let mut own = cx.core.children.of_sa(self.common.id);
        let can_move = own.all(|kept| kept.child.mode == Mode::Tunnel);
        drop(own);
        if !self.is_mobile || !is_ready || !can_move || self.common.side == Side::Responder {
            return false;
        }
        self.common.local.set_ip(local);
        // The new path may contain a NAT.
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

    /// Sends UPDATE_SA_ADDRESSES from the new address.
    pub(super) fn ask_move(&mut self, cx: &mut Context<'_>) {
        let mut chain = Chain::default();
        push_notify(&mut chain, notify::UPDATE_ADDRESSES, &[]);
        self.push_ends(&mut chain);
        self.ask(exchange::INFORMATIONAL, &chain, Request::Move, cx);
    }

    /// Processes the response to UPDATE_SA_ADDRESSES.
    ///
    /// # Errors
    /// The peer refuses the new address.
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

    /// Responder: processes the MOBIKE notifications of an INFORMATIONAL request. Returns the response
    /// payloads.
    pub(super) fn receive_move(
        &mut self,
        found: &[Payload<'_>],
        path: Path,
        cx: &mut Context<'_>,
    ) -> Chain {
        let mut chain = Chain::default();
        let update = notified(found, notify::UPDATE_ADDRESSES).is_some();
        if update && self.is_mobile && self.common.side == Side::Responder {
            (self.common.local, self.common.remote) = (path.local, path.remote);
            self.common.natt = path.natt;
            self.read_ends(found, self.common.spis);
            self.say(Level::Info, "the peer has moved to this address", cx);
            self.tasks.retain(|task| !matches!(task, Task::Verify));
            self.tasks.push_front(Task::Verify);
        }
        if self.is_mobile && notified(found, notify::NAT_SOURCE).is_some() {
            self.push_ends(&mut chain);
        }
        // Return routability: returns the peer's cookie (RFC 4555, 3.7).
        if let Some(cookie) = notified(found, notify::COOKIE2) {
            push_notify(&mut chain, notify::COOKIE2, cookie.data);
        }
        chain
    }

    /// Responder: sends a COOKIE2 to the peer's new address.
    pub(super) fn ask_cookie(&mut self, cx: &mut Context<'_>) {
        let check = Check {
            cookie: cx.core.random(COOKIE2_BYTES),
            remote: self.common.remote,
        };
        let mut chain = Chain::default();
        push_notify(&mut chain, notify::COOKIE2, &check.cookie);
        self.ask(exchange::INFORMATIONAL, &chain, Request::Verify(check), cx);
    }

    /// Responder: checks the returned COOKIE2 and moves the pairs. If the peer has moved again meanwhile,
    /// checks its next address instead.
    ///
    /// # Errors
    /// The cookie differs, which ends the SA (RFC 4555, 3.7).
    pub(super) fn verified(
        &mut self,
        check: &Check,
        found: &[Payload<'_>],
        cx: &mut Context<'_>,
    ) -> Result<(), Why> {
        let cookie = notified(found, notify::COOKIE2);
        if cookie.is_none_or(|cookie| !equal(cookie.data, &check.cookie)) {
            self.say(Level::Error, "the peer returned a wrong COOKIE2", cx);
            return Err(Why::Protocol);
        }
        if check.remote == self.common.remote {
            self.say(Level::Info, "the peer is reached at its new address", cx);
            self.move_pairs(cx);
        }
        Ok(())
    }

    /// Moves all pairs to the endpoints of the IKE SA.
    fn move_pairs(&mut self, cx: &mut Context<'_>) {
        let (local, remote) = (self.common.local, self.common.remote);
        let natt = self.common.translated != (false, false);
        for child in cx.core.pairs_with(self.common.id) {
            cx.core.children.set_path(child, local, remote, natt);
            cx.out.push(Action::Moved {
                child,
                local,
                remote,
                natt,
            });
        }
    }
}
