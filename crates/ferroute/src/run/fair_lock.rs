//! A lock whose waiters get it in the order in which they came, background jobs behind the others.
//!
//! A script that runs command after command takes the router's lock again right after it released it; an ordinary
//! mutex would allow that while the control thread waits. The thread that releases the lock wakes the next owner alone,
//! however many threads wait.
//!
//! A long transaction keeps the lock reserved from its first command to its last, and lets readers in between two
//! commands: [`Guard::admit_readers`]. While its changes are written to disk, readers have the lock:
//! [`Guard::open_to_readers`].

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};

/// Maximum number of threads that overtake a waiting job.
const MAX_OVERTAKING: u32 = 16;

/// The precedence of a thread that waits for the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rank {
    /// A caller that changes nothing in the configuration: it may also enter between two commands of a transaction.
    Reader,
    /// Control, and sessions: a person or a device waits for the result.
    Ahead,
    /// Jobs of scripts.
    Behind,
}

/// A value behind a lock.
pub(crate) struct FairLock<T> {
    queue: Mutex<Queue>,
    value: Mutex<T>,
}

/// The state of the lock and its waiters.
#[derive(Default)]
struct Queue {
    taken: bool,
    /// The owner of a transaction lets readers in, and nobody else.
    reserved: bool,
    /// Readers, which `Rank::Ahead` does not overtake.
    readers: VecDeque<Waiter>,
    ahead: VecDeque<Waiter>,
    behind: VecDeque<Waiter>,
    /// The owner of the transaction, once it waits for the lock: it gets it next.
    owner: Option<Arc<Turn>>,
    /// Number of threads that overtook the first waiting job.
    passed: u32,
    /// Number of threads that have queued so far, which orders readers among the others.
    arrivals: u64,
}

/// A queued thread.
struct Waiter {
    /// Its place in the order of arrival.
    number: u64,
    turn: Arc<Turn>,
}

/// The signal for which a waiting thread sleeps.
struct Turn {
    called: AtomicBool,
    thread: Thread,
}

/// The locked value. Dropping the guard passes the lock on.
pub(crate) struct Guard<'a, T> {
    lock: &'a FairLock<T>,
    /// `None` only within [`Guard::open_to_readers`].
    value: Option<MutexGuard<'a, T>>,
}

impl Turn {
    /// A signal for the calling thread.
    fn new() -> Arc<Self> {
        Arc::new(Self {
            called: AtomicBool::new(false),
            thread: thread::current(),
        })
    }

    fn call(&self) {
        self.called.store(true, Ordering::Release);
        self.thread.unpark();
    }

    /// Sleeps until another thread calls.
    fn wait(&self) {
        while !self.called.load(Ordering::Acquire) {
            thread::park();
        }
    }
}

impl Queue {
    /// Takes the free lock and returns `None`, or queues the thread and returns its signal.
    fn enter(&mut self, rank: Rank) -> Option<Arc<Turn>> {
        let is_free = !self.taken && (!self.reserved || rank == Rank::Reader);
        if is_free {
            self.taken = true;
            return None;
        }
        let turn = Turn::new();
        self.arrivals += 1;
        let waiter = Waiter {
            number: self.arrivals,
            turn: Arc::clone(&turn),
        };
        match rank {
            Rank::Reader => &mut self.readers,
            Rank::Ahead => &mut self.ahead,
            Rank::Behind => &mut self.behind,
        }
        .push_back(waiter);
        Some(turn)
    }

    /// Passes the lock on, or frees it. Returns the signal of its next owner.
    fn leave(&mut self) -> Option<Arc<Turn>> {
        if let Some(owner) = self.owner.take() {
            return Some(owner);
        }
        if self.reserved {
            let next = self.readers.pop_front();
            self.taken = next.is_some();
            return next.map(|waiter| waiter.turn);
        }
        let waits_long = self.passed >= MAX_OVERTAKING && !self.behind.is_empty();
        let next = match self.first_ahead().pop_front_if(|_| !waits_long) {
            Some(waiter) => {
                self.passed += u32::from(!self.behind.is_empty());
                Some(waiter)
            }
            None => {
                self.passed = 0;
                self.behind.pop_front()
            }
        };
        self.taken = next.is_some();
        next.map(|waiter| waiter.turn)
    }

    /// The queue of readers or that of `Rank::Ahead`: the one whose first waiter came earlier.
    fn first_ahead(&mut self) -> &mut VecDeque<Waiter> {
        let came = |queue: &VecDeque<Waiter>| queue.front().map_or(u64::MAX, |first| first.number);
        match came(&self.readers) < came(&self.ahead) {
            true => &mut self.readers,
            false => &mut self.ahead,
        }
    }
}

impl<T> FairLock<T> {
    /// A lock that is free.
    pub(crate) fn new(value: T) -> Self {
        Self {
            queue: Mutex::default(),
            value: Mutex::new(value),
        }
    }

    /// Waits for the lock. A thread that panicked with the lock has left whole transactions behind.
    pub(crate) fn lock(&self, rank: Rank) -> Guard<'_, T> {
        let turn = self.queue().enter(rank);
        if let Some(turn) = turn {
            turn.wait();
        }
        Guard {
            lock: self,
            value: Some(self.take_value()),
        }
    }

    /// Whether no thread has the lock.
    #[cfg(test)]
    pub(crate) fn is_free(&self) -> bool {
        !self.queue().taken
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_value(&self) -> MutexGuard<'_, T> {
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Guard<'_, T> {
    /// Lets the readers in that wait now, one after the other, and takes the lock back. All others go on waiting.
    pub(crate) fn admit_readers(&mut self) {
        let waiting = self.lock.queue().readers.len();
        for _ in 0..waiting {
            self.open_to_readers(|| {});
        }
    }

    /// Lets readers have the lock until `run` returns; at least one gets it if one waits.
    pub(crate) fn open_to_readers(&mut self, run: impl FnOnce()) {
        self.value = None;
        let reader = {
            let mut queue = self.lock.queue();
            queue.reserved = true;
            queue.leave()
        };
        if let Some(reader) = reader {
            reader.call();
        }
        let opened = Opened(self);
        run();
        drop(opened);
    }

    /// Waits for the reader that has the lock, and takes it back.
    fn take_back(&mut self) {
        let turn = {
            let mut queue = self.lock.queue();
            let turn = std::mem::replace(&mut queue.taken, true).then(Turn::new);
            queue.owner.clone_from(&turn);
            turn
        };
        if let Some(turn) = turn {
            turn.wait();
        }
        self.lock.queue().reserved = false;
        self.value = Some(self.lock.take_value());
    }
}

/// A guard whose lock readers may have. Dropping this takes the lock back, also after a panic.
struct Opened<'g, 'a, T>(&'g mut Guard<'a, T>);

impl<T> Drop for Opened<'_, '_, T> {
    fn drop(&mut self) {
        self.0.take_back();
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        // The next owner takes the value right away.
        self.value = None;
        let next = self.lock.queue().leave();
        if let Some(turn) = next {
            turn.call();
        }
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_ref().expect(HELD)
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_mut().expect(HELD)
    }
}

/// Why a guard always has its value.
const HELD: &str = "open_to_readers has brought it back";

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;

    #[test]
    fn a_released_lock_goes_to_waiting_threads_first() {
        let lock = Arc::new(FairLock::new(Vec::new()));
        let mut guard = lock.lock(Rank::Behind);
        let waiting =
            ["first", "second"].map(|name| queue(&lock, Rank::Behind, move |all| all.push(name)));

        guard.push("greedy");
        drop(guard);
        lock.lock(Rank::Behind).push("greedy again");

        for thread in waiting {
            thread.join().expect("no panic");
        }
        let all = lock.lock(Rank::Ahead);
        assert_eq!(*all, ["greedy", "first", "second", "greedy again"]);
    }

    /// Starts a thread that waits for the lock.
    fn queue<T: Send + 'static>(
        lock: &Arc<FairLock<T>>,
        rank: Rank,
        then: impl FnOnce(&mut T) + Send + 'static,
    ) -> thread::JoinHandle<()> {
        let waiting = |lock: &FairLock<T>| {
            let queue = lock.queue();
            queue.readers.len() + queue.ahead.len() + queue.behind.len()
        };
        let before = waiting(lock);
        let other = Arc::clone(lock);
        let thread = thread::spawn(move || then(&mut other.lock(rank)));
        while waiting(lock) == before {
            thread::yield_now();
        }
        thread
    }

    #[test]
    fn jobs_wait_behind_others_but_not_forever() {
        let lock = Arc::new(FairLock::new(Vec::new()));
        let guard = lock.lock(Rank::Ahead);
        let jobs = ["job", "another job"];
        let mut waiting = Vec::from(
            jobs.map(|name| queue(&lock, Rank::Behind, move |all: &mut Vec<_>| all.push(name))),
        );
        for _ in 0..MAX_OVERTAKING + 1 {
            waiting.push(queue(&lock, Rank::Ahead, |all| all.push("control")));
        }
        drop(guard);
        for thread in waiting {
            thread.join().expect("no panic");
        }

        let all = lock.lock(Rank::Ahead);
        let places: Vec<_> = (0..all.len())
            .filter(|at| jobs.contains(&all[*at]))
            .collect();
        assert_eq!(
            places,
            [MAX_OVERTAKING as usize, MAX_OVERTAKING as usize + 2]
        );
        assert_eq!(all[places[0]], "job");
    }

    #[test]
    fn a_panic_leaves_the_value_to_others() {
        let lock = Arc::new(FairLock::new(1));
        let other = Arc::clone(&lock);
        let died = thread::spawn(move || {
            let _guard = other.lock(Rank::Ahead);
            panic!("on purpose");
        });

        assert!(died.join().is_err());
        assert_eq!(*lock.lock(Rank::Ahead), 1);
    }

    #[test]
    fn readers_enter_between_commands_of_a_transaction_and_nobody_else_does() {
        let lock = Arc::new(FairLock::new(Vec::new()));
        let mut transaction = lock.lock(Rank::Ahead);
        let waiting = [
            queue(&lock, Rank::Ahead, |all| all.push("writer")),
            queue(&lock, Rank::Reader, |all| all.push("reader")),
            queue(&lock, Rank::Behind, |all| all.push("job")),
            queue(&lock, Rank::Reader, |all| all.push("another reader")),
        ];

        transaction.push("first command");
        transaction.admit_readers();
        transaction.push("second command");
        transaction.admit_readers();
        drop(transaction);

        for thread in waiting {
            thread.join().expect("no panic");
        }
        let all = lock.lock(Rank::Reader);
        let reads = ["reader", "another reader"];
        assert_eq!(all[0], "first command");
        assert_eq!(all[1..3], reads);
        assert_eq!(all[3..], ["second command", "writer", "job"]);
    }

    #[test]
    fn without_a_transaction_readers_keep_the_order_of_arrival() {
        let lock = Arc::new(FairLock::new(Vec::new()));
        let guard = lock.lock(Rank::Ahead);
        let waiting = [
            queue(&lock, Rank::Ahead, |all| all.push(1)),
            queue(&lock, Rank::Reader, |all| all.push(2)),
            queue(&lock, Rank::Ahead, |all| all.push(3)),
        ];

        drop(guard);

        for thread in waiting {
            thread.join().expect("no panic");
        }
        assert_eq!(*lock.lock(Rank::Ahead), [1, 2, 3]);
    }

    #[test]
    fn readers_have_the_lock_while_a_transaction_does_not_need_it() {
        let lock = Arc::new(FairLock::new(Vec::new()));
        let mut transaction = lock.lock(Rank::Ahead);
        let writer = queue(&lock, Rank::Ahead, |all| all.push("writer"));

        transaction.open_to_readers(|| {
            lock.lock(Rank::Reader).push("reader");
            lock.lock(Rank::Reader).push("reader again");
        });
        transaction.push("transaction");
        drop(transaction);

        writer.join().expect("no panic");
        let all = lock.lock(Rank::Ahead);
        assert_eq!(*all, ["reader", "reader again", "transaction", "writer"]);
    }

    #[test]
    fn a_panic_while_readers_may_enter_takes_the_lock_back() {
        let lock = Arc::new(FairLock::new(1));
        let other = Arc::clone(&lock);
        let died = thread::spawn(move || {
            let mut guard = other.lock(Rank::Ahead);
            guard.open_to_readers(|| panic!("on purpose"));
        });

        assert!(died.join().is_err());
        assert!(lock.is_free());
        assert_eq!(*lock.lock(Rank::Ahead), 1);
    }
}
