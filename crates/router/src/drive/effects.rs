//! What features want done, carried out.

use dataplane::Drop;
use menu::{Changes, Store};
use service::neighbour::Event;

use super::Control;
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
        if self.register_services() {
            self.publish();
        }
    }

    /// Lets the features do what is due.
    pub(super) fn tick_features(&mut self) {
        let mut out = Effects::default();
        self.features.tick(self.now, &mut out);
        self.carry_out(out);
    }

    /// Does what features want done.
    pub(crate) fn carry_out(&mut self, effects: Effects) {
        let worker = effects.worker;
        self.workers.count_many(Drop::FeatureSends, effects.lost);
        for effect in effects {
            match effect {
                Effect::Log(topics, message) => self.features.log.add(topics, message),
                Effect::ListEntry {
                    ipv6,
                    list,
                    address,
                    comes,
                } => self.firewall.enter_named(ipv6, &list, address, comes),
                Effect::Gateway(wanted) => self.check_gateway(wanted),
                Effect::Send(outgoing) => self.send(outgoing, worker),
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
    }
}
