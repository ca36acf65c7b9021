//! Services of `/ip/service`: listeners, admission, and their protocols.
//!
//! Control calls [`Services::follow`] each round. After a change of the configuration, listeners open and close
//! until they match; existing connections stay. Each connection is a task of a small separate runtime, so that
//! packets never wait for it.

mod admission;
mod api;
pub(crate) mod config;
mod http;
pub(crate) mod listen;
mod names;
mod page;
mod pending_logins;
mod ssh;
mod stored_secret;
pub(crate) mod tls;

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use menu::Store;
use router::ClosedServices;
use router::store::StateFolder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio_rustls::TlsAcceptor;

use crate::host::HostPlane;
use crate::inlet::streams::{Requested, SecuredConnection, Sharing};
use crate::run::shared::Shared;
use crate::session::access::{LoginSession, Proof};
use admission::CommandAdmission;
use config::Service;
pub(crate) use listen::Listen;
use listen::Side;
use pending_logins::{ClosableStream, PendingLogin, PendingLogins};
use tls::Tls;

/// A connection, with or without TLS.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// Peer of a connection, with the service.
#[derive(Clone)]
pub(crate) struct Peer {
    /// Address of the peer.
    pub(crate) address: SocketAddr,
    /// Name of the service, such as `api-ssl`.
    pub(crate) service: &'static str,
    place: Arc<ConnectionSlot>,
}

impl Peer {
    /// Notes that a session of the page uses the connection: it is no longer closed as a pending login.
    pub(crate) fn is_known(&self) {
        self.place.login.is_known();
    }

    /// Authenticates a user, after which the connection counts as a session of the service.
    pub(crate) async fn log_in(
        &self,
        shared: &Arc<Shared>,
        user: String,
        proof: Proof,
        service: access::Service,
    ) -> Option<LoginSession> {
        let entered = shared.authenticate(user, proof, self.address.ip(), service);
        let entered = entered.await.ok()?;
        if self.place.become_session(entered.is_administrator()) {
            return Some(entered);
        }
        let (shared, service) = (Arc::clone(shared), self.service);
        // Leaving takes the router's lock, for which no task may wait.
        let _ = spawn_blocking(move || {
            let full = format!(
                "user {} is refused: {service} has max-sessions",
                entered.user()
            );
            let mut instance = shared.lock();
            instance.control().log().add("system,error,account", full);
            drop(instance);
            drop(entered);
        })
        .await;
        None
    }
}

/// Slot of a connection: unauthenticated at first, then a session.
struct ConnectionSlot {
    login: PendingLogin,
    sessions: Arc<AtomicUsize>,
    /// Maximum number of sessions.
    most: usize,
    session_slot: OnceLock<Session>,
}

impl ConnectionSlot {
    /// Turns the connection into a session, if there is room. Administrators have additional slots.
    fn become_session(&self, is_administrator: bool) -> bool {
        let most = match is_administrator {
            true => self.most.saturating_add(ADMINISTRATOR_SESSIONS),
            false => self.most,
        };
        if self.session_slot.get().is_none() {
            let Some(session) = Session::begin(&self.sessions, most) else {
                return false;
            };
            let _ = self.session_slot.set(session);
        }
        self.login.is_known();
        true
    }
}

/// Additional sessions per service for administrators, above `max-sessions`.
const ADMINISTRATOR_SESSIONS: usize = 4;

/// Task that serves a connection.
pub(crate) type Conversation = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Protocol of a service.
pub(crate) trait Speaker: Send + Sync + 'static {
    /// Serves a connection to its end.
    fn serve(self: Arc<Self>, stream: Box<dyn Stream>, peer: Peer) -> Conversation;

    /// Applies settings outside `/ip/service`. Existing connections continue unchanged.
    fn follow(&self, _: &Store) {}

    /// Returns the time that data may stay unacknowledged before a connection counts as lost (RFC 5482); `None` for
    /// the kernel's, which may take a quarter of an hour.
    fn acknowledgement_timeout(&self) -> Option<Duration> {
        None
    }
}

/// A service known to `/ip/service`.
pub(crate) struct ServiceEntry {
    /// Name.
    pub(crate) name: &'static str,
    /// True if connections use TLS.
    pub(crate) tls: bool,
    /// Protocol.
    pub(crate) speaker: Arc<dyn Speaker>,
}

/// Returns all services.
///
/// # Errors
/// A resource of a service is unavailable.
pub(crate) fn offers(
    shared: &Arc<Shared>,
    state: Option<&StateFolder>,
) -> Result<Vec<ServiceEntry>, String> {
    let offer = |name, tls, speaker: &Arc<dyn Speaker>| ServiceEntry {
        name,
        tls,
        speaker: Arc::clone(speaker),
    };
    let admission = Arc::new(CommandAdmission::default());
    let http = http::Http::new(Arc::clone(shared), Arc::clone(&admission));
    let http: Arc<dyn Speaker> = Arc::new(http);
    let api: Arc<dyn Speaker> = Arc::new(api::Api::new(Arc::clone(shared), admission));
    let ssh: Arc<dyn Speaker> = Arc::new(ssh::Ssh::new(shared, state)?);
    Ok(vec![
        offer("ssh", false, &ssh),
        offer("www", false, &http),
        offer("www-ssl", true, &http),
        offer("api", false, &api),
        offer("api-ssl", true, &api),
    ])
}

/// Timeout of a TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Threads that serve connections.
const THREADS: usize = 2;

/// All services with their listeners.
pub(crate) struct Services {
    // `None` only while this is dropped.
    runtime: Option<Runtime>,
    offers: Vec<ServiceEntry>,
    listen: Option<Listen>,
    tls: Tls,
    revision: Option<u64>,
    open: BTreeMap<&'static str, Open>,
    /// Failed listeners with their errors.
    failed: BTreeMap<(&'static str, Side), String>,
    /// Services that run with limitations, and the reasons.
    lacking: BTreeMap<&'static str, String>,
    names: names::Names,
    /// Servers of features at ports of services.
    sharing: Sharing,
}

/// Parameters of new connections.
struct Terms {
    service: Service,
    /// TLS parameters, if the service uses TLS.
    tls: Option<TlsAcceptor>,
    /// Certificate of these parameters as DER; empty for the router's own.
    certificate: Arc<[u8]>,
}

/// An open service.
struct Open {
    terms: Arc<RwLock<Arc<Terms>>>,
    pending: Arc<PendingLogins>,
    sessions: Arc<AtomicUsize>,
    listeners: BTreeMap<Side, OpenListener>,
}

/// A listener with its configured port.
struct OpenListener {
    port: u16,
    accepting: JoinHandle<()>,
}

impl Drop for OpenListener {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Services {
    /// Creates all services closed.
    pub(crate) fn new(
        offers: Vec<ServiceEntry>,
        listen: Option<Listen>,
        shared: &Arc<Shared>,
        state: Option<&StateFolder>,
        sharing: Sharing,
    ) -> Result<Self, String> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .max_blocking_threads(admission::THREADS)
            .thread_name("services")
            .enable_all()
            .build()
            .map_err(|error| format!("threads for services: {error}"))?;
        Ok(Self {
            runtime: Some(runtime),
            offers,
            listen,
            tls: Tls::new(state)?,
            revision: None,
            open: BTreeMap::new(),
            failed: BTreeMap::new(),
            lacking: BTreeMap::new(),
            names: names::Names::new(shared),
            sharing,
        })
    }

    /// Opens and closes listeners until they match the configuration.
    pub(crate) fn follow(&mut self, host: Option<&HostPlane>, store: &Store) {
        if self.revision == Some(store.revision()) && self.failed.is_empty() {
            return;
        }
        self.revision = Some(store.revision());
        self.follow_names(host, store);
        for offer in &self.offers {
            offer.speaker.follow(store);
        }
        let wanted = Service::all(store);
        for index in 0..self.offers.len() {
            let name = self.offers[index].name;
            match wanted.iter().find(|service| service.name == name) {
                Some(service) if !service.disabled => self.adjust(index, host, service, store),
                _ => {
                    if let Some(open) = self.open.remove(name) {
                        self.close(open.listeners);
                    }
                    self.lacking.remove(name);
                    self.failed.retain(|(failed, _), _| *failed != name);
                }
            }
        }
    }

    /// Opens and closes the listener of the DNS server.
    fn follow_names(&mut self, host: Option<&HostPlane>, store: &Store) {
        let Some(runtime) = &self.runtime else { return };
        let key = ("dns", Side::Router);
        match self.names.follow(runtime, host, store) {
            Ok(()) => drop(self.failed.remove(&key)),
            Err(error) => {
                self.failed.insert(key, format!("port 53 by TCP: {error}"));
            }
        }
    }

    /// Returns the services that fail or have limitations, with the reasons.
    pub(crate) fn closed(&self) -> ClosedServices {
        let mut closed = ClosedServices::new();
        let failed = self.failed.iter().map(|((name, _), why)| (name, why));
        for (name, why) in failed.chain(&self.lacking) {
            let said = closed.entry(*name).or_default();
            if !said.is_empty() {
                said.push_str("; ");
            }
            said.push_str(why);
        }
        closed
    }

    /// Adjusts one service to the configuration.
    fn adjust(&mut self, index: usize, host: Option<&HostPlane>, service: &Service, store: &Store) {
        let name = self.offers[index].name;
        self.lacking.remove(name);
        let mut terms = Terms {
            service: service.clone(),
            tls: None,
            certificate: Arc::default(),
        };
        if self.offers[index].tls {
            let (acceptor, lack) = self.tls.of(service, store);
            terms.tls = Some(acceptor);
            if lack.is_none() {
                terms.certificate = tls::certificate(store, &service.certificate);
            }
            self.lacking.extend(lack.map(|lack| (name, lack)));
        }
        let terms = Arc::new(terms);
        let open = self.open.entry(name).or_insert_with(|| Open {
            terms: Arc::new(RwLock::new(Arc::clone(&terms))),
            pending: Arc::default(),
            sessions: Arc::default(),
            listeners: BTreeMap::new(),
        });
        *open.terms.write().unwrap_or_else(PoisonError::into_inner) = terms;
        let moved = open
            .listeners
            .extract_if(.., |_, listener| listener.port != service.port);
        let moved = moved.collect();
        self.close(moved);
        for side in [Side::Router, Side::Machine] {
            if self.open[name].listeners.contains_key(&side) {
                continue;
            }
            let listener = match (side, host, self.listen) {
                (Side::Router, Some(host), _) => listen::in_host(host, service.port),
                (Side::Machine, _, Some(listen)) => listen::on_machine(listen, service.port),
                _ => continue,
            };
            self.opened(index, side, service.port, listener);
        }
    }

    /// Closes listeners, so that their ports are free on return.
    fn close(&self, listeners: BTreeMap<Side, OpenListener>) {
        let Some(runtime) = &self.runtime else { return };
        for mut listener in listeners.into_values() {
            listener.accepting.abort();
            // The task waits for a connection, and ends at once.
            let _ = runtime.block_on(&mut listener.accepting);
        }
    }

    /// Starts accepting, or records the error.
    fn opened(&mut self, index: usize, side: Side, port: u16, listener: io::Result<TcpListener>) {
        let offer = &self.offers[index];
        let (Some(runtime), Some(open)) = (&self.runtime, self.open.get_mut(offer.name)) else {
            return;
        };
        let inside = runtime.enter();
        let listener = listener.and_then(tokio::net::TcpListener::from_std);
        drop(inside);
        match listener {
            Ok(listener) => {
                self.failed.remove(&(offer.name, side));
                let acceptor = Acceptor {
                    name: offer.name,
                    terms: Arc::clone(&open.terms),
                    pending: Arc::clone(&open.pending),
                    sessions: Arc::clone(&open.sessions),
                    speaker: Arc::clone(&offer.speaker),
                    sharing: self.sharing.clone(),
                };
                let accepting = runtime.spawn(acceptor.accept(listener));
                open.listeners
                    .insert(side, OpenListener { port, accepting });
            }
            Err(error) => {
                let said = format!("port {port} at {side}: {error}");
                self.failed.insert((offer.name, side), said);
            }
        }
    }
}

impl Drop for Services {
    fn drop(&mut self) {
        self.open.clear();
        if let Some(runtime) = self.runtime.take() {
            // Running commands are not awaited: they hold nothing but their own output.
            runtime.shutdown_background();
        }
    }
}

/// Accept loop of a listener.
struct Acceptor {
    name: &'static str,
    terms: Arc<RwLock<Arc<Terms>>>,
    pending: Arc<PendingLogins>,
    sessions: Arc<AtomicUsize>,
    speaker: Arc<dyn Speaker>,
    sharing: Sharing,
}

impl Acceptor {
    async fn accept(self, listener: tokio::net::TcpListener) {
        loop {
            match listener.accept().await {
                Ok((stream, address)) => self.admit(stream, address),
                // Probably out of descriptors: wait until others close theirs.
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    }

    /// Serves a connection in its own task, or closes it.
    fn admit(&self, stream: TcpStream, address: SocketAddr) {
        let terms = self.terms.read().unwrap_or_else(PoisonError::into_inner);
        let terms = Arc::clone(&terms);
        let address = listen::peer(address);
        if !terms.service.admits(address.ip()) {
            tracing::debug!("{}: {address} is not a permitted address", self.name);
            return;
        }
        let (login, cut) = self.pending.enter(address.ip());
        let place = ConnectionSlot {
            login,
            sessions: Arc::clone(&self.sessions),
            most: terms.service.max_sessions,
            session_slot: OnceLock::new(),
        };
        let peer = Peer {
            address: SocketAddr::new(address.ip().to_canonical(), address.port()),
            service: self.name,
            place: Arc::new(place),
        };
        // Messages are short and need low latency.
        let _ = stream.set_nodelay(true);
        if let Some(timeout) = self.speaker.acknowledgement_timeout() {
            let millis = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX);
            let _ = rustix::net::sockopt::set_tcp_user_timeout(&stream, millis);
        }
        let local = stream.local_addr();
        let stream = ClosableStream::new(stream, cut);
        let (speaker, sharing) = (Arc::clone(&self.speaker), self.sharing.clone());
        tokio::spawn(async move {
            let (Some(tls), Ok(local)) = (&terms.tls, local) else {
                return speaker.serve(Box::new(stream), peer).await;
            };
            let sorted = async {
                let stream = tls.accept(stream).await?;
                let suite = stream.get_ref().1.negotiated_cipher_suite();
                let connection = SecuredConnection {
                    suite: suite.map(|suite| suite.suite()),
                    stream,
                    local,
                    remote: peer.address,
                    certificate: Arc::clone(&terms.certificate),
                };
                sharing.sort(terms.service.port, connection).await
            };
            match tokio::time::timeout(HANDSHAKE_TIMEOUT, sorted).await {
                Ok(Ok(Requested::Service(stream))) => speaker.serve(Box::new(stream), peer).await,
                Ok(Ok(Requested::Feature(connection))) => {
                    // Its server has limits of its own.
                    drop(peer);
                    connection.serve().await;
                }
                Ok(Err(error)) => tracing::debug!("{}: {address}: {error}", peer.service),
                Err(_) => tracing::debug!("{}: {address}: no handshake", peer.service),
            }
        });
    }
}

/// A session slot of a service.
struct Session(Arc<AtomicUsize>);

impl Session {
    fn begin(count: &Arc<AtomicUsize>, most: usize) -> Option<Self> {
        let more = |count: usize| (count < most).then_some(count + 1);
        let begun = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        begun.ok().map(|_| Self(Arc::clone(count)))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_has_at_most_max_sessions() {
        let count = Arc::default();

        let first = Session::begin(&count, 2).expect("the first");
        let second = Session::begin(&count, 2).expect("the second");
        assert!(Session::begin(&count, 2).is_none());
        drop(first);
        assert!(Session::begin(&count, 2).is_some());
        drop(second);
        assert_eq!(count.load(Ordering::Relaxed), 0);
    }
}
