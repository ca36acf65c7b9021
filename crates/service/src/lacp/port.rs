//! Port of a bond: variables of 6.4.4 to 6.4.8 and derived values.

use machine::{Duration, Instant};
use wire::Mac;
use wire::lacp::{Information, State};

use super::{Action, Config, Link, Timer};

/// State of the receive machine (6.4.12).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Receive {
    /// The link is down.
    #[default]
    Disabled,
    /// The partner's data expired; the port requests new data.
    Expired,
    /// No LACP partner.
    Defaulted,
    /// The partner's data is current.
    Current,
}

/// Selection state of a port (6.4.8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Selected {
    /// In no group.
    #[default]
    Unselected,
    /// In a group that is not active.
    Standby,
    /// In the active group.
    Selected,
}

/// State of the mux machine (6.4.15).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mux {
    /// Not attached.
    #[default]
    Detached,
    /// Waits for other ports of its aggregator.
    Waiting,
    /// Attached; announces this to the partner.
    Attached,
    /// Accepts frames.
    Collecting,
    /// Accepts and sends frames.
    Distributing,
}

/// Counters of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Sent LACPDUs.
    pub sent: u64,
    /// Received LACPDUs.
    pub received: u64,
    /// Received markers.
    pub markers: u64,
    /// Received marker responses.
    pub responses: u64,
    /// Malformed or unknown PDUs.
    pub unknown: u64,
    /// Received LACPDUs that this bond sent.
    pub looped: u64,
}

/// Aggregation group (6.4.14): ports with the same local key, partner system and partner key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) key: u16,
    pub(super) system_priority: u16,
    pub(super) system: Mac,
    pub(super) partner_key: u16,
    /// Port number of a link that cannot be aggregated.
    pub(super) alone: Option<u16>,
}

impl Group {
    /// System id of the partner; `None` without LACP.
    pub(super) fn partner(&self) -> Option<Mac> {
        (self.system != Mac::ZERO).then_some(self.system)
    }
}

/// Assumed partner if none was received: an individual link that is in sync (`Partner_Admin_…`).
pub(super) const NOBODY: Information = Information {
    system_priority: 0,
    system: Mac::ZERO,
    key: 0,
    port_priority: 0,
    port: 0,
    state: State(State::SYNCHRONIZATION.0 | State::COLLECTING.0 | State::DISTRIBUTING.0),
};
/// Port priority, as in Linux.
const PORT_PRIORITY: u16 = 255;
/// Maximum number of LACPDUs per [`FAST`] (6.4.16).
pub(super) const SENT: usize = 3;
/// `Fast_Periodic_Time`; also the interval of the rate limit.
pub(super) const FAST: Duration = Duration::from_secs(1);
/// `Slow_Periodic_Time`.
pub(super) const SLOW: Duration = Duration::from_secs(30);

/// Port.
#[derive(Debug)]
pub(super) struct Port {
    pub(super) number: u16,
    pub(super) link: Link,
    pub(super) receive: Receive,
    /// `current_while_timer`.
    pub(super) current_until: Option<Instant>,
    /// Operational values of the partner.
    pub(super) partner: Information,
    pub(super) selected: Selected,
    pub(super) group: Option<Group>,
    pub(super) mux: Mux,
    /// `wait_while_timer`, and whether it expired (`Ready_N`).
    pub(super) wait_until: Option<Instant>,
    pub(super) ready: bool,
    /// `periodic_timer`: next expiry and interval.
    pub(super) periodic: Option<(Instant, Duration)>,
    /// `NTT`.
    pub(super) need_to_transmit: bool,
    /// Times of the last LACPDUs, oldest first.
    pub(super) sent: [Option<Instant>; SENT],
    /// Start of the current second, and number of marker responses in it.
    pub(super) answered: (Instant, u8),
    /// End of the block after the port received its own LACPDU.
    pub(super) looped_until: Option<Instant>,
    pub(super) counters: Counters,
    /// Last reported role: collecting, distributing.
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

    /// Data that the port sends.
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

    /// Aggregation key of the port (802.1AX, 6.3.5).
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

    /// Reports the role to the owner if it changed.
    pub(super) fn report(&mut self, out: &mut Vec<Action>) {
        let does = (self.mux >= Mux::Collecting, self.mux == Mux::Distributing);
        if core::mem::replace(&mut self.told, does) != does {
            out.push(Action::Become {
                port: self.number,
                collecting: does.0,
                distributing: does.1,
            });
        }
    }

    /// Next timer.
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
