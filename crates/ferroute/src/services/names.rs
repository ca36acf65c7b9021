//! Questions for names by TCP (RFC 7766), where `/ip/dns` lets others ask: each stream has its questions answered in
//! order. Those by UDP need no socket; control hears them.

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
use crate::core::Shared;
use crate::host::HostPlane;

const PORT: u16 = 53;
/// How long a stream may be silent (RFC 7766, 6.2.3), and how long an answer may take to be taken.
const SILENCE: Duration = Duration::from_secs(10);
/// How long an answer may take: longer than the forwarder lets it.
const ANSWER: Duration = Duration::from_secs(600);
/// Most streams, whatever is configured.
const STREAMS: usize = 4096;

/// The listener, if there is one.
pub(super) struct Names {
    shared: Arc<Shared>,
    door: Option<Door>,
}

struct Door {
    /// How many streams it lets in.
    most: usize,
    accepting: JoinHandle<()>,
}

impl Drop for Door {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Names {
    /// Nothing is open yet.
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        Self {
            shared: Arc::clone(shared),
            door: None,
        }
    }

    /// Opens or closes the listener; says whether it could.
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
        let most = most.unwrap_or(20).min(STREAMS);
        let Some(host) = host.filter(|_| is_open) else {
            self.door = None;
            return Ok(());
        };
        if self.door.as_ref().is_some_and(|door| door.most == most) {
            return Ok(());
        }
        self.door = None;
        let listener = listen::in_host(host, PORT)?;
        let inside = runtime.enter();
        let listener = TcpListener::from_std(listener)?;
        drop(inside);
        let shared = Arc::clone(&self.shared);
        let accepting = runtime.spawn(accept(listener, most, shared));
        self.door = Some(Door { most, accepting });
        Ok(())
    }
}

async fn accept(listener: TcpListener, most: usize, shared: Arc<Shared>) {
    let room = Arc::new(Semaphore::new(most));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Out of descriptors, most likely: others must close theirs first.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        // RouterOS: who comes when there is no room is let go.
        let Ok(place) = Arc::clone(&room).try_acquire_owned() else {
            continue;
        };
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            // Who breaks off is his own affair.
            let _ = serve(stream, &shared).await;
            drop(place);
        });
    }
}

/// Answers the questions of a stream until it ends.
async fn serve(mut stream: TcpStream, shared: &Arc<Shared>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    loop {
        let len = timeout(SILENCE, stream.read_u16()).await??;
        let mut message = vec![0; len.into()];
        timeout(SILENCE, stream.read_exact(&mut message)).await??;
        let Some(answer) = ask(shared, message).await else {
            return Ok(());
        };
        let len = u16::try_from(answer.len()).map_err(io::Error::other)?;
        let answer = [&len.to_be_bytes()[..], &answer].concat();
        timeout(SILENCE, stream.write_all(&answer)).await??;
    }
}

/// Wakes a task.
struct Told(Notify);

impl Wake for Told {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }
}

/// Asks the router; nothing if it says nothing.
async fn ask(shared: &Arc<Shared>, message: Vec<u8>) -> Option<Vec<u8>> {
    let told = Arc::new(Told(Notify::new()));
    let waker = Waker::from(Arc::clone(&told));
    // For the router's lock no task may wait.
    let (router, own) = (Arc::clone(shared), waker.clone());
    let asked = spawn_blocking(move || router.ask_name(&message, &own));
    let ticket = asked.await.ok()??;
    loop {
        let (router, own) = (Arc::clone(shared), waker.clone());
        let taken = spawn_blocking(move || router.lock().control().take_answer(ticket, &own));
        if let Some(answer) = taken.await.ok()? {
            return Some(answer);
        }
        if timeout(ANSWER, told.0.notified()).await.is_err() {
            let router = Arc::clone(shared);
            let _ = spawn_blocking(move || router.lock().control().forget_answer(ticket)).await;
            return None;
        }
    }
}
