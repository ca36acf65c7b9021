//! What features want done, carried out.

use dataplane::DropReason;
use menu::{Changes, Store};
use service::neighbour::Event;

use super::Control;
use super::objects::Pending;
use crate::feature::{Effect, Effects, View};

impl Control {
    /// Lets the features follow: what a transaction changed, or without `changes` everything. Gives what is to be
    /// followed of what they want.
    pub(super) fn follow_features(&mut self, store: &Store, changes: Option<&Changes>) -> Pending {
        let mut out = Effects::default();
        let view = View {
            store,
            asking: &self.asking,
            now: self.now,
            clock: self.features.log.clock,
        };
        self.features.follow(&view, changes, &mut out);
        let pending = self.take_effects(out);
        self.due.snapshot |= self.register_services();
        pending
    }

    /// Lets the features do what is due.
    pub(super) fn tick_features(&mut self) {
        let mut out = Effects::default();
        self.features.tick(self.now, &mut out);
        self.carry_out(out);
    }

    /// Does what features want done; what comes and goes is followed at once.
    pub fn carry_out(&mut self, effects: Effects) {
        let pending = self.take_effects(effects);
        self.follow_objects(pending);
    }

    /// Does what features want done, but for what is to be followed.
    fn take_effects(&mut self, effects: Effects) -> Pending {
        let mut pending = Pending::default();
        let worker = effects.worker;
        self.workers
            .count_many(DropReason::FeatureSends, effects.lost);
        for effect in effects {
            match effect {
                Effect::Log(topics, message) => self.features.log.add(topics, message),
                Effect::ListEntry {
                    ipv6,
                    list,
                    address,
                    comes,
                } => self.firewall.enter_named(ipv6, &list, address, comes),
                Effect::Item(item, wanted) => {
                    self.intent.put(item, wanted, &mut pending.touched);
                }
                Effect::Object(object) => self.take_object(*object, &mut pending),
                Effect::Gone(owner) => self.drop_objects(owner, &mut pending),
                Effect::Gateway(wanted) => self.check_gateway(wanted),
                Effect::Send(outgoing) => self.send(outgoing, worker),
                Effect::Script { kind, source } => self.run_later(kind, source),
                Effect::Hear {
                    service,
                    interface,
                    on,
                } => {
                    let asked = (service, interface);
                    self.services.ask(self.published.table(), asked, on);
                }
                Effect::Neighbour {
                    ipv6,
                    interface,
                    packet,
                    from,
                } => {
                    let packet = &*packet;
                    match ipv6 {
                        false => self.feed4(interface, Event::Received { packet, from }),
                        true => self.feed6(interface, Event::Received { packet, from }),
                    }
                }
            }
        }
        pending
    }
}
