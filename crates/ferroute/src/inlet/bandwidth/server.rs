//! Server of bandwidth tests on sockets: one thread, so that tests of others take at most one core.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use access::network;
use btest::server::{Action, Connection, Credential, Event, Server, View};
use btest::{Flow, Reason};
use machine::{Duration, Instant, Machine};
use netio::Waker;

use super::datagrams::enlarge;
use super::engine::{Bell, Engine, Side, SocketKey};
use super::settings::Terms;
use crate::host::HostPlane;
use crate::services::listen;
use crate::session::access::random;

/// Maximum number of ports that are tried for a test.
const MAX_PORTS_TRIED: u16 = 2_000;
/// Interval at which the sessions are reported.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// An order for the server.
#[derive(Debug)]
pub(super) enum Order {
    Configure(Terms),
    /// Credentials of the requested user.
    Credential(Connection, Credential),
    /// End a session.
    Stop(Connection),
    End,
}

/// A question or message for control.
#[derive(Debug)]
pub(super) enum Query {
    /// A user at an address wants to prove the password.
    Attempt {
        connection: Connection,
        user: String,
        address: IpAddr,
    },
    /// The proof was right or wrong.
    Proof(Connection, bool),
    /// The connection of an attempt or a test has ended.
    Ended(Connection),
}

/// A running server. Dropping ends its thread.
pub(super) struct RunningServer {
    orders: Sender<Order>,
    bell: Bell,
    pub(super) queries: Receiver<Query>,
    sessions: Arc<Mutex<Vec<View>>>,
    thread: Option<JoinHandle<()>>,
}

impl RunningServer {
    /// Starts a server on a listener.
    ///
    /// # Errors
    /// No descriptors, threads or random numbers are left.
    pub(super) fn start(
        terms: Terms,
        listener: TcpListener,
        host: Option<Arc<HostPlane>>,
        wake: Waker,
    ) -> Result<Self, String> {
        let words = |error: std::io::Error| error.to_string();
        let (orders, todo) = channel();
        let (ask, queries) = channel();
        let sessions = Arc::default();
        let side = ServerSide {
            server: Server::new(terms.settings, random()?),
            terms,
            asked: BTreeSet::new(),
            last: 0,
            ask,
            wake,
        };
        let mut engine = Engine::new(side, host).map_err(words)?;
        engine.listen(listener).map_err(words)?;
        let bell = engine.bell();
        let shared = Arc::clone(&sessions);
        let thread = thread::Builder::new().name("bandwidth".to_owned());
        let thread = thread.spawn(move || serve(engine, &todo, &shared));
        Ok(Self {
            orders,
            bell,
            queries,
            sessions,
            thread: Some(thread.map_err(words)?),
        })
    }

    /// Gives an order.
    pub(super) fn order(&self, order: Order) {
        // The thread ends only by an order.
        let _ = self.orders.send(order);
        self.bell.ring();
    }

    /// Returns the sessions as of the last second.
    pub(super) fn sessions(&self) -> Vec<View> {
        let sessions = self.sessions.lock();
        sessions.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        self.order(Order::End);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The state machine with the parts of the driver that its actions need.
pub(super) struct ServerSide {
    server: Server,
    terms: Terms,
    /// Connections about whose users control was asked.
    asked: BTreeSet<Connection>,
    /// Number of the last connection.
    last: u64,
    ask: Sender<Query>,
    wake: Waker,
}

impl ServerSide {
    fn query(&self, query: Query) {
        // Control gives up the receiver only after the thread has ended.
        let _ = self.ask.send(query);
        self.wake.wake();
    }

    /// Tells control that a connection has ended, if it knows the connection.
    fn forget(&mut self, connection: Connection) {
        if self.asked.remove(&connection) {
            self.query(Query::Ended(connection));
        }
    }
}

fn serve(mut engine: Engine<ServerSide>, orders: &Receiver<Order>, sessions: &Mutex<Vec<View>>) {
    Engine::<ServerSide>::yield_to_forwarding();
    let mut due = Instant::ZERO;
    loop {
        for order in orders.try_iter() {
            let event = match order {
                Order::End => return,
                Order::Configure(terms) => {
                    engine.machine.server.configure(terms.settings);
                    engine.machine.terms = terms;
                    continue;
                }
                Order::Credential(connection, credential) => {
                    Event::Credential(connection, credential)
                }
                Order::Stop(session) => Event::Stop(session),
            };
            engine.tell(|side, now, out| side.server.handle(event, now, out));
        }
        if engine.now() >= due {
            due = engine.now() + REPORT_INTERVAL;
            let all = engine.machine.server.sessions(engine.now()).collect();
            let mut known = sessions.lock().unwrap_or_else(PoisonError::into_inner);
            *known = all;
        }
        if let Err(error) = engine.round() {
            return tracing::error!("bandwidth test server: {error}");
        }
    }
}

impl Machine for ServerSide {
    type Event<'a> = Event<'a>;
    type Action = Action;
    type Timer = btest::server::Timer;

    fn handle(&mut self, event: Event<'_>, now: Instant, out: &mut Vec<Action>) {
        self.server.handle(event, now, out);
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Action>) {
        self.server.tick(now, out);
    }

    fn deadline(&self) -> Option<(Instant, Self::Timer)> {
        self.server.deadline()
    }
}

impl Side for ServerSide {
    fn received(&mut self, link: u64, bytes: &[u8], now: Instant, out: &mut Vec<Action>) {
        self.handle(Event::Received(Connection(link), bytes), now, out);
    }

    fn closed(&mut self, link: u64, now: Instant, out: &mut Vec<Action>) {
        self.handle(Event::Closed(Connection(link)), now, out);
        self.forget(Connection(link));
    }

    fn datagram(&mut self, socket: SocketKey, port: u16, datagram: &[u8], now: Instant) {
        let event = Event::Datagram {
            session: Connection(socket.session),
            port,
            datagram,
        };
        // A datagram causes no action.
        self.handle(event, now, &mut Vec::new());
    }

    fn flow(&mut self, session: u64) -> Option<&mut Flow> {
        self.server.flow(Connection(session))
    }

    fn destination(&mut self, session: u64) -> Option<u16> {
        self.server.destination(Connection(session))
    }

    fn set_cpu_percent(&mut self, percent: u8) {
        self.server.set_cpu_percent(percent);
    }

    fn act(engine: &mut Engine<Self>, action: Action) {
        match action {
            Action::Send(Connection(link), bytes) => engine.send(link, &bytes),
            Action::Ask(connection, user) => {
                let link = engine.links.get(&connection.0);
                let peer = link.and_then(|link| link.stream.peer_addr().ok());
                if let Some(peer) = peer {
                    engine.machine.asked.insert(connection);
                    engine.machine.query(Query::Attempt {
                        connection,
                        user,
                        address: client(peer),
                    });
                }
            }
            Action::Proved(connection) => engine.machine.query(Query::Proof(connection, true)),
            Action::OpenUdp(session, peer) => open(engine, session, peer),
            Action::Begin(session, links) => {
                engine.datagrams.begin(session.0);
                for link in links {
                    engine.carry(link.0, session.0);
                }
            }
            Action::Close(connection, reason) => {
                engine.close(connection.0);
                if reason == Reason::BadProof {
                    engine.machine.query(Query::Proof(connection, false));
                }
                engine.machine.forget(connection);
            }
            Action::Ended(session, _) => {
                engine.datagrams.close(session.0);
                engine.machine.forget(session);
            }
        }
    }

    fn accepted(engine: &mut Engine<Self>, stream: TcpStream, peer: SocketAddr) {
        let peer = client(peer);
        if !engine.machine.terms.admits(peer) {
            tracing::debug!("bandwidth test: {peer} is not a permitted address");
            return;
        }
        engine.machine.last += 1;
        let link = engine.machine.last;
        let Ok(random) = random() else { return };
        if let Err(error) = engine.adopt(link, stream, false) {
            tracing::debug!("bandwidth test: {peer}: {error}");
            return;
        }
        let event = Event::Accepted {
            connection: Connection(link),
            peer,
            source: network(peer),
            random: Box::new(random),
        };
        engine.tell(|side, now, out| side.handle(event, now, out));
    }
}

/// Returns the address of a client as it is on its link.
fn client(peer: SocketAddr) -> IpAddr {
    listen::peer(peer).ip().to_canonical()
}

/// Opens a datagram socket for a session at the first free port.
fn open(engine: &mut Engine<ServerSide>, session: Connection, peer: IpAddr) {
    let first = engine.machine.terms.ports_from;
    let opened = engine.inside(move || {
        let any: IpAddr = match peer {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        // RouterOS: the port of the setting is that of the TCP connection, and tests use those above.
        let ports = (1..=MAX_PORTS_TRIED).filter_map(|offset| first.checked_add(offset));
        let mut sockets = ports.map(|port| UdpSocket::bind((any, port)));
        let full = || std::io::Error::from(std::io::ErrorKind::AddrInUse);
        let socket = sockets.find_map(Result::ok).ok_or_else(full)?;
        socket.set_nonblocking(true)?;
        Ok(socket)
    });
    let port = opened.and_then(|socket| {
        enlarge(&socket);
        let port = socket.local_addr()?.port();
        let key = engine.datagrams.add(session.0, socket, peer);
        if let Some(socket) = engine.datagrams.get(key) {
            engine.watch(socket, key)?;
        }
        Ok(port)
    });
    let event = match port {
        Ok(port) => Event::UdpOpened(session, port),
        Err(_) => Event::UdpFailed(session),
    };
    engine.tell(|side, now, out| side.handle(event, now, out));
}
