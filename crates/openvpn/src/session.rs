//! A session with one peer: its negotiations, timers and packets. Servers and clients build on it.

use machine::{Duration, Instant, Rng};

use crate::event::{Action, DataKeys, Failure, Reason, Renegotiation, SessionId, Traffic};
use crate::fault::Fault;
use crate::negotiation::{Negotiation, Received};
use crate::packet::{Body, FRONT_BYTES, Opcode, Sid};
use crate::path::Path;
use crate::push::Framing;
use crate::record::{Record, Source};
use crate::reliable::Reliable;
use crate::suite::Suite;
use crate::tls::TlsConfig;
use crate::wrap::{Protection, Wrapper};

/// Time for a negotiation (OpenVPN: `hand-window`).
const NEGOTIATION_TIMEOUT: Duration = Duration::from_secs(60);
/// Interval of looks for a TLS connection that another thread has.
const RESUME_INTERVAL: Duration = Duration::from_millis(10);
/// Lifetime of a replaced key (OpenVPN: `tran-window`). Peers send with it for another minute at least.
const TRANSITION: Duration = Duration::from_secs(3600);
/// Least time between renegotiations.
const MIN_KEY_LIFETIME: Duration = Duration::from_secs(5);
/// Time for the delivery of the last messages of a session that ends.
const LINGER: Duration = Duration::from_secs(5);

/// Parameters of the data channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parameters {
    pub(crate) suite: Suite,
    pub(crate) exports_keys: bool,
    pub(crate) peer_id: Option<u32>,
    pub(crate) framing: Framing,
}

/// Something that the peer sent, or that happened.
#[derive(Debug)]
pub(crate) enum Notice {
    /// Record of the first negotiation.
    FirstRecord(Box<Record>),
    /// Record of a renegotiation; a server answers with its own.
    Renewal(Box<Record>),
    /// A control message.
    Text(zeroize::Zeroizing<String>),
}

/// What a session that began needs.
pub(crate) struct Start<'a> {
    pub(crate) id: SessionId,
    pub(crate) path: Path,
    pub(crate) tls: &'a TlsConfig,
    pub(crate) renegotiation: Renegotiation,
}

/// A session.
pub(crate) struct Session {
    pub(crate) id: SessionId,
    pub(crate) path: Path,
    local: Sid,
    remote: Option<Sid>,
    wrapper: Wrapper,
    tls: TlsConfig,
    renegotiation: Renegotiation,
    current: Negotiation,
    next: Option<Negotiation>,
    /// The replaced negotiation, and the time when its key ends.
    previous: Option<(Negotiation, Instant)>,
    /// Time to look for a TLS connection that another thread has.
    resume_at: Option<Instant>,
    pub(crate) parameters: Option<Parameters>,
    /// Time when keys are renewed, and the earliest time.
    renew_at: Option<Instant>,
    renew_from: Instant,
    ping: Option<Duration>,
    timeout: Option<Duration>,
    sent_at: Instant,
    received_at: Instant,
    /// Time for the first negotiation.
    open_until: Instant,
    /// The session has ended, and is kept until its last messages are delivered.
    ends_at: Option<Instant>,
    rng: Rng,
}

impl Session {
    /// Begins a client's session.
    pub(crate) fn connect(
        start: &Start<'_>,
        protection: &Protection,
        unix_time: u32,
        rng: &mut Rng,
        now: Instant,
    ) -> Self {
        let mut local = [0; 8];
        rng.fill(&mut local);
        let reset = Some(Opcode::HardResetClient);
        let current = Negotiation::new(0, start.tls, reset, rng, now);
        let wrapper = Wrapper::new(protection, unix_time);
        Self::new(start, local, None, wrapper, current, rng.split(), now)
    }

    /// Begins a server's session behind a stateless reset. `local` and `remote` are the session ids, and `reset_id`
    /// the packet id of the client's reset.
    pub(crate) fn accept(
        start: &Start<'_>,
        local: Sid,
        remote: Sid,
        reset_id: u32,
        rng: &mut Rng,
        now: Instant,
    ) -> Self {
        let mut current = Negotiation::new(0, start.tls, None, rng, now);
        current.reliable = Reliable::after_reset(reset_id);
        let wrapper = Wrapper::new(&Protection::None, 0);
        Self::new(
            start,
            local,
            Some(remote),
            wrapper,
            current,
            rng.split(),
            now,
        )
    }

    fn new(
        start: &Start<'_>,
        local: Sid,
        remote: Option<Sid>,
        wrapper: Wrapper,
        current: Negotiation,
        rng: Rng,
        now: Instant,
    ) -> Self {
        Self {
            id: start.id,
            path: start.path,
            local,
            remote,
            wrapper,
            tls: start.tls.clone(),
            renegotiation: start.renegotiation,
            current,
            next: None,
            previous: None,
            resume_at: None,
            parameters: None,
            renew_at: None,
            renew_from: now,
            ping: None,
            timeout: None,
            sent_at: now,
            received_at: now,
            open_until: now + NEGOTIATION_TIMEOUT,
            ends_at: None,
            rng,
        }
    }

    /// Returns the session id of the peer.
    pub(crate) const fn remote_sid(&self) -> Option<Sid> {
        self.remote
    }

    /// Returns true if the session has ended and only delivers its last messages.
    pub(crate) const fn is_ending(&self) -> bool {
        self.ends_at.is_some()
    }

    /// Returns the first or current negotiation.
    pub(crate) const fn current(&self) -> &Negotiation {
        &self.current
    }

    pub(crate) const fn current_mut(&mut self) -> &mut Negotiation {
        &mut self.current
    }

    /// Grants the first negotiation more time: the server waits for an answer about the client.
    pub(crate) fn extend(&mut self, time: Duration, now: Instant) {
        self.open_until = now + time;
    }

    /// Handles a packet. `record` makes the record of a client.
    ///
    /// # Errors
    /// The packet is ignored, or the session ends.
    pub(crate) fn receive(
        &mut self,
        packet: &[u8],
        record: Option<&dyn Fn(Source) -> Record>,
        now: Instant,
        notices: &mut Vec<Notice>,
    ) -> Result<(), Failure> {
        let (&front, _) = packet
            .split_first_chunk::<FRONT_BYTES>()
            .ok_or(Fault::Malformed)?;
        let [head, sid @ ..] = front;
        let opcode = Opcode::parse(head)?;
        let body = self.wrapper.open(packet)?;
        let body = Body::parse(opcode, &body)?;
        self.check_sessions(opcode, sid, &body)?;
        let key_id = head & 7;
        if opcode == Opcode::SoftReset && self.may_renegotiate(key_id) {
            self.begin_renegotiation(key_id, now);
        }
        let negotiation = self.negotiation(key_id).ok_or(Fault::Key)?;
        if !negotiation.reliable.acknowledge(&body.acks) {
            return Err(Fault::Sequence.into());
        }
        let stored = body
            .message
            .map_or(Ok(()), |message| negotiation.store(opcode, message));
        self.received_at = self.received_at.max(now);
        self.advance(key_id, record, now, notices)?;
        stored.map_err(Failure::Ignored)
    }

    /// Continues a negotiation with the messages that it has received.
    fn advance(
        &mut self,
        key_id: u8,
        record: Option<&dyn Fn(Source) -> Record>,
        now: Instant,
        notices: &mut Vec<Notice>,
    ) -> Result<(), Failure> {
        let is_first = self.parameters.is_none() && self.current.key_id == key_id;
        let Some(negotiation) = self.negotiation(key_id) else {
            return Ok(());
        };
        let mut received = Vec::new();
        let advanced = negotiation.advance(record, &mut received);
        if negotiation.is_away() {
            self.resume_at = Some(now + RESUME_INTERVAL);
        }
        notices.extend(received.into_iter().map(|received| match received {
            Received::Record(record) if is_first => Notice::FirstRecord(record),
            Received::Record(record) => Notice::Renewal(record),
            Received::Text(text) => Notice::Text(text),
        }));
        advanced
    }

    /// Continues the negotiations whose TLS was on another thread, once it is time to look for it.
    ///
    /// # Errors
    /// The session ends.
    pub(crate) fn resume(
        &mut self,
        record: Option<&dyn Fn(Source) -> Record>,
        now: Instant,
        notices: &mut Vec<Notice>,
    ) -> Result<(), Failure> {
        if self.resume_at.take_if(|at| *at <= now).is_none() {
            return Ok(());
        }
        let all = [Some(&self.current), self.next.as_ref()];
        let away = all.map(|one| one.filter(|one| one.is_away()).map(|one| one.key_id));
        away.into_iter()
            .flatten()
            .try_for_each(|key_id| self.advance(key_id, record, now, notices))
    }

    /// Checks the session ids of a packet, and learns that of the server from its reset.
    fn check_sessions(&mut self, opcode: Opcode, sid: Sid, body: &Body<'_>) -> Result<(), Fault> {
        if body.receiver.is_some_and(|receiver| receiver != self.local) {
            return Err(Fault::Session);
        }
        match (self.remote, opcode) {
            (None, Opcode::HardResetServer) => {
                // Only the answer to the client's reset is a reset of this session.
                body.receiver.ok_or(Fault::Session)?;
                let id = body.message.map_or(0, |message| message.id);
                if id > 1 {
                    return Err(Fault::Sequence);
                }
                self.remote = Some(sid);
                self.current.reliable.expect(id);
                Ok(())
            }
            (Some(remote), Opcode::HardResetClient) if remote == sid => Err(Fault::Duplicate),
            (Some(remote), _) if remote == sid => Ok(()),
            _ => Err(Fault::Session),
        }
    }

    /// Returns the negotiation of a key id.
    fn negotiation(&mut self, key_id: u8) -> Option<&mut Negotiation> {
        let previous = self.previous.as_mut().map(|(previous, _)| previous);
        let mut all = [Some(&mut self.current), self.next.as_mut(), previous]
            .into_iter()
            .flatten();
        all.find(|negotiation| negotiation.key_id == key_id)
    }

    /// Returns true if the peer may begin a renegotiation with this key id.
    fn may_renegotiate(&self, key_id: u8) -> bool {
        self.next.is_none()
            && self.parameters.is_some()
            && key_id == next_key_id(self.current.key_id)
            && !self.is_ending()
    }

    fn begin_renegotiation(&mut self, key_id: u8, now: Instant) {
        let reset = Some(Opcode::SoftReset);
        self.next = Some(Negotiation::new(
            key_id,
            &self.tls,
            reset,
            &mut self.rng,
            now,
        ));
        self.renew_at = None;
    }

    /// Returns the negotiation that renews the keys.
    pub(crate) const fn renewal_mut(&mut self) -> Option<&mut Negotiation> {
        self.next.as_mut()
    }

    /// Sends a control message.
    pub(crate) fn send_text(&mut self, text: &str) {
        self.current.send_text(text);
    }

    /// Opens the data channel: derives the keys of the first negotiation.
    ///
    /// # Errors
    /// The keys cannot be derived.
    pub(crate) fn open(
        &mut self,
        parameters: Parameters,
        ping: Option<Duration>,
        timeout: Option<Duration>,
        now: Instant,
    ) -> Result<DataKeys, Failure> {
        self.parameters = Some(parameters);
        self.ping = ping;
        self.timeout = timeout;
        self.sent_at = now;
        self.received_at = now;
        self.schedule_renewal(now);
        let keys = self.keys(&self.current, &parameters);
        keys.ok_or(Failure::Ended(Reason::Protocol(Fault::Message)))
    }

    fn schedule_renewal(&mut self, now: Instant) {
        self.renew_at = self.renegotiation.after.map(|after| now + after);
        self.renew_from = now + MIN_KEY_LIFETIME;
    }

    fn keys(&self, negotiation: &Negotiation, parameters: &Parameters) -> Option<DataKeys> {
        let remote = self.remote?;
        let keys = negotiation.keys(parameters.exports_keys, self.local, remote)?;
        Some(DataKeys {
            session: self.id,
            key_id: negotiation.key_id,
            suite: parameters.suite,
            peer_id: parameters.peer_id,
            framing: parameters.framing,
            keys,
        })
    }

    /// Installs the keys of a renegotiation whose records are exchanged.
    pub(crate) fn renew_keys(&self, out: &mut Vec<Action>) {
        let keys = self.next.as_ref().filter(|next| next.has_keys());
        let keys = keys.and_then(|next| self.keys(next, self.parameters.as_ref()?));
        out.extend(keys.map(|keys| Action::Keys(Box::new(keys))));
    }

    /// Makes a finished renegotiation the current one: this end sends with its key from now on.
    fn promote(&mut self, now: Instant, out: &mut Vec<Action>) {
        let is_done = |next: &mut Negotiation| next.has_keys() && next.reliable.is_empty();
        let Some(next) = self.next.take_if(is_done) else {
            return;
        };
        out.push(Action::UseKey(self.id, next.key_id));
        let old = core::mem::replace(&mut self.current, next);
        if let Some((retired, _)) = self.previous.replace((old, now + TRANSITION)) {
            out.push(Action::RetireKey(self.id, retired.key_id));
        }
        self.schedule_renewal(now);
    }

    /// Takes over the times of the data channel's packets, and renews keys that have encrypted enough.
    pub(crate) fn traffic(&mut self, traffic: &Traffic, now: Instant) {
        self.sent_at = self.sent_at.max(traffic.sent.unwrap_or(Instant::ZERO));
        self.received_at = self
            .received_at
            .max(traffic.received.unwrap_or(Instant::ZERO));
        let limit = self.renegotiation.bytes;
        let is_used_up = limit.is_some_and(|limit| traffic.key_bytes >= limit);
        if (is_used_up || traffic.is_exhausted)
            && self.parameters.is_some()
            && self.next.is_none()
            && now >= self.renew_from
        {
            self.begin_renegotiation(next_key_id(self.current.key_id), now);
        }
    }

    /// Ends the session after its last messages are delivered.
    pub(crate) fn end(&mut self, now: Instant) {
        self.ends_at.get_or_insert(now + LINGER);
        self.next = None;
        self.previous = None;
    }

    /// Returns true if nothing is left to deliver for a session that has ended.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        let reliable = &self.current.reliable;
        self.ends_at
            .is_some_and(|at| at <= now || reliable.is_empty() || reliable.is_dead(now))
    }

    /// Handles expired timers.
    ///
    /// # Errors
    /// The session ends.
    pub(crate) fn tick(&mut self, now: Instant, out: &mut Vec<Action>) -> Result<(), Reason> {
        if self.is_ending() {
            return Ok(());
        }
        if self.current.reliable.is_dead(now) {
            return Err(Reason::Handshake);
        }
        if self.parameters.is_none() {
            return match self.open_until <= now {
                true => Err(Reason::Handshake),
                false => Ok(()),
            };
        }
        if let Some(next) = &self.next
            && next.began + NEGOTIATION_TIMEOUT <= now
        {
            return Err(Reason::Handshake);
        }
        if self
            .timeout
            .is_some_and(|timeout| self.received_at + timeout <= now)
        {
            return Err(Reason::Timeout);
        }
        if self.renew_at.is_some_and(|at| at <= now) && self.next.is_none() {
            self.begin_renegotiation(next_key_id(self.current.key_id), now);
        }
        if let Some((retired, _)) = self.previous.take_if(|(_, at)| *at <= now) {
            out.push(Action::RetireKey(self.id, retired.key_id));
        }
        if let Some((previous, _)) = &mut self.previous
            && previous.reliable.is_dead(now)
        {
            previous.reliable.abandon();
        }
        if self.ping.is_some_and(|ping| self.sent_at + ping <= now) {
            self.sent_at = now;
            out.push(Action::Ping(self.id));
        }
        Ok(())
    }

    /// Sends all packets that are due, and switches keys where a renegotiation is complete.
    pub(crate) fn transmit(&mut self, now: Instant, out: &mut Vec<Action>) {
        if !self.is_ending() {
            self.promote(now, out);
        }
        let (local, remote) = (self.local, self.remote);
        let previous = self.previous.as_mut().map(|(previous, _)| previous);
        let all = [previous, Some(&mut self.current), self.next.as_mut()];
        for negotiation in all.into_iter().flatten() {
            let key_id = negotiation.key_id;
            while let Some(packet) = negotiation.reliable.next_packet(now) {
                let mut front = [0; FRONT_BYTES];
                front[0] = packet.opcode.head(key_id);
                front[1..].copy_from_slice(&local);
                let body = Body {
                    acks: packet.acks,
                    receiver: remote,
                    message: packet.message,
                };
                let mut bytes = Vec::new();
                body.encode(&mut bytes);
                let packet = self.wrapper.seal(front, &bytes);
                out.push(Action::Send(self.path, packet));
            }
        }
    }

    /// Returns the time of the next tick.
    pub(crate) fn deadline(&self) -> Instant {
        let previous = self.previous.as_ref();
        let negotiations = [
            Some(&self.current),
            self.next.as_ref(),
            previous.map(|(previous, _)| previous),
        ];
        let resend = negotiations
            .into_iter()
            .flatten()
            .filter_map(|negotiation| negotiation.reliable.deadline());
        let is_open = self.parameters.is_some() && !self.is_ending();
        let timers = [
            self.resume_at,
            self.ends_at,
            (self.parameters.is_none() && !self.is_ending()).then_some(self.open_until),
            self.next
                .as_ref()
                .map(|next| next.began + NEGOTIATION_TIMEOUT),
            previous.map(|(_, at)| *at).filter(|_| is_open),
            self.renew_at.filter(|_| is_open && self.next.is_none()),
            self.ping
                .filter(|_| is_open)
                .map(|ping| self.sent_at + ping),
            self.timeout
                .filter(|_| is_open)
                .map(|timeout| self.received_at + timeout),
        ];
        let timers = timers.into_iter().flatten().chain(resend);
        timers.min().unwrap_or(Instant::FAR_FUTURE)
    }
}

/// Returns the key id behind another: 1 follows 7, and 0 is that of the first key.
const fn next_key_id(key_id: u8) -> u8 {
    key_id % 7 + 1
}
