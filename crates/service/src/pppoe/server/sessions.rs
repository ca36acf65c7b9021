//! Open sessions of all ports.

use std::collections::{BTreeMap, VecDeque};

use wire::Mac;

use super::SessionId;

/// Sessions without a PPP packet.
const SILENT_MAX: usize = 4096;

/// An open session.
#[derive(Clone, Copy, Debug)]
pub(super) struct Session {
    /// Number of its service.
    pub(super) service: u64,
    /// Stamp of the cookie that opened it.
    stamp: u64,
    max_payload: Option<u16>,
    /// No PPP packet has arrived.
    is_silent: bool,
    /// Not authenticated.
    is_half_made: bool,
}

impl Session {
    pub(super) const fn new(service: u64, stamp: u64, max_payload: Option<u16>) -> Self {
        Self {
            service,
            stamp,
            max_payload,
            is_silent: true,
            is_half_made: true,
        }
    }
}

/// Sessions, and what of them is not complete.
#[derive(Debug, Default)]
pub struct Sessions {
    all: BTreeMap<SessionId, Session>,
    /// Sessions by port, client and stamp.
    stamps: BTreeMap<(u64, Mac, u64), u16>,
    /// Sessions in the order in which they were opened, with their stamps. Sessions that are no longer silent leave
    /// when they come first.
    silent: VecDeque<(SessionId, u64)>,
    silent_count: usize,
    half_made: usize,
}

impl Sessions {
    /// Number of sessions.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there is no session.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Number of sessions that are not authenticated.
    pub const fn half_made(&self) -> usize {
        self.half_made
    }

    /// Whether a session is open.
    pub fn contains(&self, id: SessionId) -> bool {
        self.all.contains_key(&id)
    }

    /// Whether a port has sessions.
    pub fn has_port(&self, port: u64) -> bool {
        self.on_port(port).next().is_some()
    }

    /// Number of entries in the order of silent sessions.
    #[cfg(test)]
    pub(crate) fn waiting_for_test(&self) -> usize {
        self.silent.len()
    }

    /// Returns the session that a cookie opened, and its largest payload.
    pub(super) fn with_stamp(
        &self,
        port: u64,
        peer: Mac,
        stamp: u64,
    ) -> Option<(SessionId, Option<u16>)> {
        let number = *self.stamps.get(&(port, peer, stamp))?;
        let id = SessionId { port, peer, number };
        Some((id, self.all.get(&id)?.max_payload))
    }

    /// Returns the sessions on a port.
    pub(super) fn on_port(&self, port: u64) -> impl Iterator<Item = (SessionId, &Session)> {
        let first = SessionId {
            port,
            peer: Mac([0; 6]),
            number: 0,
        };
        let from = self.all.range(first..).map(|(id, session)| (*id, session));
        from.take_while(move |(id, _)| id.port == port)
    }

    /// Returns the sessions of a client with a service.
    pub(super) fn of_peer(&self, port: u64, peer: Mac, service: u64) -> Vec<SessionId> {
        let id = |number| SessionId { port, peer, number };
        let of_peer = self.all.range(id(0)..=id(u16::MAX));
        let of_service = of_peer.filter(|(_, session)| session.service == service);
        of_service.map(|(id, _)| *id).collect()
    }

    /// Adds a session. Returns the oldest silent session if there are too many.
    pub(super) fn insert(&mut self, id: SessionId, session: Session) -> Option<SessionId> {
        self.stamps
            .insert((id.port, id.peer, session.stamp), id.number);
        self.silent.push_back((id, session.stamp));
        self.all.insert(id, session);
        self.silent_count += 1;
        self.half_made += 1;
        while let Some((first, stamp)) = self.silent.front().copied() {
            let open = self.all.get(&first);
            if open.is_some_and(|open| open.is_silent && open.stamp == stamp) {
                return (self.silent_count > SILENT_MAX).then_some(first);
            }
            self.silent.pop_front();
        }
        None
    }

    /// Notes that a PPP packet of a session has arrived.
    pub(super) fn set_heard(&mut self, id: SessionId) {
        if let Some(session) = self.all.get_mut(&id)
            && core::mem::take(&mut session.is_silent)
        {
            self.silent_count -= 1;
        }
    }

    /// Notes that a session is authenticated.
    pub(super) fn set_established(&mut self, id: SessionId) {
        self.set_heard(id);
        if let Some(session) = self.all.get_mut(&id)
            && core::mem::take(&mut session.is_half_made)
        {
            self.half_made -= 1;
        }
    }

    /// Removes a session.
    pub(super) fn remove(&mut self, id: SessionId) -> Option<Session> {
        self.set_established(id);
        let session = self.all.remove(&id)?;
        self.stamps.remove(&(id.port, id.peer, session.stamp));
        Some(session)
    }
}
