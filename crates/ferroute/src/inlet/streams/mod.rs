//! TCP connections of control's features, such as the control connections of PPTP, in clear or with TLS. Listeners and
//! connections are in the host plane.
//!
//! ```text
//! control ─▶ StreamRequest ─▶ task of the listener or connection ─▶ peer
//! control ◀─ StreamEvent   ◀─ task of the listener or connection ◀─┘
//! workers ◀─ data packets ─▶ task of the connection, for protocols whose sessions the workers forward
//! ```
//! Tasks wait while control has not taken earlier events, so that a fast sender is slowed down by TCP.

mod connection;
mod exchange;
mod security;
mod sharing;

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use netio::Waker;
use router::Instance;
use router::drive::streams::{
    ClientTls, ServerTls, StreamEvent, StreamForm, StreamId, StreamRequest,
};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::{JoinHandle, spawn_blocking};

use self::connection::{Order, converse, orders};
pub(crate) use self::exchange::Exchange;
use self::security::{Acceptor, Basis, Connector, Handshakes, through_proxy};
pub(crate) use self::sharing::{Requested, SecuredConnection, Sharing};
use crate::host::HostPlane;
use crate::run::shared::Shared;
use crate::services::listen;

/// Time to connect, with the answer of a proxy, and for the TLS handshake. Features give up earlier.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// Time for the acknowledgement of sent bytes.
const ACKNOWLEDGE_TIMEOUT: Duration = Duration::from_secs(15);
/// Wait after a failed accept: probably out of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Maximum number of events that wait for control.
const MAX_EVENTS: usize = 1024;
/// Maximum number of accepted connections; further ones wait in the kernel's queue.
const MAX_ACCEPTED: usize = 16_384;
/// Threads, which encrypt the packets of sessions with TLS.
const THREADS: usize = 2;

/// Sender of a connection's orders.
type Orders = mpsc::Sender<Order>;

/// Listeners and connections.
pub(crate) struct Streams {
    host: Option<Arc<HostPlane>>,
    exchange: Arc<Exchange>,
    /// Created with the first request.
    runtime: Option<Runtime>,
    listeners: BTreeMap<u16, Listening>,
    connections: BTreeMap<StreamId, Orders>,
    /// New connections of listeners, with the number of each.
    accepted: mpsc::Receiver<(StreamId, Orders)>,
    events: mpsc::Receiver<StreamEvent>,
    reporter: Reporter,
    sharing: Sharing,
}

/// An open listener. Its task ends with this value.
struct Listening {
    service: &'static str,
    task: JoinHandle<()>,
    tls: Option<ListenerTls>,
}

/// TLS of a listener: what was configured, and the parameters of new connections.
struct ListenerTls {
    of: Arc<ServerTls>,
    basis: Basis,
    acceptor: watch::Sender<Option<Acceptor>>,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Reports the events of tasks.
#[derive(Clone)]
struct Reporter {
    events: mpsc::Sender<StreamEvent>,
    accepted: mpsc::Sender<(StreamId, Orders)>,
    /// Number of the last accepted connection.
    last: Arc<AtomicU64>,
    permits: Arc<Semaphore>,
    /// Wakes the control thread.
    wake: Waker,
}

impl Reporter {
    async fn report(&self, event: StreamEvent) {
        // Fails only while the program ends.
        let _ = self.events.send(event).await;
        self.wake.wake();
    }

    /// Returns the number of a new accepted connection.
    fn number(&self, service: &'static str) -> StreamId {
        StreamId {
            service,
            number: self.last.fetch_add(1, Ordering::Relaxed),
        }
    }
}

impl Streams {
    /// Creates the set of connections. Packets of workers pass through `exchange`.
    pub(crate) fn new(host: Option<Arc<HostPlane>>, wake: Waker, exchange: Arc<Exchange>) -> Self {
        let (events, received) = mpsc::channel(MAX_EVENTS);
        let (accepted, accepting) = mpsc::channel(MAX_EVENTS);
        let reporter = Reporter {
            events,
            accepted,
            last: Arc::new(AtomicU64::new(StreamId::ACCEPTED)),
            permits: Arc::new(Semaphore::new(MAX_ACCEPTED)),
            wake,
        };
        Self {
            host,
            exchange,
            runtime: None,
            listeners: BTreeMap::new(),
            connections: BTreeMap::new(),
            accepted: accepting,
            events: received,
            sharing: Sharing::new(reporter.clone()),
            reporter,
        }
    }

    /// Returns the servers of features that share ports of services.
    pub(crate) fn sharing(&self) -> Sharing {
        self.sharing.clone()
    }

    /// Reports events to control, and returns its requests.
    pub(crate) fn follow(&mut self, instance: &mut Instance) -> Vec<StreamRequest> {
        while let Ok(event) = self.events.try_recv() {
            // A listener reports the sender of a connection before its first event.
            while let Ok((stream, sender)) = self.accepted.try_recv() {
                self.connections.insert(stream, sender);
            }
            if let StreamEvent::Ended { stream, .. } = event {
                self.connections.remove(&stream);
            }
            instance.control().stream_event(&event);
        }
        let listeners = self.listeners.values_mut();
        for tls in listeners.filter_map(|listener| listener.tls.as_mut()) {
            tls.follow(instance);
        }
        instance.control().take_stream_requests()
    }

    /// Carries out requests, without waiting for connections.
    pub(crate) fn put(&mut self, requests: Vec<StreamRequest>, shared: &Arc<Shared>) {
        for request in requests {
            match request {
                StreamRequest::Listen {
                    service,
                    port,
                    on,
                    tls,
                    form,
                    is_shared,
                } => {
                    let other = self.listeners.get(&port);
                    let other = other.filter(|other| other.service != service);
                    if let Some(other) = other.filter(|_| on) {
                        let why = format!("TCP port {port} belongs to {}", other.service);
                        self.refuse(service, &why);
                        continue;
                    }
                    if other.is_none() {
                        self.close(port);
                    }
                    let limits = tls.as_ref().map(|tls| tls.limits).unwrap_or_default();
                    let is_beside = on && is_shared;
                    self.sharing
                        .set(port, is_beside.then_some((service, form, limits)));
                    if on
                        && !is_shared
                        && let Err(why) = self.listen(service, port, tls, form, shared)
                    {
                        self.refuse(service, &format!("TCP port {port}: {why}"));
                    }
                }
                StreamRequest::Connect {
                    stream,
                    to,
                    proxy,
                    tls,
                    form,
                } => {
                    let route = Route { to, proxy, tls };
                    self.connect(stream, route, form, shared);
                }
                StreamRequest::Send { stream, bytes } => self.order(stream, Order::Send(bytes)),
                StreamRequest::Pass { stream, packet } => self.order(stream, Order::Pass(packet)),
                StreamRequest::Attach { stream, channel } => {
                    if self.connections.contains_key(&stream) {
                        let (attachment, batches) = self.exchange.attach(channel, shared);
                        self.order(stream, Order::Attach(attachment, batches));
                    }
                }
                StreamRequest::Close(stream) => _ = self.connections.remove(&stream),
            }
        }
    }

    /// Closes a listener, so that its port is free on return.
    fn close(&mut self, port: u16) {
        let listener = self.listeners.remove(&port);
        if let Some((mut listener, runtime)) = listener.zip(self.runtime.as_ref()) {
            listener.task.abort();
            // The task waits for a connection, and ends at once.
            let _ = runtime.block_on(&mut listener.task);
        }
    }

    fn order(&mut self, stream: StreamId, order: Order) {
        let sender = self.connections.get(&stream);
        if sender.is_some_and(|sender| sender.try_send(order).is_err()) {
            // The task closes the connection. A peer that takes no bytes ends it for control too.
            self.connections.remove(&stream);
            let ended = StreamEvent::Ended { stream, why: None };
            let _ = self.reporter.events.try_send(ended);
            self.reporter.wake.wake();
        }
    }

    /// Reports a listener that could not be opened.
    fn refuse(&self, service: &'static str, why: &str) {
        let closed = StreamEvent::Closed {
            stream: StreamId { service, number: 0 },
            why: why.into(),
        };
        let _ = self.reporter.events.try_send(closed);
        self.reporter.wake.wake();
    }

    fn listen(
        &mut self,
        service: &'static str,
        port: u16,
        tls: Option<Arc<ServerTls>>,
        form: StreamForm,
        shared: &Arc<Shared>,
    ) -> Result<(), String> {
        let Some(host) = self.host.clone() else {
            return Ok(());
        };
        let Some(runtime) = self.runtime() else {
            return Ok(());
        };
        let inside = runtime.enter();
        let listener = listen::in_host(&host, port).and_then(TcpListener::from_std);
        drop(inside);
        let listener = listener.map_err(|error| error.to_string())?;
        let tls = match tls {
            Some(of) => Some(ListenerTls::new(of, &shared.lock())?),
            None => None,
        };
        let task = accept(
            listener,
            Offer {
                service,
                form,
                tls: tls.as_ref().map(|tls| tls.acceptor.subscribe()),
            },
            self.reporter.clone(),
        );
        let task = runtime.spawn(task);
        let listening = Listening { service, task, tls };
        self.listeners.insert(port, listening);
        Ok(())
    }

    fn connect(&mut self, stream: StreamId, route: Route, form: StreamForm, shared: &Arc<Shared>) {
        let Some(runtime) = self.runtime() else {
            return;
        };
        let (sender, waiting) = orders();
        self.connections.insert(stream, sender);
        let (shared, reporter) = (Arc::clone(shared), self.reporter.clone());
        runtime.spawn(async move {
            let established = establish(&route, &shared);
            let why = match tokio::time::timeout(CONNECT_TIMEOUT, established).await {
                Ok(Ok((socket, local, None))) => {
                    let certificate = Arc::default();
                    let connected = StreamEvent::Connected {
                        stream,
                        local,
                        certificate,
                    };
                    reporter.report(connected).await;
                    return converse(stream, form, socket, waiting, &reporter).await;
                }
                Ok(Ok((socket, local, Some(connector)))) => {
                    let handshake = connector.connect(socket);
                    match tokio::time::timeout(CONNECT_TIMEOUT, handshake).await {
                        Ok(Ok((session, certificate))) => {
                            let connected = StreamEvent::Connected {
                                stream,
                                local,
                                certificate,
                            };
                            reporter.report(connected).await;
                            return converse(stream, form, session, waiting, &reporter).await;
                        }
                        Ok(Err(why)) => Some(format!("TLS: {why}")),
                        Err(_) => Some(String::from("TLS: timeout")),
                    }
                }
                Ok(Err(error)) => Some(error.to_string()),
                Err(_) => None,
            };
            let why = why.map(String::into_boxed_str);
            reporter.report(StreamEvent::Ended { stream, why }).await;
        });
    }

    fn runtime(&mut self) -> Option<tokio::runtime::Handle> {
        if self.runtime.is_none() {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(THREADS)
                .thread_name("streams")
                .enable_all()
                .build();
            match runtime {
                Ok(runtime) => {
                    let exchange = Arc::clone(&self.exchange);
                    runtime.spawn(async move { exchange.run().await });
                    self.runtime = Some(runtime);
                }
                Err(error) => tracing::error!("threads for TCP connections: {error}"),
            }
        }
        Some(self.runtime.as_ref()?.handle().clone())
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        self.listeners.clear();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl ListenerTls {
    /// Returns the TLS of a new listener.
    ///
    /// # Errors
    /// Its certificate does not exist, or has no private key.
    fn new(of: Arc<ServerTls>, instance: &Instance) -> Result<Self, String> {
        let acceptor = Acceptor::new(instance, &of)?;
        Ok(Self {
            basis: Basis::of(instance, &of),
            acceptor: watch::Sender::new(Some(acceptor)),
            of,
        })
    }

    /// Lets new connections use a changed certificate. Without a usable one, they are closed.
    fn follow(&mut self, instance: &Instance) {
        let basis = Basis::of(instance, &self.of);
        if self.basis.is_same(&basis) {
            return;
        }
        self.basis = basis;
        let acceptor = Acceptor::new(instance, &self.of);
        if let Err(why) = &acceptor {
            tracing::error!("{why}");
        }
        self.acceptor.send_replace(acceptor.ok());
    }
}

/// Destination of a connection, and the HTTP proxy in front of the destination.
struct Route {
    to: SocketAddr,
    proxy: Option<SocketAddr>,
    tls: Option<Arc<ClientTls>>,
}

/// Establishes a connection. Returns its socket, the address of this router, and the parameters of TLS.
async fn establish(
    route: &Route,
    shared: &Arc<Shared>,
) -> io::Result<(TcpStream, SocketAddr, Option<Connector>)> {
    let first = route.proxy.unwrap_or(route.to);
    let (shared, tls) = (Arc::clone(shared), route.tls.clone());
    let open = move || {
        let mut instance = shared.lock();
        let connector = tls.map(|tls| Connector::new(&instance, &tls));
        let connector = connector.transpose().map_err(io::Error::other)?;
        // The host plane knows the default route alone, and might choose an address of another network.
        let source = instance.control().stream_source(first.ip());
        drop(instance);
        let socket = shared.inside(move || {
            let family = match first.ip() {
                IpAddr::V4(_) => AddressFamily::INET,
                IpAddr::V6(_) => AddressFamily::INET6,
            };
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            Ok(socket_with(family, SocketType::STREAM, flags, None)?)
        })?;
        Ok::<_, io::Error>((socket, connector, source))
    };
    let opened = spawn_blocking(open).await.map_err(io::Error::other)?;
    let (socket, connector, source) = opened?;
    let socket = TcpSocket::from_std_stream(std::net::TcpStream::from(socket));
    if let Some(source) = source {
        // A source without its zone cannot be bound: the host plane chooses.
        let _ = socket.bind(SocketAddr::new(source, 0));
    }
    let mut stream = socket.connect(first).await?;
    prepare(&stream);
    if let (Some(_), Some(tls)) = (route.proxy, &route.tls) {
        through_proxy(&mut stream, &tls.host, route.to).await?;
    }
    let local = stream.local_addr()?;
    Ok((stream, local, connector))
}

/// Sets the options of a socket.
fn prepare(socket: &TcpStream) {
    let _ = socket.set_nodelay(true);
    let millis = u32::try_from(ACKNOWLEDGE_TIMEOUT.as_millis()).unwrap_or(u32::MAX);
    let _ = rustix::net::sockopt::set_tcp_user_timeout(socket, millis);
}

/// What a listener offers.
struct Offer {
    service: &'static str,
    form: StreamForm,
    tls: Option<watch::Receiver<Option<Acceptor>>>,
}

/// Accepts connections until the task is aborted.
async fn accept(listener: TcpListener, offer: Offer, reporter: Reporter) {
    let mut handshakes = Handshakes::default();
    loop {
        let Ok(permit) = Arc::clone(&reporter.permits).acquire_owned().await else {
            return;
        };
        let accepted = listener.accept().await;
        let with_local = accepted.and_then(|(socket, remote)| {
            let local = socket.local_addr()?;
            Ok((socket, local, listen::peer(remote)))
        });
        let Ok((socket, local, remote)) = with_local else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        prepare(&socket);
        let guest = Guest {
            stream: reporter.number(offer.service),
            form: offer.form,
            local,
            remote,
            _permit: permit,
        };
        let acceptor = offer.tls.as_ref().map(|tls| tls.borrow().clone());
        let reporter = reporter.clone();
        match acceptor {
            None => {
                let certificate = Arc::default();
                tokio::spawn(async move { guest.serve(socket, certificate, &reporter).await });
            }
            Some(None) => {}
            Some(Some(acceptor)) => {
                let cancelled = handshakes.add(remote.ip());
                tokio::spawn(async move {
                    match acceptor.accept(socket, cancelled).await {
                        Ok((session, certificate)) => {
                            guest.serve(session, certificate, &reporter).await;
                        }
                        Err(why) => {
                            let rejected = StreamEvent::Rejected {
                                stream: guest.stream,
                                remote,
                                why: why.into(),
                            };
                            reporter.report(rejected).await;
                        }
                    }
                });
            }
        }
    }
}

/// An accepted connection.
struct Guest {
    stream: StreamId,
    form: StreamForm,
    local: SocketAddr,
    remote: SocketAddr,
    _permit: OwnedSemaphorePermit,
}

impl Guest {
    /// Reports the connection, then serves it until its end.
    async fn serve(
        self,
        socket: impl tokio::io::AsyncRead + tokio::io::AsyncWrite,
        certificate: Arc<[u8]>,
        reporter: &Reporter,
    ) {
        let (sender, waiting) = orders();
        let stream = self.stream;
        let _ = reporter.accepted.send((stream, sender)).await;
        let event = StreamEvent::Accepted {
            stream,
            local: self.local,
            remote: self.remote,
            certificate,
        };
        reporter.report(event).await;
        converse(stream, self.form, socket, waiting, reporter).await;
    }
}
