//! Runs a state machine of the bandwidth test on sockets: one thread for all connections of a test or of the server.
//!
//! ```text
//! epoll ─▶ readable, writable ─▶ round: read ─▶ machine ─▶ actions
//!                                       write ◀─ messages, then as much data as the machine's flow allows
//! ```
//! Epoll reports edges: a socket stays marked readable or writable until it has no bytes or no room. A round serves
//! each socket once, so that a fast one does not starve the others.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use btest::wire::{Fill, Protocol};
use btest::{Flow, buffer};
use machine::{Duration, Instant, Machine};
use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use rustix::net::sockopt::socket_error;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};

use super::datagrams::DatagramSockets;
use crate::host::HostPlane;
use crate::system::priority::Priority;
use crate::system::resources::CpuLoad;

/// Bytes per read and write.
const CHUNK_BYTES: usize = 256 << 10;
/// Maximum number of connections.
const MAX_LINKS: usize = 4_096;
/// Maximum number of bytes of messages that wait for a connection.
const MAX_OUTBOX_BYTES: usize = 64 << 10;
/// Time in which a closed connection may still send its messages.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// Minimum time over which the share of the thread is measured.
const MIN_SHARE_SPAN: Duration = Duration::from_millis(100);
/// Maximum sleep.
const MAX_SLEEP: Duration = Duration::from_secs(1);
/// Maximum number of events per sleep.
const MAX_EVENTS: usize = 256;

/// Event data: the bell, the listener; others are links or, with the highest bit, datagram sockets.
const BELL: u64 = u64::MAX;
const LISTENER: u64 = u64::MAX - 1;
const DATAGRAMS: u64 = 1 << 63;

/// A state machine of the bandwidth test, and how its actions become system calls.
pub(super) trait Side: Machine + Sized {
    /// Passes received bytes of a connection to the machine.
    fn received(&mut self, link: u64, bytes: &[u8], now: Instant, out: &mut Vec<Self::Action>);

    /// Reports an established connection.
    fn connected(&mut self, _link: u64, _now: Instant, _out: &mut Vec<Self::Action>) {}

    /// Reports a connection that failed or that the other end closed.
    fn closed(&mut self, link: u64, now: Instant, out: &mut Vec<Self::Action>);

    /// Passes a datagram to the machine.
    fn datagram(&mut self, socket: SocketKey, port: u16, datagram: &[u8], now: Instant);

    /// Returns the flow control of a session; `None` while it may not send.
    fn flow(&mut self, session: u64) -> Option<&mut Flow>;

    /// Returns the destination port of the next datagram of a session; `None` for connected sockets.
    fn destination(&mut self, session: u64) -> Option<u16>;

    /// Sets the CPU load for messages.
    fn set_cpu_percent(&mut self, percent: u8);

    /// Carries out an action.
    fn act(engine: &mut Engine<Self>, action: Self::Action);

    /// Handles an accepted connection.
    fn accepted(_engine: &mut Engine<Self>, _stream: TcpStream, _peer: SocketAddr) {}
}

/// A datagram socket: its session, and its number in the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SocketKey {
    pub(super) session: u64,
    pub(super) index: u8,
}

/// Ends the sleep of an engine.
#[derive(Clone, Debug)]
pub(super) struct Bell(Arc<OwnedFd>);

impl Bell {
    /// Ends the sleep.
    pub(super) fn ring(&self) {
        // If the counter is full, a wake-up is already pending.
        let _ = rustix::io::write(&*self.0, &1_u64.to_ne_bytes());
    }
}

/// A TCP connection.
pub(super) struct Link {
    pub(super) stream: TcpStream,
    outbox: Vec<u8>,
    /// Session whose data the connection carries.
    session: Option<u64>,
    is_connecting: bool,
    is_readable: bool,
    is_writable: bool,
    /// Time at which a closing connection is dropped.
    closes: Option<Instant>,
}

/// A machine with its sockets.
pub(super) struct Engine<S: Side> {
    pub(super) machine: S,
    pub(super) host: Option<Arc<HostPlane>>,
    pub(super) links: BTreeMap<u64, Link>,
    pub(super) datagrams: DatagramSockets,
    pub(super) listener: Option<TcpListener>,
    epoll: OwnedFd,
    bell: Bell,
    buffer: Vec<u8>,
    /// Data to send: random bytes, and zeros.
    data: [Vec<u8>; 2],
    /// Link that is served first in the next round.
    first: u64,
    started: std::time::Instant,
    load: CpuLoad,
    load_due: Instant,
    pub(super) cpu_percent: u8,
}

/// Work left after a round.
#[derive(Clone, Copy, Default)]
struct Pending {
    /// True if a socket can be served at once.
    is_busy: bool,
    /// Time at which a rate-limited sender may send again.
    again: Option<Instant>,
}

impl Pending {
    fn wait_until(&mut self, at: Instant) {
        self.again = Some(self.again.map_or(at, |again| again.min(at)));
    }
}

impl<S: Side> Engine<S> {
    /// Creates an engine without sockets; these are opened in the host plane.
    ///
    /// # Errors
    /// No descriptors are left.
    pub(super) fn new(machine: S, host: Option<Arc<HostPlane>>) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let data = epoll::EventData::new_u64(BELL);
        epoll::add(&epoll, &event, data, epoll::EventFlags::IN)?;
        Ok(Self {
            machine,
            host,
            links: BTreeMap::new(),
            datagrams: DatagramSockets::default(),
            listener: None,
            epoll,
            bell: Bell(Arc::new(event)),
            buffer: vec![0; CHUNK_BYTES],
            data: [Vec::new(), Vec::new()],
            first: 0,
            started: std::time::Instant::now(),
            load: CpuLoad::default(),
            load_due: Instant::ZERO,
            cpu_percent: 0,
        })
    }

    /// Returns the handle that ends a sleep.
    pub(super) fn bell(&self) -> Bell {
        self.bell.clone()
    }

    /// Returns the time since the engine's start.
    pub(super) fn now(&self) -> Instant {
        Instant::ZERO + self.started.elapsed()
    }

    /// Lowers the priority of the thread: forwarding and sessions precede tests.
    pub(super) fn yield_to_forwarding() {
        let _ = Priority::of_jobs();
    }

    /// Passes an event to the machine and carries out its actions.
    pub(super) fn tell(&mut self, event: impl FnOnce(&mut S, Instant, &mut Vec<S::Action>)) {
        let (mut out, now) = (Vec::new(), self.now());
        event(&mut self.machine, now, &mut out);
        self.carry_out(out);
    }

    fn carry_out(&mut self, actions: Vec<S::Action>) {
        for action in actions {
            S::act(self, action);
        }
    }

    /// Runs a job in the host plane, or without one in the machine's namespace.
    pub(super) fn inside<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        match &self.host {
            Some(host) => host.inside(job),
            None => job(),
        }
    }

    /// Accepts connections of a listener.
    ///
    /// # Errors
    /// The listener cannot be watched.
    pub(super) fn listen(&mut self, listener: TcpListener) -> io::Result<()> {
        let data = epoll::EventData::new_u64(LISTENER);
        epoll::add(&self.epoll, &listener, data, epoll::EventFlags::IN)?;
        self.listener = Some(listener);
        Ok(())
    }

    /// Starts a connection.
    ///
    /// # Errors
    /// The socket cannot be opened.
    pub(super) fn connect(&mut self, link: u64, to: SocketAddr) -> io::Result<()> {
        let family = match to.ip() {
            IpAddr::V4(_) => AddressFamily::INET,
            IpAddr::V6(_) => AddressFamily::INET6,
        };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket =
            self.inside(move || Ok(socket_with(family, SocketType::STREAM, flags, None)?))?;
        match connect(&socket, &to) {
            Ok(()) | Err(rustix::io::Errno::INPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        self.adopt(link, TcpStream::from(socket), true)
    }

    /// Adds a non-blocking connection.
    ///
    /// # Errors
    /// There are too many connections, or it cannot be watched.
    pub(super) fn adopt(
        &mut self,
        link: u64,
        stream: TcpStream,
        is_connecting: bool,
    ) -> io::Result<()> {
        if self.links.len() >= MAX_LINKS {
            return Err(io::Error::other("too many connections"));
        }
        use epoll::EventFlags;
        let edges = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        epoll::add(&self.epoll, &stream, epoll::EventData::new_u64(link), edges)?;
        let _ = stream.set_nodelay(true);
        let link_state = Link {
            stream,
            outbox: Vec::new(),
            session: None,
            is_connecting,
            is_readable: false,
            is_writable: false,
            closes: None,
        };
        self.links.insert(link, link_state);
        Ok(())
    }

    /// Watches a datagram socket.
    pub(super) fn watch(&self, socket: impl AsFd, key: SocketKey) -> io::Result<()> {
        use epoll::EventFlags;
        let data = DATAGRAMS | key.session << 8 | u64::from(key.index);
        let edges = EventFlags::IN | EventFlags::OUT | EventFlags::ET;
        Ok(epoll::add(
            &self.epoll,
            socket,
            epoll::EventData::new_u64(data),
            edges,
        )?)
    }

    /// Queues a message on a connection. A peer that does not read loses its connection.
    pub(super) fn send(&mut self, link: u64, bytes: &[u8]) {
        let Some(state) = self.links.get_mut(&link) else {
            return;
        };
        if state.outbox.len() + bytes.len() > MAX_OUTBOX_BYTES {
            return self.lose(link);
        }
        state.outbox.extend_from_slice(bytes);
    }

    /// Lets a connection carry the data of a session.
    pub(super) fn carry(&mut self, link: u64, session: u64) {
        if let Some(state) = self.links.get_mut(&link) {
            state.session = Some(session);
        }
    }

    /// Closes a connection after its messages are sent.
    pub(super) fn close(&mut self, link: u64) {
        let until = self.now() + CLOSE_TIMEOUT;
        if let Some(state) = self.links.get_mut(&link) {
            state.session = None;
            state.closes = Some(until);
        }
    }

    /// Drops a connection and reports that.
    fn lose(&mut self, link: u64) {
        let Some(state) = self.links.remove(&link) else {
            return;
        };
        if state.closes.is_none() {
            self.tell(|machine, now, out| machine.closed(link, now, out));
        }
    }

    /// Runs due timers, serves all sockets once, and sleeps until there is more to do.
    ///
    /// # Errors
    /// Epoll fails.
    pub(super) fn round(&mut self) -> io::Result<()> {
        self.measure_load();
        let now = self.now();
        if self.machine.deadline().is_some_and(|(at, _)| at <= now) {
            self.tell(|machine, now, out| machine.tick(now, out));
        }
        let mut pending = Pending::default();
        self.serve_links(&mut pending);
        self.serve_datagrams(&mut pending);
        if let Some((at, _)) = self.machine.deadline() {
            pending.wait_until(at);
        }
        let now = self.now();
        let sleep = match (pending.is_busy, pending.again) {
            (true, _) => Duration::ZERO,
            (false, Some(again)) => again.saturating_since(now).min(MAX_SLEEP),
            (false, None) => MAX_SLEEP,
        };
        self.sleep(sleep)
    }

    /// Measures once a second the load of the machine.
    fn measure_load(&mut self) {
        let now = self.now();
        if now < self.load_due {
            return;
        }
        self.load_due = now + Duration::from_secs(1);
        self.cpu_percent = self.load.percent();
        self.machine.set_cpu_percent(self.cpu_percent);
    }

    /// Returns the CPU time of this thread, in percent of the time since the engine's start; 0 in the first tenth of a
    /// second, in which the start of the thread counts more than the test.
    pub(super) fn own_percent(&self) -> u64 {
        let span = self.started.elapsed();
        if span < MIN_SHARE_SPAN {
            return 0;
        }
        let clock = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        let spent = Duration::try_from(clock).unwrap_or_default();
        let percent = spent.as_micros() * 100 / span.as_micros();
        u64::try_from(percent).map_or(100, |percent| percent.min(100))
    }

    fn serve_links(&mut self, pending: &mut Pending) {
        let ahead = self.links.range(self.first..).map(|(link, _)| *link);
        let behind = self.links.range(..self.first).map(|(link, _)| *link);
        let links: Vec<u64> = ahead.chain(behind).collect();
        // A rate limit allows few chunks: each connection is the first in turn.
        self.first = links.get(1).copied().unwrap_or(0);
        for link in links {
            self.read(link);
            self.write(link, pending);
            let now = self.now();
            let Some(state) = self.links.get(&link) else {
                continue;
            };
            pending.is_busy |= state.is_readable;
            if let Some(until) = state.closes {
                match until <= now {
                    true => drop(self.links.remove(&link)),
                    false => pending.wait_until(until),
                }
            }
        }
    }

    /// Reads from a connection once.
    fn read(&mut self, link: u64) {
        let now = self.now();
        let Some(state) = self.links.get_mut(&link).filter(|state| state.is_readable) else {
            return;
        };
        let mut out = Vec::new();
        match state.stream.read(&mut self.buffer) {
            Ok(0) => return self.lose(link),
            Ok(count) => {
                // A short read has emptied the socket (epoll(7)).
                state.is_readable = count == self.buffer.len();
                if state.closes.is_none() {
                    self.machine
                        .received(link, &self.buffer[..count], now, &mut out);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => state.is_readable = false,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return self.lose(link),
        }
        self.carry_out(out);
    }

    /// Sends the messages of a connection, then as much data as its flow allows.
    fn write(&mut self, link: u64, pending: &mut Pending) {
        let now = self.now();
        let Some(state) = self.links.get_mut(&link) else {
            return;
        };
        if !state.is_writable || state.is_connecting {
            return;
        }
        if !state.outbox.is_empty() {
            match state.stream.write(&state.outbox) {
                Ok(count) => drop(state.outbox.drain(..count)),
                Err(error) => return self.write_failed(link, &error),
            }
            if !state.outbox.is_empty() {
                state.is_writable = false;
                return;
            }
        }
        if state.closes.is_some() {
            // The peer still reads the messages; it closes its end then.
            let _ = state.stream.shutdown(Shutdown::Write);
            return;
        }
        let Some(flow) = state.session.and_then(|session| self.machine.flow(session)) else {
            return;
        };
        if flow.protocol() != Protocol::Tcp {
            return;
        }
        let allowance = flow.allowance(now);
        let allowed = allowance.units.saturating_mul(flow.unit()).min(CHUNK_BYTES);
        if allowed == 0 {
            return pending.wait_until(allowance.again);
        }
        let data = filled(&mut self.data, flow.fill());
        match state.stream.write(&data[..allowed]) {
            Ok(count) => {
                flow.sent_bytes(count, now);
                // A short write has filled the socket.
                state.is_writable = count == allowed;
                pending.is_busy |= state.is_writable && allowance.again <= now;
                pending.wait_until(allowance.again);
            }
            Err(error) => self.write_failed(link, &error),
        }
    }

    fn write_failed(&mut self, link: u64, error: &io::Error) {
        match error.kind() {
            io::ErrorKind::WouldBlock => {
                if let Some(state) = self.links.get_mut(&link) {
                    state.is_writable = false;
                }
            }
            io::ErrorKind::Interrupted => {}
            _ => self.lose(link),
        }
    }

    fn serve_datagrams(&mut self, pending: &mut Pending) {
        let now = self.now();
        let Self {
            machine,
            datagrams,
            buffer,
            data,
            ..
        } = self;
        let is_busy = datagrams.receive(buffer, |key, port, datagram| {
            machine.datagram(key, port, datagram, now);
        });
        pending.is_busy |= is_busy;
        for session in datagrams.senders() {
            let Some(fill) = machine.flow(session).map(|flow| flow.fill()) else {
                continue;
            };
            let again = datagrams.send(session, machine, filled(data, fill), now);
            match again {
                Some(again) if again <= now => pending.is_busy = true,
                Some(again) => pending.wait_until(again),
                None => {}
            }
        }
    }

    fn sleep(&mut self, sleep: Duration) -> io::Result<()> {
        let timeout = Timespec::try_from(sleep).ok();
        let mut events = Vec::with_capacity(MAX_EVENTS);
        let woken = epoll::wait(
            &self.epoll,
            rustix::buffer::spare_capacity(&mut events),
            timeout.as_ref(),
        );
        match woken {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        for event in events {
            let (data, flags) = (event.data.u64(), event.flags);
            match data {
                BELL => _ = rustix::io::read(&*self.bell.0, &mut [0; 8]),
                LISTENER => self.accept(),
                data if data & DATAGRAMS != 0 => {
                    let key = SocketKey {
                        session: (data & !DATAGRAMS) >> 8,
                        index: data as u8,
                    };
                    self.datagrams.mark(key, flags);
                }
                link => self.mark(link, flags),
            }
        }
        Ok(())
    }

    fn mark(&mut self, link: u64, flags: epoll::EventFlags) {
        use epoll::EventFlags;
        let Some(state) = self.links.get_mut(&link) else {
            return;
        };
        let ends = EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR;
        state.is_readable |= flags.intersects(EventFlags::IN | ends);
        state.is_writable |= flags.intersects(EventFlags::OUT | ends);
        if !state.is_connecting || !flags.intersects(EventFlags::OUT | ends) {
            return;
        }
        state.is_connecting = false;
        match socket_error(&state.stream) {
            Ok(Ok(())) => self.tell(|machine, now, out| machine.connected(link, now, out)),
            Ok(Err(_)) | Err(_) => self.lose(link),
        }
    }

    fn accept(&mut self) {
        // Level-triggered: further connections end the next sleep.
        let accepted = self.listener.as_ref().map(TcpListener::accept);
        if let Some(Ok((stream, peer))) = accepted
            && stream.set_nonblocking(true).is_ok()
        {
            S::accepted(self, stream, peer);
        }
    }
}

/// Returns data to send; made at the first use.
fn filled(data: &mut [Vec<u8>; 2], fill: Fill) -> &[u8] {
    let place = &mut data[usize::from(fill == Fill::Zeros)];
    if place.is_empty() {
        *place = buffer(fill, CHUNK_BYTES, 1);
    }
    place
}
