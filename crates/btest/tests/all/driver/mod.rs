//! Reference driver with threads and blocking sockets, on which the tests run.
//!
//! One lock holds the state machine and its queued output. Each connection has two threads: one reads and
//! passes bytes to the machine; one writes the machine's messages, and data as the flow allows. UDP has a
//! reader thread per socket and a sender thread per session. One more thread runs the machine's timers.
#![expect(clippy::disallowed_methods, reason = "a driver has the clock")]

pub(crate) mod client;
pub(crate) mod server;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;

use btest::wire::Protocol;
use btest::{Flow, buffer};
use machine::{Duration, Instant, Machine};

/// Bytes per write or read.
const BUFFER: usize = 256 * 1024;
/// Interval at which threads check for the end of the test.
const NAP: Duration = Duration::from_millis(50);

/// Driver interface of a state machine. Numbers identify connections, sockets and sessions.
pub(crate) trait Side: Machine + Send + Sized + 'static {
    fn received(&mut self, link: u64, bytes: &[u8], now: Instant, out: &mut Vec<Self::Action>);
    fn closed(&mut self, link: u64, now: Instant, out: &mut Vec<Self::Action>);
    fn datagram(&mut self, socket: Socket, port: u16, datagram: &[u8], now: Instant);
    fn flow(&mut self, session: u64) -> Option<&mut Flow>;
    /// Returns the next datagram's socket index, and the destination port if the socket is not connected.
    fn next(&mut self, session: u64, turn: usize, sockets: usize) -> Option<(usize, Option<u16>)>;
    fn act(host: &Arc<Host<Self>>, inner: &mut Inner<Self>, action: Self::Action);
}

/// A socket of a session.
#[derive(Clone, Copy)]
pub(crate) struct Socket {
    pub(crate) session: u64,
    pub(crate) index: u8,
}

/// A state machine with its sockets.
pub(crate) struct Host<M: Side> {
    start: std::time::Instant,
    /// The server, for a client; `None` on a server.
    pub(crate) peer: Option<SocketAddr>,
    inner: Mutex<Inner<M>>,
    wake: Condvar,
}

/// State behind the lock.
pub(crate) struct Inner<M> {
    pub(crate) machine: M,
    links: BTreeMap<u64, Link>,
    udp: BTreeMap<u64, Vec<(UdpSocket, std::net::IpAddr)>>,
    /// Password of all users.
    pub(crate) password: String,
    pub(crate) now: Instant,
    is_over: bool,
}

struct Link {
    stream: TcpStream,
    outbox: Vec<u8>,
    is_closing: bool,
    /// Session whose data the connection carries.
    session: Option<u64>,
}

impl<M: Side> Host<M> {
    pub(crate) fn new(machine: M, password: &str, peer: Option<SocketAddr>) -> Arc<Self> {
        let host = Arc::new(Self {
            start: std::time::Instant::now(),
            peer,
            inner: Mutex::new(Inner {
                machine,
                links: BTreeMap::new(),
                udp: BTreeMap::new(),
                password: password.to_owned(),
                now: Instant::ZERO,
                is_over: false,
            }),
            wake: Condvar::new(),
        });
        let ticker = host.clone();
        thread::spawn(move || ticker.tick());
        host
    }

    fn lock(&self) -> MutexGuard<'_, Inner<M>> {
        let mut inner = self.inner.lock().expect("no thread panicked");
        inner.now = self.now();
        inner
    }

    fn now(&self) -> Instant {
        Instant::ZERO + self.start.elapsed()
    }

    /// Passes an event to the machine and carries out its actions.
    pub(crate) fn tell(self: &Arc<Self>, tell: impl FnOnce(&mut M, Instant, &mut Vec<M::Action>)) {
        let mut inner = self.lock();
        self.tell_inner(&mut inner, tell);
    }

    pub(crate) fn tell_inner(
        self: &Arc<Self>,
        inner: &mut Inner<M>,
        tell: impl FnOnce(&mut M, Instant, &mut Vec<M::Action>),
    ) {
        let mut out = Vec::new();
        tell(&mut inner.machine, inner.now, &mut out);
        for action in out {
            M::act(self, inner, action);
        }
        self.wake.notify_all();
    }

    /// Reads the machine's state.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&M, Instant) -> T) -> T {
        let inner = self.lock();
        look(&inner.machine, inner.now)
    }

    /// Waits for a condition, at most one minute.
    pub(crate) fn wait(&self, is_true: impl Fn(&mut M, Instant) -> bool) -> bool {
        let mut inner = self.lock();
        let end = inner.now + Duration::from_secs(60);
        while inner.now < end {
            let now = inner.now;
            if is_true(&mut inner.machine, now) {
                return true;
            }
            (inner, _) = self
                .wake
                .wait_timeout(inner, NAP)
                .expect("no thread panicked");
            inner.now = self.now();
        }
        false
    }

    /// Stops all threads.
    pub(crate) fn stop(&self) {
        let mut inner = self.lock();
        inner.is_over = true;
        for link in inner.links.values() {
            let _ = link.stream.shutdown(Shutdown::Both);
        }
        self.wake.notify_all();
    }

    /// Returns true after `stop`.
    pub(crate) fn is_over(&self) -> bool {
        self.lock().is_over
    }

    fn tick(self: &Arc<Self>) {
        while !self.is_over() {
            let mut inner = self.lock();
            let deadline = inner.machine.deadline().map(|(at, _)| at);
            if deadline.is_some_and(|at| at <= inner.now) {
                self.tell_inner(&mut inner, |machine, now, out| machine.tick(now, out));
                continue;
            }
            let wait = deadline.map_or(NAP, |at| (at - inner.now).min(NAP));
            drop(
                self.wake
                    .wait_timeout(inner, wait.max(Duration::from_micros(100))),
            );
        }
    }

    /// Starts the threads of a connection.
    pub(crate) fn adopt(self: &Arc<Self>, inner: &mut Inner<M>, id: u64, stream: TcpStream) {
        let copy = |stream: &TcpStream| stream.try_clone().expect("there are descriptors");
        let (reads, writes) = (copy(&stream), copy(&stream));
        let link = Link {
            stream,
            outbox: Vec::new(),
            is_closing: false,
            session: None,
        };
        inner.links.insert(id, link);
        let (reader, writer) = (self.clone(), self.clone());
        thread::spawn(move || reader.read(id, reads));
        thread::spawn(move || writer.write(id, writes));
    }

    fn read(self: Arc<Self>, id: u64, mut stream: TcpStream) {
        let mut bytes = vec![0; BUFFER];
        loop {
            match stream.read(&mut bytes) {
                Ok(0) | Err(_) => break,
                Ok(count) => self.tell(|machine, now, out| {
                    machine.received(id, &bytes[..count], now, out);
                }),
            }
        }
        let mut inner = self.lock();
        if inner.links.remove(&id).is_some() {
            self.tell_inner(&mut inner, |machine, now, out| machine.closed(id, now, out));
        }
    }

    fn write(self: Arc<Self>, id: u64, mut stream: TcpStream) {
        let mut data = Vec::new();
        loop {
            let mut inner = self.lock();
            let now = inner.now;
            let Inner { machine, links, .. } = &mut *inner;
            let Some(link) = links.get_mut(&id) else {
                break;
            };
            let message = std::mem::take(&mut link.outbox);
            let is_closing = link.is_closing && message.is_empty();
            let flow = link.session.and_then(|session| machine.flow(session));
            let flow = flow.filter(|flow| flow.protocol() == Protocol::Tcp);
            let allowed = flow.map(|flow| (flow.allowance(now), flow.unit(), flow.fill()));
            if is_closing || inner.is_over {
                break;
            }
            let (bytes, again) = match allowed {
                Some((allowance, unit, fill)) => {
                    if data.is_empty() {
                        data = buffer(fill, BUFFER, id);
                    }
                    ((allowance.units * unit).min(BUFFER), allowance.again)
                }
                None => (0, now + NAP),
            };
            if message.is_empty() && bytes == 0 {
                let nap = (again - now).min(NAP).max(Duration::from_micros(50));
                drop(self.wake.wait_timeout(inner, nap));
                continue;
            }
            drop(inner);
            if stream.write_all(&message).is_err() {
                break;
            }
            let Ok(sent) = stream.write(&data[..bytes]) else {
                break;
            };
            let mut inner = self.lock();
            let (now, session) = (
                inner.now,
                inner.links.get(&id).and_then(|link| link.session),
            );
            if let Some(flow) = session.and_then(|session| inner.machine.flow(session)) {
                flow.sent_bytes(sent, now);
            }
        }
        let _ = stream.shutdown(Shutdown::Write);
    }

    /// Starts the threads of a session's UDP sockets.
    pub(crate) fn adopt_udp(
        self: &Arc<Self>,
        inner: &mut Inner<M>,
        session: u64,
        (socket, peer): (UdpSocket, std::net::IpAddr),
    ) {
        socket
            .set_read_timeout(Some(NAP))
            .expect("a socket has a timeout");
        let reads = socket.try_clone().expect("there are descriptors");
        let sockets = inner.udp.entry(session).or_default();
        let index = sockets.len() as u8;
        sockets.push((socket, peer));
        let host = self.clone();
        thread::spawn(move || host.read_udp(Socket { session, index }, &reads));
    }

    fn read_udp(self: Arc<Self>, socket: Socket, reads: &UdpSocket) {
        let mut bytes = vec![0; 65_536];
        loop {
            let read = reads.recv_from(&mut bytes);
            let mut inner = self.lock();
            if inner.is_over || !inner.udp.contains_key(&socket.session) {
                return;
            }
            if let Ok((count, from)) = read {
                let now = inner.now;
                inner
                    .machine
                    .datagram(socket, from.port(), &bytes[..count], now);
                self.wake.notify_all();
            }
        }
    }

    /// Starts the sender thread of a session.
    pub(crate) fn begin_udp(self: &Arc<Self>, session: u64) {
        let host = self.clone();
        thread::spawn(move || host.write_udp(session));
    }

    fn write_udp(self: Arc<Self>, session: u64) {
        let mut turn = 0;
        loop {
            let mut inner = self.lock();
            let Inner {
                machine,
                udp,
                now,
                is_over,
                ..
            } = &mut *inner;
            let (Some(sockets), false, Some(flow)) =
                (udp.get(&session), *is_over, machine.flow(session))
            else {
                return;
            };
            let allowance = flow.allowance(*now);
            if allowance.units == 0 {
                let nap = (allowance.again - *now)
                    .min(NAP)
                    .max(Duration::from_micros(50));
                drop(self.wake.wait_timeout(inner, nap));
                continue;
            }
            let mut datagram = buffer(flow.fill(), flow.unit(), 0);
            flow.number(0, &mut datagram);
            turn += 1;
            let Some((index, port)) = machine.next(session, turn, sockets.len()) else {
                return;
            };
            // A full socket buffer drops the datagram, like a link.
            if let Some((socket, peer)) = sockets.get(index) {
                let _ = match port {
                    Some(port) => socket.send_to(&datagram, (*peer, port)),
                    None => socket.send(&datagram),
                };
            }
            if let Some(flow) = machine.flow(session) {
                flow.sent_datagrams(1, *now);
            }
        }
    }
}

impl<M: Side> Inner<M> {
    pub(crate) fn send(&mut self, id: u64, bytes: &[u8]) {
        if let Some(link) = self.links.get_mut(&id) {
            link.outbox.extend_from_slice(bytes);
        }
    }

    /// Assigns a connection to a session.
    pub(crate) fn carry(&mut self, id: u64, session: u64) {
        if let Some(link) = self.links.get_mut(&id) {
            link.session = Some(session);
        }
    }

    /// Closes a connection after sending what is queued.
    pub(crate) fn close(&mut self, id: u64) {
        if let Some(link) = self.links.get_mut(&id) {
            link.is_closing = true;
            link.session = None;
        }
    }

    pub(crate) fn close_udp(&mut self, session: u64) {
        self.udp.remove(&session);
    }

    pub(crate) fn udp(&self, session: u64, index: usize) -> Option<&UdpSocket> {
        Some(&self.udp.get(&session)?.get(index)?.0)
    }
}

/// Returns random bytes.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    let mut file = std::fs::File::open("/dev/urandom").expect("the system has random bytes");
    file.read_exact(&mut bytes).expect("it does not end");
    bytes
}
