//! Calls of a tunnel (RFC 2661, 7.4): incoming calls alone, as client (LAC) and as server (LNS).

use machine::Instant;

use super::call::{Call, CallState};
use super::{Context, IDLE_TIMEOUT, MAX_OPENING, State, Tunnel, peer_result, text};
use crate::avp::{Builder, attribute};
use crate::event::{Action, CallIds, Fault, Opened, Reason};
use crate::message::{Message, kind, result};

/// Speed that a call announces, in bits per second.
const SPEED: u32 = 1_000_000_000;
/// Framing of a call: synchronous.
const SYNCHRONOUS: u32 = 1;

impl Tunnel {
    /// Returns an unused session number; `None` if all are in use.
    fn free_session(&self, cx: &mut Context<'_>) -> Option<u16> {
        let first = cx.rng.next_u32() as u16;
        let all = (0..=u16::MAX).map(|step| first.wrapping_add(step));
        let mut free = all.filter(|id| *id != 0 && !self.calls.contains_key(id));
        free.next()
    }

    fn add_call(&mut self, id: u16, call: Call) {
        self.check_at = self.check_at.or(call.fails_at());
        self.idle_at = None;
        self.opening += 1;
        self.calls.insert(id, call);
    }

    /// Sends ICRQ for the session of a client.
    pub(super) fn request_call(&mut self, cx: &mut Context<'_>) {
        let Some(id) = self.free_session(cx) else {
            return;
        };
        let call = Call {
            remote: 0,
            state: CallState::AwaitsReply(cx.now + IDLE_TIMEOUT),
            calling_number: None,
        };
        self.add_call(id, call);
        let serial = cx.rng.next_u32().to_be_bytes();
        let request = Builder::new(kind::ICRQ)
            .mandatory(attribute::ASSIGNED_SESSION, &id.to_be_bytes())
            .mandatory(attribute::CALL_SERIAL, &serial);
        self.send(0, request);
    }

    /// Handles ICRQ.
    pub(super) fn call_requested(
        &mut self,
        message: &Message<'_>,
        cx: &mut Context<'_>,
    ) -> Result<(), Fault> {
        let remote = message.assigned_session.filter(|id| *id != 0);
        let remote = remote.ok_or(Fault::Malformed)?;
        if self.client.is_some() {
            self.disconnect(0, remote, (result::NO_FACILITIES_EVER, 0));
            return Err(Fault::State);
        }
        let has_room = cx.has_room && self.opening < MAX_OPENING;
        let id = has_room.then(|| self.free_session(cx)).flatten();
        let Some(id) = id else {
            let code = (result::NO_FACILITIES, result::ERROR_RESOURCES);
            self.disconnect(0, remote, code);
            return Err(Fault::Full);
        };
        let call = Call {
            remote,
            state: CallState::AwaitsConnect(cx.now + IDLE_TIMEOUT),
            calling_number: message.calling_number.as_deref().map(text),
        };
        self.add_call(id, call);
        let reply = Builder::new(kind::ICRP);
        let reply = reply.mandatory(attribute::ASSIGNED_SESSION, &id.to_be_bytes());
        self.send(remote, reply);
        Ok(())
    }

    /// Handles ICRP.
    pub(super) fn call_replied(
        &mut self,
        session: u16,
        message: &Message<'_>,
        cx: &mut Context<'_>,
    ) -> Result<(), Fault> {
        let call = self.calls.get_mut(&session).ok_or(Fault::Session)?;
        if !matches!(call.state, CallState::AwaitsReply(_)) {
            return Err(Fault::State);
        }
        let remote = message.assigned_session.filter(|id| *id != 0);
        let remote = remote.ok_or(Fault::Malformed)?;
        (call.remote, call.state) = (remote, CallState::Open);
        self.opening = self.opening.saturating_sub(1);
        let connected = Builder::new(kind::ICCN)
            .mandatory(attribute::CONNECT_SPEED, &SPEED.to_be_bytes())
            .mandatory(attribute::FRAMING_TYPE, &SYNCHRONOUS.to_be_bytes());
        self.send(remote, connected);
        self.opened(session, false, cx);
        Ok(())
    }

    /// Handles ICCN.
    pub(super) fn call_connected(
        &mut self,
        session: u16,
        message: &Message<'_>,
        cx: &mut Context<'_>,
    ) -> Result<(), Fault> {
        let call = self.calls.get_mut(&session).ok_or(Fault::Session)?;
        if !matches!(call.state, CallState::AwaitsConnect(_)) {
            return Err(Fault::State);
        }
        call.state = CallState::Open;
        self.opening = self.opening.saturating_sub(1);
        self.opened(session, message.requires_sequence, cx);
        Ok(())
    }

    fn opened(&self, session: u16, requires_sequence: bool, cx: &mut Context<'_>) {
        let Some(call) = self.calls.get(&session) else {
            return;
        };
        cx.actions.push(Action::Opened(Box::new(Opened {
            session: self.session(session),
            remote: CallIds {
                tunnel: self.remote_id,
                session: call.remote,
            },
            path: self.path,
            client: self.client,
            host_name: self.host_name.clone(),
            calling_number: call.calling_number.clone(),
            requires_sequence,
        })));
    }

    /// Handles CDN.
    pub(super) fn call_disconnected(
        &mut self,
        session: u16,
        message: &Message<'_>,
        cx: &mut Context<'_>,
    ) -> Result<(), Fault> {
        let by_remote = || {
            // The other end may not know the number of this end yet (RFC 2661, 4.4.4).
            let remote = message.assigned_session.filter(|id| *id != 0)?;
            let mut calls = self.calls.iter();
            calls
                .find(|(_, call)| call.remote == remote)
                .map(|(id, _)| *id)
        };
        let id = match self.calls.contains_key(&session) {
            true => Some(session),
            false if session == 0 => by_remote(),
            false => None,
        };
        let id = id.ok_or(Fault::Session)?;
        self.drop_call(id, &Reason::Peer(peer_result(message)), cx);
        Ok(())
    }

    /// Sends CDN with a result and an error code for a session of the other end.
    pub(super) fn disconnect(&mut self, id: u16, remote: u16, code: (u16, u16)) {
        let [a, b] = code.0.to_be_bytes();
        let [c, d] = code.1.to_be_bytes();
        let notify = Builder::new(kind::CDN)
            .mandatory(attribute::RESULT_CODE, &[a, b, c, d])
            .mandatory(attribute::ASSIGNED_SESSION, &id.to_be_bytes());
        self.send(remote, notify);
    }

    /// Ends a call with CDN, and reports its end.
    pub(super) fn fail_call(
        &mut self,
        id: u16,
        code: (u16, u16),
        reason: &Reason,
        cx: &mut Context<'_>,
    ) {
        let remote = self.calls.get(&id).map_or(0, |call| call.remote);
        self.disconnect(id, remote, code);
        self.drop_call(id, reason, cx);
    }

    /// Forgets a call and reports its end. The tunnel of a client ends with it.
    fn drop_call(&mut self, id: u16, reason: &Reason, cx: &mut Context<'_>) {
        let session = self.session(id);
        let Some(was_open) = self.remove_call(id, cx.now) else {
            return;
        };
        if was_open {
            cx.actions.push(Action::Closed(session, reason.clone()));
        }
        if self.client.is_some() {
            let client = self.client.take().filter(|_| !was_open);
            let failed = client.map(|client| Action::Failed(client, reason.clone()));
            cx.actions.extend(failed);
            self.stop((result::CLEARED, 0), cx.now);
        }
    }

    /// Removes a call. Returns whether it was open; `None` if there is no such call.
    fn remove_call(&mut self, id: u16, now: Instant) -> Option<bool> {
        let call = self.calls.remove(&id)?;
        self.opening -= usize::from(!call.is_open()).min(self.opening);
        let is_established = matches!(self.state, State::Established);
        if self.calls.is_empty() && self.client.is_none() && is_established {
            self.idle_at = Some(now + IDLE_TIMEOUT);
        }
        Some(call.is_open())
    }

    /// Closes a call on request of the owner. The tunnel of a client ends with it.
    pub(crate) fn close_call(&mut self, id: u16, cx: &mut Context<'_>) -> bool {
        let Some(remote) = self.calls.get(&id).map(|call| call.remote) else {
            return false;
        };
        self.disconnect(id, remote, (result::ADMINISTRATIVE, 0));
        self.remove_call(id, cx.now);
        if self.client.take().is_some() {
            self.stop((result::CLEARED, 0), cx.now);
        }
        true
    }

    /// Closes all calls but one, because another session of the host replaces them.
    pub(crate) fn replace_calls(&mut self, but: Option<u16>, cx: &mut Context<'_>) {
        let all = self.calls.keys().copied().filter(|id| Some(*id) != but);
        for id in all.collect::<Vec<_>>() {
            self.fail_call(id, (result::ADMINISTRATIVE, 0), &Reason::Replaced, cx);
        }
    }

    /// Handles a PPP packet for a session. Returns true if the session is open.
    pub(crate) fn receive_data(&mut self, session: u16, now: Instant) -> Result<(), Fault> {
        match self.calls.get(&session) {
            Some(call) if call.is_open() => {
                self.heard = now;
                Ok(())
            }
            Some(_) => Err(Fault::State),
            None => Err(Fault::Session),
        }
    }

    /// Fails calls that did not open in time.
    pub(super) fn check_calls(&mut self, cx: &mut Context<'_>) {
        let pending = { self.calls.iter() }.filter_map(|(id, call)| Some((*id, call.fails_at()?)));
        let (due, later): (Vec<_>, Vec<_>) = pending.partition(|(_, at)| *at <= cx.now);
        self.check_at = later.into_iter().map(|(_, at)| at).min();
        for (id, _) in due {
            let code = (result::ERROR, 0);
            self.fail_call(id, code, &Reason::Timeout, cx);
        }
    }
}
