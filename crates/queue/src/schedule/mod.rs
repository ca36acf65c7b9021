//! The schedule selects the next packet to send, by HTB (hierarchical token bucket).
//!
//! Leaves below their guaranteed rate are served first, regardless of priority. Then follow leaves that
//! borrow from the nearest lending parent, in order of priority; leaves of the same priority take turns, with
//! a quantum of bytes each. A class that must wait is in no ring, and has a timer.

mod ring;
#[cfg(test)]
mod tests;
mod tree;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use core::sync::atomic::Ordering::Relaxed;
use machine::Instant;

use crate::discipline::Discipline;
use crate::gate::{instant, ticks};
use crate::kind::{Kind, Lost};
use crate::node::{DEPTH, Mode, NO_CLASS, Node};
use crate::packet::{Packet, Payload};
use ring::{Links, Ring};
use tree::Row;

/// Number of levels: one for leaves and one for each level of parents.
const LEVELS: usize = DEPTH;
/// Maximum number of obsolete timers per class before they are removed.
const STALE_TIMERS_MAX: usize = 8;

/// A queue in the schedule of the home worker.
#[derive(Debug)]
struct Class<T> {
    node: Arc<Node>,
    /// The parent class, or [`NO_CLASS`].
    parent: u32,
    /// Number of child classes.
    children: u32,
    /// 0 for leaves, larger towards the root.
    level: usize,
    mode: Mode,
    /// Priorities with packets to send, as a bit mask.
    active: u8,
    /// Priority of the class's own packets.
    priority: u8,
    /// Time of the timer in ticks; 0: no timer.
    timer: u64,
    /// Whether the node was removed.
    gone: bool,
    discipline: Option<Discipline<T>>,
    feeds: Option<Box<[Ring; 8]>>,
    /// Bytes that may still be sent in this round, by level of the lender.
    credit: [i64; LEVELS],
}

/// The schedule of a worker.
#[derive(Debug)]
pub struct Schedule<T> {
    classes: Vec<Option<Class<T>>>,
    free: Vec<u32>,
    links: Links,
    rows: [Row; LEVELS],
    timers: BinaryHeap<Reverse<(u64, u32)>>,
    packets: usize,
}

impl<T: Payload> Default for Schedule<T> {
    fn default() -> Self {
        Self {
            classes: Vec::new(),
            free: Vec::new(),
            links: Links::default(),
            rows: [Row::EMPTY; LEVELS],
            timers: BinaryHeap::new(),
            packets: 0,
        }
    }
}

impl<T: Payload> Schedule<T> {
    /// Returns the number of waiting packets.
    pub fn packets(&self) -> usize {
        self.packets
    }

    /// Adds a packet of a leaf, which waits in the manner of `kind`. Packets that exceed a limit go to
    /// `lose`.
    pub fn enqueue(
        &mut self,
        leaf: &Arc<Node>,
        kind: &Kind,
        packet: Packet<T>,
        now: Instant,
        lose: &mut dyn FnMut(Packet<T>, Lost),
    ) {
        let (at, ticks) = (self.ensure(leaf, true), ticks(now));
        match leaf.is_limited_itself(ticks) {
            true => leaf.by_own.fetch_add(1, Relaxed),
            false => leaf.by_parent.fetch_add(1, Relaxed),
        };
        leaf.wait(true, packet.bytes);
        self.packets += 1;
        self.with(at, lose, |discipline, lose| {
            let discipline = discipline.get_or_insert_with(|| Discipline::new(kind));
            discipline.enqueue(packet, now, lose);
        });
        if self.class(at).active == 0 {
            self.wake(at, now);
        }
    }

    /// Returns the next packet that may be sent now, if any. Packets that disciplines drop go to `lose`.
    pub fn dequeue(
        &mut self,
        now: Instant,
        lose: &mut dyn FnMut(Packet<T>, Lost),
    ) -> Option<Packet<T>> {
        if self.packets == 0 {
            return None;
        }
        self.expire(now);
        loop {
            let mut rows = self.rows.iter().zip(0..);
            let (priority, level) = rows.find_map(|(row, level)| Some((row.first()?, level)))?;
            if let Some(packet) = self.take(level, priority, now, lose) {
                return Some(packet);
            }
        }
    }

    /// Returns when the next packet may be sent, if a packet waits. A time in the past means now.
    pub fn deadline(&self, now: Instant) -> Option<Instant> {
        if self.packets == 0 {
            return None;
        }
        if self.rows.iter().any(|row| row.first().is_some()) {
            return Some(now);
        }
        self.timers.peek().map(|Reverse((at, _))| instant(*at))
    }

    /// Removes a node and passes its packets to `let_go` in order. Its children must be removed before.
    pub fn remove(&mut self, node: &Node, now: Instant, let_go: &mut dyn FnMut(Packet<T>)) {
        let at = node.place.load(Relaxed);
        if at == NO_CLASS {
            return;
        }
        let class = self.class(at);
        class.gone = true;
        if let Some(mut discipline) = class.discipline.take() {
            // Packets leave at once, regardless of the rate of the discipline.
            let one_line = Kind::Fifo(crate::kind::Fifo {
                packets: u32::MAX,
                bytes: u64::MAX,
            });
            let (mut count, mut all) = (0, Vec::new());
            discipline.reconfigure(&one_line, now, &mut |packet, _| all.push(packet));
            while let Some(packet) = discipline.dequeue(now, &mut |_, _| {}) {
                all.push(packet);
            }
            for packet in all {
                node.wait(false, packet.bytes);
                let_go(packet);
                count += 1;
            }
            self.packets -= count;
        }
        let active = self.class(at).active;
        if active != 0 {
            self.deactivate(at, active);
        }
        self.forget(at);
    }

    /// Removes all packets, in no order.
    pub fn clear(&mut self, let_go: &mut dyn FnMut(Packet<T>)) {
        let leaves = self.classes.iter().flatten();
        let leaves = leaves.filter(|class| class.discipline.is_some());
        let nodes: Vec<_> = leaves.map(|class| Arc::clone(&class.node)).collect();
        for node in nodes {
            self.remove(&node, Instant::ZERO, let_go);
        }
    }

    /// Changes the discipline of a leaf.
    pub fn reconfigure(
        &mut self,
        leaf: &Node,
        kind: &Kind,
        now: Instant,
        lose: &mut dyn FnMut(Packet<T>, Lost),
    ) {
        let at = leaf.place.load(Relaxed);
        if at == NO_CLASS {
            return;
        }
        self.with(at, lose, |discipline, lose| {
            if let Some(discipline) = discipline {
                discipline.reconfigure(kind, now, lose);
            }
        });
        let active = self.class(at).active;
        if active != 0 {
            self.deactivate(at, active);
        }
        self.wake(at, now);
    }

    fn class(&mut self, at: u32) -> &mut Class<T> {
        let class = self.classes.get_mut(at as usize).and_then(Option::as_mut);
        class.expect("a class that is linked exists")
    }

    /// Returns the ring of classes that borrow from a class with this priority.
    fn feed(&mut self, class: u32, priority: u8) -> (&mut Links, &mut Ring) {
        let class = self
            .classes
            .get_mut(class as usize)
            .and_then(Option::as_mut);
        let class = class.expect("a class that is linked exists");
        let feeds = class
            .feeds
            .get_or_insert_with(|| Box::new([Ring::EMPTY; 8]));
        (&mut self.links, &mut feeds[usize::from(priority & 7)])
    }

    /// Returns the class of a node, creating it and its parents if necessary.
    fn ensure(&mut self, node: &Arc<Node>, leaf: bool) -> u32 {
        let at = node.place.load(Relaxed);
        if at != NO_CLASS {
            return at;
        }
        let parent = node.parent().map(|parent| self.ensure(parent, false));
        let level = match (leaf, parent) {
            (true, _) => 0,
            (false, None) => LEVELS - 1,
            (false, Some(parent)) => self.class(parent).level.saturating_sub(1).max(1),
        };
        if let Some(parent) = parent {
            self.class(parent).children += 1;
        }
        let at = self.free.pop().unwrap_or_else(|| {
            self.classes.push(None);
            self.links.grow(self.classes.len());
            self.classes.len() as u32 - 1
        });
        node.place.store(at, Relaxed);
        self.classes[at as usize] = Some(Class {
            node: Arc::clone(node),
            parent: parent.unwrap_or(NO_CLASS),
            children: 0,
            level,
            mode: Mode::Sends,
            active: 0,
            priority: 0,
            timer: 0,
            gone: false,
            discipline: None,
            feeds: None,
            credit: [0; LEVELS],
        });
        at
    }

    /// Releases the number of a class that has no children.
    fn forget(&mut self, at: u32) {
        let class = self.class(at);
        if !class.gone || class.children > 0 {
            return;
        }
        class.node.place.store(NO_CLASS, Relaxed);
        let parent = class.parent;
        self.classes[at as usize] = None;
        self.free.push(at);
        if parent != NO_CLASS {
            self.class(parent).children -= 1;
            self.forget(parent);
        }
    }

    /// Calls `act` with the discipline of a class and counts dropped packets.
    fn with<R>(
        &mut self,
        at: u32,
        lose: &mut dyn FnMut(Packet<T>, Lost),
        act: impl FnOnce(&mut Option<Discipline<T>>, &mut dyn FnMut(Packet<T>, Lost)) -> R,
    ) -> R {
        let class = self.classes.get_mut(at as usize).and_then(Option::as_mut);
        let Class {
            node, discipline, ..
        } = class.expect("a class that is linked exists");
        let mut lost = 0;
        let done = act(discipline, &mut |packet, why| {
            node.wait(false, packet.bytes);
            node.dropped.fetch_add(1, Relaxed);
            lost += 1;
            lose(packet, why);
        });
        let streams = discipline.as_ref().map_or(0, Discipline::streams);
        node.streams.store(streams, Relaxed);
        self.packets -= lost;
        done
    }

    /// Updates a leaf that has received or lost packets.
    fn wake(&mut self, at: u32, now: Instant) {
        let class = self.class(at);
        let ready = class.discipline.as_ref().and_then(|one| one.ready(now));
        match ready {
            None => {}
            Some(ready) if ready > now => self.arm(at, ticks(ready)),
            Some(_) => {
                class.priority = class.node.priority();
                let mask = 1 << class.priority;
                let mut above = at;
                // The parents may have changed since the last waiting packet.
                while above != NO_CLASS {
                    self.update(above, ticks(now));
                    above = self.class(above).parent;
                }
                self.activate(at, mask);
                self.update_all(at, now);
            }
        }
    }

    /// Updates the mode of a class and of all parents.
    fn update_all(&mut self, mut at: u32, now: Instant) {
        while at != NO_CLASS {
            self.update(at, ticks(now));
            at = self.class(at).parent;
        }
    }

    /// Takes a packet from the leaf whose turn it is.
    fn take(
        &mut self,
        level: usize,
        priority: u8,
        now: Instant,
        lose: &mut dyn FnMut(Packet<T>, Lost),
    ) -> Option<Packet<T>> {
        let mut at = self.rows[level].ring(priority).turn()?;
        let mut levels = 0;
        while self.class(at).level > 0 {
            let Some(below) = self.feed(at, priority).1.turn() else {
                self.deactivate(at, 1 << priority);
                return None;
            };
            (at, levels) = (below, levels + 1);
        }
        let packet = self.with(at, lose, |discipline, lose| {
            discipline.as_mut().and_then(|one| one.dequeue(now, lose))
        });
        let Some(packet) = packet else {
            let active = self.class(at).active;
            self.deactivate(at, active);
            self.wake_later(at, now);
            return None;
        };
        self.packets -= 1;
        let class = self.class(at);
        class.node.wait(false, packet.bytes);
        class.credit[level] -= i64::from(packet.bytes);
        if class.credit[level] < 0 {
            class.credit[level] += i64::from(class.node.quantum().max(packet.bytes));
            self.turn(at, priority);
        }
        let class = self.class(at);
        if class
            .discipline
            .as_ref()
            .is_none_or(|one| one.packets() == 0)
        {
            let active = class.active;
            self.deactivate(at, active);
        }
        let node = Arc::clone(&self.class(at).node);
        node.charge(packet.bytes, ticks(now), levels);
        self.update_all(at, now);
        Some(packet)
    }

    /// Sets the timer of a leaf that returned no packet: the leaf is empty or delays its packets.
    fn wake_later(&mut self, at: u32, now: Instant) {
        let discipline = self.class(at).discipline.as_ref();
        if let Some(ready) = discipline.and_then(|one| one.ready(now)) {
            // A leaf that is ready but returns no packet is tried again soon, not at once.
            let soon = ticks(now) + ticks(Instant::from_nanos(10_000));
            self.arm(at, ticks(ready).max(soon));
        }
    }

    /// Sets the timer of a class.
    fn arm(&mut self, at: u32, time: u64) {
        let class = self.class(at);
        if class.timer == time {
            return;
        }
        class.timer = time;
        self.timers.push(Reverse((time, at)));
        if self.timers.len() > STALE_TIMERS_MAX * self.classes.len() + 64 {
            let classes = &self.classes;
            let is_meant = |Reverse((time, at)): &Reverse<(u64, u32)>| {
                let class = classes.get(*at as usize).and_then(Option::as_ref);
                class.is_some_and(|class| class.timer == *time)
            };
            self.timers.retain(is_meant);
        }
    }

    /// Processes the expired timers.
    fn expire(&mut self, now: Instant) {
        let until = ticks(now);
        while let Some(Reverse((time, at))) = self.timers.peek().copied() {
            if time > until {
                return;
            }
            self.timers.pop();
            let Some(class) = self.classes.get_mut(at as usize).and_then(Option::as_mut) else {
                continue;
            };
            if class.timer != time {
                continue;
            }
            class.timer = 0;
            match class.active {
                0 if class.level == 0 => self.wake(at, now),
                // The parents may have been updated last when this class had no packets.
                _ => self.update_all(at, now),
            }
        }
    }
}
