//! The one thread that hashes passwords.
//!
//! Each hash takes 16 MB and a core for some time, and strangers ask for them: in one thread it is the
//! same 16 MB each time, and the order is fair ([`Turns`]). The thread never takes the router's lock:
//! whoever seals a password in a command holds it.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;

use access::{Answer, Attempt, Turns};
use tokio::sync::oneshot;

static HASHING: Hashing = Hashing {
    queue: Mutex::new(None),
    more: Condvar::new(),
};

struct Hashing {
    /// None before the thread is there.
    queue: Mutex<Option<Queue>>,
    more: Condvar,
}

#[derive(Default)]
struct Queue {
    /// What commands want to be hashed: they are ahead of logins.
    commands: VecDeque<Task>,
    tries: Turns<Try>,
}

type Task = Box<dyn FnOnce() + Send>;

/// A password to look at, and who is told.
struct Try {
    attempt: Attempt,
    secret: Vec<u8>,
    tell: oneshot::Sender<Answer>,
}

impl Try {
    fn look(self) {
        // Who has gone away has asked nothing.
        if !self.tell.is_closed() {
            let _ = self.tell.send(self.attempt.password(&self.secret));
        }
    }
}

/// Looks at the password of an attempt, in its turn; nothing if too many wait.
pub(crate) async fn look(attempt: Attempt, secret: Vec<u8>) -> Option<Answer> {
    let (tell, told) = oneshot::channel();
    let source = attempt.source().clone();
    let waits = Try {
        attempt,
        secret,
        tell,
    };
    // Who has no room is dropped, and hears so.
    HASHING.with(|queue| drop(queue.tries.push(&source, waits)));
    told.await.ok()
}

/// Hashes for a command, which waits; nothing if there is no thread.
pub(crate) fn hash<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
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
            match self.next() {
                Next::Command(task) => task(),
                Next::Try(waits) => waits.look(),
            }
        }
    }

    fn next(&self) -> Next {
        let mut guard = self.lock();
        loop {
            if let Some(queue) = guard.as_mut() {
                if let Some(task) = queue.commands.pop_front() {
                    return Next::Command(task);
                }
                if let Some(waits) = queue.tries.next() {
                    return Next::Try(waits);
                }
            }
            guard = self
                .more
                .wait(guard)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// What is hashed next.
enum Next {
    Command(Task),
    Try(Try),
}
