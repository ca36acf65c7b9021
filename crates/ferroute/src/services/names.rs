//! DNS server over TCP (RFC 7766), with `allow-remote-requests` of `/ip/dns`: answers the queries of a
//! connection in order. Queries over UDP need no socket; control processes them.

use std::io;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::Duration;

use menu::Store;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::{Notify, Semaphore};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::timeout;

use super::listen;
use crate::host::HostPlane;
use crate::run::shared::Shared;

const PORT: u16 = 53;
/// Idle timeout of a connection (RFC 7766, 6.2.3), and timeout of sending an answer.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout of an answer; longer than the forwarder's.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(600);
/// Maximum number of connections, whatever the configuration.
const MAX_CONNECTIONS: usize = 4096;

/// The listener, if open.
pub(super) struct Names {
    shared: Arc<Shared>,
    listener: Option<OpenListener>,
}

struct OpenListener {
    /// Configured maximum number of connections.
    most: usize,
    accepting: JoinHandle<()>,
}

impl Drop for OpenListener {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Names {
    /// Creates the server closed.
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        Self {
            shared: Arc::clone(shared),
            listener: None,
        }
    }

    /// Opens or closes the listener. Returns false on failure.
    pub(super) fn follow(
        &mut self,
        runtime: &Runtime,
        host: Option<&HostPlane>,
        store: &Store,
    ) -> io::Result<()> {
        let settings = store.settings("/ip/dns");
        let is_open = settings.is_some_and(|item| item.is("allow-remote-requests"));
        let most = settings.and_then(|item| item.number("max-concurrent-tcp-sessions"));
        let most = most.and_then(|most| usize::try_from(most).ok());
        let most = most.unwrap_or(20).min(MAX_CONNECTIONS);
        let Some(host) = host.filter(|_| is_open) else {
            self.listener = None;
            return Ok(());
        };
        if self
            .listener
            .as_ref()
            .is_some_and(|listener| listener.most == most)
        {
            return Ok(());
        }
        self.listener = None;
        let listener = listen::in_host(host, PORT)?;
        let inside = runtime.enter();
        let listener = TcpListener::from_std(listener)?;
        drop(inside);
        let shared = Arc::clone(&self.shared);
        let accepting = runtime.spawn(accept(listener, most, shared));
        self.listener = Some(OpenListener { most, accepting });
        Ok(())
    }
}

async fn accept(listener: TcpListener, most: usize, shared: Arc<Shared>) {
    let room = Arc::new(Semaphore::new(most));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Probably out of descriptors: wait until others close theirs.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        // RouterOS: connections beyond the limit are closed.
        let Ok(place) = Arc::clone(&room).try_acquire_owned() else {
            continue;
        };
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            // Errors of one client concern nobody else.
            let _ = serve(stream, &shared).await;
            drop(place);
        });
    }
}

/// Answers the queries of a connection until its end.
async fn serve(mut stream: TcpStream, shared: &Arc<Shared>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    loop {
        let len = timeout(IDLE_TIMEOUT, stream.read_u16()).await??;
        let mut message = vec![0; len.into()];
        timeout(IDLE_TIMEOUT, stream.read_exact(&mut message)).await??;
        let Some(answer) = ask(shared, message).await else {
            return Ok(());
        };
        let len = u16::try_from(answer.len()).map_err(io::Error::other)?;
        let answer = [&len.to_be_bytes()[..], &answer].concat();
        timeout(IDLE_TIMEOUT, stream.write_all(&answer)).await??;
    }
}

/// Wakes a task.
struct TaskWaker(Notify);

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }
}

/// Passes a query to the router; `None` if it gives no answer.
async fn ask(shared: &Arc<Shared>, message: Vec<u8>) -> Option<Vec<u8>> {
    let woken = Arc::new(TaskWaker(Notify::new()));
    let waker = Waker::from(Arc::clone(&woken));
    // No task may wait for the router's lock.
    let (router, own) = (Arc::clone(shared), waker.clone());
    let asked = spawn_blocking(move || router.ask_name(&message, &own));
    let ticket = asked.await.ok()??;
    loop {
        let (router, own) = (Arc::clone(shared), waker.clone());
        let taken = spawn_blocking(move || router.lock().control().take_answer(ticket, &own));
        if let Some(answer) = taken.await.ok()? {
            return Some(answer);
        }
        if timeout(ANSWER_TIMEOUT, woken.0.notified()).await.is_err() {
            let router = Arc::clone(shared);
            let _ = spawn_blocking(move || router.lock().control().forget_answer(ticket)).await;
            return None;
        }
    }
}
