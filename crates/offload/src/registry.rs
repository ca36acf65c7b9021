//! The lanes of all ports, from the view of the control plane.

use std::collections::HashMap;
use std::hash::Hash;

use frame::InterfaceId;
use frame::shortcut::{LaneSelector, LaneTraffic};
use rtrb::{Consumer, Producer, RingBuffer};

use super::lanes::{LANES, LaneKey, LaneMessage, Lanes, PORT_LANES_MAX};
use super::table::{GRACE_STEPS, Map, Table};

/// Numbers granted in advance to a port that is below its maximum.
const GRANTED: usize = 512;

/// A port: its messages, and the numbers granted to it.
#[derive(Debug)]
struct Member {
    entered: Consumer<LaneMessage>,
    granted: Producer<u32>,
    /// All numbers of the port.
    held: Vec<u32>,
    /// Generation and time step in which the port was found to be removed.
    gone: Option<(u32, u32)>,
}

/// The lanes of all ports.
#[derive(Debug)]
pub(crate) struct Registry {
    members: Vec<Member>,
    /// Unassigned numbers.
    free: Vec<u32>,
    /// Lanes by number.
    lanes: HashMap<u32, LaneKey>,
    /// Lanes of removed ports whose traffic is not reported yet.
    leaving: Vec<u32>,
    /// Lanes by ingress or egress interface, and by counting rule.
    of: HashMap<InterfaceId, Vec<u32>>,
    counted_by: HashMap<u32, Vec<u32>>,
}

impl Registry {
    pub(crate) fn new() -> Self {
        Self {
            members: Vec::new(),
            free: (0..LANES as u32).rev().collect(),
            lanes: HashMap::new(),
            leaving: Vec::new(),
            of: HashMap::new(),
            counted_by: HashMap::new(),
        }
    }

    /// Adds a port; returns its lanes.
    pub(crate) fn enter(&mut self) -> Lanes {
        let (granted, theirs) = RingBuffer::new(GRANTED);
        // Each number is entered at most once per generation, and returned once.
        let (entering, entered) = RingBuffer::new(2 * PORT_LANES_MAX);
        let mut member = Member {
            entered,
            granted,
            held: Vec::new(),
            gone: None,
        };
        member.grant(&mut self.free);
        self.members.push(member);
        Lanes::new(theirs, entering)
    }

    /// Reads the messages of ports, grants numbers, and removes ports that have gone.
    pub(crate) fn follow(&mut self, generation: u32, step: u32) {
        for place in (0..self.members.len()).rev() {
            // Checked first, because messages from before the removal must still be read.
            let is_gone = self.members[place].entered.is_abandoned();
            while let Ok(entered) = self.members[place].entered.pop() {
                match entered {
                    LaneMessage::Lane(number, key) => self.put(number, key),
                    LaneMessage::Unused(number) => {
                        self.members[place].held.retain(|held| *held != number);
                        self.remove(number);
                        self.free.push(number);
                    }
                }
            }
            let member = &mut self.members[place];
            if !is_gone {
                member.grant(&mut self.free);
                continue;
            }
            let (then, since) = *member.gone.get_or_insert((generation, step));
            // Shortcuts to its lanes have that generation at the latest.
            if then != generation && step.saturating_sub(since) >= GRACE_STEPS {
                let member = self.members.swap_remove(place);
                self.leaving.extend(member.held);
            }
        }
    }

    fn put(&mut self, number: u32, key: LaneKey) {
        self.remove(number);
        for interface in [key.lane.ingress, key.lane.egress] {
            self.of.entry(interface).or_default().push(number);
        }
        for rule in key.lane.rules.iter() {
            self.counted_by.entry(rule).or_default().push(number);
        }
        self.lanes.insert(number, key);
    }

    fn remove(&mut self, number: u32) {
        let Some(key) = self.lanes.remove(&number) else {
            return;
        };
        for interface in [key.lane.ingress, key.lane.egress] {
            remove_from(&mut self.of, &interface, number);
        }
        for rule in key.lane.rules.iter() {
            remove_from(&mut self.counted_by, &rule, number);
        }
    }

    /// Reports the traffic of the selected lanes since the last report; for removed ports, of all their
    /// lanes.
    pub(crate) fn tell<M: Map>(
        &mut self,
        which: LaneSelector,
        table: &Table<M>,
        went: &mut dyn FnMut(LaneTraffic),
    ) {
        for number in std::mem::take(&mut self.leaving) {
            self.report_lane(number, table, went);
            self.remove(number);
            self.free.push(number);
        }
        let some = match which {
            LaneSelector::All => {
                let all = self.lanes.keys();
                return all.for_each(|number| self.report_lane(*number, table, went));
            }
            LaneSelector::Of(interface) => self.of.get(&interface),
            LaneSelector::CountedBy(rule) => self.counted_by.get(&rule),
        };
        for number in some.into_iter().flatten() {
            self.report_lane(*number, table, went);
        }
    }

    fn report_lane<M: Map>(
        &self,
        number: u32,
        table: &Table<M>,
        went: &mut dyn FnMut(LaneTraffic),
    ) {
        let Some(key) = self.lanes.get(&number) else {
            return;
        };
        let counted = table.counted(number);
        let told = table.told(number);
        if counted == told {
            return;
        }
        went(LaneTraffic {
            lane: key.lane,
            ipv6: key.ipv6,
            packets: counted[0].wrapping_sub(told[0]),
            bytes: counted[1].wrapping_sub(told[1]),
        });
        table.set_told(number, counted);
    }

    /// Returns the number of lanes and of unassigned numbers.
    #[cfg(test)]
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.lanes.len(), self.free.len())
    }
}

impl Member {
    fn grant(&mut self, free: &mut Vec<u32>) {
        while self.held.len() < PORT_LANES_MAX
            && !self.granted.is_full()
            && let Some(number) = free.pop()
        {
            self.held.push(number);
            // The ring has room: there is no other producer.
            let _ = self.granted.push(number);
        }
    }
}

fn remove_from<K: Eq + Hash>(lists: &mut HashMap<K, Vec<u32>>, key: &K, number: u32) {
    if let Some(list) = lists.get_mut(key) {
        list.retain(|other| *other != number);
        if list.is_empty() {
            lists.remove(key);
        }
    }
}
