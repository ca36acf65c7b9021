//! The one thread that hashes passwords.
//!
//! Each hash takes 16 MB and a core for some time, and strangers ask for them: in one thread it is the
//! same 16 MB each time, and the order is fair ([`Turns`]). The thread never takes the router's lock:
//! whoever seals a password in a command holds it.

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
    /// None before the thread is there.
    queue: Mutex<Option<Queue>>,
    more: Condvar,
    /// There may be a thread.
    open: AtomicBool,
}

#[derive(Default)]
struct Queue {
    /// What commands want to be hashed: they are ahead of logins.
    commands: VecDeque<Task>,
    tries: Turns<Task>,
}

type Task = Box<dyn FnOnce() + Send>;

/// Looks at the password of an attempt, in its turn; nothing if too many wait.
pub(crate) async fn look(attempt: Attempt, secret: Vec<u8>) -> Option<Answer> {
    let (tell, told) = oneshot::channel();
    let source = attempt.source().clone();
    let task: Task = Box::new(move || {
        // Who has gone away has asked nothing.
        if !tell.is_closed() {
            let _ = tell.send(attempt.password(&secret));
        }
    });
    // Who has no room is dropped, and hears so.
    HASHING.with(|queue| drop(queue.tries.push(&source, task)));
    told.await.ok()
}

/// The router is started: from now on hashes have their thread. One that began earlier would keep rights that a
/// running router does without.
pub(crate) fn open() {
    HASHING.open.store(true, Ordering::Release);
}

/// Hashes for a command, which waits; nothing if there is no thread.
pub(crate) fn hash<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    if !HASHING.open.load(Ordering::Acquire) {
        return Some(work());
    }
    let (tell, told) = mpsc::channel();
    let task: Task = Box::new(move || drop(tell.send(work())));
    HASHING.with(|queue| queue.commands.push_back(task));
    told.recv().ok()
}

impl Hashing {
    fn lock(&self) -> MutexGuard<'_, Option<Queue>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts something into the queue; it is dropped where there can be no thread.
    fn with(&'static self, put: impl FnOnce(&mut Queue)) {
        let mut queue = self.lock();
        if queue.is_none() {
            let thread = thread::Builder::new().name(String::from("passwords"));
            match thread.spawn(|| self.work()) {
                Ok(_) => *queue = Some(Queue::default()),
                Err(error) => return tracing::error!("a thread for passwords: {error}"),
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

    /// Waits for what is hashed next.
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
