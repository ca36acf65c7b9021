//! A server: sessions of all its clients.
//!
//! ```text
//! HARD_RESET ──▶ answer without state ──▶ packet with valid session id: Negotiating
//! Negotiating ─record▶ Authenticating ─Accept, PUSH_REQUEST▶ Open ─EXIT, timeout, Close▶ gone
//! ```

mod login;

use std::collections::{BTreeMap, BTreeSet};

use machine::{Instant, Machine, Rng};

use self::login::{Client, Context, Entry};
use crate::cookie::{Cookies, RESET_IDS};
use crate::event::{Action, Failure, Grant, Reason, ServerEvent, ServerSettings, SessionId};
use crate::fault::Fault;
use crate::packet::{Acks, Body, FRONT_BYTES, MAX_CONTROL_BYTES, Message, Opcode, Sid};
use crate::path::Path;
use crate::session::{Session, Start};

/// Sessions that are not open yet, at most.
const MAX_HALF_OPEN: usize = 2048;
/// Numbers of sessions lie below.
const MAX_ID: u32 = 1 << 24;

/// Timers of servers and clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// Retransmissions, pings, renewals and timeouts of a session.
    Session(SessionId),
}

/// A server.
pub struct Server {
    context: Context,
    cookies: Cookies,
    rng: Rng,
    sessions: BTreeMap<SessionId, Entry>,
    /// Sessions by path and session id of the client.
    index: BTreeMap<(Path, Sid), SessionId>,
    timers: BTreeSet<(Instant, SessionId)>,
    half_open: usize,
    last_id: SessionId,
}

impl Server {
    /// Returns a server without sessions.
    pub fn new(settings: ServerSettings, mut rng: Rng) -> Self {
        Self {
            context: Context::new(settings, &mut rng),
            cookies: Cookies::new(&mut rng),
            rng,
            sessions: BTreeMap::new(),
            index: BTreeMap::new(),
            timers: BTreeSet::new(),
            half_open: 0,
            last_id: 0,
        }
    }

    /// Returns the number of sessions, half-open and ending ones included.
    pub fn session_count(&self) -> usize {
        self.sessions.len()
    }

    /// Returns the sessions whose timers are due. The owner reports their traffic before it calls [`Machine::tick`].
    pub fn due(&self, now: Instant) -> Vec<SessionId> {
        let due = self.timers.range(..=(now, SessionId::MAX));
        due.map(|(_, id)| *id).collect()
    }

    /// Handles a packet.
    fn receive(&mut self, path: Path, packet: &[u8], now: Instant, out: &mut Vec<Action>) {
        if let Err(fault) = self.try_receive(path, packet, now, out) {
            out.push(Action::Ignored(fault));
        }
    }

    fn try_receive(
        &mut self,
        path: Path,
        packet: &[u8],
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Fault> {
        let front = packet.split_first_chunk::<FRONT_BYTES>();
        let (&[head, sid @ ..], body) = front.ok_or(Fault::Malformed)?;
        let opcode = Opcode::parse(head)?;
        if packet.len() > MAX_CONTROL_BYTES {
            return Err(Fault::Malformed);
        }
        if opcode == Opcode::HardResetClient {
            return self.answer_reset(path, sid, Body::parse(opcode, body)?, now, out);
        }
        let id = match self.index.get(&(path, sid)) {
            Some(id) => *id,
            None => {
                let body = Body::parse(opcode, body)?;
                self.begin(path, sid, opcode, &body, now)?
            }
        };
        self.with_session(id, now, out, |context, entry, out| {
            let mut notices = Vec::new();
            let result = entry.session.receive(packet, None, now, &mut notices);
            for notice in notices {
                context.notice(entry, notice, now, out)?;
            }
            result
        });
        Ok(())
    }

    /// Answers the reset of a client, and stores nothing.
    fn answer_reset(
        &self,
        path: Path,
        client: Sid,
        body: Body<'_>,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Fault> {
        let id = body.message.map_or(u32::MAX, |message| message.id);
        if !RESET_IDS.contains(&id) {
            return Err(Fault::Sequence);
        }
        let mut acks = Acks::default();
        acks.push(id);
        let answer = Body {
            acks,
            receiver: Some(client),
            message: Some(Message {
                id: 0,
                payload: &[],
            }),
        };
        let mut packet = vec![Opcode::HardResetServer.head(0)];
        packet.extend_from_slice(&self.cookies.session_id(path.remote, client, id, now));
        answer.encode(&mut packet);
        out.push(Action::Send(path, packet));
        Ok(())
    }

    /// Begins a session whose client returns a valid session id.
    fn begin(
        &mut self,
        path: Path,
        client: Sid,
        opcode: Opcode,
        body: &Body<'_>,
        now: Instant,
    ) -> Result<SessionId, Fault> {
        let local = body.receiver.ok_or(Fault::Session)?;
        let may_begin = matches!(opcode, Opcode::Control | Opcode::Ack);
        let reset_id = self.cookies.check(path.remote, client, local, now);
        let reset_id = reset_id.filter(|_| may_begin).ok_or(Fault::Cookie)?;
        let is_full = self.half_open >= MAX_HALF_OPEN
            || self.sessions.len() >= self.context.settings.max_sessions.min(MAX_ID as usize / 2);
        if is_full {
            return Err(Fault::Full);
        }
        let id = self.free_id();
        let start = Start {
            id,
            path,
            tls: &self.context.settings.tls,
            renegotiation: self.context.settings.renegotiation,
        };
        let session = Session::accept(&start, local, client, reset_id, &mut self.rng, now);
        self.index.insert((path, client), id);
        self.half_open += 1;
        let entry = Entry {
            session,
            client: Client::Negotiating,
            scheduled: Instant::FAR_FUTURE,
        };
        self.sessions.insert(id, entry);
        self.timers.insert((Instant::FAR_FUTURE, id));
        Ok(id)
    }

    /// Returns a number that no session has.
    fn free_id(&mut self) -> SessionId {
        loop {
            self.last_id = (self.last_id + 1) % MAX_ID;
            if !self.sessions.contains_key(&self.last_id) {
                return self.last_id;
            }
        }
    }

    /// Runs `work` on a session, and then what follows from it: packets, timers, and its end.
    fn with_session(
        &mut self,
        id: SessionId,
        now: Instant,
        out: &mut Vec<Action>,
        work: impl FnOnce(&Context, &mut Entry, &mut Vec<Action>) -> Result<(), Failure>,
    ) {
        let Some(mut entry) = self.sessions.remove(&id) else {
            return;
        };
        let was_open = entry.client.is_open();
        let was_ending = entry.session.is_ending();
        match work(&self.context, &mut entry, out) {
            Ok(()) => {}
            Err(Failure::Ignored(fault)) => out.push(Action::Ignored(fault)),
            Err(Failure::Ended(reason)) if !was_ending => {
                entry.session.end(now);
                out.push(Action::Closed(id, reason));
            }
            Err(Failure::Ended(_)) => {}
        }
        if !was_open && (entry.client.is_open() || entry.session.is_ending()) && !was_ending {
            self.half_open -= 1;
        }
        entry.session.transmit(now, out);
        self.timers.remove(&(entry.scheduled, id));
        if entry.session.is_over(now) {
            let key = entry.session.remote_sid().unwrap_or_default();
            self.index.remove(&(entry.session.path, key));
            return;
        }
        entry.scheduled = entry.session.deadline();
        self.timers.insert((entry.scheduled, id));
        let path = entry.session.path;
        let has_opened = !was_open && entry.client.is_open();
        self.sessions.insert(id, entry);
        if has_opened {
            self.replace_others(path, id, now, out);
        }
    }

    /// Ends a session with a last message.
    fn close(
        &mut self,
        id: SessionId,
        text: &str,
        reason: Reason,
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        self.with_session(id, now, out, |_, entry, _| {
            if !entry.session.is_ending() && !text.is_empty() {
                entry.session.send_text(text);
            }
            Err(reason.into())
        });
    }

    fn accept(&mut self, id: SessionId, grant: Grant, now: Instant, out: &mut Vec<Action>) {
        self.with_session(id, now, out, |context, entry, out| {
            context.granted(entry, grant, now, out)
        });
    }

    /// Ends the sessions of a path whose client has opened another one.
    fn replace_others(&mut self, path: Path, id: SessionId, now: Instant, out: &mut Vec<Action>) {
        for other in self.sessions_of(path) {
            if other != id {
                self.close(other, "", Reason::Replaced, now, out);
            }
        }
    }

    /// Moves a session to another path.
    fn relocate(&mut self, id: SessionId, path: Path) {
        let Some(entry) = self.sessions.get_mut(&id) else {
            return;
        };
        let client = entry.session.remote_sid().unwrap_or_default();
        if !self.index.contains_key(&(path, client)) {
            self.index.remove(&(entry.session.path, client));
            self.index.insert((path, client), id);
            entry.session.path = path;
        }
    }

    /// Returns the sessions of a path, whatever the session ids of their clients.
    fn sessions_of(&self, path: Path) -> Vec<SessionId> {
        let range = self
            .index
            .range((path, Sid::default())..=(path, [u8::MAX; 8]));
        range.map(|(_, id)| *id).collect()
    }

    fn tick_session(&mut self, id: SessionId, now: Instant, out: &mut Vec<Action>) {
        self.with_session(id, now, out, |context, entry, out| {
            let mut notices = Vec::new();
            let resumed = entry.session.resume(None, now, &mut notices);
            for notice in notices {
                context.notice(entry, notice, now, out)?;
            }
            resumed?;
            entry.session.tick(now, out).map_err(Failure::Ended)
        });
    }
}

impl Machine for Server {
    type Event<'a> = ServerEvent<'a>;
    type Action = Action;
    type Timer = Timer;

    fn handle(&mut self, event: ServerEvent<'_>, now: Instant, out: &mut Vec<Action>) {
        match event {
            ServerEvent::Configure(settings) => self.context.settings = *settings,
            ServerEvent::Received { path, packet } => self.receive(path, packet, now, out),
            ServerEvent::Accept(id, grant) => self.accept(id, *grant, now, out),
            ServerEvent::Refuse(id, reason) => {
                let text = match reason {
                    "" => "AUTH_FAILED".to_owned(),
                    _ => format!("AUTH_FAILED,{reason}"),
                };
                self.close(id, &text, Reason::RefusedHere(reason.into()), now, out);
            }
            ServerEvent::Traffic(id, traffic) => {
                self.with_session(id, now, out, |_, entry, _| {
                    entry.session.traffic(&traffic, now);
                    Ok(())
                });
            }
            ServerEvent::Moved(id, path) => self.relocate(id, path),
            ServerEvent::ExitReceived(id) => self.close(id, "", Reason::Exit, now, out),
            ServerEvent::Disconnected(path) => {
                for id in self.sessions_of(path) {
                    self.close(id, "", Reason::Disconnected, now, out);
                }
            }
            ServerEvent::Close(id) => self.close(id, "RESTART", Reason::Closed, now, out),
            ServerEvent::Shutdown => {
                let all: Vec<SessionId> = self.sessions.keys().copied().collect();
                for id in all {
                    self.close(id, "RESTART", Reason::Closed, now, out);
                }
            }
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Action>) {
        while let Some((at, id)) = self.timers.first().copied() {
            if at > now {
                return;
            }
            self.tick_session(id, now, out);
        }
    }

    fn deadline(&self) -> Option<(Instant, Timer)> {
        let (at, id) = self.timers.first()?;
        Some((*at, Timer::Session(*id)))
    }
}
