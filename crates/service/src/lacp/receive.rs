//! Receive machine (6.4.12): the partner's data and its expiry.

use machine::{Duration, Instant};
use wire::lacp::{Information, Marker, Pdu, State};

use super::port::{FAST, NOBODY, Port, Receive, SLOW, Selected};
use super::{Action, Config};

/// Number of missed LACPDUs after which a partner expires (table 6-1: `Short_Timeout_Time`, `Long_Timeout_Time`).
const SILENT: u32 = 3;
/// Maximum number of marker responses per second; slow protocols may send ten frames a second (annex 57A.2 of IEEE
/// 802.3).
const ANSWERS: u8 = 5;
/// State bits that distinguish partners, in addition to their identifiers.
const APART: State = State::AGGREGATION;
/// State bits that the partner must have received correctly (`update_NTT`).
const KNOWN: State = State(
    State::ACTIVITY.0 | State::SHORT_TIMEOUT.0 | State::AGGREGATION.0 | State::SYNCHRONIZATION.0,
);

/// Returns the identifiers of a participant with only these state bits.
fn identity(of: &Information, bits: State) -> Information {
    Information {
        state: of.state.only(bits),
        ..*of
    }
}

impl Port {
    /// Handles a change of the link state.
    pub(super) fn change_enabled(&mut self, now: Instant) {
        self.selected = Selected::Unselected;
        self.looped_until = None;
        if self.link.up {
            self.expire(now);
            self.need_to_transmit = true;
        } else {
            self.receive = Receive::Disabled;
            self.current_until = None;
            self.partner.state = self.partner.state.with(State::SYNCHRONIZATION, false);
        }
    }

    /// The partner's data expired: requests a LACPDU with short timeout.
    fn expire(&mut self, now: Instant) {
        self.receive = Receive::Expired;
        self.partner.state = { self.partner.state }
            .with(State::SYNCHRONIZATION, false)
            .with(State::SHORT_TIMEOUT, true);
        self.current_until = Some(now + FAST * SILENT);
    }

    /// Handles expired timers.
    pub(super) fn time_out(&mut self, now: Instant) {
        let due = |timer: Option<Instant>| timer.is_some_and(|at| at <= now);
        if due(self.looped_until) {
            self.looped_until = None;
        }
        if due(self.current_until) {
            match self.receive {
                Receive::Current => self.expire(now),
                Receive::Expired | Receive::Defaulted | Receive::Disabled => self.default_partner(),
            }
        }
        if due(self.wait_until) {
            self.wait_until = None;
            self.ready = true;
        }
        if let Some((at, interval)) = self.periodic
            && at <= now
        {
            self.periodic = Some((now + interval, interval));
            self.need_to_transmit = true;
        }
    }

    /// `recordDefault`: assumes a partner without LACP.
    fn default_partner(&mut self) {
        if identity(&self.partner, APART) != identity(&NOBODY, APART) {
            self.selected = Selected::Unselected;
        }
        self.receive = Receive::Defaulted;
        self.current_until = None;
        self.partner = NOBODY;
    }

    /// Handles a LACPDU: `actor` is the partner's data, `partner` the partner's view of this port.
    pub(super) fn receive(
        &mut self,
        config: &Config,
        actor: Information,
        partner: Information,
        now: Instant,
    ) {
        self.counters.received += 1;
        let own = self.actor(config);
        if identity(&actor, APART) != identity(&self.partner, APART) {
            self.selected = Selected::Unselected;
        }
        self.need_to_transmit |= identity(&partner, KNOWN) != identity(&own, KNOWN);

        // `recordPDU`: the partner is in sync if it knows this port's data, or if it is an individual link.
        let spoken = actor.state.has(State::ACTIVITY)
            || own.state.has(State::ACTIVITY) && partner.state.has(State::ACTIVITY);
        let known = identity(&partner, APART) == identity(&own, APART)
            || !actor.state.has(State::AGGREGATION);
        let in_step = actor.state.has(State::SYNCHRONIZATION) && known && spoken;
        self.partner = Information {
            state: actor.state.with(State::SYNCHRONIZATION, in_step),
            ..actor
        };
        self.receive = Receive::Current;
        let periodic = if config.fast { FAST } else { SLOW };
        self.current_until = Some(now + periodic * SILENT);
    }

    /// Handles a LACPDU of this bond itself: blocks the looped port temporarily.
    pub(super) fn receive_own(&mut self, config: &Config, now: Instant, out: &mut Vec<Action>) {
        self.counters.looped += 1;
        if self.looped_until.is_none() {
            out.push(Action::Looped { port: self.number });
        }
        self.selected = Selected::Unselected;
        let periodic = if config.fast { FAST } else { SLOW };
        self.looped_until = Some(now + periodic * SILENT);
    }

    /// Marker responder (6.5.4.2).
    pub(super) fn answer_marker(
        &mut self,
        response: bool,
        marker: Marker,
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        if response {
            self.counters.responses += 1;
            return;
        }
        self.counters.markers += 1;
        if now.saturating_since(self.answered.0) >= Duration::from_secs(1) {
            self.answered = (now, 0);
        }
        if self.answered.1 < ANSWERS {
            self.answered.1 += 1;
            let response = Pdu::Marker {
                response: true,
                marker,
            };
            out.push(Action::Send {
                port: self.number,
                pdu: Box::new(response.to_bytes()),
            });
        }
    }
}
