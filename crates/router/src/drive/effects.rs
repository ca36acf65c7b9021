//! What features want done, carried out.

use menu::{Changes, Store};

use super::Control;
use super::objects::Pending;
use crate::feature::{Effect, Effects, View};

impl Control {
    /// Lets the features follow: what a transaction changed, or without `changes` everything.
    pub(super) fn follow_features(&mut self, store: &Store, changes: Option<&Changes>) {
        let mut out = Effects::default();
        let view = View {
            store,
            asking: &self.asking,
            now: self.now,
            clock: self.features.log.clock,
        };
        self.features.follow(&view, changes, &mut out);
        self.carry_out(out);
    }

    /// Lets the features do what is due.
    pub(super) fn tick_features(&mut self) {
        let mut out = Effects::default();
        self.features.tick(self.now, &mut out);
        self.carry_out(out);
    }

    /// Does what features want done; what comes and goes is followed at once.
    pub fn carry_out(&mut self, effects: Effects) {
        let mut pending = Pending::default();
        for effect in effects {
            match effect {
                Effect::Log(topics, message) => self.features.log.add(topics, message),
                Effect::ListEntry {
                    ipv6,
                    list,
                    address,
                    comes,
                } => self.firewall.enter_named(ipv6, &list, address, comes),
                Effect::Object(object) => self.take_object(*object, &mut pending),
                Effect::Gone(owner) => self.drop_objects(owner, &mut pending),
            }
        }
        self.follow_objects(pending);
    }
}
