//! An SSH channel: a thread that runs a console, a command or a file transfer, and its data.

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
use crate::run::shared::{Shared, Terminal};
use crate::session::access::LoginSession;
use crate::session::control::Router as _;
use crate::session::keyboard::Keyboard;
use crate::session::remote_console::greet_and_attend;

/// Maximum number of output pieces that wait for the peer.
const MAX_QUEUED_PIECES: usize = 16;

/// Time that a terminal's input may stay blocked before the channel is closed.
const INPUT_TIMEOUT: Duration = Duration::from_secs(30);

/// An open channel.
pub(crate) struct Open {
    writer: Option<ChannelWriteHalf<Msg>>,
    /// Terminal size, if it has a terminal.
    pub(crate) size: Option<Size>,
    input: Option<Input>,
    /// Task that sends the output; `None` before the channel's work starts.
    carrier: Option<JoinHandle<()>>,
}

/// Input path to the channel's thread.
enum Input {
    /// Keyboard of a terminal or command.
    Keys(Arc<Keyboard>),
    /// Bytes of a file transfer protocol.
    Bytes(mpsc::Sender<Vec<u8>>),
    /// The peer has ended the input.
    Ended,
}

impl Drop for Input {
    fn drop(&mut self) {
        if let Self::Keys(keyboard) = self {
            keyboard.close();
        }
    }
}

/// Purpose of a channel.
pub(crate) enum Work {
    /// A console.
    Console,
    /// A single command.
    Command(String),
    /// File transfer by SFTP.
    Sftp,
    /// File transfer by SCP.
    Scp(Scp),
}

/// Terminal size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    columns: u16,
    rows: u16,
}

impl Size {
    /// Returns the size that a peer reports; 0 selects the default.
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

    /// Applies the size of the login suffix.
    pub(crate) fn with(self, suffix: Suffix) -> Self {
        Self {
            columns: suffix.columns.unwrap_or(self.columns),
            rows: suffix.rows.unwrap_or(self.rows),
        }
    }
}

impl Open {
    /// Creates a channel without a purpose.
    pub(crate) fn new(channel: Channel<Msg>) -> Self {
        // Input arrives through the connection's handler, in order with its requests.
        let (_, writer) = channel.split();
        Self {
            writer: Some(writer),
            size: None,
            input: None,
            carrier: None,
        }
    }

    /// Starts the work of the channel; returns false if it has started before.
    pub(crate) fn start(
        &mut self,
        shared: &Arc<Shared>,
        entered: Arc<LoginSession>,
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
        let (pieces, ready) = mpsc::channel(MAX_QUEUED_PIECES);
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

    /// Returns true if the work is done and the peer has been notified.
    pub(crate) fn is_over(&self) -> bool {
        self.carrier.as_ref().is_some_and(JoinHandle::is_finished)
    }

    /// Processes input bytes. Returns false if the channel has to close.
    pub(crate) async fn input(&mut self, bytes: &[u8]) -> bool {
        match &self.input {
            Some(Input::Keys(keyboard)) => {
                let pressed = tokio::time::timeout(INPUT_TIMEOUT, keyboard.press(bytes));
                pressed.await.is_ok()
            }
            Some(Input::Bytes(sender)) => {
                let sent = tokio::time::timeout(INPUT_TIMEOUT, sender.send(bytes.to_vec())).await;
                sent.is_ok_and(|sent| sent.is_ok())
            }
            Some(Input::Ended) | None => true,
        }
    }

    /// Transfers files in a thread until the peer or the protocol ends.
    fn move_files(
        &mut self,
        mover: Mover,
        shared: &Arc<Shared>,
        entered: Arc<LoginSession>,
        writer: ChannelWriteHalf<Msg>,
    ) -> bool {
        let mut session = entered.session();
        session.via = "ssh";
        let store = RouterFiles {
            shared: Arc::clone(shared),
            session,
        };
        let (pieces, ready) = mpsc::channel(MAX_QUEUED_PIECES);
        let (sender, arrived) = mpsc::channel(MAX_QUEUED_PIECES);
        let working = thread::Builder::new().name(String::from("ssh-files"));
        let working = working.spawn(move || {
            let status = mover.run(store, arrived, &pieces);
            let _ = pieces.blocking_send(Piece::Exit(status));
            // The login lasts as long as its transfers.
            drop(entered);
        });
        if working.is_err() {
            return false;
        }
        self.carrier = Some(tokio::spawn(carry(ready, writer)));
        self.input = Some(Input::Bytes(sender));
        true
    }

    /// Sets a new terminal size.
    pub(crate) fn resize(&mut self, size: Size) {
        if let Some(Input::Keys(keyboard)) = &self.input {
            keyboard.resize(size.columns, size.rows);
        }
    }

    /// Ends the input: like Ctrl-D after all earlier input.
    pub(crate) fn end_of_input(&mut self) {
        match &self.input {
            Some(Input::Keys(keyboard)) => keyboard.end(),
            Some(Input::Bytes(_)) => self.input = Some(Input::Ended),
            Some(Input::Ended) | None => {}
        }
    }
}

/// A file transfer protocol.
enum Mover {
    Sftp,
    Scp(Scp),
}

impl Mover {
    /// Runs the transfer; returns the exit status.
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

/// Returns the console settings for the terminal.
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

/// Output for the peer.
enum Piece {
    Output(Vec<u8>),
    Exit(u32),
}

/// Sends output as fast as the peer accepts it.
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
    let mut send = |bytes: &[u8]| match pieces.blocking_send(Piece::Output(bytes.to_vec())) {
        Ok(()) => ControlFlow::Continue(()),
        Err(_) => ControlFlow::Break(()),
    };
    greet_and_attend(shared, shell, settings, keyboard, &mut send);
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

/// Command output, sent while it arises. RouterOS: lines end with CR LF, even without a terminal.
struct Stream<'a> {
    pieces: &'a mpsc::Sender<Piece>,
    bytes: Vec<u8>,
    /// Last byte of the output.
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

/// Amount of output sent at once.
const PIECE_BYTES: usize = 32 << 10;

/// Maximum delay of smaller amounts.
const MAX_DELAY: Duration = Duration::from_millis(20);

impl Output for Stream<'_> {
    fn write(&mut self, text: &str) -> ControlFlow<()> {
        self.push(&menu::bytes::to_bytes(text));
        if self.bytes.len() < PIECE_BYTES && self.sent.elapsed() < MAX_DELAY {
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
