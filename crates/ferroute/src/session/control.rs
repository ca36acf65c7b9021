//! Server of the local socket: consoles, single commands, and the host plane's location.
//!
//! Only the owner may access the socket file, and the kernel's peer credentials are checked as well: clients
//! have the rights of the user who started the router.

use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;
use std::os::fd::AsFd as _;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant as SystemInstant};

use console::keys::INTERRUPT;
use console::protocol::{Message, receive, send};
use console::{Settings, Shell};
use menu::Output;
use script::Interrupt;

use crate::session::history::HistoryFile;
use crate::session::keyboard::Keyboard;
use crate::session::terminal::attend;

/// Maximum number of clients.
const MAX_CLIENTS: usize = 64;

/// Time limit for a client's request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Connected clients.
#[derive(Default)]
struct Clients(Mutex<BTreeMap<u64, Option<UnixStream>>>);

impl Clients {
    /// Adds a client without request. If there are too many, the oldest one without request is disconnected.
    /// Returns false if there is no room.
    fn enter(&self, number: u64, stream: &UnixStream) -> bool {
        let Ok(way_to_cut) = stream.try_clone() else {
            return false;
        };
        let mut clients = self.lock();
        if clients.len() >= MAX_CLIENTS {
            let silent = clients.iter().find(|(_, silent)| silent.is_some());
            let Some(oldest) = silent.map(|(number, _)| *number) else {
                return false;
            };
            if let Some(Some(stream)) = clients.remove(&oldest) {
                let _ = stream.shutdown(std::net::Shutdown::Both);
            }
        }
        clients.insert(number, Some(way_to_cut));
        true
    }

    /// Records that a client has sent its request.
    fn spoke(&self, number: u64) {
        if let Some(client) = self.lock().get_mut(&number) {
            *client = None;
        }
    }

    fn leave(&self, number: u64) {
        self.lock().remove(&number);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Option<UnixStream>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Interface of the router for the server.
pub(crate) trait Router: Send + Sync + 'static {
    /// Command interpreter of a session.
    type Shell: Shell;

    /// Creates a session of the local user; `quiet` for a single command.
    ///
    /// # Errors
    /// There are too many sessions.
    fn shell(self: &Arc<Self>, quiet: bool) -> Result<Self::Shell, String>;

    /// Returns the banner of a new console, in whole lines.
    fn welcome(shell: &Self::Shell) -> String;

    /// Runs one command; output goes to `out` while it runs.
    ///
    /// # Errors
    /// The error text of the console.
    fn exec(
        shell: &mut Self::Shell,
        command: &str,
        json: bool,
        out: &mut dyn Output,
    ) -> Result<(), String>;

    /// Returns the handle that stops the commands of a session from another thread.
    fn interrupter(shell: &Self::Shell) -> Arc<Interrupt>;

    /// Returns the history location of a session's user.
    fn history_file(&self, shell: &Self::Shell) -> HistoryFile;

    /// Returns the path of the host plane's namespace.
    fn namespace(&self) -> Option<String>;
}

/// The socket; dropping it removes the file.
pub(crate) struct Server {
    path: PathBuf,
}

impl Server {
    /// Listens at `path` and serves each client in its own thread.
    pub(crate) fn start<R: Router>(path: &Path, router: &Arc<R>) -> Result<Self, String> {
        let failed = |error: io::Error| format!("control socket {}: {error}", path.display());
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let listener = listen(path)?;
        let router = Arc::clone(router);
        thread::Builder::new()
            .name(String::from("control"))
            .spawn(move || accept(&listener, &router))
            .map_err(failed)?;
        Ok(Self {
            path: path.to_owned(),
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Binds the socket. A socket file without listener is left from a crash and replaced.
fn listen(path: &Path) -> Result<UnixListener, String> {
    let failed = |error: io::Error| format!("control socket {}: {error}", path.display());
    if let Ok(there) = path.symlink_metadata() {
        if !there.file_type().is_socket() {
            return Err(failed(io::Error::other(
                "a file exists there that is not a socket",
            )));
        }
        if UnixStream::connect(path).is_ok() {
            return Err(format!(
                "a router is running already: it answers at {} (use another --state)",
                path.display()
            ));
        }
        std::fs::remove_file(path).map_err(failed)?;
    }
    let listener = UnixListener::bind(path).map_err(failed)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).map_err(failed)?;
    Ok(listener)
}

fn accept<R: Router>(listener: &UnixListener, router: &Arc<R>) {
    let clients = Arc::new(Clients::default());
    for (number, stream) in (0..).zip(listener.incoming()) {
        let Ok(mut stream) = stream else { continue };
        if let Err(reason) = admit(&stream, &clients, number) {
            refuse(&mut stream, reason);
            continue;
        }
        let (router, inside) = (Arc::clone(router), Arc::clone(&clients));
        let served = thread::Builder::new()
            .name(String::from("client"))
            .spawn(move || {
                // Errors of one client concern nobody else.
                let _ = serve(&mut stream, &inside, number, &router);
                inside.leave(number);
            });
        if served.is_err() {
            clients.leave(number);
        }
    }
}

fn admit(stream: &UnixStream, clients: &Clients, number: u64) -> Result<(), &'static str> {
    let peer = rustix::net::sockopt::socket_peercred(stream.as_fd());
    let own = rustix::process::geteuid();
    match peer {
        Ok(peer) if peer.uid == own || peer.uid.is_root() => {}
        _ => return Err("not allowed"),
    }
    if !clients.enter(number, stream) {
        return Err("too many consoles are open");
    }
    Ok(())
}

fn refuse(stream: &mut UnixStream, reason: &str) {
    let _ = send(
        stream,
        &Message::Error(format!("ferroute: {reason}\n").into_bytes()),
    );
    let _ = send(stream, &Message::Exit(1));
}

fn serve<R: Router>(
    stream: &mut UnixStream,
    clients: &Clients,
    number: u64,
    router: &Arc<R>,
) -> io::Result<()> {
    stream.set_read_timeout(Some(REQUEST_TIMEOUT))?;
    let wanted = receive(stream)?;
    clients.spoke(number);
    stream.set_read_timeout(None)?;
    match wanted {
        Some(Message::Exec { command, json }) => exec(stream, router, &command, json),
        Some(Message::Console {
            columns,
            rows,
            colours,
        }) => {
            let settings = Settings {
                columns: usize::from(columns),
                rows: usize::from(rows),
                colours,
                paging: true,
                dumb: false,
            };
            terminal(stream, router, settings)
        }
        Some(Message::Namespace) => match router.namespace() {
            Some(path) => {
                send(stream, &Message::Output(path.into_bytes()))?;
                send(stream, &Message::Exit(0))
            }
            None => {
                refuse(stream, "this router runs without a host plane");
                Ok(())
            }
        },
        _ => Ok(()),
    }
}

fn exec<R: Router>(
    stream: &mut UnixStream,
    router: &Arc<R>,
    command: &str,
    json: bool,
) -> io::Result<()> {
    let mut shell = match router.shell(true) {
        Ok(shell) => shell,
        Err(reason) => {
            refuse(stream, &reason);
            return Ok(());
        }
    };
    let mut reader = stream.try_clone()?;
    let interrupt = R::interrupter(&shell);
    // The client sends nothing more; its end or Ctrl-C stops the command.
    let watch = thread::Builder::new().name(String::from("client-watch"));
    watch.spawn(move || {
        while let Ok(Some(message)) = receive(&mut reader) {
            if is_stop(&message) {
                let _ = interrupt.stop();
            }
        }
        interrupt.close();
    })?;
    let mut out = Stream::new(stream);
    let result = R::exec(&mut shell, command, json, &mut out);
    let _ = out.flush();
    let code = match result {
        Ok(()) => 0,
        Err(error) => {
            send(stream, &Message::Error(format!("{error}\n").into_bytes()))?;
            1
        }
    };
    send(stream, &Message::Exit(code))?;
    // Ends the watching thread.
    stream.shutdown(std::net::Shutdown::Both)
}

/// Returns true for Ctrl-C.
fn is_stop(message: &Message) -> bool {
    matches!(message, Message::Input(bytes) if bytes.contains(&INTERRUPT))
}

/// Command output that is sent while it arises. Writing waits for a slow reader; a closed connection ends the
/// command.
struct Stream<'a> {
    stream: &'a mut UnixStream,
    bytes: Vec<u8>,
    sent: SystemInstant,
}

/// Amount of output sent at once.
const PIECE_BYTES: usize = 32 << 10;

/// Maximum delay of smaller amounts.
const MAX_DELAY: Duration = Duration::from_millis(20);

impl<'a> Stream<'a> {
    fn new(stream: &'a mut UnixStream) -> Self {
        Self {
            stream,
            bytes: Vec::new(),
            sent: SystemInstant::now(),
        }
    }
}

impl Output for Stream<'_> {
    fn write(&mut self, text: &str) -> ControlFlow<()> {
        self.bytes.extend_from_slice(&menu::bytes::to_bytes(text));
        if self.bytes.len() < PIECE_BYTES && self.sent.elapsed() < MAX_DELAY {
            return ControlFlow::Continue(());
        }
        self.flush()
    }

    fn flush(&mut self) -> ControlFlow<()> {
        if self.bytes.is_empty() {
            return ControlFlow::Continue(());
        }
        let piece = Message::Output(std::mem::take(&mut self.bytes));
        self.sent = SystemInstant::now();
        match send(self.stream, &piece) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }

    fn remark(&mut self, line: &str) -> ControlFlow<()> {
        self.flush()?;
        let line = Message::Error(menu::bytes::to_bytes(&format!("{line}\n")));
        match send(self.stream, &line) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }

    fn width(&self) -> usize {
        usize::MAX
    }
}

/// Reads the client's input in its own thread, so that Ctrl-C reaches a running command.
fn listen_to(stream: &UnixStream, interrupt: Arc<Interrupt>) -> io::Result<Arc<Keyboard>> {
    let mut reader = stream.try_clone()?;
    let keyboard = Keyboard::new(interrupt);
    let keys = Arc::clone(&keyboard);
    // Needed only to wait for room.
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let typing = thread::Builder::new().name(String::from("client-input"));
    typing.spawn(move || {
        while let Ok(Some(message)) = receive(&mut reader) {
            match message {
                Message::Input(bytes) => runtime.block_on(keys.press(&bytes)),
                Message::Resize(columns, rows) => keys.resize(columns, rows),
                _ => break,
            }
        }
        keys.close();
    })?;
    Ok(keyboard)
}

fn terminal<R: Router>(
    stream: &mut UnixStream,
    router: &Arc<R>,
    settings: Settings,
) -> io::Result<()> {
    let shell = match router.shell(false) {
        Ok(shell) => shell,
        Err(reason) => {
            refuse(stream, &reason);
            return Ok(());
        }
    };
    let keyboard = listen_to(stream, R::interrupter(&shell))?;
    let welcome = R::welcome(&shell).replace('\n', "\r\n");
    send(stream, &Message::Output(welcome.into_bytes()))?;
    let history_file = router.history_file(&shell);
    let mut sent = |bytes: &[u8]| match send(stream, &Message::Output(bytes.to_vec())) {
        Ok(()) => ControlFlow::Continue(()),
        Err(_) => ControlFlow::Break(()),
    };
    let (left, history) = attend(shell, settings, history_file.load(), &keyboard, &mut sent);
    history_file.keep(&history);
    if left {
        send(stream, &Message::Exit(0))?;
    }
    stream.shutdown(std::net::Shutdown::Both)
}
