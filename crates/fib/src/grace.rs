//! Quiescent-state reclamation: tells a writer when no worker can still read data removed from a table.
//!
//! A worker holds no reference into a shared table for longer than one vector. Between vectors it publishes
//! the current epoch number ([`Reader::pass`]: a load and a store on cache lines of its own); a sleeping
//! worker publishes that it sleeps. The writer starts a new epoch after a removal, and may reuse the memory
//! when every worker has published that epoch or sleeps. Nobody waits.

use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
use std::collections::VecDeque;
use std::sync::Arc;

/// Maximum number of readers.
pub const READERS: usize = 128;

/// A sleeping reader holds no references.
const SLEEPING: u64 = u64::MAX;

/// The epochs of all workers, on one cache line each.
#[derive(Debug)]
pub struct Grace {
    epoch: Line,
    readers: Box<[Slot]>,
    /// Upper bound of the slots ever used: the writer examines no others.
    used: AtomicUsize,
}

#[derive(Debug, Default)]
#[repr(align(64))]
struct Line(AtomicU64);

#[derive(Debug)]
#[repr(align(64))]
struct Slot {
    /// The latest epoch that the reader published between vectors, or `SLEEPING`.
    seen: AtomicU64,
    taken: AtomicBool,
}

impl Default for Grace {
    fn default() -> Self {
        Self {
            epoch: Line::default(),
            readers: (0..READERS)
                .map(|_| Slot {
                    seen: AtomicU64::new(SLEEPING),
                    taken: AtomicBool::new(false),
                })
                .collect(),
            used: AtomicUsize::new(0),
        }
    }
}

impl Grace {
    /// Registers a reader, initially asleep; `None` if there are [`READERS`] already.
    pub fn reader(self: &Arc<Self>) -> Option<Reader> {
        let slot = self.readers.iter().position(|slot| {
            slot.taken
                .compare_exchange(false, true, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
        })?;
        // The writer sees the new bound before it can see the reader awake: `Reader::pass` has a fence.
        self.used.fetch_max(slot + 1, Ordering::SeqCst);
        Some(Reader {
            grace: Arc::clone(self),
            slot,
        })
    }

    /// Starts an epoch; returns the stamp of everything that was removed before this call.
    pub fn stamp(&self) -> Stamp {
        let stamp = self.epoch.0.fetch_add(1, Ordering::SeqCst) + 1;
        // Pairs with the fence in `Reader::pass`: either the reader sees the removal, or `passed` sees the
        // reader awake.
        fence(Ordering::SeqCst);
        Stamp(stamp)
    }

    /// Returns true if no reader can hold data with this stamp.
    #[inline]
    pub fn passed(&self, stamp: Stamp) -> bool {
        self.oldest() >= stamp.0
    }

    /// Returns the oldest epoch that a reader may be in; the current one if all sleep.
    fn oldest(&self) -> u64 {
        let epoch = self.epoch.0.load(Ordering::Relaxed);
        let seen = |slot: &Slot| slot.seen.load(Ordering::Acquire);
        let used = self.used.load(Ordering::SeqCst);
        let readers = self.readers.iter().take(used);
        readers.map(seen).fold(epoch, u64::min)
    }
}

/// Time of a removal, as an epoch number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp(u64);

/// Registration of a worker as reader.
#[derive(Debug)]
pub struct Reader {
    grace: Arc<Grace>,
    slot: usize,
}

impl Reader {
    /// Reports that the worker holds no references, between two vectors. Also wakes the reader up.
    #[inline]
    pub fn pass(&mut self) {
        let seen = &self.grace.readers[self.slot].seen;
        let epoch = self.grace.epoch.0.load(Ordering::Acquire);
        let slept = seen.load(Ordering::Relaxed) == SLEEPING;
        // Publishes that nothing from before is held, including from before a sleep.
        seen.store(epoch, Ordering::Release);
        if slept {
            // Tables must be read only after the writer can see the reader awake.
            fence(Ordering::SeqCst);
        }
    }

    /// Reports that the worker neither holds nor reads anything until the next [`pass`](Self::pass).
    #[inline]
    pub fn sleep(&mut self) {
        self.grace.readers[self.slot]
            .seen
            .store(SLEEPING, Ordering::Release);
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.sleep();
        self.grace.readers[self.slot]
            .taken
            .store(false, Ordering::Release);
    }
}

/// Queue of removed objects that readers may still hold, in order of removal.
#[derive(Debug)]
pub struct Limbo<T> {
    grace: Arc<Grace>,
    waiting: VecDeque<(Stamp, T)>,
    /// The latest stamp that is known to have passed; saves most calls the check of all readers.
    passed: u64,
}

impl<T> Limbo<T> {
    /// Creates an empty queue.
    pub fn new(grace: Arc<Grace>) -> Self {
        Self {
            grace,
            waiting: VecDeque::new(),
            passed: 0,
        }
    }

    /// Adds an object that readers can no longer find, though some may hold it.
    pub fn push(&mut self, what: T) {
        let stamp = self.grace.stamp();
        self.waiting.push_back((stamp, what));
    }

    /// Adds several objects with one stamp.
    pub fn extend(&mut self, many: impl IntoIterator<Item = T>) {
        let mut many = many.into_iter().peekable();
        if many.peek().is_some() {
            let stamp = self.grace.stamp();
            self.waiting.extend(many.map(|what| (stamp, what)));
        }
    }

    /// Returns the oldest object if no reader can hold it any more.
    pub fn pop(&mut self) -> Option<T> {
        let (stamp, _) = self.waiting.front()?;
        if stamp.0 > self.passed {
            self.passed = self.grace.oldest();
            if stamp.0 > self.passed {
                return None;
            }
        }
        self.waiting.pop_front().map(|(_, what)| what)
    }

    /// Drops all waiting objects.
    pub fn clear(&mut self) {
        self.waiting.clear();
    }

    /// Returns the number of waiting objects.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Returns true if no object waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn a_retired_item_is_reused_only_after_all_active_readers_passed() {
        let grace = Arc::new(Grace::default());
        let mut one = grace.reader().expect("a free slot");
        let mut two = grace.reader().expect("a free slot");
        let mut limbo = Limbo::new(Arc::clone(&grace));
        one.pass();
        two.pass();

        limbo.push("chunk");
        assert_eq!(limbo.pop(), None);
        one.pass();
        assert_eq!(limbo.pop(), None);
        two.pass();

        assert_eq!(limbo.pop(), Some("chunk"));
        assert!(limbo.is_empty());
    }

    #[test]
    fn sleeping_and_departed_readers_do_not_delay_reuse() {
        let grace = Arc::new(Grace::default());
        let mut sleeper = grace.reader().expect("a free slot");
        let mut leaver = grace.reader().expect("a free slot");
        let mut limbo = Limbo::new(Arc::clone(&grace));
        sleeper.pass();
        leaver.pass();
        limbo.extend([1, 2]);

        sleeper.sleep();
        assert_eq!(limbo.pop(), None);
        drop(leaver);

        assert_eq!(
            (limbo.pop(), limbo.pop(), limbo.pop()),
            (Some(1), Some(2), None)
        );
    }

    #[test]
    fn items_retired_while_all_slept_wait_for_woken_readers() {
        let grace = Arc::new(Grace::default());
        let mut reader = grace.reader().expect("a free slot");
        let mut limbo = Limbo::new(Arc::clone(&grace));
        limbo.push(1);
        assert_eq!(limbo.pop(), Some(1));

        reader.pass();
        limbo.push(2);

        assert_eq!(limbo.pop(), None);
    }

    /// Two objects take turns in a slot. A reused object was removed before, and each reader publishes which
    /// of them it holds. Miri lets loads return values as old as the orderings allow.
    #[test]
    fn no_reader_holds_a_reused_item() {
        let rounds = if cfg!(miri) { 30 } else { 20_000 };
        let grace = Arc::new(Grace::default());
        let place = AtomicU64::new(1);
        let held = [const { AtomicU64::new(0) }; 2];
        let (begin, done) = (Barrier::new(3), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for held in &held {
                let mut reader = grace.reader().expect("a free slot");
                let (place, begin, done) = (&place, &begin, &done);
                scope.spawn(move || {
                    begin.wait();
                    for turn in 0_u64.. {
                        if done.load(Ordering::Relaxed) {
                            break;
                        }
                        reader.pass();
                        held.store(place.load(Ordering::Acquire), Ordering::Relaxed);
                        std::thread::yield_now();
                        held.store(0, Ordering::Relaxed);
                        if turn % 3 == 0 {
                            reader.sleep();
                        }
                    }
                });
            }
            let mut limbo = Limbo::new(Arc::clone(&grace));
            begin.wait();
            let wrong = (0..rounds).find(|round| {
                limbo.push(place.swap(2 - round % 2, Ordering::Release));
                let back = loop {
                    match limbo.pop() {
                        Some(back) => break back,
                        None => std::thread::yield_now(),
                    }
                };
                held.iter().any(|held| held.load(Ordering::Relaxed) == back)
            });
            done.store(true, Ordering::Relaxed);
            assert_eq!(wrong, None, "the round");
        });
    }

    #[test]
    fn readers_are_bounded_and_their_slots_reused() {
        let grace = Arc::new(Grace::default());
        let mut readers: Vec<_> = (0..READERS).filter_map(|_| grace.reader()).collect();

        assert_eq!(readers.len(), READERS);
        assert!(grace.reader().is_none());
        readers.pop();
        assert!(grace.reader().is_some());
    }
}
