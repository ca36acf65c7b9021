//! A channel at work: a thread that runs a console or a command, and what goes to and fro.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use console::Settings;
use menu::Output;
use russh::server::Msg;
use russh::{Channel, ChannelWriteHalf};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::files::RouterFiles;
use super::scp::{Peer, Scp};
use super::sftp::Server;
use super::suffix::Suffix;
use crate::access::Entered;
use crate::control::Router as _;
use crate::core::{Shared, Terminal};
use crate::keyboard::Keyboard;
use crate::terminal::attend;

/// Pieces of output that wait for the peer to take them.
const PIECES: usize = 16;

/// How long a terminal may stay ahead of its console before the channel is given up.
const PATIENCE: Duration = Duration::from_secs(30);

/// A channel that is open.
pub(crate) struct Open {
    writer: Option<ChannelWriteHalf<Msg>>,
    /// The size of its terminal, if it has one.
    pub(crate) size: Option<Size>,
    input: Option<Input>,
    /// Carries what its work gives; none before it works.
    carrier: Option<JoinHandle<()>>,
}

/// The way to the thread of a channel.
enum Input {
    /// A terminal's, or of a command.
    Keys(Arc<Keyboard>),
    /// Of a protocol: bytes as they come.
    Bytes(mpsc::Sender<Vec<u8>>),
    /// The peer has said that nothing follows.
    Ended,
}

impl Drop for Input {
    fn drop(&mut self) {
        if let Self::Keys(keyboard) = self {
            keyboard.close();
        }
    }
}

/// What a channel is for.
pub(crate) enum Work {
    /// A console.
    Console,
    /// One command.
    Command(String),
    /// Files, by SFTP.
    Sftp,
    /// Files, by SCP.
    Scp(Scp),
}

/// The size of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    columns: u16,
    rows: u16,
}

impl Size {
    /// A size that a peer says; none said is the usual one.
    pub(crate) fn of(columns: u32, rows: u32) -> Self {
        let sane = |number: u32, usual| match u16::try_from(number) {
            Ok(0) => usual,
            number => number.unwrap_or(u16::MAX),
        };
        Self {
            columns: sane(columns, 80),
            rows: sane(rows, 24),
        }
    }

    /// The size, but for what the login says of it.
    pub(crate) fn with(self, suffix: Suffix) -> Self {
        Self {
            columns: suffix.columns.unwrap_or(self.columns),
            rows: suffix.rows.unwrap_or(self.rows),
        }
    }
}

impl Open {
    /// A channel on which nothing was asked for yet.
    pub(crate) fn new(channel: Channel<Msg>) -> Self {
        // What is read comes by the connection's handler, in order with its requests.
        let (_, writer) = channel.split();
        Self {
            writer: Some(writer),
            size: None,
            input: None,
            carrier: None,
        }
    }

    /// Begins to work; says whether it does. A channel works once.
    pub(crate) fn start(
        &mut self,
        shared: &Arc<Shared>,
        entered: Arc<Entered>,
        suffix: Suffix,
        work: Work,
    ) -> bool {
        let Some(writer) = self.writer.take() else {
            return false;
        };
        let mover = match &work {
            Work::Console | Work::Command(_) => None,
            Work::Sftp => Some(Mover::Sftp),
            Work::Scp(scp) => Some(Mover::Scp(scp.clone())),
        };
        if let Some(mover) = mover {
            return self.move_files(mover, shared, entered, writer);
        }
        let (pieces, ready) = mpsc::channel(PIECES);
        let shell = Terminal::new(shared, entered);
        let keyboard = Keyboard::new(shell.interrupter());
        let input = Input::Keys(Arc::clone(&keyboard));
        let settings = settings(self.size, suffix);
        let shared = Arc::clone(shared);
        let working = thread::Builder::new().name(String::from("ssh-channel"));
        let working = working.spawn(move || {
            let status = match work {
                Work::Console => console(&shared, shell, settings, &keyboard, &pieces),
                Work::Command(command) => {
                    keyboard.deafen();
                    run(shell, &command, &pieces)
                }
                Work::Sftp | Work::Scp(_) => 1,
            };
            let _ = pieces.blocking_send(Piece::Exit(status));
        });
        if working.is_err() {
            return false;
        }
        self.carrier = Some(tokio::spawn(carry(ready, writer)));
        self.input = Some(input);
        true
    }

    /// Whether its work is done and the peer has been told.
    pub(crate) fn is_over(&self) -> bool {
        self.carrier.as_ref().is_some_and(JoinHandle::is_finished)
    }

    /// Takes bytes of the terminal. Says whether the channel can go on.
    pub(crate) async fn input(&mut self, bytes: &[u8]) -> bool {
        match &self.input {
            Some(Input::Keys(keyboard)) => {
                let pressed = tokio::time::timeout(PATIENCE, keyboard.press(bytes));
                pressed.await.is_ok()
            }
            Some(Input::Bytes(sender)) => {
                let sent = tokio::time::timeout(PATIENCE, sender.send(bytes.to_vec())).await;
                sent.is_ok_and(|sent| sent.is_ok())
            }
            Some(Input::Ended) | None => true,
        }
    }

    /// Moves files in a thread until the peer has no more, or the protocol ends.
    fn move_files(
        &mut self,
        mover: Mover,
        shared: &Arc<Shared>,
        entered: Arc<Entered>,
        writer: ChannelWriteHalf<Msg>,
    ) -> bool {
        let mut session = entered.session();
        session.via = "ssh";
        let store = RouterFiles {
            shared: Arc::clone(shared),
            session,
        };
        let (pieces, ready) = mpsc::channel(PIECES);
        let (sender, arrived) = mpsc::channel(PIECES);
        let working = thread::Builder::new().name(String::from("ssh-files"));
        let working = working.spawn(move || {
            let status = mover.run(store, arrived, &pieces);
            let _ = pieces.blocking_send(Piece::Exit(status));
            // The session lasts as long as its transfers.
            drop(entered);
        });
        if working.is_err() {
            return false;
        }
        self.carrier = Some(tokio::spawn(carry(ready, writer)));
        self.input = Some(Input::Bytes(sender));
        true
    }

    /// Hears of another size of the terminal.
    pub(crate) fn resize(&mut self, size: Size) {
        if let Some(Input::Keys(keyboard)) = &self.input {
            keyboard.resize(size.columns, size.rows);
        }
    }

    /// The peer sends nothing more: as if Ctrl-D were typed, behind all that is.
    pub(crate) fn end_of_input(&mut self) {
        match &self.input {
            Some(Input::Keys(keyboard)) => keyboard.end(),
            Some(Input::Bytes(_)) => self.input = Some(Input::Ended),
            Some(Input::Ended) | None => {}
        }
    }
}

/// A protocol that moves files.
enum Mover {
    Sftp,
    Scp(Scp),
}

impl Mover {
    /// Runs to the end of the transfer; the exit status.
    fn run(
        self,
        mut store: RouterFiles,
        mut arrived: mpsc::Receiver<Vec<u8>>,
        pieces: &mpsc::Sender<Piece>,
    ) -> u32 {
        match self {
            Self::Scp(scp) => scp.run(
                &mut Peer {
                    next: &mut || arrived.blocking_recv(),
                    write: &mut |bytes| _ = pieces.blocking_send(Piece::Output(bytes.to_vec())),
                    input: Vec::new(),
                },
                &mut store,
            ),
            Self::Sftp => {
                let mut server = Server::default();
                while let Some(bytes) = arrived.blocking_recv() {
                    let mut out = Vec::new();
                    let received = server.receive(&bytes, &mut store, &mut out);
                    let sent = pieces.blocking_send(Piece::Output(out));
                    if received.is_err() || sent.is_err() {
                        return 1;
                    }
                }
                0
            }
        }
    }
}

/// What a console is told of the terminal.
fn settings(size: Option<Size>, suffix: Suffix) -> Settings {
    let is_terminal = size.is_some();
    let size = size.unwrap_or(Size::of(0, 0)).with(suffix);
    Settings {
        columns: size.columns.into(),
        rows: size.rows.into(),
        colours: is_terminal && !suffix.plain && !suffix.dumb,
        paging: is_terminal && !suffix.dumb,
        dumb: suffix.dumb || !is_terminal,
    }
}

/// Something for the peer.
enum Piece {
    Output(Vec<u8>),
    Exit(u32),
}

/// Carries output to the peer as fast as it takes it.
async fn carry(mut ready: mpsc::Receiver<Piece>, writer: ChannelWriteHalf<Msg>) {
    while let Some(piece) = ready.recv().await {
        let sent = match piece {
            Piece::Output(bytes) => writer.data_bytes(bytes).await,
            Piece::Exit(status) => {
                let _ = writer.exit_status(status).await;
                break;
            }
        };
        if sent.is_err() {
            break;
        }
    }
    let _ = writer.eof().await;
    let _ = writer.close().await;
}

fn console(
    shared: &Shared,
    shell: Terminal,
    settings: Settings,
    keyboard: &Keyboard,
    pieces: &mpsc::Sender<Piece>,
) -> u32 {
    let past = shared.past(&shell);
    let mut send = |bytes: &[u8]| match pieces.blocking_send(Piece::Output(bytes.to_vec())) {
        Ok(()) => ControlFlow::Continue(()),
        Err(_) => ControlFlow::Break(()),
    };
    let _ = send(shell.greeting().as_bytes());
    let (_, history) = attend(shell, settings, past.load(), (keyboard, &mut send));
    past.keep(&history);
    0
}

/// Runs a command; errors are part of its output, as on a console.
fn run(mut shell: Terminal, command: &str, pieces: &mpsc::Sender<Piece>) -> u32 {
    let mut out = Stream {
        pieces,
        bytes: Vec::new(),
        last: 0,
        sent: Instant::now(),
    };
    let result = Shared::exec(&mut shell, command, false, &mut out);
    if let Err(error) = &result {
        out.push(error.as_bytes());
        out.push(b"\n");
    }
    let _ = out.flush();
    u32::from(result.is_err())
}

/// A command's output, sent in pieces while it runs. RouterOS: lines end with CR LF, though there be no
/// terminal.
struct Stream<'a> {
    pieces: &'a mpsc::Sender<Piece>,
    bytes: Vec<u8>,
    /// The last byte of the output.
    last: u8,
    sent: Instant,
}

impl Stream<'_> {
    fn push(&mut self, output: &[u8]) {
        for byte in output {
            if *byte == b'\n' && self.last != b'\r' {
                self.bytes.push(b'\r');
            }
            self.bytes.push(*byte);
            self.last = *byte;
        }
    }
}

/// Output that is sent at once.
const PIECE: usize = 32 << 10;

/// How long output stays when there is not enough for a piece.
const STAYS: Duration = Duration::from_millis(20);

impl Output for Stream<'_> {
    fn write(&mut self, text: &str) -> ControlFlow<()> {
        self.push(&menu::bytes::to_bytes(text));
        if self.bytes.len() < PIECE && self.sent.elapsed() < STAYS {
            return ControlFlow::Continue(());
        }
        self.flush()
    }

    fn flush(&mut self) -> ControlFlow<()> {
        if self.bytes.is_empty() {
            return ControlFlow::Continue(());
        }
        self.sent = Instant::now();
        let piece = Piece::Output(std::mem::take(&mut self.bytes));
        match self.pieces.blocking_send(piece) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }

    fn width(&self) -> usize {
        usize::MAX
    }
}
