//! Fragments of packets for this router: put together, then heard.

use frame::InterfaceId;
use machine::{Instant, Machine};
use service::icmp::{v4, v6};
use service::reassembly::{Action, Event, Reassembly};

use super::Control;
use super::half::TimerKey;

/// What a packet is remembered by while it is incomplete: where its first piece came in, and by
/// which worker.
pub(crate) type Tag = (InterfaceId, u16);

impl Control {
    /// Takes a piece of an IPv4 packet.
    pub(super) fn collect4(&mut self, packet: &[u8], tag: Tag) {
        let mut actions = Vec::new();
        let event = Event::Fragment {
            packet,
            zone: 0,
            tag,
        };
        self.pieces4.handle(event, self.now, &mut actions);
        self.put_together4(actions);
    }

    /// Takes a piece of an IPv6 packet.
    pub(super) fn collect6(&mut self, packet: &[u8], tag: Tag) {
        let mut actions = Vec::new();
        // Link-local addresses mean something on one link only.
        let event = Event::Fragment {
            packet,
            zone: tag.0.0,
            tag,
        };
        self.pieces6.handle(event, self.now, &mut actions);
        self.put_together6(actions);
    }

    pub(super) fn tick_pieces4(&mut self) {
        let mut actions = Vec::new();
        self.pieces4.tick(self.now, &mut actions);
        self.put_together4(actions);
    }

    pub(super) fn tick_pieces6(&mut self) {
        let mut actions = Vec::new();
        self.pieces6.tick(self.now, &mut actions);
        self.put_together6(actions);
    }

    fn put_together4(&mut self, actions: Vec<Action<Tag>>) {
        for action in actions {
            let (packet, (ingress, worker), error) = match action {
                Action::Whole { packet, tag } => (packet, tag, None),
                Action::TimedOut { first, tag } => {
                    (first, tag, Some(v4::Error::ReassemblyTimeExceeded))
                }
                Action::ParameterProblem {
                    packet,
                    pointer,
                    tag,
                } => {
                    let pointer = u8::try_from(pointer).unwrap_or(u8::MAX);
                    (packet, tag, Some(v4::Error::ParameterProblem { pointer }))
                }
            };
            let Some(mut frame) = self.workers.frame(&packet) else {
                continue;
            };
            frame.ingress = ingress;
            match error {
                None => self.hear_local4(frame, worker),
                Some(error) => {
                    self.error4(&frame, error, worker);
                    self.workers.free(frame);
                }
            }
        }
        let deadline = due(&self.pieces4);
        self.timers.set(TimerKey::Pieces4, deadline);
    }

    fn put_together6(&mut self, actions: Vec<Action<Tag>>) {
        for action in actions {
            let (packet, (ingress, worker), error) = match action {
                Action::Whole { packet, tag } => (packet, tag, None),
                Action::TimedOut { first, tag } => {
                    (first, tag, Some(v6::Error::ReassemblyTimeExceeded))
                }
                Action::ParameterProblem {
                    packet,
                    pointer,
                    tag,
                } => {
                    let code = v6::Parameter::Field;
                    let error = v6::Error::ParameterProblem { code, pointer };
                    (packet, tag, Some(error))
                }
            };
            let Some(mut frame) = self.workers.frame(&packet) else {
                continue;
            };
            frame.ingress = ingress;
            match error {
                None => self.hear_local6(frame, worker),
                Some(error) => {
                    self.error6(&frame, error, worker);
                    self.workers.free(frame);
                }
            }
        }
        let deadline = due(&self.pieces6);
        self.timers.set(TimerKey::Pieces6, deadline);
    }
}

fn due(pieces: &Reassembly<Tag>) -> Option<Instant> {
    pieces.deadline().map(|(at, _)| at)
}
