//! A lock whose waiters have their turn in the order in which they came, jobs of scripts behind the others.
//!
//! A script that runs command after command takes the router's lock again right after it gave it
//! back; an ordinary mutex would let it do so while the control thread waits. Who gives the lock back
//! wakes the next one alone, however many wait.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};

/// So many go ahead of a job that waits, at most.
const AHEAD_MAX: u32 = 16;

/// Who waits for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rank {
    /// Control, and sessions: whoever somebody or something waits for.
    Ahead,
    /// Jobs of scripts.
    Behind,
}

/// A value behind a lock.
pub(crate) struct Fair<T> {
    queue: Mutex<Queue>,
    value: Mutex<T>,
}

/// Who waits, and whether anybody has the value.
#[derive(Default)]
struct Queue {
    taken: bool,
    ahead: VecDeque<Arc<Turn>>,
    behind: VecDeque<Arc<Turn>>,
    /// How many have gone ahead of the first job that waits.
    passed: u32,
}

/// A thread that waits until it is called.
struct Turn {
    called: AtomicBool,
    thread: Thread,
}

/// The value, for as long as this is there.
pub(crate) struct Guard<'a, T> {
    lock: &'a Fair<T>,
    value: MutexGuard<'a, T>,
}

impl Queue {
    /// Takes the value, or else the turn to wait for.
    fn enter(&mut self, rank: Rank) -> Option<Arc<Turn>> {
        if !std::mem::replace(&mut self.taken, true) {
            return None;
        }
        let turn = Arc::new(Turn {
            called: AtomicBool::new(false),
            thread: thread::current(),
        });
        match rank {
            Rank::Ahead => &mut self.ahead,
            Rank::Behind => &mut self.behind,
        }
        .push_back(Arc::clone(&turn));
        Some(turn)
    }

    /// Gives the value to the next; the turn to call.
    fn leave(&mut self) -> Option<Arc<Turn>> {
        let waits_long = self.passed >= AHEAD_MAX && !self.behind.is_empty();
        let next = match self.ahead.pop_front_if(|_| !waits_long) {
            Some(turn) => {
                self.passed += u32::from(!self.behind.is_empty());
                Some(turn)
            }
            None => {
                self.passed = 0;
                self.behind.pop_front()
            }
        };
        self.taken = next.is_some();
        next
    }
}

impl<T> Fair<T> {
    /// Nobody has it.
    pub(crate) fn new(value: T) -> Self {
        Self {
            queue: Mutex::default(),
            value: Mutex::new(value),
        }
    }

    /// Waits for its turn. Who panicked with the value has left whole transactions behind him.
    pub(crate) fn lock(&self, rank: Rank) -> Guard<'_, T> {
        let turn = self.queue().enter(rank);
        if let Some(turn) = turn {
            while !turn.called.load(Ordering::Acquire) {
                thread::park();
            }
        }
        Guard {
            lock: self,
            value: self.value.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }

    /// Whether nobody has it.
    #[cfg(test)]
    pub(crate) fn is_free(&self) -> bool {
        !self.queue().taken
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        let next = self.lock.queue().leave();
        if let Some(turn) = next {
            turn.called.store(true, Ordering::Release);
            turn.thread.unpark();
        }
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;

    #[test]
    fn who_gives_the_lock_back_and_takes_it_again_is_behind_those_who_waited() {
        let lock = Arc::new(Fair::new(Vec::new()));
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

    /// Has another thread wait for the lock.
    fn queue<T: Send + 'static>(
        lock: &Arc<Fair<T>>,
        rank: Rank,
        then: impl FnOnce(&mut T) + Send + 'static,
    ) -> thread::JoinHandle<()> {
        let waiting = |lock: &Fair<T>| {
            let queue = lock.queue();
            queue.ahead.len() + queue.behind.len()
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
    fn jobs_wait_for_others_but_not_for_ever() {
        let lock = Arc::new(Fair::new(Vec::new()));
        let guard = lock.lock(Rank::Ahead);
        let jobs = ["job", "another job"];
        let mut waiting = Vec::from(
            jobs.map(|name| queue(&lock, Rank::Behind, move |all: &mut Vec<_>| all.push(name))),
        );
        for _ in 0..AHEAD_MAX + 1 {
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
        assert_eq!(places, [AHEAD_MAX as usize, AHEAD_MAX as usize + 2]);
        assert_eq!(all[places[0]], "job");
    }

    #[test]
    fn a_panic_leaves_the_value_to_others() {
        let lock = Arc::new(Fair::new(1));
        let other = Arc::clone(&lock);
        let died = thread::spawn(move || {
            let _guard = other.lock(Rank::Ahead);
            panic!("on purpose");
        });

        assert!(died.join().is_err());
        assert_eq!(*lock.lock(Rank::Ahead), 1);
    }
}
