//! A port of a bond: its variables (6.4.4 to 6.4.8), and what they say together.

use machine::{Duration, Instant};
use wire::Mac;
use wire::lacp::{Information, State};

use super::{Action, Config, Link, Timer};

/// What the state of a receive machine is (6.4.12).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Receive {
    /// There is no link.
    #[default]
    Disabled,
    /// The partner is silent, and is asked.
    Expired,
    /// Nobody speaks LACP there.
    Defaulted,
    /// The partner is known.
    Current,
}

/// Whether a port is among those that may carry frames (6.4.8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Selected {
    /// It belongs to nothing.
    #[default]
    Unselected,
    /// It would, but others do.
    Standby,
    /// It is.
    Selected,
}

/// What the state of a mux machine is (6.4.15).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mux {
    /// It belongs to nothing.
    #[default]
    Detached,
    /// It waits for others of its aggregator.
    Waiting,
    /// It is in its aggregator, and the partner is told so.
    Attached,
    /// It takes frames.
    Collecting,
    /// It takes and sends frames.
    Distributing,
}

/// What a port sent and received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// LACPDUs that it sent.
    pub sent: u64,
    /// LACPDUs that it received.
    pub received: u64,
    /// Markers that it received.
    pub markers: u64,
    /// Answers to markers that it received.
    pub responses: u64,
    /// PDUs that were none.
    pub unknown: u64,
    /// LACPDUs that it had sent itself.
    pub looped: u64,
}

/// What ports have in common that may be one (6.4.14): the same key here, the same system and key there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) key: u16,
    pub(super) system_priority: u16,
    pub(super) system: Mac,
    pub(super) partner_key: u16,
    /// The port, where it can only be alone.
    pub(super) alone: Option<u16>,
}

impl Group {
    /// The partner's system; none where nobody speaks LACP.
    pub(super) fn partner(&self) -> Option<Mac> {
        (self.system != Mac::ZERO).then_some(self.system)
    }
}

/// Who the partner is taken for that was never heard: one that takes all, alone (`Partner_Admin_…`).
pub(super) const NOBODY: Information = Information {
    system_priority: 0,
    system: Mac::ZERO,
    key: 0,
    port_priority: 0,
    port: 0,
    state: State(State::SYNCHRONIZATION.0 | State::COLLECTING.0 | State::DISTRIBUTING.0),
};
/// The priority of ports, as Linux has it.
const PORT_PRIORITY: u16 = 255;
/// LACPDUs that a port sends within [`FAST`] at most (6.4.16).
pub(super) const SENT: usize = 3;
/// How often one speaks who is heard fast (`Fast_Periodic_Time`), and the span of the limit of sending.
pub(super) const FAST: Duration = Duration::from_secs(1);
/// How often one speaks who is not (`Slow_Periodic_Time`).
pub(super) const SLOW: Duration = Duration::from_secs(30);

/// A port.
#[derive(Debug)]
pub(super) struct Port {
    pub(super) number: u16,
    pub(super) link: Link,
    pub(super) receive: Receive,
    /// `current_while_timer`.
    pub(super) current_until: Option<Instant>,
    /// The partner's operational values.
    pub(super) partner: Information,
    pub(super) selected: Selected,
    pub(super) group: Option<Group>,
    pub(super) mux: Mux,
    /// `wait_while_timer`, and whether it ran out (`Ready_N`).
    pub(super) wait_until: Option<Instant>,
    pub(super) ready: bool,
    /// `periodic_timer`, and how often it comes.
    pub(super) periodic: Option<(Instant, Duration)>,
    /// `NTT`.
    pub(super) need_to_transmit: bool,
    /// When LACPDUs were sent last, the oldest first.
    pub(super) sent: [Option<Instant>; SENT],
    /// Since when answers to markers are counted, and how many there were.
    pub(super) answered: (Instant, u8),
    /// It heard itself, and until then carries nothing.
    pub(super) looped_until: Option<Instant>,
    pub(super) counters: Counters,
    /// What the owner was told: collecting, distributing.
    told: (bool, bool),
}

impl Port {
    pub(super) fn new(number: u16) -> Self {
        Self {
            number,
            link: Link::default(),
            receive: Receive::default(),
            current_until: None,
            partner: NOBODY,
            selected: Selected::default(),
            group: None,
            mux: Mux::default(),
            wait_until: None,
            ready: false,
            periodic: None,
            need_to_transmit: false,
            sent: [None; SENT],
            answered: (Instant::ZERO, 0),
            looped_until: None,
            counters: Counters::default(),
            told: (false, false),
        }
    }

    /// What it tells of itself.
    pub(super) fn actor(&self, config: &Config) -> Information {
        let state = State::default()
            .with(State::ACTIVITY, config.active)
            .with(State::SHORT_TIMEOUT, config.fast)
            .with(State::AGGREGATION, self.link.full_duplex)
            .with(State::SYNCHRONIZATION, self.mux >= Mux::Attached)
            .with(State::COLLECTING, self.mux >= Mux::Collecting)
            .with(State::DISTRIBUTING, self.mux >= Mux::Distributing)
            .with(State::DEFAULTED, self.receive == Receive::Defaulted)
            .with(State::EXPIRED, self.receive == Receive::Expired);
        Information {
            system_priority: config.system_priority,
            system: config.system,
            key: config.key(self.link),
            port_priority: PORT_PRIORITY,
            port: self.number,
            state,
        }
    }

    /// What it has in common with others that may be one with it.
    pub(super) fn common(&self, config: &Config) -> Group {
        let aggregates = self.link.full_duplex && self.partner.state.has(State::AGGREGATION);
        Group {
            key: config.key(self.link),
            system_priority: self.partner.system_priority,
            system: self.partner.system,
            partner_key: self.partner.key,
            alone: (!aggregates).then_some(self.number),
        }
    }

    /// Tells the owner what it does, where that is something else.
    pub(super) fn tell(&mut self, out: &mut Vec<Action>) {
        let does = (self.mux >= Mux::Collecting, self.mux == Mux::Distributing);
        if core::mem::replace(&mut self.told, does) != does {
            out.push(Action::Become {
                port: self.number,
                collecting: does.0,
                distributing: does.1,
            });
        }
    }

    /// When there is something to do next.
    pub(super) fn deadline(&self) -> Option<(Instant, Timer)> {
        let timers = [
            self.current_until.map(|at| (at, Timer::Current)),
            self.wait_until.map(|at| (at, Timer::Wait)),
            self.periodic.map(|(at, _)| (at, Timer::Periodic)),
            self.may_transmit_at().map(|at| (at, Timer::Transmit)),
            self.looped_until.map(|at| (at, Timer::Loop)),
        ];
        timers.into_iter().flatten().min()
    }
}
