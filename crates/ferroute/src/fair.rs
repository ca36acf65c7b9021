//! A lock whose waiters have their turn in the order in which they came.
//!
//! A script that runs command after command takes the router's lock again right after it gave it
//! back; an ordinary mutex would let it do so while the control thread waits.

use std::ops::{Deref, DerefMut};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A value behind a lock.
pub(crate) struct Fair<T> {
    queue: Mutex<Queue>,
    moved: Condvar,
    value: Mutex<T>,
}

/// Who is next: tickets are given in order and called in order.
#[derive(Default)]
struct Queue {
    given: u64,
    called: u64,
}

/// The value, for as long as this is there.
pub(crate) struct Guard<'a, T> {
    lock: &'a Fair<T>,
    value: MutexGuard<'a, T>,
}

impl<T> Fair<T> {
    /// Nobody has it.
    pub(crate) fn new(value: T) -> Self {
        Self {
            queue: Mutex::default(),
            moved: Condvar::new(),
            value: Mutex::new(value),
        }
    }

    /// Waits for its turn. Who panicked with the value has left whole transactions behind him.
    pub(crate) fn lock(&self) -> Guard<'_, T> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let ticket = queue.given;
        queue.given += 1;
        let turn = self
            .moved
            .wait_while(queue, |queue| queue.called != ticket)
            .unwrap_or_else(PoisonError::into_inner);
        drop(turn);
        Guard {
            lock: self,
            value: self.value.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        let mut queue = self
            .lock
            .queue
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        queue.called += 1;
        if queue.called != queue.given {
            self.lock.moved.notify_all();
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
        let mut guard = lock.lock();
        let queue = |name: &'static str| {
            let given = lock.queue.lock().expect("no panic").given;
            let other = Arc::clone(&lock);
            let waiting = thread::spawn(move || other.lock().push(name));
            while lock.queue.lock().expect("no panic").given == given {
                thread::yield_now();
            }
            waiting
        };
        let waiting = ["first", "second"].map(queue);

        guard.push("greedy");
        drop(guard);
        lock.lock().push("greedy again");

        for thread in waiting {
            thread.join().expect("no panic");
        }
        assert_eq!(*lock.lock(), ["greedy", "first", "second", "greedy again"]);
    }

    #[test]
    fn a_panic_leaves_the_value_to_others() {
        let lock = Arc::new(Fair::new(1));
        let other = Arc::clone(&lock);
        let died = thread::spawn(move || {
            let _guard = other.lock();
            panic!("on purpose");
        });

        assert!(died.join().is_err());
        assert_eq!(*lock.lock(), 1);
    }
}
