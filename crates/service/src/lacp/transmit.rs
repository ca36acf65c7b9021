//! LACPDU transmission: periodic machine (6.4.13) and rate limit (6.4.16).

use machine::{Duration, Instant};
use wire::lacp::{Pdu, State};

use super::port::{FAST, Port, SLOW};
use super::{Action, Config};

impl Port {
    /// Transmission interval; `None` if both sides are passive or the link is down.
    fn interval(&self, config: &Config) -> Option<Duration> {
        let spoken = config.active || self.partner.state.has(State::ACTIVITY);
        let fast = self.partner.state.has(State::SHORT_TIMEOUT);
        (self.link.up && spoken).then_some(if fast { FAST } else { SLOW })
    }

    /// Runs the periodic machine.
    pub(super) fn pace(&mut self, config: &Config, now: Instant) {
        let wanted = self.interval(config);
        let paced = self.periodic.map(|(_, interval)| interval);
        if wanted == paced {
            return;
        }
        // A switch to the fast rate sends at once.
        self.need_to_transmit |= wanted.is_some() && paced > wanted;
        self.periodic = wanted.map(|interval| (now + interval, interval));
    }

    /// Runs the transmit machine.
    pub(super) fn transmit(&mut self, config: &Config, now: Instant, out: &mut Vec<Action>) {
        if self.may_transmit_at().is_none_or(|at| at > now) {
            return;
        }
        self.need_to_transmit = false;
        self.sent.rotate_left(1);
        self.sent[self.sent.len() - 1] = Some(now);
        self.counters.sent += 1;
        let pdu = Pdu::Lacp {
            actor: self.actor(config),
            partner: self.partner,
            collector_delay: 0,
        };
        out.push(Action::Send {
            port: self.number,
            pdu: Box::new(pdu.to_bytes()),
        });
    }

    /// Earliest time of the next LACPDU within the rate limit; `None` if there is nothing to send.
    pub(super) fn may_transmit_at(&self) -> Option<Instant> {
        let speaks = self.need_to_transmit && self.periodic.is_some();
        let free = self.sent[0].map_or(Instant::ZERO, |oldest| oldest + FAST);
        speaks.then_some(free)
    }
}
