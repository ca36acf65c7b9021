//! Timer wheel of connections: lists of a quarter of a second each, about four minutes in total.
//!
//! A packet only stores the time in its direction's line. When a connection's list is due, the connection is
//! removed if it has expired, or moved to the list of its actual deadline. So traffic needs no timer updates,
//! and expiry needs no scan of the table. A connection with a longer timeout is examined once per turn of the
//! wheel. Lists are linked through the entries' cold words, as index plus one.

use super::layout::{Layout, half_of, load, pair, store};
use super::settings::{TICKS_PER_SECOND, Tick};
use super::table::Entries;

/// Number of lists.
const LISTS: u32 = 1_024;
/// Ticks per list.
const LIST_TICKS: u32 = TICKS_PER_SECOND / 4;
/// Seconds that the wheel covers; a later deadline is examined early.
pub(super) const HORIZON_SECS: u32 = (LISTS - 1) * LIST_TICKS / TICKS_PER_SECOND;

/// Timer wheel. The caller knows which wheel a connection is in.
#[derive(Debug)]
pub(super) struct Wheel {
    heads: Box<[u32]>,
    /// A bit for each non-empty list.
    occupied: [u64; LISTS as usize / 64],
    /// The first tick of the current list.
    turn: Tick,
    len: u32,
}

impl Wheel {
    pub(super) fn new(now: Tick) -> Self {
        Self {
            heads: vec![0; LISTS as usize].into(),
            occupied: [0; LISTS as usize / 64],
            turn: Tick(now.0 / LIST_TICKS * LIST_TICKS),
            len: 0,
        }
    }

    /// Returns the number of connections in the wheel.
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    /// Adds a connection to the list of `deadline`, or to an earlier one if the wheel does not reach that
    /// far.
    pub(super) fn insert<F: Layout>(&mut self, entries: &Entries<F>, place: u32, deadline: Tick) {
        let ahead = deadline.since(self.turn).max(0) as u32;
        let lists = ahead.div_ceil(LIST_TICKS).clamp(1, LISTS - 1);
        let list = (self.turn.0 / LIST_TICKS).wrapping_add(lists) % LISTS;
        let head = &mut self.heads[list as usize];
        let next = core::mem::replace(head, place + 1);
        let cold = |place| entries.at(place).cold(0);
        store(cold(place), pair(0, next));
        if let Some(next) = next.checked_sub(1) {
            store(cold(next), pair(place + 1, half_of(load(cold(next)), 1)));
        }
        let other = entries.at(place).cold(1);
        store(other, pair(half_of(load(other), 0), list));
        self.occupied[list as usize / 64] |= 1 << (list % 64);
        self.len += 1;
    }

    /// Removes a connection from its list.
    pub(super) fn remove<F: Layout>(&mut self, entries: &Entries<F>, place: u32) {
        self.len -= 1;
        let links = load(entries.at(place).cold(0));
        let (before, next) = (half_of(links, 0), half_of(links, 1));
        if let Some(next) = next.checked_sub(1) {
            let cold = entries.at(next).cold(0);
            store(cold, pair(before, half_of(load(cold), 1)));
        }
        if let Some(before) = before.checked_sub(1) {
            let cold = entries.at(before).cold(0);
            store(cold, pair(half_of(load(cold), 0), next));
            return;
        }
        let list = half_of(load(entries.at(place).cold(1)), 1) % LISTS;
        self.heads[list as usize] = next;
        if next == 0 {
            self.occupied[list as usize / 64] &= !(1 << (list % 64));
        }
    }

    /// Returns a connection of a due list, or `None` if all due lists are empty. The caller must move or
    /// remove it.
    pub(super) fn due(&mut self, now: Tick) -> Option<u32> {
        loop {
            let list = self.turn.0 / LIST_TICKS % LISTS;
            if let Some(place) = self.heads[list as usize].checked_sub(1) {
                return Some(place);
            }
            let late = now.since(self.turn) / LIST_TICKS as i32;
            if late <= 0 {
                return None;
            }
            let ahead = self.next_occupied().unwrap_or(LISTS);
            self.turn = self.turn.after(ahead.min(late as u32) * LIST_TICKS);
        }
    }

    /// Returns the ticks until the next list is due, at least one; `None` if the wheel is empty.
    pub(super) fn due_in(&self, now: Tick) -> Option<u32> {
        let lists = self.next_occupied()?;
        let due = self.turn.after(lists * LIST_TICKS);
        Some(due.since(now).max(1) as u32)
    }

    /// Returns a connection of the next non-empty list.
    pub(super) fn soonest(&self) -> Option<u32> {
        let ahead = self.next_occupied()?;
        let list = (self.turn.0 / LIST_TICKS).wrapping_add(ahead) % LISTS;
        self.heads[list as usize].checked_sub(1)
    }

    /// Returns the distance to the next non-empty list.
    fn next_occupied(&self) -> Option<u32> {
        let from = self.turn.0 / LIST_TICKS % LISTS;
        let words = self.occupied.len() as u32;
        // The first word is examined twice: its high bits first, its low bits last.
        (0..=words).find_map(|step| {
            let at = (from / 64 + step) % words;
            let seen = match step {
                0 => u64::MAX << (from % 64),
                step if step == words => !(u64::MAX << (from % 64)),
                _ => u64::MAX,
            };
            let bits = self.occupied[at as usize] & seen;
            let list = at * 64 + bits.trailing_zeros();
            (bits != 0).then(|| (list + LISTS - from) % LISTS)
        })
    }
}
