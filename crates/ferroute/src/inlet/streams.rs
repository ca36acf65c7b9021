//! TCP connections of control's features, such as the control connections of PPTP. Listeners and connections are in the
//! host plane.
//!
//! ```text
//! control ─▶ StreamRequest ─▶ task of the listener or connection ─▶ peer
//! control ◀─ StreamEvent   ◀─ task of the listener or connection ◀─┘
//! ```
//! Tasks wait while control has not taken earlier events, so that a fast sender is slowed down by TCP.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use netio::Waker;
use router::Instance;
use router::drive::streams::{StreamEvent, StreamId, StreamRequest};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::{JoinHandle, spawn_blocking};

use crate::host::HostPlane;
use crate::run::shared::Shared;
use crate::services::listen;

/// Time to connect, and to send bytes.
const TIMEOUT: Duration = Duration::from_secs(15);
/// Wait after a failed accept: probably out of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Maximum number of messages that wait to be sent on a connection.
const MAX_WAITING: usize = 64;
/// Maximum number of events that wait for control.
const MAX_EVENTS: usize = 1024;
/// Maximum number of accepted connections; further ones wait in the kernel's queue.
const MAX_ACCEPTED: usize = 16_384;
/// Bytes that are read at a time.
const READ_BYTES: usize = 2048;

/// Listeners and connections.
pub(crate) struct Streams {
    host: Option<Arc<HostPlane>>,
    /// Created with the first request.
    runtime: Option<Runtime>,
    listeners: BTreeMap<u16, Listening>,
    connections: BTreeMap<StreamId, mpsc::Sender<Vec<u8>>>,
    /// New connections of listeners, with the number of each.
    accepted: mpsc::Receiver<(StreamId, mpsc::Sender<Vec<u8>>)>,
    events: mpsc::Receiver<StreamEvent>,
    reporter: Reporter,
}

/// An open listener. Its task ends with this value.
struct Listening(JoinHandle<()>);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Reports the events of tasks.
#[derive(Clone)]
struct Reporter {
    events: mpsc::Sender<StreamEvent>,
    accepted: mpsc::Sender<(StreamId, mpsc::Sender<Vec<u8>>)>,
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
}

impl Streams {
    /// Creates the set of connections.
    pub(crate) fn new(host: Option<Arc<HostPlane>>, wake: Waker) -> Self {
        let (events, received) = mpsc::channel(MAX_EVENTS);
        let (accepted, accepting) = mpsc::channel(MAX_EVENTS);
        Self {
            host,
            runtime: None,
            listeners: BTreeMap::new(),
            connections: BTreeMap::new(),
            accepted: accepting,
            events: received,
            reporter: Reporter {
                events,
                accepted,
                last: Arc::new(AtomicU64::new(StreamId::ACCEPTED)),
                permits: Arc::new(Semaphore::new(MAX_ACCEPTED)),
                wake,
            },
        }
    }

    /// Reports events to control, and returns its requests.
    pub(crate) fn follow(&mut self, instance: &mut Instance) -> Vec<StreamRequest> {
        while let Ok(event) = self.events.try_recv() {
            // A listener reports the sender of a connection before its first event.
            while let Ok((stream, sender)) = self.accepted.try_recv() {
                self.connections.insert(stream, sender);
            }
            if let StreamEvent::Ended(stream) = event {
                self.connections.remove(&stream);
            }
            instance.control().stream_event(&event);
        }
        instance.control().take_stream_requests()
    }

    /// Carries out requests, without waiting for connections.
    pub(crate) fn put(&mut self, requests: Vec<StreamRequest>, shared: &Arc<Shared>) {
        for request in requests {
            match request {
                StreamRequest::Listen { service, port, on } => self.listen(service, port, on),
                StreamRequest::Connect { stream, to } => self.connect(stream, to, shared),
                StreamRequest::Send { stream, bytes } => {
                    let sender = self.connections.get(&stream);
                    let is_full = sender.is_some_and(|sender| sender.try_send(bytes).is_err());
                    if is_full {
                        // The task ends, and reports that.
                        self.connections.remove(&stream);
                    }
                }
                StreamRequest::Close(stream) => _ = self.connections.remove(&stream),
            }
        }
    }

    fn listen(&mut self, service: &'static str, port: u16, on: bool) {
        self.listeners.remove(&port);
        let (true, Some(host)) = (on, self.host.clone()) else {
            return;
        };
        let Some(runtime) = self.runtime() else {
            return;
        };
        let inside = runtime.enter();
        let listener = listen::in_host(&host, port).and_then(TcpListener::from_std);
        drop(inside);
        match listener {
            Ok(listener) => {
                let task = accept(service, listener, self.reporter.clone());
                self.listeners.insert(port, Listening(runtime.spawn(task)));
            }
            Err(error) => tracing::error!("{service}: TCP port {port}: {error}"),
        }
    }

    fn connect(&mut self, stream: StreamId, to: SocketAddr, shared: &Arc<Shared>) {
        let Some(runtime) = self.runtime() else {
            return;
        };
        let (sender, waiting) = mpsc::channel(MAX_WAITING);
        self.connections.insert(stream, sender);
        let (shared, reporter) = (Arc::clone(shared), self.reporter.clone());
        runtime.spawn(async move {
            match tokio::time::timeout(TIMEOUT, establish(to, shared)).await {
                Ok(Ok((socket, local))) => {
                    let connected = StreamEvent::Connected { stream, local };
                    reporter.report(connected).await;
                    converse(stream, socket, waiting, &reporter).await;
                }
                _ => reporter.report(StreamEvent::Ended(stream)).await,
            }
        });
    }

    fn runtime(&mut self) -> Option<tokio::runtime::Handle> {
        if self.runtime.is_none() {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(1)
                .thread_name("streams")
                .enable_all()
                .build();
            match runtime {
                Ok(runtime) => self.runtime = Some(runtime),
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

/// Establishes a connection. Returns its socket and the address of this router.
async fn establish(to: SocketAddr, shared: Arc<Shared>) -> io::Result<(TcpStream, SocketAddr)> {
    let open = move || {
        shared.inside(move || {
            let family = match to.ip() {
                IpAddr::V4(_) => AddressFamily::INET,
                IpAddr::V6(_) => AddressFamily::INET6,
            };
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            Ok(socket_with(family, SocketType::STREAM, flags, None)?)
        })
    };
    let socket = spawn_blocking(open).await.map_err(io::Error::other)??;
    let socket = TcpSocket::from_std_stream(std::net::TcpStream::from(socket));
    let stream = socket.connect(to).await?;
    let local = stream.local_addr()?;
    Ok((stream, local))
}

/// Accepts connections until the task is aborted.
async fn accept(service: &'static str, listener: TcpListener, reporter: Reporter) {
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
        let stream = StreamId {
            service,
            number: reporter.last.fetch_add(1, Ordering::Relaxed),
        };
        let (sender, waiting) = mpsc::channel(MAX_WAITING);
        let _ = reporter.accepted.send((stream, sender)).await;
        let event = StreamEvent::Accepted {
            stream,
            local,
            remote,
        };
        reporter.report(event).await;
        let reporter = reporter.clone();
        tokio::spawn(async move {
            converse(stream, socket, waiting, &reporter).await;
            drop(permit);
        });
    }
}

/// Sends what waits and reports what arrives, until either end closes the connection.
async fn converse(
    stream: StreamId,
    mut socket: TcpStream,
    mut waiting: mpsc::Receiver<Vec<u8>>,
    reporter: &Reporter,
) {
    let _ = socket.set_nodelay(true);
    let millis = u32::try_from(TIMEOUT.as_millis()).unwrap_or(u32::MAX);
    let _ = rustix::net::sockopt::set_tcp_user_timeout(&socket, millis);
    let mut buffer = vec![0; READ_BYTES];
    loop {
        tokio::select! {
            // What control has sent goes first, so that nothing is lost when it closes the connection.
            biased;
            bytes = waiting.recv() => {
                let Some(bytes) = bytes else {
                    let _ = tokio::time::timeout(TIMEOUT, socket.shutdown()).await;
                    return;
                };
                match tokio::time::timeout(TIMEOUT, socket.write_all(&bytes)).await {
                    Ok(Ok(())) => {}
                    _ => break,
                }
            },
            read = socket.read(&mut buffer) => match read {
                Ok(count @ 1..) => {
                    let bytes = buffer[..count].to_vec();
                    reporter.report(StreamEvent::Received { stream, bytes }).await;
                }
                _ => break,
            },
        }
    }
    reporter.report(StreamEvent::Ended(stream)).await;
}
