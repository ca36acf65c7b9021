//! The router's end of the local socket: consoles, single commands, and where the host plane is.
//!
//! The socket file is for its owner alone, and the peer's user id is asked of the kernel besides:
//! whoever reaches it has the rights of the user who started the router.

use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use console::history::History;
use console::protocol::{Message, receive, send};
use console::{Console, Outcome, Settings, Shell};

/// How many clients are served at once.
const CLIENTS: usize = 64;

/// What the server needs of the router.
pub(crate) trait Router: Send + Sync + 'static {
    /// What a line means to one session.
    type Shell: Shell;

    /// A new session of whoever runs the router.
    ///
    /// # Errors
    /// There are too many.
    fn shell(self: &Arc<Self>) -> Result<Self::Shell, String>;

    /// Runs one command.
    ///
    /// # Errors
    /// What the console would print. The output until then is in `out`.
    fn exec(&self, command: &str, json: bool, out: &mut Vec<u8>) -> Result<(), String>;

    /// Where other processes find the host plane's namespace, if there is one.
    fn namespace(&self) -> Option<String>;
}

/// The socket; its file goes when this is dropped.
pub(crate) struct Server {
    path: PathBuf,
}

impl Server {
    /// Listens at `path` and serves each client in a thread of its own.
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

/// Binds the socket; a file that nobody answers at is what a crash has left.
fn listen(path: &Path) -> Result<UnixListener, String> {
    let failed = |error: io::Error| format!("control socket {}: {error}", path.display());
    if path.exists() {
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
    let clients = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        let Ok(mut stream) = stream else { continue };
        if let Err(reason) = admit(&stream, &clients) {
            refuse(&mut stream, reason);
            continue;
        }
        let (router, leave) = (Arc::clone(router), Arc::clone(&clients));
        clients.fetch_add(1, Ordering::Relaxed);
        let served = thread::Builder::new()
            .name(String::from("client"))
            .spawn(move || {
                // A client that breaks the protocol or goes away is its own affair.
                let _ = serve(&mut stream, &router);
                leave.fetch_sub(1, Ordering::Relaxed);
            });
        if served.is_err() {
            clients.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

fn admit(stream: &UnixStream, clients: &AtomicUsize) -> Result<(), &'static str> {
    let peer = rustix::net::sockopt::socket_peercred(stream.as_fd());
    let own = rustix::process::geteuid();
    match peer {
        Ok(peer) if peer.uid == own || peer.uid.is_root() => {}
        _ => return Err("not allowed"),
    }
    if clients.load(Ordering::Relaxed) >= CLIENTS {
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

fn serve<R: Router>(stream: &mut UnixStream, router: &Arc<R>) -> io::Result<()> {
    match receive(stream)? {
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
    let mut out = Vec::new();
    let result = router.exec(command, json, &mut out);
    if !out.is_empty() {
        send(stream, &Message::Output(out))?;
    }
    let code = match result {
        Ok(()) => 0,
        Err(error) => {
            send(stream, &Message::Error(format!("{error}\n").into_bytes()))?;
            1
        }
    };
    send(stream, &Message::Exit(code))
}

fn terminal<R: Router>(
    stream: &mut UnixStream,
    router: &Arc<R>,
    settings: Settings,
) -> io::Result<()> {
    let shell = match router.shell() {
        Ok(shell) => shell,
        Err(reason) => {
            refuse(stream, &reason);
            return Ok(());
        }
    };
    let mut console = Console::new(shell, settings, History::default());
    let mut out = Vec::new();
    console.begin(&mut out);
    loop {
        if !out.is_empty() {
            send(stream, &Message::Output(std::mem::take(&mut out)))?;
        }
        match receive(stream)? {
            Some(Message::Input(bytes)) => {
                if console.input(&bytes, &mut out) == Outcome::Quit {
                    send(stream, &Message::Output(out))?;
                    return send(stream, &Message::Exit(0));
                }
            }
            Some(Message::Resize(columns, rows)) => {
                console.resize(usize::from(columns), usize::from(rows), &mut out);
            }
            _ => return Ok(()),
        }
    }
}
