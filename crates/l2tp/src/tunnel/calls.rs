//! Calls of a tunnel (RFC 2661, 7.4; RFC 3931, 7.3): incoming calls alone, as client (LAC) and as server (LNS).

use machine::Instant;

use super::call::{Call, CallState};
use super::{Context, IDLE_TIMEOUT, MAX_OPENING, State, Tunnel, peer_result, text};
use crate::dialect::CallName;
use crate::event::{Action, CallIds, Fault, Opened, OpenedPseudowire, Pseudowire, Reason};
use crate::header::Version;
use crate::message::{ETHERNET, Message, result};

impl Tunnel {
    /// Returns an unused session number; `None` if all are in use.
    fn free_session(&self, cx: &mut Context<'_>) -> Option<u32> {
        let first = match self.dialect.version() {
            Version::Two => cx.rng.next_u32(),
            // No two tunnels of version 3 share a session number.
            Version::Three => cx.last_session.wrapping_add(1),
        };
        let largest = self.dialect.largest_number();
        let all = (0..=u32::from(u16::MAX)).map(|step| first.wrapping_add(step) & largest);
        let mut free = all.filter(|id| *id != 0 && !self.calls.contains_key(id));
        let id = free.next()?;
        *cx.last_session = id;
        Some(id)
    }

    fn add_call(&mut self, id: u32, call: Call) {
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
            pseudowire: { self.dialect.pseudowire() }.map(|own| OpenedPseudowire {
                circuit_id: own.circuit_id.clone(),
                local_cookie: cookie(own, cx),
                remote_cookie: Box::default(),
                local_sublayer: own.has_sublayer,
                remote_sublayer: false,
            }),
        };
        let serial = cx.rng.next_u32();
        let request = self.dialect.request_call(call.name(id), serial);
        self.add_call(id, call);
        self.send(request);
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
        if let Err(code) = self.admits(message) {
            self.disconnect(0, remote, code);
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
            pseudowire: { self.dialect.pseudowire() }.map(|own| OpenedPseudowire {
                circuit_id: text(message.circuit_id.as_deref().unwrap_or_default()),
                local_cookie: cookie(own, cx),
                remote_cookie: message.cookie.as_deref().unwrap_or_default().into(),
                // Both directions have the form that the client chose.
                local_sublayer: message.sublayer == Some(1),
                remote_sublayer: message.sublayer == Some(1),
            }),
        };
        let reply = self.dialect.accept_call(call.name(id));
        self.add_call(id, call);
        self.send(reply);
        Ok(())
    }

    /// Checks that a requested call is of the type and for the circuit of a server of version 3.
    ///
    /// # Errors
    /// Result and error code of the refusal.
    fn admits(&self, message: &Message<'_>) -> Result<(), (u16, u16)> {
        let Some(own) = self.dialect.pseudowire() else {
            return Ok(());
        };
        let circuit = message.circuit_id.as_deref().unwrap_or_default();
        if message.pseudowire_type != Some(ETHERNET) {
            return Err((result::PSEUDOWIRE_TYPE, 0));
        }
        if !own.circuit_id.is_empty() && own.circuit_id.as_bytes() != circuit {
            return Err((result::NO_FACILITIES_EVER, 0));
        }
        match message.sublayer {
            None | Some(0 | 1) => Ok(()),
            Some(_) => Err((result::ERROR, result::ERROR_VALUE)),
        }
    }

    /// Handles ICRP.
    pub(super) fn call_replied(
        &mut self,
        session: u32,
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
        if let Some(pseudowire) = &mut call.pseudowire {
            pseudowire.remote_cookie = message.cookie.as_deref().unwrap_or_default().into();
            pseudowire.remote_sublayer = message.sublayer == Some(1);
        }
        self.opening = self.opening.saturating_sub(1);
        let connected = self.dialect.connect_call(call.name(session));
        self.send(connected);
        self.opened(session, false, cx);
        Ok(())
    }

    /// Handles ICCN.
    pub(super) fn call_connected(
        &mut self,
        session: u32,
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

    fn opened(&self, session: u32, requires_sequence: bool, cx: &mut Context<'_>) {
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
            pseudowire: call.pseudowire.clone(),
        })));
    }

    /// Handles CDN.
    pub(super) fn call_disconnected(
        &mut self,
        session: u32,
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
    pub(super) fn disconnect(&mut self, id: u32, remote: u32, code: (u16, u16)) {
        let call = CallName {
            id,
            remote,
            cookie: &[],
            has_sublayer: false,
        };
        let notify = self.dialect.disconnect_call(call, code);
        self.send(notify);
    }

    /// Ends a call with CDN, and reports its end.
    pub(super) fn fail_call(
        &mut self,
        id: u32,
        code: (u16, u16),
        reason: &Reason,
        cx: &mut Context<'_>,
    ) {
        let remote = self.calls.get(&id).map_or(0, |call| call.remote);
        self.disconnect(id, remote, code);
        self.drop_call(id, reason, cx);
    }

    /// Forgets a call and reports its end. The tunnel of a client ends with it.
    fn drop_call(&mut self, id: u32, reason: &Reason, cx: &mut Context<'_>) {
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
    fn remove_call(&mut self, id: u32, now: Instant) -> Option<bool> {
        let call = self.calls.remove(&id)?;
        self.opening -= usize::from(!call.is_open()).min(self.opening);
        let is_established = matches!(self.state, State::Established);
        if self.calls.is_empty() && self.client.is_none() && is_established {
            self.idle_at = Some(now + IDLE_TIMEOUT);
        }
        Some(call.is_open())
    }

    /// Closes a call on request of the owner. The tunnel of a client ends with it.
    pub(crate) fn close_call(&mut self, id: u32, cx: &mut Context<'_>) -> bool {
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

    /// Closes calls because another session of the host replaces them: all but one, or those of a circuit.
    pub(crate) fn replace_calls(
        &mut self,
        but: Option<u32>,
        circuit: Option<&str>,
        cx: &mut Context<'_>,
    ) {
        let is_of_circuit = |call: &Call| {
            let own = call.pseudowire.as_ref().map(|own| &*own.circuit_id);
            circuit.is_none() || own == circuit
        };
        let all = self.calls.iter().filter(|(_, call)| is_of_circuit(call));
        let all = all.map(|(id, _)| *id).filter(|id| Some(*id) != but);
        for id in all.collect::<Vec<_>>() {
            self.fail_call(id, (result::ADMINISTRATIVE, 0), &Reason::Replaced, cx);
        }
    }

    /// Handles a PPP packet for a session. Returns true if the session is open.
    pub(crate) fn receive_data(&mut self, session: u32, now: Instant) -> Result<(), Fault> {
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

/// Returns a new cookie of packets to this end.
fn cookie(pseudowire: &Pseudowire, cx: &mut Context<'_>) -> Box<[u8]> {
    let mut cookie = vec![0; pseudowire.cookie_bytes.into()];
    cx.rng.fill(&mut cookie);
    cookie.into()
}
