//! Keeps classes that may send in rings by level and priority, and borrowing classes in rings of their
//! parents.

use super::ring::Ring;
use super::{LEVELS, Schedule};
use crate::node::{Mode, NO_CLASS};
use crate::packet::Payload;

/// Rings of a level, by priority.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    rings: [Ring; 8],
    /// Bit mask of priorities with a nonempty ring.
    some: u8,
}

impl Row {
    pub(super) const EMPTY: Self = Self {
        rings: [Ring::EMPTY; 8],
        some: 0,
    };

    /// Returns the first priority with a nonempty ring.
    pub(super) fn first(&self) -> Option<u8> {
        (self.some != 0).then(|| self.some.trailing_zeros() as u8)
    }

    pub(super) fn ring(&mut self, priority: u8) -> &mut Ring {
        &mut self.rings[usize::from(priority & 7)]
    }
}

/// Returns the priorities in a bit mask.
fn each(mut mask: u8) -> impl Iterator<Item = u8> {
    core::iter::from_fn(move || {
        let first = (mask != 0).then(|| mask.trailing_zeros() as u8)?;
        mask &= mask - 1;
        Some(first)
    })
}

impl<T: Payload> Schedule<T> {
    /// Marks a class as having packets to send with these priorities.
    pub(super) fn activate(&mut self, class: u32, mut mask: u8) {
        let mut at = class;
        loop {
            let (mode, parent) = self.mode_and_parent(at);
            self.class(at).active |= mask;
            match mode {
                Mode::Waits => return,
                Mode::Sends => {
                    let level = self.class(at).level;
                    for priority in each(mask) {
                        let row = &mut self.rows[level];
                        row.some |= 1 << priority;
                        row.ring(priority).insert(&mut self.links, at, priority);
                    }
                    return;
                }
                Mode::Borrows => {
                    let mut more = 0;
                    for priority in each(mask) {
                        let (links, ring) = self.feed(parent, priority);
                        more |= u8::from(ring.is_empty()) << priority;
                        ring.insert(links, at, priority);
                    }
                    (at, mask) = (parent, more);
                }
            }
            if mask == 0 {
                return;
            }
        }
    }

    /// Marks a class as having no packets to send with these priorities.
    pub(super) fn deactivate(&mut self, class: u32, mut mask: u8) {
        let mut at = class;
        loop {
            let (mode, parent) = self.mode_and_parent(at);
            self.class(at).active &= !mask;
            self.withdraw(at, mode, mask);
            if mode != Mode::Borrows {
                return;
            }
            let gone = |priority: &u8| self.feed(parent, *priority).1.is_empty();
            mask = each(mask).filter(gone).fold(0, |mask, one| mask | 1 << one);
            if mask == 0 {
                return;
            }
            at = parent;
        }
    }

    /// Removes a class from the rings of its mode.
    fn withdraw(&mut self, at: u32, mode: Mode, mask: u8) {
        let (level, parent) = (self.class(at).level, self.class(at).parent);
        for priority in each(mask) {
            match mode {
                Mode::Waits => {}
                Mode::Sends => {
                    let row = &mut self.rows[level];
                    let ring = row.ring(priority);
                    ring.remove(&mut self.links, at, priority);
                    if ring.is_empty() {
                        row.some &= !(1 << priority);
                    }
                }
                Mode::Borrows => {
                    let (links, ring) = self.feed(parent, priority);
                    ring.remove(links, at, priority);
                }
            }
        }
    }

    /// Updates the mode of a class and moves the class to the matching rings.
    pub(super) fn update(&mut self, at: u32, now: u64) {
        let class = self.class(at);
        let (old, active) = (class.mode, class.active);
        let new = class.node.mode(now);
        if new != old {
            if active != 0 {
                self.deactivate(at, active);
            }
            self.class(at).mode = new;
            if active != 0 {
                self.activate(at, active);
            }
        }
        let class = self.class(at);
        if class.mode != Mode::Sends && class.active != 0 {
            let at_time = class.node.changes_at(now);
            self.arm(at, at_time);
        }
    }

    fn mode_and_parent(&mut self, at: u32) -> (Mode, u32) {
        let class = self.class(at);
        let mode = match class.mode {
            Mode::Borrows if class.parent == NO_CLASS => Mode::Sends,
            mode => mode,
        };
        (mode, class.parent)
    }

    /// Passes the turn to the next class in the ring of this class, and one level higher after each full
    /// round.
    pub(super) fn turn(&mut self, class: u32, priority: u8) {
        let mut at = class;
        for _ in 0..LEVELS {
            let (mode, parent) = self.mode_and_parent(at);
            let level = self.class(at).level;
            let all = match mode {
                Mode::Waits => return,
                Mode::Sends => {
                    self.rows[level].ring(priority).advance(&self.links);
                    return;
                }
                Mode::Borrows => {
                    let (links, ring) = self.feed(parent, priority);
                    ring.advance(links)
                }
            };
            if !all {
                return;
            }
            at = parent;
        }
    }
}
