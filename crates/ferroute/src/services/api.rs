//! Binary API at `api` and `api-ssl`: connects a peer, its [`Connection`] and the threads of its commands.

use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use access::Service;
use api::{Action, Connection, Reply};
use menu::Refusal;
use script::{Done, Request, Rows};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, ReadHalf, WriteHalf};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until, timeout};

mod ordered;

use super::admission::{CommandAdmission, CommandOwner};
use super::{Conversation, Peer, Speaker, Stream};
use crate::run::shared::Shared;
use crate::session::access::{LoginSession, Proof, random};
use ordered::{Brake, Ordered};

/// Bytes of rows sent at once.
const BATCH_BYTES: usize = 16 << 10;

/// Maximum number of batches that wait to be sent, per connection.
const MAX_QUEUED_BATCHES: usize = 16;

/// Time that a peer may refuse to read.
const WRITE_TIMEOUT: Duration = Duration::from_secs(60);

/// Interval of checks whether another user ended the session.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Server of the binary API.
pub(crate) struct Api {
    shared: Arc<Shared>,
    admission: Arc<CommandAdmission>,
}

impl Api {
    /// Creates a server for this router.
    pub(crate) const fn new(shared: Arc<Shared>, admission: Arc<CommandAdmission>) -> Self {
        Self { shared, admission }
    }
}

impl Speaker for Api {
    fn serve(self: Arc<Self>, stream: Box<dyn Stream>, peer: Peer) -> Conversation {
        Box::pin(async move {
            let served = match Talk::new(&self, stream, &peer) {
                Ok(talk) => talk.serve().await,
                Err(error) => Err(io::Error::other(error)),
            };
            if let Err(error) = served {
                tracing::debug!("{}: {}: {error}", peer.service, peer.address);
            }
        })
    }
}

/// Message of a command to its connection.
enum News {
    /// Encoded rows.
    Rows(u64, Vec<u8>),
    /// Result of the command.
    Ended(u64, Result<Done, Refusal>),
}

/// State of a connection.
struct Talk {
    shared: Arc<Shared>,
    admission: Arc<CommandAdmission>,
    peer: Peer,
    connection: Connection,
    reader: ReadHalf<Box<dyn Stream>>,
    writer: WriteHalf<Box<dyn Stream>>,
    entered: Option<Arc<LoginSession>>,
    running: BTreeMap<u64, Brake>,
    news: Receiver<News>,
    tell: Sender<News>,
}

impl Talk {
    fn new(api: &Api, stream: Box<dyn Stream>, peer: &Peer) -> Result<Self, String> {
        let (reader, writer) = tokio::io::split(stream);
        let (tell, news) = channel(MAX_QUEUED_BATCHES);
        Ok(Self {
            shared: Arc::clone(&api.shared),
            admission: Arc::clone(&api.admission),
            peer: peer.clone(),
            connection: Connection::new(random()?, schema::VERSION_SAYS_EMPTY),
            reader,
            writer,
            entered: None,
            running: BTreeMap::new(),
            news,
            tell,
        })
    }

    async fn serve(mut self) -> io::Result<()> {
        let served = self.talk().await;
        // Running commands are stopped and end by themselves.
        self.running.values().for_each(Brake::stop);
        let _ = self.writer.shutdown().await;
        // Leaving takes the router's lock, for which no task may wait. Unauthenticated clients get no thread.
        if let Some(entered) = self.entered.take() {
            let _ = spawn_blocking(move || drop(entered)).await;
        }
        served
    }

    async fn talk(&mut self) -> io::Result<()> {
        let mut bytes = vec![0; BATCH_BYTES];
        let mut heard = Instant::now();
        let mut look = heard + CHECK_INTERVAL;
        loop {
            let mut actions = Vec::new();
            tokio::select! {
                read = self.reader.read(&mut bytes) => match read? {
                    0 => return Ok(()),
                    count => {
                        heard = Instant::now();
                        let read = bytes.get(..count).unwrap_or_default();
                        self.connection.receive(read, &mut actions);
                    }
                },
                Some(news) = self.news.recv() => match news {
                    News::Rows(number, rows) => {
                        if self.connection.wants(number) {
                            self.send(&rows).await?;
                        }
                    }
                    News::Ended(number, ended) => {
                        self.running.remove(&number);
                        self.connection.ended(number, &ended, &mut actions);
                    }
                },
                () = sleep_until(look) => {
                    look += CHECK_INTERVAL;
                    let idle = match self.running.is_empty() {
                        true => heard.elapsed(),
                        false => Duration::ZERO,
                    };
                    if self.entered.as_ref().is_some_and(|entered| entered.is_over(idle)) {
                        return Ok(());
                    }
                }
            }
            if self.act(actions).await?.is_break() {
                return Ok(());
            }
        }
    }

    /// Carries out the connection's actions; a login may cause further ones.
    async fn act(&mut self, mut actions: Vec<Action>) -> io::Result<ControlFlow<()>> {
        while !actions.is_empty() {
            let mut more = Vec::new();
            let mut bytes = Vec::new();
            for action in actions {
                match action {
                    Action::Send(sentence) => bytes.extend(sentence),
                    Action::Login { name, password } => {
                        let is_user = self.login(name, password).await;
                        self.connection.admitted(is_user, &mut more);
                        self.connection.receive(&[], &mut more);
                    }
                    Action::Run {
                        number,
                        tag,
                        request,
                    } => self.run(number, tag, request),
                    Action::Stop(number) => {
                        if let Some(brake) = self.running.get(&number) {
                            brake.stop();
                        }
                    }
                    Action::Leave => {
                        if let Some(entered) = self.entered.clone() {
                            let _ = spawn_blocking(move || entered.leave()).await;
                        }
                    }
                    Action::Close => {
                        self.send(&bytes).await?;
                        return Ok(ControlFlow::Break(()));
                    }
                }
            }
            self.send(&bytes).await?;
            actions = more;
        }
        Ok(ControlFlow::Continue(()))
    }

    async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        timeout(WRITE_TIMEOUT, async {
            self.writer.write_all(bytes).await?;
            self.writer.flush().await
        })
        .await?
    }

    async fn login(&mut self, name: String, password: Option<Vec<u8>>) -> bool {
        // RouterOS stores no password from which the digest of old versions could be verified; the attempt
        // counts nevertheless.
        let proof = Proof::Password(password.unwrap_or_default());
        let service = match self.peer.service {
            "api-ssl" => Service::ApiSsl,
            _ => Service::Api,
        };
        let entered = self.peer.log_in(&self.shared, name, proof, service);
        self.entered = entered.await.map(Arc::new);
        self.entered.is_some()
    }

    /// Runs a command beside the connection.
    fn run(&mut self, number: u64, tag: Vec<u8>, request: Request) {
        let Some(entered) = &self.entered else { return };
        let owner = CommandOwner::new(entered, "api");
        let mut session = entered.session();
        session.via = "api";
        let brake = Brake::new(&session);
        self.running.insert(number, brake.clone());
        let ordered = Ordered {
            number,
            tag,
            request,
            session,
            shared: Arc::clone(&self.shared),
            tell: self.tell.clone(),
            brake,
        };
        let admission = Arc::clone(&self.admission);
        tokio::spawn(async move {
            let tell = ordered.tell.clone();
            tokio::select! {
                () = ordered.run(&admission, &owner) => {}
                // The connection ends and releases what it holds.
                () = tell.closed() => {}
            }
        });
    }
}

/// Collects rows, so that they share messages.
struct Batch<'a> {
    number: u64,
    tag: &'a [u8],
    bytes: Vec<u8>,
    tell: &'a Sender<News>,
}

impl<'a> Batch<'a> {
    const fn new(number: u64, tag: &'a [u8], tell: &'a Sender<News>) -> Self {
        Self {
            number,
            tag,
            bytes: Vec::new(),
            tell,
        }
    }
}

impl Rows for Batch<'_> {
    fn row(&mut self, fields: &[(&str, String)]) -> ControlFlow<()> {
        Reply::Row(fields).encode(self.tag, &mut self.bytes);
        if self.bytes.len() < BATCH_BYTES {
            return ControlFlow::Continue(());
        }
        self.rest()
    }

    fn rest(&mut self) -> ControlFlow<()> {
        if self.bytes.is_empty() && !self.tell.is_closed() {
            return ControlFlow::Continue(());
        }
        let rows = News::Rows(self.number, std::mem::take(&mut self.bytes));
        match self.tell.blocking_send(rows) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}
