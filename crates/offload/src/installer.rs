//! Installs shortcuts for one port, and gathers for its worker what went by them.
//!
//! The slot of a connection is its worker's. It says nothing any more when a minute has passed without a packet,
//! when its generation is over, or when the connection is gone; but it is let go only by the gathering after the
//! next, a second later: by then no program is left that had found it before, and all is counted.

use std::sync::Arc;

use frame::shortcut::{Between, Connection, FlowOffload, Gathered, Service, Shortcut};

use super::lanes::{LaneKey, Lanes};
use super::slot::{Content, Key, Slot};
use super::table::{LIFE, Map, SLOTS_ALL, Table, step_now};

/// 64ths of a second, in which a round of gathering is over. The rest of the second is to spare.
const ROUND_TICKS: usize = 48;

/// How many slots before it is looked at the memory of one is asked for.
const AHEAD: usize = 8;

/// A slot that this port's worker owns.
#[derive(Clone, Copy, Debug)]
struct Owned {
    number: u32,
    /// When it was last looked at it said nothing any more.
    is_over: bool,
}

/// See the module.
#[derive(Debug)]
pub struct Installer<M: Map> {
    table: Arc<Table<M>>,
    entrance: u32,
    device: u32,
    /// When the round began: the generation, and the step of time.
    generation: u32,
    step: u32,
    lanes: Lanes,
    /// Never more than there are slots, for which there is room.
    owned: Vec<Owned>,
    /// The second whose gathering is under way, and who is next.
    second: u32,
    next: usize,
}

impl<M: Map> Installer<M> {
    pub(crate) fn new(table: Arc<Table<M>>, entrance: u32, device: u32, lanes: Lanes) -> Self {
        Self {
            table,
            entrance,
            device,
            generation: 0,
            step: 0,
            lanes,
            owned: Vec::with_capacity(SLOTS_ALL),
            second: 0,
            next: 0,
        }
    }

    /// As [`FlowOffload::begin`], at a step of time.
    pub(crate) fn begin_at(&mut self, step: u32) {
        self.generation = self.table.generation();
        self.step = step;
    }

    fn install_slot(&mut self, key: &Key, token: u64, content: &Content) {
        let place = self.table.hashing.place(key);
        let word = place.word(self.generation);
        let until = self.step.saturating_add(LIFE);
        let mut free = None;
        for number in place.numbers() {
            let slot = self.table.slot(number);
            if slot.is_of(key) {
                let (owner, found) = (slot.owner(), slot.word());
                if owner == token && (token != 0 || found == word) {
                    return self.install_again((slot, found, word), (key, token), content, until);
                }
                if owner != 0 {
                    // Of a connection before this one: its worker lets it go in a second or two.
                    return;
                }
            }
            let is_over = !slot.is_of_generation(self.generation) || slot.until() < self.step;
            if is_over && slot.owner() == 0 && free.is_none() {
                free = Some((number, slot.word()));
            }
        }
        let Some((number, found)) = free else { return };
        let slot = self.table.slot(number);
        if token != 0 && self.owned.len() >= SLOTS_ALL {
            return;
        }
        if slot.write((found, word), (key, token), content, until) && token != 0 {
            // Whoever was there before has gathered what was counted.
            self.owned.push(Owned {
                number,
                is_over: false,
            });
        }
    }

    /// There is a slot of these packets, and of their connection.
    fn install_again(
        &self,
        (slot, found, word): (Slot<'_>, u64, u64),
        (key, token): (&Key, u64),
        content: &Content,
        until: u32,
    ) {
        if token == 0 {
            return slot.renew(until, content.lane);
        }
        match (found == word, slot.content() == *content) {
            (true, true) => slot.renew(until, content.lane),
            // A program may be reading it that would take the new for the old: not before that has ended.
            (true, false) => slot.release(),
            (false, true) => {
                slot.renew(until, content.lane);
                slot.say(word);
            }
            (false, false) if slot.is_released() => {}
            (false, false) => {
                slot.write((found, word), (key, token), content, until);
            }
        }
    }

    /// Takes what a slot has counted; false if it was let go.
    fn visit(&mut self, at: usize, gathered: &mut dyn FnMut(Gathered) -> bool) -> bool {
        let owned = &mut self.owned[at];
        let slot = self.table.slot(owned.number);
        let (token, counted) = (slot.owner(), slot.take_counted());
        let is_gone = !counted.is_nothing() && !gathered(counted.gathered(token));
        let holds = slot.is_of_generation(self.generation) && slot.until() >= self.step;
        if holds && !is_gone {
            owned.is_over = false;
            return true;
        }
        slot.release();
        if owned.is_over {
            slot.leave();
            return false;
        }
        owned.is_over = true;
        true
    }
}

impl<M: Map> FlowOffload for Installer<M> {
    fn begin(&mut self) {
        self.begin_at(step_now());
    }

    fn device(&self) -> u32 {
        self.device
    }

    /// Changes nothing where there is no room.
    fn install(&mut self, shortcut: &Shortcut) {
        self.table.marks.note(self.generation, shortcut);
        let Shortcut {
            between,
            connection,
            lane,
        } = shortcut;
        let rewrite = connection.as_ref().and_then(|one| one.rewrite.as_ref());
        let lane = LaneKey {
            lane: *lane,
            ipv6: between.ipv6,
            entrance: self.entrance,
            translates: rewrite.is_some(),
        };
        let now = (self.generation, self.step);
        let Some(lane) = self.lanes.number(&lane, now, &self.table) else {
            return;
        };
        self.table.tell_apart(between.ipv6, connection.is_some());
        let content = Content::new(lane, rewrite);
        match connection {
            Some(Connection { service, token, .. }) => {
                let key = Key::of_connection(between, service);
                self.install_slot(&key, *token, &content);
            }
            None => self.install_slot(&Key::of_all(between, self.entrance), 0, &content),
        }
    }

    fn gathers(&self) -> bool {
        !self.owned.is_empty()
    }

    fn gather(&mut self, ticks: Option<u32>, gathered: &mut dyn FnMut(Gathered) -> bool) {
        let all = self.owned.len();
        let goal = match ticks {
            Some(ticks) => {
                if ticks / 64 != self.second {
                    (self.second, self.next) = (ticks / 64, 0);
                }
                all.min(all * (ticks as usize % 64 + 1) / ROUND_TICKS + 1)
            }
            None => {
                self.next = 0;
                all
            }
        };
        let mut left = goal.saturating_sub(self.next);
        while left > 0 && self.next < self.owned.len() {
            left -= 1;
            if let Some(soon) = self.owned.get(self.next + AHEAD) {
                self.table.slot(soon.number).prefetch();
            }
            if self.visit(self.next, gathered) {
                self.next += 1;
            } else {
                self.owned.swap_remove(self.next);
            }
        }
    }

    fn remove(&mut self, between: &Between, service: &Service) {
        let slot = self.table.find(&Key::of_connection(between, service));
        if let Some(slot) = slot.filter(|slot| slot.owner() != 0) {
            slot.release();
        }
    }
}

impl<M: Map> Drop for Installer<M> {
    /// Its slots are others' to take.
    fn drop(&mut self) {
        for owned in &self.owned {
            let slot = self.table.slot(owned.number);
            slot.release();
            slot.leave();
        }
        self.lanes.close();
    }
}
