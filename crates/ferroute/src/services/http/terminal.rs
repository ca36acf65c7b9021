//! Consoles in the page: the console of SSH, over HTTP.
//!
//! | request | answer |
//! |---|---|
//! | `POST /terminal?columns=80&rows=24` | 200: output until the console ends; the header `X-Terminal` has its token |
//! | `POST /terminal/TOKEN` with keys | 204; keys are typed in the order of the requests |
//! | `POST /terminal/TOKEN?columns=80&rows=24` | 204; new size |
//! | `DELETE /terminal/TOKEN` | 204; the console ends, which reverts its safe mode |
//!
//! Only the page's own session may open a console, and only the same session may type. The console ends with the
//! response: when the page is gone, takes nothing for a while, or its session ends. While it is silent, NUL characters,
//! which terminals ignore, show each side that the other is alive. Without a key it ends after [`LONGEST_IDLE`].

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use api::rest::Fault;
use console::Settings;
use hyper::body::{Bytes, Incoming};
use hyper::header::HeaderValue;
use hyper::{Method, Request, Response, StatusCode};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{Sender, channel};
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use super::reply::{Pieces, refuse, response, send, text};
use super::{Visitor, collect, stranger};
use crate::run::shared::{Shared, Terminal};
use crate::services::page::Sessions;
use crate::session::access::LoginSession;
use crate::session::keyboard::Keyboard;
use crate::session::remote_console::greet_and_attend;

/// Maximum number of consoles per user.
const MAX_CONSOLES_PER_USER: usize = 8;
/// Maximum number of consoles of a session: a browser has six connections to a router.
const MAX_CONSOLES_PER_SESSION: usize = 4;
/// Time without a key after which a console ends.
const LONGEST_IDLE: Duration = Duration::from_secs(30 * 60);
/// Interval of NUL characters and checks.
const HEARTBEAT: Duration = Duration::from_secs(2);
/// Maximum number of output pieces that wait for the browser.
const MAX_QUEUED_PIECES: usize = 16;
/// Maximum length of a request with keys in bytes.
const MAX_KEYS_BYTES: usize = 1 << 20;
/// Time that keys may wait for room.
const INPUT_TIMEOUT: Duration = Duration::from_secs(30);
/// Name of the header with the token.
const TOKEN_HEADER: &str = "x-terminal";
/// Maximum number of columns or rows.
const MAX_CELLS: u16 = 1_000;

/// Open consoles by token.
#[derive(Default)]
pub(super) struct Consoles(Mutex<HashMap<String, OpenConsole>>);

/// An open console.
struct OpenConsole {
    entered: Arc<LoginSession>,
    keyboard: Arc<Keyboard>,
}

/// Size of a terminal in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Size {
    columns: u16,
    rows: u16,
}

/// Size of a terminal whose request has no `columns` and `rows`.
const USUAL_SIZE: Size = Size {
    columns: 80,
    rows: 24,
};

/// A request for a console.
struct ConsoleRequest<'a> {
    method: &'a Method,
    /// Path behind `/terminal`.
    rest: &'a str,
    query: &'a str,
    keys: Bytes,
}

impl Visitor {
    /// Opens a console of the page, or passes keys to one; `rest` follows `/terminal`.
    pub(super) async fn terminal(
        &self,
        request: Request<Incoming>,
        rest: &str,
    ) -> Response<Pieces> {
        let Some(entered) = self.page_session(request.headers()) else {
            return stranger(request.headers());
        };
        let (head, body) = request.into_parts();
        let keys = match collect(body, MAX_KEYS_BYTES).await {
            Ok(keys) => keys,
            Err(fault) => return refuse(&fault),
        };
        let requester = Requester {
            shared: &self.shared,
            sessions: &self.sessions,
            entered: &entered,
        };
        let request = ConsoleRequest {
            method: &head.method,
            rest,
            query: head.uri.query().unwrap_or_default(),
            keys,
        };
        self.consoles.answer(requester, request).await
    }
}

impl Consoles {
    /// Answers a request of a session.
    async fn answer(
        self: &Arc<Self>,
        access: Requester<'_>,
        request: ConsoleRequest<'_>,
    ) -> Response<Pieces> {
        let size = match size(request.query) {
            Ok(size) => size,
            Err(fault) => return refuse(&fault),
        };
        let Some(token) = request.rest.strip_prefix('/') else {
            return match *request.method {
                Method::POST => self.open(access, size.unwrap_or(USUAL_SIZE)).await,
                _ => refuse(&Fault::not_found()),
            };
        };
        let Some(keyboard) = self.keyboard(token, access.entered) else {
            return refuse(&Fault::new(404, "the terminal has ended"));
        };
        match *request.method {
            Method::DELETE => self.close(token),
            Method::POST => {
                if let Some(size) = size {
                    keyboard.resize(size.columns, size.rows);
                }
                let pressed = timeout(INPUT_TIMEOUT, keyboard.press(&request.keys));
                if pressed.await.is_err() {
                    self.close(token);
                }
            }
            _ => return refuse(&Fault::not_found()),
        }
        text(StatusCode::NO_CONTENT, "", Bytes::new())
    }

    /// Starts a console; its output is the body of the response.
    async fn open(self: &Arc<Self>, access: Requester<'_>, size: Size) -> Response<Pieces> {
        let Ok(random) = crate::session::access::random::<16>() else {
            return refuse(&Fault::new(500, "there are no random numbers"));
        };
        let token: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let (shared, entered) = (Arc::clone(access.shared), Arc::clone(access.entered));
        // No task may wait for the router's lock.
        let made = spawn_blocking(move || Terminal::new(&shared, entered)).await;
        let Ok(mut shell) = made else {
            return refuse(&Fault::new(500, "the console could not be started"));
        };
        shell.set_longest_idle(LONGEST_IDLE);
        let keyboard = Keyboard::new(shell.interrupter());
        let console = OpenConsole {
            entered: Arc::clone(access.entered),
            keyboard: Arc::clone(&keyboard),
        };
        if let Err(fault) = self.insert(&token, console) {
            return refuse(&fault);
        }
        let (sender, more) = channel(MAX_QUEUED_PIECES);
        let (running, ended) = oneshot::channel();
        let work = ConsoleThread {
            shared: Arc::clone(access.shared),
            shell,
            settings: settings(size),
            keyboard,
            sender: sender.clone(),
            runtime: Handle::current(),
            _running: running,
        };
        if !work.start() {
            self.close(&token);
            return refuse(&Fault::new(503, "there is no thread for a console"));
        }
        let watch = Watch {
            consoles: Arc::clone(self),
            sessions: Arc::clone(access.sessions),
            token: token.clone(),
            sender,
            ended,
        };
        tokio::spawn(watch.run());
        let pieces = Pieces {
            first: None,
            more: Some((more, None)),
        };
        let mut response = response(StatusCode::OK, "application/octet-stream", pieces);
        if let Ok(token) = HeaderValue::try_from(token) {
            response.headers_mut().insert(TOKEN_HEADER, token);
        }
        response
    }

    fn insert(&self, token: &str, console: OpenConsole) -> Result<(), Fault> {
        let mut all = self.lock();
        let entered = &console.entered;
        let own = all
            .values()
            .filter(|other| Arc::ptr_eq(&other.entered, entered));
        let of_user = all
            .values()
            .filter(|other| other.entered.user() == entered.user());
        if own.count() >= MAX_CONSOLES_PER_SESSION || of_user.count() >= MAX_CONSOLES_PER_USER {
            let text = "too many open terminals of this user; close another one first";
            return Err(Fault::new(503, text));
        }
        all.insert(token.to_owned(), console);
        Ok(())
    }

    /// Returns the keyboard of a session's console.
    fn keyboard(&self, token: &str, entered: &Arc<LoginSession>) -> Option<Arc<Keyboard>> {
        let all = self.lock();
        let console = all.get(token)?;
        Arc::ptr_eq(&console.entered, entered).then(|| Arc::clone(&console.keyboard))
    }

    /// Ends a console.
    fn close(&self, token: &str) {
        let console = self.lock().remove(token);
        let Some(console) = console else { return };
        console.keyboard.close();
        // The end of a login takes the router's lock, for which no task may wait.
        drop(spawn_blocking(move || drop(console)));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, OpenConsole>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Session that sends a request.
struct Requester<'a> {
    shared: &'a Arc<Shared>,
    sessions: &'a Arc<Sessions>,
    entered: &'a Arc<LoginSession>,
}

/// What the thread of a console needs.
struct ConsoleThread {
    shared: Arc<Shared>,
    shell: Terminal,
    settings: Settings,
    keyboard: Arc<Keyboard>,
    sender: Sender<Bytes>,
    runtime: Handle,
    /// Dropping it reports the end of the thread.
    _running: oneshot::Sender<()>,
}

impl ConsoleThread {
    /// Starts the thread; returns false if there is none.
    fn start(self) -> bool {
        let named = thread::Builder::new().name(String::from("web-console"));
        named.spawn(move || self.run()).is_ok()
    }

    fn run(self) {
        let _inside = self.runtime.enter();
        let mut send = |bytes: &[u8]| {
            let pieces = bytes.chunks(PIECE_BYTES);
            let mut sent = pieces.map(|piece| send(&self.sender, Bytes::copy_from_slice(piece)));
            match sent.any(|flow| flow.is_break()) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        };
        greet_and_attend(
            &self.shared,
            self.shell,
            self.settings,
            &self.keyboard,
            &mut send,
        );
    }
}

/// Maximum length of an output piece in bytes.
const PIECE_BYTES: usize = 32 << 10;

/// Ends a console with its page, its session, or its thread.
struct Watch {
    consoles: Arc<Consoles>,
    sessions: Arc<Sessions>,
    token: String,
    sender: Sender<Bytes>,
    /// Closed when the thread ends.
    ended: oneshot::Receiver<()>,
}

impl Watch {
    async fn run(mut self) {
        loop {
            tokio::select! {
                () = self.sender.closed() => break,
                _ = &mut self.ended => break,
                () = sleep(HEARTBEAT) => {}
            }
            if !self.is_open() {
                break;
            }
            // A full queue has something better to send.
            let _ = self.sender.try_send(Bytes::from_static(b"\0"));
        }
        self.consoles.close(&self.token);
    }

    fn is_open(&self) -> bool {
        let all = self.consoles.lock();
        let console = all.get(&self.token);
        console.is_some_and(|console| self.sessions.contains(&console.entered))
    }
}

/// Returns the console settings of a terminal emulator.
fn settings(size: Size) -> Settings {
    Settings {
        columns: size.columns.into(),
        rows: size.rows.into(),
        colours: true,
        paging: true,
        dumb: false,
    }
}

/// Parses `columns=80&rows=24`; `None` for an empty query.
///
/// # Errors
/// 400: a number is missing, 0 or too large.
fn size(query: &str) -> Result<Option<Size>, Fault> {
    if query.is_empty() {
        return Ok(None);
    }
    let number = |name: &str| {
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let (_, text) = pairs.find(|(own, _)| *own == name)?;
        let number = text.parse().ok();
        number.filter(|number| (1..=MAX_CELLS).contains(number))
    };
    match (number("columns"), number("rows")) {
        (Some(columns), Some(rows)) => Ok(Some(Size { columns, rows })),
        _ => Err(Fault::new(
            400,
            format!("columns and rows must be between 1 and {MAX_CELLS}"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_positive_and_bounded() {
        assert_eq!(size(""), Ok(None));
        let large = Size {
            columns: 132,
            rows: 50,
        };
        assert_eq!(size("columns=132&rows=50"), Ok(Some(large)));
        assert_eq!(size("rows=50&columns=132"), Ok(Some(large)));
        for bad in [
            "columns=80",
            "columns=0&rows=24",
            "columns=80&rows=1001",
            "columns=-1&rows=24",
            "columns=80&rows=x",
        ] {
            assert_eq!(size(bad).map_err(|fault| fault.status()), Err(400), "{bad}");
        }
    }
}
