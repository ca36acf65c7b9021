//! Requests in flight to one port of one server.
//!
//! A line is a source port towards the server's port, and has 256 identifiers (RFC 2865, 3). A window bounds the
//! requests in flight, so that a burst does not overflow the server's socket: each answer opens it, and silence closes
//! it. A server that let a request expire without answering any other is silent: other servers precede it until it
//! answers, and one request at a time probes it.

use std::collections::BTreeMap;

use machine::{Duration, Instant};

use super::LineId;

/// Number of identifiers of a line.
const IDS: usize = 256;
/// Bounds of the window. The receive buffer that Linux gives a server's socket by default (212,992 bytes) holds about
/// 270 requests, and loses what exceeds them, retransmissions included.
const MIN_WINDOW: usize = 16;
const MAX_WINDOW: usize = 256;
/// Interval between probes of a silent server.
const PROBE_INTERVAL: Duration = Duration::from_secs(10);

/// Requests in flight to one port of one server, and requests that wait.
pub(super) struct Flow<K> {
    lines: Vec<Line<K>>,
    /// Waiting requests in order of arrival.
    waiting: BTreeMap<u64, K>,
    in_flight: usize,
    window: usize,
    /// Time when the window was last closed.
    closed_at: Option<Instant>,
    /// Time of the last answer.
    answered_at: Option<Instant>,
    /// Time of the next probe of a silent server.
    probe_at: Option<Instant>,
}

/// Source port towards a server.
struct Line<K> {
    id: LineId,
    requests: Box<[Option<K>; IDS]>,
    used: usize,
    /// Identifier that was assigned last.
    last: u8,
}

impl<K: Copy> Flow<K> {
    pub(super) const fn new() -> Self {
        Self {
            lines: Vec::new(),
            waiting: BTreeMap::new(),
            in_flight: 0,
            window: MAX_WINDOW,
            closed_at: None,
            answered_at: None,
            probe_at: None,
        }
    }

    /// Appends a request to the queue; `number` increases with each request.
    pub(super) fn enqueue(&mut self, number: u64, key: K) {
        self.waiting.insert(number, key);
    }

    /// Removes a waiting request.
    pub(super) fn withdraw(&mut self, number: u64) {
        self.waiting.remove(&number);
    }

    /// Removes and returns the first waiting request, if the window has room.
    pub(super) fn dequeue(&mut self) -> Option<K> {
        let has_room = self.in_flight < self.window;
        let (_, key) = has_room.then(|| self.waiting.pop_first())??;
        Some(key)
    }

    /// Removes and returns all waiting requests.
    pub(super) fn drain(&mut self) -> Vec<K> {
        core::mem::take(&mut self.waiting).into_values().collect()
    }

    /// Assigns a line and an identifier to a request. Identifiers are reused as late as possible. `open` numbers a new
    /// line.
    pub(super) fn assign(&mut self, key: K, open: impl FnOnce() -> LineId) -> (LineId, u8) {
        let free = self.lines.iter().position(|line| line.used < IDS);
        let at = free.unwrap_or_else(|| {
            self.lines.push(Line {
                id: open(),
                requests: Box::new([None; IDS]),
                used: 0,
                last: u8::MAX,
            });
            self.lines.len() - 1
        });
        let line = &mut self.lines[at];
        loop {
            line.last = line.last.wrapping_add(1);
            let request = &mut line.requests[usize::from(line.last)];
            if request.is_none() {
                *request = Some(key);
                break;
            }
        }
        line.used += 1;
        self.in_flight += 1;
        (line.id, line.last)
    }

    /// Returns the request with this identifier.
    pub(super) fn request(&self, line: LineId, id: u8) -> Option<K> {
        let line = self.lines.iter().find(|of| of.id == line)?;
        line.requests[usize::from(id)]
    }

    /// Frees an identifier.
    pub(super) fn release(&mut self, line: LineId, id: u8) {
        let line = self.lines.iter_mut().find(|of| of.id == line);
        if let Some(line) = line
            && line.requests[usize::from(id)].take().is_some()
        {
            line.used -= 1;
            self.in_flight -= 1;
        }
    }

    /// Notes an answer: the server lives, and the window opens if it was used up.
    pub(super) fn answered(&mut self, now: Instant) {
        if self.in_flight >= self.window {
            self.window = (self.window + 1).min(MAX_WINDOW);
        }
        (self.answered_at, self.probe_at) = (Some(now), None);
    }

    /// Notes a missing answer: halves the window, at most once in `timeout`.
    pub(super) fn missed(&mut self, timeout: Duration, now: Instant) {
        if self.closed_at.is_none_or(|at| now >= at + timeout) {
            self.window = (self.window / 2).max(MIN_WINDOW);
            self.closed_at = Some(now);
        }
    }

    /// Notes that a request first sent at `since` expired. Returns true if the server has become silent.
    pub(super) fn expired(&mut self, since: Instant, now: Instant) -> bool {
        let is_silent = !self.has_answered_since(since);
        let was_silent = self.probe_at.is_some();
        if is_silent && !was_silent {
            self.probe_at = Some(now + PROBE_INTERVAL);
        }
        is_silent && !was_silent
    }

    /// True if the server has answered since a time.
    pub(super) fn has_answered_since(&self, since: Instant) -> bool {
        self.answered_at.is_some_and(|at| at >= since)
    }

    /// True if other servers precede this one.
    pub(super) fn is_silent(&self, now: Instant) -> bool {
        self.probe_at.is_some_and(|at| now < at)
    }

    /// Notes a request to a silent server: the next probe follows later.
    pub(super) fn probe(&mut self, now: Instant) {
        if let Some(at) = &mut self.probe_at {
            *at = now + PROBE_INTERVAL;
        }
    }

    /// Returns the lines.
    pub(super) fn lines(&self) -> impl Iterator<Item = LineId> {
        self.lines.iter().map(|line| line.id)
    }

    /// Returns the requests in flight.
    pub(super) fn requests(&self) -> impl Iterator<Item = K> {
        let lines = self.lines.iter();
        lines.flat_map(|line| line.requests.iter().flatten().copied())
    }
}
