//! Thread that hashes passwords.
//!
//! A hash takes 16 MB and a core for some time, and anybody can cause one by a login: a single thread reuses
//! its memory and serves the requests in a fair order ([`Turns`]). The thread never takes the router's lock: a
//! command that seals a password holds it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;

use access::{Answer, Attempt, Turns};
use tokio::sync::oneshot;

static HASHING: Hashing = Hashing {
    queue: Mutex::new(None),
    more: Condvar::new(),
    open: AtomicBool::new(false),
};

struct Hashing {
    /// `None` until the thread exists.
    queue: Mutex<Option<Queue>>,
    more: Condvar,
    /// True once the thread may start.
    open: AtomicBool,
}

#[derive(Default)]
struct Queue {
    /// Hashes for commands: they precede logins.
    commands: VecDeque<Task>,
    tries: Turns<Task>,
}

type Task = Box<dyn FnOnce() + Send>;

/// Verifies the password of a login attempt in its turn; `None` if too many wait.
pub(crate) async fn look(attempt: Attempt, secret: Vec<u8>) -> Option<Answer> {
    let (sender, receiver) = oneshot::channel();
    let source = attempt.source().clone();
    let task: Task = Box::new(move || {
        // The client has gone.
        if !sender.is_closed() {
            let _ = sender.send(attempt.password(&secret));
        }
    });
    // Dropping a rejected request wakes its sender.
    HASHING.with(|queue| drop(queue.tries.push(&source, task)));
    receiver.await.ok()
}

/// Permits the thread. A thread started before would keep rights that a running router drops.
pub(crate) fn open() {
    HASHING.open.store(true, Ordering::Release);
}

/// Hashes for a command, which waits; `None` without a thread.
pub(crate) fn hash<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    if !HASHING.open.load(Ordering::Acquire) {
        return Some(work());
    }
    let (sender, receiver) = mpsc::channel();
    let task: Task = Box::new(move || drop(sender.send(work())));
    HASHING.with(|queue| queue.commands.push_back(task));
    receiver.recv().ok()
}

impl Hashing {
    fn lock(&self) -> MutexGuard<'_, Option<Queue>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a request to the queue; drops it if no thread can start.
    fn with(&'static self, put: impl FnOnce(&mut Queue)) {
        let mut queue = self.lock();
        if queue.is_none() {
            let thread = thread::Builder::new().name(String::from("passwords"));
            match thread.spawn(|| self.work()) {
                Ok(_) => *queue = Some(Queue::default()),
                Err(error) => return tracing::error!("a thread for password hashes: {error}"),
            }
        }
        if let Some(queue) = queue.as_mut() {
            put(queue);
        }
        self.more.notify_one();
    }

    fn work(&self) -> ! {
        loop {
            let task = self.next();
            task();
        }
    }

    /// Waits for the next request.
    fn next(&self) -> Task {
        let mut guard = self.lock();
        loop {
            let next = guard.as_mut().and_then(|queue| {
                let command = queue.commands.pop_front();
                command.or_else(|| queue.tries.pop())
            });
            if let Some(task) = next {
                return task;
            }
            guard = self
                .more
                .wait(guard)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}
