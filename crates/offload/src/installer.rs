//! Installs the shortcuts of one port, and collects their traffic for its worker.
//!
//! The slot of a connection belongs to its worker. It becomes invalid after a minute without packets, when
//! its generation ends, or when the connection ends; but it is freed only by the second collection after
//! that, a second later: by then no running program has it any more, and all traffic was counted.

use std::sync::Arc;

use frame::shortcut::{AddressPair, Connection, ConnectionTraffic, FlowOffload, Service, Shortcut};

use super::lanes::{LaneKey, Lanes};
use super::slot::{Content, Key, NewSlot, Slot};
use super::table::{Map, SLOTS_ALL, Table, VALID_STEPS, step_now};

/// Ticks of 1/64 s for one round of collection; the rest of the second is a reserve.
const ROUND_TICKS: usize = 48;

/// Number of slots between prefetch and visit.
const AHEAD: usize = 8;

/// A slot that this port's worker owns.
#[derive(Clone, Copy, Debug)]
struct OwnedSlot {
    number: u32,
    /// True if the slot was invalid at the last visit.
    is_over: bool,
}

/// Shortcut installer of one port.
#[derive(Debug)]
pub struct Installer<M: Map> {
    table: Arc<Table<M>>,
    entrance: u32,
    device: u32,
    /// Generation and time step at the start of the current round.
    generation: u32,
    step: u32,
    lanes: Lanes,
    /// Preallocated for the number of slots, which it never exceeds.
    owned: Vec<OwnedSlot>,
    /// The second of the current collection, and the next slot.
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

    /// Begins a round as [`FlowOffload::begin`] does, at a given time step.
    pub(crate) fn begin_at(&mut self, step: u32) {
        self.generation = self.table.generation();
        self.step = step;
    }

    fn install_slot(&mut self, key: &Key, token: u64, content: &Content) {
        let place = self.table.hashing.place(key);
        let word = place.word(self.generation);
        let until = self.step.saturating_add(VALID_STEPS);
        let new = NewSlot {
            word,
            key,
            token,
            content,
            until,
        };
        let mut free = None;
        for number in place.numbers() {
            let slot = self.table.slot(number);
            if slot.is_of(key) {
                let (owner, found) = (slot.owner(), slot.word());
                if owner == token && (token != 0 || found == word) {
                    return self.reinstall(slot, found, &new);
                }
                if owner != 0 {
                    // The slot belongs to the previous connection: its worker frees it within two seconds.
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
        if slot.write(found, &new) && token != 0 {
            // The previous owner has already collected its traffic.
            self.owned.push(OwnedSlot {
                number,
                is_over: false,
            });
        }
    }

    /// Installs a shortcut again whose slot exists.
    fn reinstall(&self, slot: Slot<'_>, found: u64, new: &NewSlot<'_>) {
        let NewSlot {
            word,
            token,
            content,
            until,
            ..
        } = *new;
        if token == 0 {
            return slot.renew(until, content.lane);
        }
        match (found == word, slot.content() == *content) {
            (true, true) => slot.renew(until, content.lane),
            // A running program could read new data under the old key: the slot must be freed first.
            (true, false) => slot.release(),
            (false, true) => {
                slot.renew(until, content.lane);
                slot.write_word(word);
            }
            (false, false) if slot.is_released() => {}
            (false, false) => {
                slot.write(found, new);
            }
        }
    }

    /// Collects the traffic of a slot; returns false if the slot was freed.
    fn visit(&mut self, at: usize, gathered: &mut dyn FnMut(ConnectionTraffic) -> bool) -> bool {
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

    /// Without effect if there is no room.
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
        let (generation, step) = (self.generation, self.step);
        let Some(lane) = self.lanes.number(&lane, generation, step, &self.table) else {
            return;
        };
        self.table
            .set_by_connection(between.ipv6, connection.is_some());
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

    fn gather(&mut self, ticks: Option<u32>, gathered: &mut dyn FnMut(ConnectionTraffic) -> bool) {
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

    fn remove(&mut self, between: &AddressPair, service: &Service) {
        let slot = self.table.find(&Key::of_connection(between, service));
        if let Some(slot) = slot.filter(|slot| slot.owner() != 0) {
            slot.release();
        }
    }
}

impl<M: Map> Drop for Installer<M> {
    /// Frees the port's slots for others.
    fn drop(&mut self) {
        for owned in &self.owned {
            let slot = self.table.slot(owned.number);
            slot.release();
            slot.leave();
        }
        self.lanes.close();
    }
}
