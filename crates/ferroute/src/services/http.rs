//! HTTP at `www` and `www-ssl`: serves the page, and runs REST requests in threads.

mod content;
mod events;
mod files;
mod graphs;
mod history;
mod origin;
mod reply;
mod running;
mod terminal;

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use access::Service;
use api::rest::{self, Fault, HttpRequest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::header::{AUTHORIZATION, HeaderMap, HeaderValue, SET_COOKIE, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use menu::{Id, bytes};
use router::Instance;
use tokio::sync::mpsc::{Sender, channel};
use tokio::sync::{Mutex, oneshot};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use self::content::Content;
use self::events::Views;
use self::files::Transfer;
use self::reply::{Pieces, SEND_TIMEOUT, Stop, refuse, response, send, text};
use self::terminal::Consoles;
use super::admission::{CommandAdmission, CommandOwner, Turn};
use super::page::{self, Sessions};
use super::{Conversation, Peer, Speaker, Stream};
use crate::run::shared::Shared;
use crate::session::access::{LoginSession, Proof};

/// Timeout of a request's head, and of idle connections.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum length of a request's head in bytes.
const MAX_HEAD_BYTES: usize = 64 << 10;

/// Timeout of a request's body.
const BODY_TIMEOUT: Duration = Duration::from_secs(60);

/// Maximum length of a body in bytes, and of an unauthenticated request's.
const MAX_BODY_BYTES: usize = 4 << 20;
const MAX_LOGIN_BYTES: usize = 4 << 10;

/// Timeout of a command.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);

/// Timeout of a health check.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(2);

/// Media type of Prometheus metrics.
const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Maximum number of response pieces that wait to be sent.
const MAX_QUEUED_PIECES: usize = 4;

/// HTTP server.
pub(crate) struct Http {
    shared: Arc<Shared>,
    admission: Arc<CommandAdmission>,
    sessions: Arc<Sessions>,
    views: Arc<Views>,
    consoles: Arc<Consoles>,
}

impl Http {
    /// Creates a server for this router.
    pub(crate) fn new(shared: Arc<Shared>, admission: Arc<CommandAdmission>) -> Self {
        Self {
            shared,
            admission,
            sessions: Arc::default(),
            views: Arc::default(),
            consoles: Arc::default(),
        }
    }
}

impl Speaker for Http {
    /// Streams have heartbeats: they notice within this time that their client is gone without a farewell.
    fn acknowledgement_timeout(&self) -> Option<Duration> {
        Some(SEND_TIMEOUT)
    }

    fn serve(self: Arc<Self>, stream: Box<dyn Stream>, peer: Peer) -> Conversation {
        Box::pin(async move {
            let visitor = Arc::new(Visitor {
                shared: Arc::clone(&self.shared),
                admission: Arc::clone(&self.admission),
                sessions: Arc::clone(&self.sessions),
                views: Arc::clone(&self.views),
                consoles: Arc::clone(&self.consoles),
                peer,
                known: Mutex::new(None),
            });
            let answer = service_fn(|request| {
                let visitor = Arc::clone(&visitor);
                async move { Ok::<_, Infallible>(visitor.answer(request).await) }
            });
            let served = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIMEOUT)
                .max_buf_size(MAX_HEAD_BYTES)
                .serve_connection(TokioIo::new(stream), answer)
                .await;
            if let Err(error) = served {
                tracing::debug!(
                    "{}: {}: {error}",
                    visitor.peer.service,
                    visitor.peer.address
                );
            }
            // Leaving takes the router's lock, for which no task may wait. Unauthenticated clients get no
            // thread.
            let known = visitor.known.lock().await.take();
            if known.is_some() {
                let _ = spawn_blocking(move || drop(known)).await;
            }
        })
    }
}

/// One connection, which is authenticated once.
struct Visitor {
    shared: Arc<Shared>,
    admission: Arc<CommandAdmission>,
    sessions: Arc<Sessions>,
    views: Arc<Views>,
    consoles: Arc<Consoles>,
    peer: Peer,
    /// Accepted `Authorization` header with its login.
    known: Mutex<Option<(HeaderValue, Arc<LoginSession>)>>,
}

impl Visitor {
    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Response<Pieces> {
        let path = request.uri().path();
        if let Some(rest) = below(path, "/terminal").map(str::to_owned) {
            return self.terminal(request, &rest).await;
        }
        if let Some(command) = below(path, "/run").map(str::to_owned) {
            return self.run(request, command).await;
        }
        if let Some(rest) = below(path, "/graphs").map(str::to_owned)
            && request.method() == Method::GET
        {
            return self.graphs(&rest, request.headers()).await;
        }
        if let Some(authority) = list_of(path) {
            return self.revoked(authority).await;
        }
        let Some(rest) = path.strip_prefix("/rest").map(str::to_owned) else {
            return match path {
                "/session" => self.session(request).await,
                "/history" if request.method() == Method::GET => self.history(&request).await,
                "/events" if request.method() == Method::GET => self.events(&request).await,
                "/healthz" => self.health(|_| true).await,
                "/readyz" => self.health(Instance::has_its_ports).await,
                "/metrics" if request.method() == Method::GET => {
                    self.metrics(request.headers()).await
                }
                path => self.content(path, request.headers()).await,
            };
        };
        let (entered, via) = match self.enter(request.headers()).await {
            Ok(known) => known,
            Err(fault) => return turn_away(request.headers(), &fault),
        };
        if rest == "/openapi.json" && request.method() == Method::GET {
            return text(StatusCode::OK, "application/json", description());
        }
        let (head, body) = request.into_parts();
        if let Some(transfer) = Transfer::of(&head.method, &rest, &head.headers) {
            return self.transfer(transfer, body, &entered, via).await;
        }
        let body = match collect(body, MAX_BODY_BYTES).await {
            Ok(body) => body,
            Err(fault) => return refuse(&fault),
        };
        let command = Command {
            via,
            method: head.method,
            path: rest,
            query: head.uri.query().unwrap_or_default().to_owned(),
            body,
        };
        match self.admission.turn(&CommandOwner::new(&entered, via)).await {
            Ok(turn) => command.run(Arc::clone(&self.shared), &entered, turn).await,
            Err(reason) => refuse(&Fault::new(503, reason.to_string())),
        }
    }

    /// Returns a file of the page, or a description of menus to users.
    async fn content(&self, path: &str, headers: &HeaderMap) -> Response<Pieces> {
        let Some(content) = Content::at(path) else {
            return refuse(&Fault::not_found());
        };
        if content.is_public() {
            // A connection that loads files for a session of the page is no pending login.
            self.page_session(headers);
        } else if let Err(fault) = self.enter(headers).await {
            return turn_away(headers, &fault);
        }
        content.answer(headers).await
    }

    /// Subscribes to views.
    async fn events(&self, request: &Request<Incoming>) -> Response<Pieces> {
        let (entered, via) = match self.enter(request.headers()).await {
            Ok(known) => known,
            Err(fault) => return turn_away(request.headers(), &fault),
        };
        let access = Access {
            shared: &self.shared,
            admission: &self.admission,
            entered: &entered,
            via,
        };
        let query = request.uri().query().unwrap_or_default();
        self.views.subscribe(access, query).await
    }

    /// Transfers a file in its turn; waiting requests hold no contents.
    async fn transfer(
        &self,
        transfer: Transfer,
        body: Incoming,
        entered: &Arc<LoginSession>,
        via: &'static str,
    ) -> Response<Pieces> {
        let turn = match self.admission.turn(&CommandOwner::new(entered, via)).await {
            Ok(turn) => turn,
            Err(reason) => return refuse(&Fault::new(503, reason.to_string())),
        };
        let body = match collect(body, files::MAX_FILE_BYTES).await {
            Ok(body) => body,
            Err(fault) => return refuse(&fault),
        };
        let mut session = entered.session();
        session.via = via;
        let moved = transfer.run(Arc::clone(&self.shared), session, body).await;
        drop(turn);
        moved
    }

    /// Session of the page: query, start, end.
    async fn session(&self, request: Request<Incoming>) -> Response<Pieces> {
        let (head, body) = request.into_parts();
        if head.method == Method::DELETE {
            let ended = self.sessions.end(&head.headers);
            return with_cookie(text(StatusCode::NO_CONTENT, "", Bytes::new()), ended);
        }
        if head.method != Method::POST {
            return match self.page_session(&head.headers) {
                Some(entered) => text(StatusCode::OK, "application/json", who(&entered)),
                None => stranger(&head.headers),
            };
        }
        if !page::is_its(&head.headers) {
            return refuse(&Fault::new(
                403,
                "sessions begin only on the page: the header X-Ferroute is missing",
            ));
        }
        let claim = match collect(body, MAX_LOGIN_BYTES).await {
            Ok(body) => page::claim(&body),
            Err(fault) => return refuse(&fault),
        };
        let Some((user, password)) = claim else {
            return refuse(&Fault::new(400, "user and password are missing"));
        };
        let (proof, from) = (Proof::Password(password), self.peer.address.ip());
        let entered = self.shared.authenticate(user, proof, from, Service::Web);
        let Ok(entered) = entered.await else {
            return stranger(&head.headers);
        };
        let (entered, tls) = (Arc::new(entered), self.peer.service == "www-ssl");
        let said = who(&entered);
        match self.sessions.begin(entered, tls) {
            Some(cookie) => {
                with_cookie(text(StatusCode::OK, "application/json", said), Some(cookie))
            }
            None => refuse(&Fault::new(500, "there are no random numbers")),
        }
    }

    /// Returns the revocation list of an authority, without authentication: certificates refer to it.
    async fn revoked(&self, authority: Id) -> Response<Pieces> {
        let shared = Arc::clone(&self.shared);
        // No task may wait for the router's lock.
        let list = spawn_blocking(move || shared.lock().revocation_list(authority)).await;
        match list.ok().flatten() {
            Some(list) => text(StatusCode::OK, "application/pkix-crl", Bytes::from(list)),
            None => refuse(&Fault::not_found()),
        }
    }

    /// Returns whether the router answers in time and works. Clients learn nothing more.
    async fn health(
        &self,
        good: impl FnOnce(&Instance) -> bool + Send + 'static,
    ) -> Response<Pieces> {
        let shared = Arc::clone(&self.shared);
        let look = spawn_blocking(move || good(&shared.lock()));
        let (status, word) = match timeout(HEALTH_TIMEOUT, look).await {
            Ok(Ok(true)) => (StatusCode::OK, &b"ok\n"[..]),
            Ok(Ok(false)) => (StatusCode::SERVICE_UNAVAILABLE, &b"not ready\n"[..]),
            Ok(Err(_)) | Err(_) => (StatusCode::SERVICE_UNAVAILABLE, &b"no answer\n"[..]),
        };
        text(status, "text/plain", Bytes::from_static(word))
    }

    /// Returns the metrics, for users with REST rights.
    async fn metrics(&self, headers: &HeaderMap) -> Response<Pieces> {
        let (entered, via) = match self.enter(headers).await {
            Ok(known) => known,
            Err(fault) => return turn_away(headers, &fault),
        };
        match self.admission.turn(&CommandOwner::new(&entered, via)).await {
            Ok(turn) => {
                let shared = Arc::clone(&self.shared);
                let page = spawn_blocking(move || {
                    let page = shared.read().metrics();
                    drop(turn);
                    page
                });
                match page.await {
                    Ok(page) => text(StatusCode::OK, METRICS_TYPE, Bytes::from(page)),
                    Err(_) => refuse(&Fault::new(500, "the page could not be generated")),
                }
            }
            Err(reason) => refuse(&Fault::new(503, reason.to_string())),
        }
    }

    /// Authenticates a request: by the page's session, or by user and password in the request. Browsers add
    /// stored passwords to requests of foreign pages: those are rejected.
    ///
    /// # Errors
    /// 401: unknown user. Errors of [`origin::check`].
    async fn enter(&self, headers: &HeaderMap) -> Result<(Arc<LoginSession>, &'static str), Fault> {
        let Some(proof) = headers.get(AUTHORIZATION) else {
            let entered = self.page_session(headers);
            let entered = entered.ok_or_else(Fault::unauthorized)?;
            return Ok((entered, "web"));
        };
        origin::check(headers)?;
        let entered = self.prove(proof).await;
        Ok((entered.ok_or_else(Fault::unauthorized)?, "rest-api"))
    }

    /// Returns the page's session of a request, whose connection then is no pending login.
    fn page_session(&self, headers: &HeaderMap) -> Option<Arc<LoginSession>> {
        let entered = self.sessions.of(headers)?;
        self.peer.is_known();
        Some(entered)
    }

    async fn prove(&self, proof: &HeaderValue) -> Option<Arc<LoginSession>> {
        let mut known = self.known.lock().await;
        if let Some((words, entered)) = &*known
            && words == proof
            && !entered.is_over(Duration::ZERO)
        {
            return Some(Arc::clone(entered));
        }
        let (user, password) = basic(proof)?;
        if let Some(before) = known.take() {
            let _ = spawn_blocking(move || drop(before)).await;
        }
        let password = Proof::Password(password);
        let entered = self
            .peer
            .log_in(&self.shared, user, password, Service::Rest);
        let entered = entered.await?;
        let entered = Arc::new(entered);
        *known = Some((proof.clone(), Arc::clone(&entered)));
        Some(entered)
    }
}

/// Returns the rest of a path below a folder; empty for the folder itself.
fn below<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(folder)?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// Parses the authority of a path such as `/crl/1.crl`.
fn list_of(path: &str) -> Option<Id> {
    let number = path.strip_prefix("/crl/")?.strip_suffix(".crl")?;
    number.parse().ok().map(Id)
}

/// Parses user and password of HTTP Basic (RFC 7617).
fn basic(header: &HeaderValue) -> Option<(String, Vec<u8>)> {
    let text = header.to_str().ok()?;
    let (scheme, coded) = text.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let pair = STANDARD.decode(coded.trim()).ok()?;
    let colon = pair.iter().position(|byte| *byte == b':')?;
    let (user, password) = pair.split_at(colon);
    Some((bytes::from_bytes(user), password.get(1..)?.to_vec()))
}

/// Returns the OpenAPI description of REST, generated once.
fn description() -> Bytes {
    static MADE: OnceLock<Bytes> = OnceLock::new();
    let make = || Bytes::from(api::openapi::describe(schema::ALL, schema::VERSION));
    MADE.get_or_init(make).clone()
}

/// Returns user and policies of a login.
fn who(entered: &LoginSession) -> Bytes {
    let said = serde_json::json!({ "user": entered.user(), "policies": entered.policies() });
    Bytes::from(said.to_string())
}

/// Rejects an unknown user.
fn stranger(headers: &HeaderMap) -> Response<Pieces> {
    turn_away(headers, &Fault::unauthorized())
}

/// Rejects a request. Requests of the page get no challenge: the browser would open its own password dialog.
fn turn_away(headers: &HeaderMap, fault: &Fault) -> Response<Pieces> {
    let mut response = refuse(fault);
    if page::is_its(headers) {
        response.headers_mut().remove(WWW_AUTHENTICATE);
    }
    response
}

fn with_cookie(mut response: Response<Pieces>, cookie: Option<HeaderValue>) -> Response<Pieces> {
    if let Some(cookie) = cookie {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}

/// Collects a body up to a maximum length.
async fn collect(body: Incoming, most: usize) -> Result<Bytes, Fault> {
    let too_long = || Fault::new(413, "the body is too long");
    // A declared excessive length is rejected before the transfer.
    if body.size_hint().lower() > most as u64 {
        return Err(too_long());
    }
    match timeout(BODY_TIMEOUT, Limited::new(body, most).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_long()),
        Ok(Err(_)) | Err(_) => Err(Fault::new(400, "the body did not arrive")),
    }
}

/// Router and user of a request.
struct Access<'a> {
    shared: &'a Arc<Shared>,
    admission: &'a Arc<CommandAdmission>,
    entered: &'a Arc<LoginSession>,
    /// Access path of the user in logs and lists.
    via: &'static str,
}

/// A REST request.
struct Command {
    /// Access path of the user in logs and lists.
    via: &'static str,
    method: Method,
    path: String,
    query: String,
    body: Bytes,
}

impl Command {
    /// Runs the command in its own thread; returns when the response begins.
    async fn run(
        self,
        shared: Arc<Shared>,
        entered: &LoginSession,
        turn: Turn,
    ) -> Response<Pieces> {
        let mut session = entered.session();
        session.via = self.via;
        let stop = Stop(session.interrupter());
        let alarm = Arc::clone(&stop.0);
        let alarm = tokio::spawn(async move {
            sleep(COMMAND_TIMEOUT).await;
            alarm.close();
        });
        let (begun, begins) = oneshot::channel();
        let (tell, more) = channel(MAX_QUEUED_PIECES);
        spawn_blocking(move || {
            let asked = HttpRequest {
                method: self.method.as_str(),
                path: &self.path,
                query: &self.query,
                body: &self.body,
            };
            let mut answer = Answer::new(begun, tell);
            let mut run = |request: &script::Request, rows: &mut dyn script::Rows| {
                shared.request(&mut session, request, rows)
            };
            rest::answer(schema::ALL, &asked, &mut run, &mut answer);
            drop(turn);
            alarm.abort();
        });
        match begins.await {
            Ok(status) => {
                let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
                let pieces = Pieces {
                    first: None,
                    more: Some((more, Some(stop))),
                };
                response(status, "application/json", pieces)
            }
            Err(_) => refuse(&Fault::new(500, "the command failed")),
        }
    }
}

/// Sending side of a response, used by a thread for blocking work.
struct Answer {
    begun: Option<oneshot::Sender<u16>>,
    tell: Sender<Bytes>,
}

impl Answer {
    fn new(begun: oneshot::Sender<u16>, tell: Sender<Bytes>) -> Self {
        let begun = Some(begun);
        Self { begun, tell }
    }
}

impl rest::Answer for Answer {
    fn begin(&mut self, status: u16) {
        if let Some(begun) = self.begun.take() {
            // A vanished client is noticed when the body is written.
            let _ = begun.send(status);
        }
    }

    fn write(&mut self, piece: &str) -> ControlFlow<()> {
        send(&self.tell, Bytes::from(piece.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_and_password_are_parted_at_the_first_colon() {
        let read = |text: &'static str| basic(&HeaderValue::from_static(text));

        let pair = Some(("admin".to_owned(), b"a:b".to_vec()));
        assert_eq!(read("Basic YWRtaW46YTpi"), pair);
        assert_eq!(read("basic YWRtaW46YTpi"), pair);
        assert_eq!(read("Bearer YWRtaW46YTpi"), None);
        assert_eq!(read("Basic YWRtaW4="), None);
        assert_eq!(read("Basic !"), None);
    }
}
