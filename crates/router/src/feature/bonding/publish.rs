//! Compiles a bond to the form that workers use.

use std::sync::Arc;

use dataplane::bond::{Bond, Sends, Slave, Takes};
use frame::InterfaceId;
use machine::Instant;
use service::bond::share_out;
use wire::Mac;

use super::read::Mode;
use super::{BondState, SHARE};
use crate::feature::{Effect, Effects};

impl BondState {
    /// Publishes the bond to the workers if it changed.
    pub(super) fn publish(&mut self, out: &mut Effects) {
        let now = self.id.filter(|_| !self.settings.interface.disabled);
        let now = now.map(|id| (id, Arc::new(self.compile(id))));
        if now == self.published {
            return;
        }
        let before = core::mem::replace(&mut self.published, now);
        let id = self.published.as_ref().map(|(id, _)| *id);
        if let Some((before, _)) = before.filter(|(before, _)| Some(*before) != id) {
            out.push(Effect::Bond(before, None));
        }
        if let Some((id, bond)) = &self.published {
            out.push(Effect::Bond(*id, Some(Arc::clone(bond))));
        }
    }

    fn compile(&self, id: InterfaceId) -> Bond {
        // Slots number the slaves that have a link.
        let there = self.slaves.iter().filter(|slave| slave.link.is_some());
        let carry = there
            .clone()
            .zip(0..)
            .filter(|(slave, _)| self.carries(slave));
        let carry: Vec<u8> = carry.map(|(_, place)| place).collect();
        let active = self.active_place();
        let sends = match (self.settings.mode, active) {
            _ if carry.len() < self.settings.min_links => Sends::Nothing,
            (Mode::RoundRobin, _) => Sends::Turns(carry),
            (Mode::Xor | Mode::Lacp, _) => Sends::Hashed(self.settings.policy, carry),
            (Mode::Broadcast, _) => Sends::All(carry),
            (Mode::ActiveBackup, Some(active)) => Sends::One(active),
            (Mode::Tlb | Mode::Alb, Some(active)) => Sends::Buckets {
                of: self.shares.of.clone(),
                active,
                receive: self.settings.mode == Mode::Alb,
            },
            (Mode::ActiveBackup | Mode::Tlb | Mode::Alb, None) => Sends::Nothing,
        };
        let slaves = there.zip(0..).filter_map(|(slave, place)| {
            let link = slave.link?;
            let is_active = active == Some(place);
            Some(Slave {
                interface: link.id,
                out: link.out,
                takes: self.takes(slave.collecting, is_active),
                mac: self.stands_for(link.mac, is_active),
            })
        });
        Bond::new(id, self.mac, slaves, sends, Arc::clone(&self.loads))
    }

    /// Returns which frames of a slave the bond accepts.
    ///
    /// RouterOS: as in Linux, backup slaves accept nothing; with balance-alb they accept unicast,
    /// since peers send to every slave.
    const fn takes(&self, collecting: bool, is_active: bool) -> Takes {
        match self.settings.mode {
            Mode::RoundRobin | Mode::Xor | Mode::Broadcast => Takes::All,
            Mode::Lacp if collecting => Takes::All,
            Mode::ActiveBackup | Mode::Tlb | Mode::Alb if is_active => Takes::All,
            Mode::Alb => Takes::NotShared,
            Mode::Lacp | Mode::ActiveBackup | Mode::Tlb => Takes::Nothing,
        }
    }

    /// Returns the source address of an inactive slave with balance-tlb or balance-alb. A slave
    /// whose address the bond uses takes the active slave's address; other slaves use their own.
    fn stands_for(&self, mac: Mac, is_active: bool) -> Option<Mac> {
        if !self.settings.mode.shares_out() || is_active {
            return None;
        }
        let active = self.links.active()?;
        let active = self.slaves.iter().find(|slave| slave.number == active)?;
        match mac == self.mac {
            true => active.link.map(|link| link.mac),
            false => Some(mac),
        }
    }

    fn active_place(&self) -> Option<u8> {
        let active = self.links.active()?;
        let there = self.slaves.iter().filter(|slave| slave.link.is_some());
        let mut places = there.zip(0..);
        let found = places.find(|(slave, _)| slave.number == active);
        found.map(|(_, place)| place)
    }

    /// Redistributes peers by the bytes sent to them in the last interval.
    pub(super) fn share_out_by_load(&mut self, now: Instant) {
        let sent = self.loads.bytes();
        let before = sent.iter().zip(&self.shares.sent[..]);
        for (lately, (now, before)) in self.shares.lately.iter_mut().zip(before) {
            *lately = now.wrapping_sub(*before);
        }
        *self.shares.sent = sent;
        self.shares.due = Some(now + SHARE);
    }

    /// Assigns every bucket to a slave that carries frames, so that the load is in proportion to
    /// the speeds.
    pub(super) fn share_out(&mut self, now: Instant) {
        if !self.settings.mode.shares_out() {
            self.shares.due = None;
            return;
        }
        let there = self.slaves.iter().filter(|slave| slave.link.is_some());
        let carry = there.zip(0..).filter(|(slave, _)| self.carries(slave));
        let speed = |slave: &super::Slave| slave.link.map_or(0, |link| link.megabits);
        let carry: Vec<_> = carry.map(|(slave, place)| (place, speed(slave))).collect();
        share_out(&mut self.shares.of, &self.shares.lately, &carry);
        self.shares.due.get_or_insert(now + SHARE);
    }
}
