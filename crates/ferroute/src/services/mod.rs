//! The services of `/ip/service`: who listens where, whom it lets in, and what is spoken there.
//!
//! Control calls [`Services::follow`] in each of its rounds. When the configuration has changed,
//! listeners are opened and closed until they are what it says; connections that are there stay.
//! Each connection is a task of a small runtime of its own: packets never wait for it.

mod api;
mod config;
mod desk;
mod http;
mod kept;
mod listen;
mod lobby;
mod names;
mod page;
mod ssh;
mod tls;

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

use crate::access::{Entered, Proof};
use crate::core::Shared;
use crate::host::HostPlane;
use config::Service;
use desk::Desk;
pub(crate) use listen::Listen;
use listen::Side;
use lobby::{Guarded, Lobby, Stranger};
use tls::Tls;

/// A connection, with or without TLS.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// Who has connected, and to what.
#[derive(Clone)]
pub(crate) struct Peer {
    /// The other end.
    pub(crate) address: SocketAddr,
    /// The service's name, such as `api-ssl`.
    pub(crate) service: &'static str,
    place: Arc<Place>,
}

impl Peer {
    /// Lets somebody in on the connection, which is one of the service's sessions from then on.
    pub(crate) async fn log_in(
        &self,
        shared: &Arc<Shared>,
        (user, proof): (String, Proof),
        service: access::Service,
    ) -> Option<Entered> {
        let entered = shared.authenticate(user, proof, self.address.ip(), service);
        let entered = entered.await.ok()?;
        if self.place.take_seat(entered.is_administrator()) {
            return Some(entered);
        }
        let (shared, service) = (Arc::clone(shared), self.service);
        // To leave takes the router's lock, for which no task may wait.
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

/// A connection's place at its service: in the lobby, and when somebody has logged in one of the
/// sessions.
struct Place {
    stranger: Stranger,
    sessions: Arc<AtomicUsize>,
    /// How many sessions there may be.
    most: usize,
    seat: OnceLock<Session>,
}

impl Place {
    /// Makes the connection a session, if there is room. Administrators have some above the others.
    fn take_seat(&self, is_administrator: bool) -> bool {
        let most = match is_administrator {
            true => self.most.saturating_add(FOR_ADMINISTRATORS),
            false => self.most,
        };
        if self.seat.get().is_none() {
            let Some(session) = Session::begin(&self.sessions, most) else {
                return false;
            };
            let _ = self.seat.set(session);
        }
        self.stranger.is_known();
        true
    }
}

/// Sessions that a service has above `max-sessions` for administrators.
const FOR_ADMINISTRATORS: usize = 4;

/// What is done with a connection until it ends.
pub(crate) type Conversation = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What is spoken at a service.
pub(crate) trait Speaker: Send + Sync + 'static {
    /// Serves a connection to its end.
    fn serve(self: Arc<Self>, stream: Box<dyn Stream>, peer: Peer) -> Conversation;

    /// Takes over what the configuration says besides `/ip/service`. Connections that are there go on as they are.
    fn follow(&self, _: &Store) {}
}

/// A service by its name in `/ip/service`.
pub(crate) struct Offer {
    /// The name.
    pub(crate) name: &'static str,
    /// Whether its connections are TLS.
    pub(crate) tls: bool,
    /// What is spoken there.
    pub(crate) speaker: Arc<dyn Speaker>,
}

/// The services that there are.
///
/// # Errors
/// What one of them needs cannot be had.
pub(crate) fn offers(
    shared: &Arc<Shared>,
    state: Option<&StateFolder>,
) -> Result<Vec<Offer>, String> {
    let offer = |name, tls, speaker: &Arc<dyn Speaker>| Offer {
        name,
        tls,
        speaker: Arc::clone(speaker),
    };
    let desk = Arc::new(Desk::default());
    let http = http::Http::new(Arc::clone(shared), Arc::clone(&desk));
    let http: Arc<dyn Speaker> = Arc::new(http);
    let api: Arc<dyn Speaker> = Arc::new(api::Api::new(Arc::clone(shared), desk));
    let ssh: Arc<dyn Speaker> = Arc::new(ssh::Ssh::new(shared, state)?);
    Ok(vec![
        offer("ssh", false, &ssh),
        offer("www", false, &http),
        offer("www-ssl", true, &http),
        offer("api", false, &api),
        offer("api-ssl", true, &api),
    ])
}

/// How long a peer may take for the handshake of TLS.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Threads that serve connections.
const THREADS: usize = 2;

/// All services.
pub(crate) struct Services {
    // An option, so that it can be taken when this is dropped.
    runtime: Option<Runtime>,
    offers: Vec<Offer>,
    listen: Option<Listen>,
    tls: Tls,
    revision: Option<u64>,
    open: BTreeMap<&'static str, Open>,
    /// What could not be opened, and why.
    failed: BTreeMap<(&'static str, Side), String>,
    /// What is there and is not as it should be, and why.
    lacking: BTreeMap<&'static str, String>,
    names: names::Names,
}

/// What holds for the next connection to a service.
struct Terms {
    service: Service,
    /// What answers handshakes, where it speaks TLS.
    tls: Option<TlsAcceptor>,
}

/// A service that is there.
struct Open {
    terms: Arc<RwLock<Arc<Terms>>>,
    lobby: Arc<Lobby>,
    sessions: Arc<AtomicUsize>,
    doors: BTreeMap<Side, Door>,
}

/// A listener and the port that it was opened for.
struct Door {
    port: u16,
    accepting: JoinHandle<()>,
}

impl Drop for Door {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Services {
    /// Services of which none is open yet.
    pub(crate) fn new(
        offers: Vec<Offer>,
        listen: Option<Listen>,
        shared: &Arc<Shared>,
        state: Option<&StateFolder>,
    ) -> Result<Self, String> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .max_blocking_threads(desk::THREADS)
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
        })
    }

    /// Opens and closes listeners until they are what the configuration says.
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
                    self.open.remove(name);
                    self.lacking.remove(name);
                    self.failed.retain(|(failed, _), _| *failed != name);
                }
            }
        }
    }

    /// The same of the DNS server.
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

    /// The services that are not as they are to be, on one side at least, and why.
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

    /// Makes one service what the configuration says.
    fn adjust(&mut self, index: usize, host: Option<&HostPlane>, service: &Service, store: &Store) {
        let name = self.offers[index].name;
        self.lacking.remove(name);
        let mut terms = Terms {
            service: service.clone(),
            tls: None,
        };
        if self.offers[index].tls {
            let (acceptor, lack) = self.tls.of(service, store);
            terms.tls = Some(acceptor);
            self.lacking.extend(lack.map(|lack| (name, lack)));
        }
        let terms = Arc::new(terms);
        let open = self.open.entry(name).or_insert_with(|| Open {
            terms: Arc::new(RwLock::new(Arc::clone(&terms))),
            lobby: Arc::default(),
            sessions: Arc::default(),
            doors: BTreeMap::new(),
        });
        *open.terms.write().unwrap_or_else(PoisonError::into_inner) = terms;
        open.doors.retain(|_, door| door.port == service.port);
        for side in [Side::Router, Side::Machine] {
            if self.open[name].doors.contains_key(&side) {
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

    /// Begins to accept, or says why not.
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
                let doorkeeper = Doorkeeper {
                    name: offer.name,
                    terms: Arc::clone(&open.terms),
                    lobby: Arc::clone(&open.lobby),
                    sessions: Arc::clone(&open.sessions),
                    speaker: Arc::clone(&offer.speaker),
                };
                let accepting = runtime.spawn(doorkeeper.accept(listener));
                open.doors.insert(side, Door { port, accepting });
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
            // A command that still runs is not waited for: it holds nothing but its own output.
            runtime.shutdown_background();
        }
    }
}

/// Who accepts the connections of a listener.
struct Doorkeeper {
    name: &'static str,
    terms: Arc<RwLock<Arc<Terms>>>,
    lobby: Arc<Lobby>,
    sessions: Arc<AtomicUsize>,
    speaker: Arc<dyn Speaker>,
}

impl Doorkeeper {
    async fn accept(self, listener: tokio::net::TcpListener) {
        loop {
            match listener.accept().await {
                Ok((stream, address)) => self.admit(stream, address),
                // Out of descriptors, most likely: others must close theirs first.
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    }

    /// Serves a connection in a task of its own, or closes it.
    fn admit(&self, stream: TcpStream, address: SocketAddr) {
        let terms = self.terms.read().unwrap_or_else(PoisonError::into_inner);
        let terms = Arc::clone(&terms);
        let address = listen::peer(address);
        if !terms.service.admits(address.ip()) {
            tracing::debug!("{}: {address} is not among its addresses", self.name);
            return;
        }
        let (stranger, cut) = self.lobby.enter(address.ip());
        let place = Place {
            stranger,
            sessions: Arc::clone(&self.sessions),
            most: terms.service.max_sessions,
            seat: OnceLock::new(),
        };
        let peer = Peer {
            address: SocketAddr::new(address.ip().to_canonical(), address.port()),
            service: self.name,
            place: Arc::new(place),
        };
        // What is said is short, and is waited for.
        let _ = stream.set_nodelay(true);
        let stream = Guarded::new(stream, cut);
        let speaker = Arc::clone(&self.speaker);
        tokio::spawn(async move {
            match &terms.tls {
                None => speaker.serve(Box::new(stream), peer).await,
                Some(tls) => {
                    let accepted = tls.accept(stream);
                    match tokio::time::timeout(HANDSHAKE, accepted).await {
                        Ok(Ok(stream)) => speaker.serve(Box::new(stream), peer).await,
                        Ok(Err(error)) => tracing::debug!("{}: {address}: {error}", peer.service),
                        Err(_) => tracing::debug!("{}: {address}: no handshake", peer.service),
                    }
                }
            }
        });
    }
}

/// One of the sessions that a service may have.
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
    fn a_service_has_no_more_sessions_than_it_may() {
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
