//! RADIUS client of logins: a socket or connection per request, and accounting of sessions.
//!
//! The state machine is [`service::radius`]; this module adds sockets and clock.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use access::{Answer, Service, Vouched};
use machine::{Machine as _, Rng};
use router::Aaa;
use service::radius::{
    Accept, Accounting, Action, Client, Event, LineId, Outcome, Port, Query, Question, Request,
    Status, SubscriberLine, TlsServer,
};
use tokio::net::UdpSocket;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::spawn_blocking;

use crate::inlet::radsec::{Connection, Destination};
use crate::run::shared::Shared;

/// Maximum number of concurrent requests; further ones count as unanswered, and accounting waits.
static REQUEST_SLOTS: Semaphore = Semaphore::const_new(256);

/// Size of the receive buffer: one byte more than a packet may have.
const DATAGRAM_BYTES: usize = wire::radius::MOST + 1;

/// A session that RADIUS authenticated.
pub(crate) struct Session {
    aaa: Aaa,
    accept: Accept,
    request: Request,
}

/// Authenticates a user unknown to this router by RADIUS. Returns the answer with the server's attributes.
pub(crate) async fn ask_about(
    shared: &Arc<Shared>,
    answer: Answer,
    password: Vec<u8>,
    address: IpAddr,
    service: Service,
) -> (Answer, Option<Session>) {
    if !answer.may_be_asked_elsewhere() {
        return (answer, None);
    }
    let asked = Arc::clone(shared);
    let aaa = spawn_blocking(move || asked.lock().login_servers()).await;
    let Some(aaa) = aaa.ok().flatten() else {
        return (answer, None);
    };
    let mut request = Request {
        service: service::radius::Service::Login,
        question: Question::Access { password },
        user: answer.name().to_owned(),
        calling: address.to_canonical().to_string(),
        called: String::new(),
        router: aaa.router.clone(),
        port: Port::of_service(service.name()),
        subscriber_line: SubscriberLine::default(),
        session: String::new(),
        classes: Vec::new(),
        timestamp: None,
    };
    let Outcome::Accept(accept) = ask(shared, &aaa, request.clone()).await else {
        return (answer, None);
    };
    let vouched = Vouched {
        group: aaa.group(accept.authorization.group.as_deref()),
        idle: accept
            .authorization
            .idle_timeout
            .map(|seconds| Duration::from_secs(seconds.into())),
    };
    request.classes.clone_from(&accept.classes);
    let session = Session {
        aaa,
        accept: *accept,
        request,
    };
    (answer.vouched(vouched), Some(session))
}

/// Sends one request, and waits for the result.
async fn ask(shared: &Arc<Shared>, aaa: &Aaa, request: Request) -> Outcome {
    let permit = match request.is_accounting() {
        true => REQUEST_SLOTS.acquire().await.ok(),
        false => REQUEST_SLOTS.try_acquire().ok(),
    };
    let Some(_permit) = permit else {
        return Outcome::Nobody;
    };
    let rng = Rng::system(router::store::unpredictable);
    let mut client = Client::new(rng);
    let (mut out, mut socket, mut outcome) = (Vec::new(), None, None);
    let mut datagram = Vec::new();
    client.handle(Event::Servers(aaa.servers.to_vec()), shared.now(), &mut out);
    let query = Query {
        request,
        server: None,
        since: None,
        age: Duration::ZERO,
    };
    client.handle(Event::Query((), Box::new(query)), shared.now(), &mut out);
    while outcome.is_none() {
        let mut counted = Vec::new();
        for action in out.drain(..) {
            match action {
                Action::Send {
                    line,
                    to,
                    source,
                    tls,
                    bytes,
                } => {
                    let to = LineTarget { to, source, tls };
                    if let Err(error) = send(shared, &mut socket, line, &to, &bytes).await {
                        let to = to.to;
                        tracing::debug!("radius: {to}: {error}");
                    }
                }
                Action::Done((), answer) => outcome = Some(answer.outcome),
                other => counted.push(other),
            }
        }
        count(shared, counted).await;
        let Some((until, _)) = client.deadline().filter(|_| outcome.is_none()) else {
            break;
        };
        let left = until.saturating_since(shared.now());
        match tokio::time::timeout(left, receive(socket.as_mut(), &mut datagram)).await {
            Ok((line, from)) => {
                let bytes = &datagram;
                let event = Event::Received { line, from, bytes };
                client.handle(event, shared.now(), &mut out);
            }
            Err(_) => client.tick(shared.now(), &mut out),
        }
    }
    outcome.unwrap_or(Outcome::Nobody)
}

/// Adds up counters, which takes the router's lock: no task may wait for that.
async fn count(shared: &Arc<Shared>, actions: Vec<Action<()>>) {
    if !actions.is_empty() {
        let shared = Arc::clone(shared);
        let _ = spawn_blocking(move || shared.lock().count_radius(&actions)).await;
    }
}

/// Destination of a line.
struct LineTarget {
    to: SocketAddr,
    source: Option<IpAddr>,
    tls: Option<Arc<TlsServer>>,
}

/// Socket or connection of a line. Connected sockets receive from the server only.
struct Line {
    id: LineId,
    server: SocketAddr,
    transport: Transport,
}

enum Transport {
    Datagrams(UdpSocket),
    Tls(Box<Connection>),
}

async fn send(
    shared: &Arc<Shared>,
    line: &mut Option<Line>,
    id: LineId,
    to: &LineTarget,
    bytes: &[u8],
) -> io::Result<()> {
    if line.as_ref().is_none_or(|line| line.id != id) {
        *line = Some(Line {
            id,
            server: to.to,
            transport: open(shared, to).await?,
        });
    }
    match line.as_mut().map(|line| &mut line.transport) {
        Some(Transport::Datagrams(socket)) => socket.send(bytes).await.map(|_| ()),
        Some(Transport::Tls(connection)) => connection.send(bytes).await,
        None => Ok(()),
    }
}

async fn open(shared: &Arc<Shared>, to: &LineTarget) -> io::Result<Transport> {
    let LineTarget { to, source, tls } = to;
    let (to, source) = (*to, *source);
    if let Some(tls) = tls.clone() {
        let connection = Connection::open(shared, &Destination { to, source, tls }).await;
        let connection = connection.map_err(io::Error::other)?;
        return Ok(Transport::Tls(Box::new(connection)));
    }
    let inside = Arc::clone(shared);
    let open = move || inside.inside(move || connected(to, source));
    let socket = spawn_blocking(open).await.map_err(io::Error::other)??;
    Ok(Transport::Datagrams(UdpSocket::from_std(socket)?))
}

/// Opens a socket with a random port.
fn connected(to: SocketAddr, source: Option<IpAddr>) -> io::Result<std::net::UdpSocket> {
    let any = match to {
        SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    let socket = std::net::UdpSocket::bind((source.unwrap_or(any), 0))?;
    socket.connect(to)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Receives a packet; waits forever without a line, or after its connection failed.
async fn receive(line: Option<&mut Line>, packet: &mut Vec<u8>) -> (LineId, SocketAddr) {
    let Some(line) = line else {
        return std::future::pending().await;
    };
    match &mut line.transport {
        Transport::Datagrams(socket) => loop {
            packet.resize(DATAGRAM_BYTES, 0);
            match socket.recv(packet).await {
                Ok(len) => {
                    packet.truncate(len);
                    break;
                }
                // ICMP reports a closed port at once, but the server may open it yet.
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        },
        Transport::Tls(connection) => match connection.receive().await {
            Ok(bytes) => *packet = bytes,
            Err(_) => return std::future::pending().await,
        },
    }
    (line.id, line.server)
}

impl Session {
    /// Sends accounting of the session until the sender of `ended` is dropped; ends the session at its time
    /// limit.
    pub(crate) async fn attend(
        self,
        shared: Arc<Shared>,
        login: u64,
        mut ended: oneshot::Receiver<()>,
    ) {
        let begun = shared.now();
        self.account(&shared, login, Status::Start, 0).await;
        let authorized = &self.accept.authorization;
        let interim = authorized.interim.filter(|seconds| *seconds > 0);
        let interim = interim.map(|seconds| Duration::from_secs(seconds.into()));
        let interim = self.aaa.interim.or(interim);
        let most = authorized
            .session_timeout
            .map(|seconds| Duration::from_secs(seconds.into()));
        let (mut is_ended, mut next) = (false, interim);
        loop {
            let lasted = shared.now().saturating_since(begun);
            let left = |at: Option<Duration>| at.map_or(FOREVER, |at| at.saturating_sub(lasted));
            let over = most.filter(|_| !is_ended);
            tokio::select! {
                _ = &mut ended => break,
                () = tokio::time::sleep(left(over)) => {
                    is_ended = true;
                    let shared = Arc::clone(&shared);
                    let _ = spawn_blocking(move || shared.lock().end_session(login)).await;
                }
                () = tokio::time::sleep(left(next)) => {
                    let seconds = u32::try_from(lasted.as_secs()).unwrap_or(u32::MAX);
                    self.account(&shared, login, Status::Interim, seconds).await;
                    next = interim.map(|interim| lasted + interim);
                }
            }
        }
        let lasted = shared.now().saturating_since(begun).as_secs();
        let seconds = u32::try_from(lasted).unwrap_or(u32::MAX);
        self.account(&shared, login, Status::Stop, seconds).await;
    }

    async fn account(&self, shared: &Arc<Shared>, login: u64, status: Status, seconds: u32) {
        if !self.aaa.accounting {
            return;
        }
        let request = Request {
            question: Question::Accounting(Accounting::new(status, seconds, None)),
            session: format!("{login:08x}"),
            ..self.request.clone()
        };
        let _ = ask(shared, &self.aaa, request).await;
    }
}

/// Longer than any session.
const FOREVER: Duration = Duration::from_secs(u32::MAX as u64);
