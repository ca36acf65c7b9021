//! Port information machine: spanning tree information received, aged or of this bridge (13.35).

use wire::bpdu::Flags;

use super::Bridge;
use super::port::{Info, Message, Port, TreePort};

/// `rcvInfo`: classification of a received message (13.29).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Received {
    SuperiorDesignated,
    RepeatedDesignated,
    InferiorDesignated,
    /// From a root, alternate or backup port with no better information.
    NotDesignated,
    Other,
}

impl Bridge {
    /// Runs the port information machine.
    pub(super) fn inform(&mut self, tree: usize, place: usize) -> bool {
        let (rapid, root_times) = (self.is_rapid(), self.trees[tree].root_times);
        let awaits_selection = self.trees[tree].reselect_all;
        let port = &mut self.ports[place];
        let enabled = port.is_enabled();
        let common_waits = tree > 0 && (port.trees[0].message.is_some() || port.trees[0].update);
        let its = &mut port.trees[tree];
        if !enabled {
            its.message = None;
            let is_other = its.disable();
            self.trees[tree].reselect |= is_other;
            return is_other;
        }
        match its.info {
            Info::Disabled => {
                its.info = Info::Aged;
                its.selected = false;
            }
            Info::Aged | Info::Mine | Info::Received
                if its.selected && !awaits_selection && its.update =>
            {
                its.take_own(root_times);
                port.mark_new_info(tree);
            }
            Info::Received if its.rcvd_info_while == 0 && its.message.is_none() && !its.update => {
                its.info = Info::Aged;
                its.selected = false;
            }
            Info::Mine | Info::Received if !common_waits && !its.update => {
                let Some(message) = its.message.take() else {
                    return false;
                };
                port.receive_message(tree, &message, rapid);
            }
            _ => return false,
        }
        self.trees[tree].reselect |= !self.ports[place].trees[tree].selected;
        true
    }
}

impl TreePort {
    /// State DISABLED; returns true if anything changed.
    fn disable(&mut self) -> bool {
        let was = core::mem::replace(&mut self.info, Info::Disabled);
        (self.proposing, self.proposed) = (false, false);
        (self.agree, self.agreed) = (false, false);
        self.rcvd_info_while = 0;
        if was != Info::Disabled {
            self.selected = false;
        }
        was != Info::Disabled
    }

    /// State UPDATE: the port announces this bridge's information.
    fn take_own(&mut self, times: super::Times) {
        (self.proposing, self.proposed) = (false, false);
        // `betterorsameInfo(Mine)`: the agreement holds if the announced information does not get worse.
        self.agreed &= self.info == Info::Mine && self.designated <= self.known;
        self.synced &= self.agreed;
        (self.known, self.known_times) = (self.designated, times);
        self.update = false;
        self.info = Info::Mine;
    }

    fn what_is(&self, message: &Message) -> Received {
        let (vector, times) = (&message.vector, &message.times);
        let same = *vector == self.known && *times == self.known_times;
        match message.flags.role() {
            Flags::ROLE_DESIGNATED if same && self.info == Info::Received => {
                Received::RepeatedDesignated
            }
            Flags::ROLE_DESIGNATED if vector.is_superior_to(&self.known) => {
                Received::SuperiorDesignated
            }
            Flags::ROLE_DESIGNATED => Received::InferiorDesignated,
            Flags::ROLE_ROOT | Flags::ROLE_ALTERNATE if *vector >= self.known => {
                Received::NotDesignated
            }
            _ => Received::Other,
        }
    }
}

impl Port {
    /// State RECEIVE and its successors.
    fn receive_message(&mut self, tree: usize, message: &Message, rapid: bool) {
        let received = self.trees[tree].what_is(message);
        if tree == 0 && !self.rcvd_internal {
            for its in &mut self.trees[1..] {
                its.mastered = false;
            }
        } else if tree > 0 {
            let mastered = self.is_point_to_point() && message.flags.has(Flags::MASTER);
            self.trees[tree].mastered = mastered;
        }
        if tree == 0 {
            let (said, known) = (&message.vector, &self.trees[0].known);
            let common = |it: &super::Vector| (it.root, it.external_cost, it.regional_root);
            self.common_agrees =
                received == Received::SuperiorDesignated || common(said) == common(known);
        }
        match received {
            Received::SuperiorDesignated => {
                if tree == 0 {
                    self.info_internal = self.rcvd_internal;
                }
                let its = &mut self.trees[tree];
                (its.agreed, its.proposing) = (false, false);
                self.record_proposal(tree, message);
                self.set_changes(tree, message);
                let its = &mut self.trees[tree];
                // `betterorsameInfo(Received)`: the agreement holds if the received information does not get worse.
                its.agree &= its.info == Info::Received && message.vector <= its.known;
                self.record_agreement(tree, message, rapid);
                let its = &mut self.trees[tree];
                its.synced &= its.agreed;
                (its.known, its.known_times) = (message.vector, message.times);
                self.update_received(tree);
                let its = &mut self.trees[tree];
                its.info = Info::Received;
                its.selected = false;
            }
            Received::RepeatedDesignated => {
                if tree == 0 {
                    self.info_internal = self.rcvd_internal;
                }
                self.record_proposal(tree, message);
                self.set_changes(tree, message);
                self.record_agreement(tree, message, rapid);
                self.update_received(tree);
            }
            Received::InferiorDesignated => self.record_dispute(tree, message),
            Received::NotDesignated => {
                self.record_agreement(tree, message, rapid);
                self.set_changes(tree, message);
            }
            Received::Other => {}
        }
    }

    /// Trees that a message covers: all trees if the message comes from another region.
    fn spoken_for(&self, tree: usize) -> core::ops::Range<usize> {
        match tree == 0 && !self.rcvd_internal {
            true => 0..self.trees.len(),
            false => tree..tree + 1,
        }
    }

    fn record_proposal(&mut self, tree: usize, message: &Message) {
        if message.flags.has(Flags::PROPOSAL) {
            for at in self.spoken_for(tree) {
                self.trees[at].proposed = true;
            }
        }
    }

    fn record_agreement(&mut self, tree: usize, message: &Message, rapid: bool) {
        // In an instance an agreement counts only with agreement about the common tree.
        let same = tree == 0 || self.common_agrees;
        let agrees =
            rapid && self.is_point_to_point() && same && message.flags.has(Flags::AGREEMENT);
        for at in self.spoken_for(tree) {
            let its = &mut self.trees[at];
            its.agreed = agrees;
            its.proposing &= !agrees;
        }
    }

    fn record_dispute(&mut self, tree: usize, message: &Message) {
        if message.flags.has(Flags::LEARNING) {
            for at in self.spoken_for(tree) {
                self.trees[at].disputed = true;
                self.trees[at].agreed = false;
            }
        }
    }

    fn set_changes(&mut self, tree: usize, message: &Message) {
        if message.flags.has(Flags::TOPOLOGY_CHANGE) {
            for at in self.spoken_for(tree) {
                self.trees[at].rcvd_tc = true;
            }
        }
        if tree == 0 && message.flags.has(Flags::ACKNOWLEDGEMENT) {
            self.rcvd_tc_ack = true;
        }
    }

    /// `updtRcvdInfoWhile`: sets the lifetime of received information.
    fn update_received(&mut self, tree: usize) {
        let internal = self.rcvd_internal;
        let hello = self.trees[0].known_times.hello;
        let its = &mut self.trees[tree];
        let times = &its.known_times;
        let lives = match internal {
            true => times.hops > 1,
            false => times.message_age < times.max_age,
        };
        its.rcvd_info_while = if lives { 3 * hello } else { 0 };
    }

    /// Marks new information of a tree to send.
    pub(super) fn mark_new_info(&mut self, tree: usize) {
        match tree {
            0 => self.new_info = true,
            _ => self.new_info_msti = true,
        }
    }
}
