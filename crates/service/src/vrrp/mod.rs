//! One VRRP virtual router: version 3 (RFC 5798) and version 2 (RFC 3768).
//!
//! ```text
//!              up, priority 255                 priority 255
//!  initialise ──────────────────▶ master ◀──────────────────────────────┐
//!      │                          ▲    │ a better one advertises        │
//!      │ up        master is down │    ▼                                │
//!      └────────────────────────▶ backup ────────────────────────────── ┘
//! ```
//!
//! `Down` leads to `initialise` from any state; a master first announces this with priority 0. A member of a group
//! takes the state of its group authority ([`Event::Follow`]), and neither sends nor handles advertisements
//! (RouterOS).

mod config;
mod receive;
mod security;
#[cfg(test)]
mod tests;

use core::net::IpAddr;

use machine::{Duration, Instant, Machine};
use wire::{Mac, vrrp};

pub use config::{Authentication, Config, Version};
use receive::AdvertisementContents;
pub use receive::{Fault, ReceivedAdvertisement, parse};

/// State of a virtual router.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Inactive.
    #[default]
    Initialise,
    /// Waits for the master to fail.
    Backup,
    /// Owns the virtual addresses.
    Master,
}

/// Events of a virtual router.
#[derive(Debug)]
pub enum Event<'a> {
    /// The configuration changed.
    Configure(Config),
    /// The interface is running and has a source address.
    Up,
    /// The interface is not running, or lost its source address.
    Down,
    /// An advertisement of this virtual router arrived, parsed by [`parse`].
    Received(&'a ReceivedAdvertisement<'a>),
    /// The state of its group authority; `None` if there is no authority and the virtual router decides itself.
    Follow(Option<State>),
}

/// Actions that the owner of the machine carries out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send this IP packet to the VRRP group of its family.
    Send(Vec<u8>),
    /// The state changed.
    Become(State, Why),
    /// An advertisement was discarded.
    Discarded(Fault),
}

/// Reason for a state change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The interface is running.
    Started,
    /// The router owns the addresses (priority 255).
    Owner,
    /// The master-down interval expired.
    MasterDown,
    /// A better master advertised: its priority and address.
    Better(u8, IpAddr),
    /// The interface stopped running.
    Stopped,
    /// The group authority changed its state.
    Group,
}

impl core::fmt::Display for Why {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Started => f.write_str("startup"),
            Self::Owner => f.write_str("owner of the addresses"),
            Self::MasterDown => f.write_str("master down timer"),
            Self::Better(priority, from) => write!(f, "got higher priority {priority} from {from}"),
            Self::Stopped => f.write_str("interface down"),
            Self::Group => f.write_str("group authority"),
        }
    }
}

/// Timers of a virtual router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// Next advertisement of a master.
    Advertise,
    /// End of the master-down interval.
    MasterDown,
}

/// Counters of a virtual router.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Sent advertisements.
    pub sent: u64,
    /// Accepted advertisements.
    pub received: u64,
    /// Discarded advertisements.
    pub discarded: u64,
    /// Number of transitions to master.
    pub elected: u64,
}

/// VRRP virtual router.
#[derive(Debug)]
pub struct VirtualRouter {
    config: Config,
    state: State,
    is_up: bool,
    follows: Option<State>,
    /// Advertisement interval of the master; before the first advertisement the router's own (RFC 5798, 6.1).
    master_interval: Duration,
    due: Option<Instant>,
    /// Sequence number of sent authentication headers.
    sequence: u32,
    counters: Counters,
}

impl VirtualRouter {
    /// Creates an inactive virtual router.
    pub fn new(config: Config) -> Self {
        Self {
            master_interval: config.interval,
            config,
            state: State::Initialise,
            is_up: false,
            follows: None,
            due: None,
            sequence: 0,
            counters: Counters::default(),
        }
    }

    /// State.
    pub const fn state(&self) -> State {
        self.state
    }

    /// Configuration.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Counters.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Virtual MAC address.
    pub const fn mac(&self) -> Mac {
        vrrp::virtual_mac(self.config.vrid, self.config.ipv6)
    }

    /// Skew time: the lower the priority, the longer a backup waits (RFC 5798, 6.1; RFC 3768, 6.1).
    fn skew(&self) -> Duration {
        let of = match self.config.version {
            Version::V2 => Duration::from_secs(1),
            Version::V3 => self.master_interval,
        };
        of * (256 - u32::from(self.config.priority)) / 256
    }

    fn master_down(&self) -> Duration {
        self.master_interval * 3 + self.skew()
    }

    fn become_(&mut self, state: State, why: Why, now: Instant, out: &mut Vec<Action>) {
        let before = core::mem::replace(&mut self.state, state);
        self.due = match state {
            _ if self.follows.is_some() => None,
            State::Initialise => None,
            State::Backup => Some(now + self.master_down()),
            State::Master => Some(now + self.config.interval),
        };
        if before == state {
            return;
        }
        if state == State::Master {
            self.counters.elected += 1;
            self.master_interval = self.config.interval;
            self.advertise(self.config.priority, out);
        }
        out.push(Action::Become(state, why));
    }

    /// Sends an advertisement with this priority, unless a group authority does.
    fn advertise(&mut self, priority: u8, out: &mut Vec<Action>) {
        if self.follows.is_some() {
            return;
        }
        self.sequence = self.sequence.wrapping_add(1);
        if let Some(packet) = self.config.packet(priority, self.sequence) {
            self.counters.sent += 1;
            out.push(Action::Send(packet));
        }
    }

    fn start(&mut self, now: Instant, out: &mut Vec<Action>) {
        self.master_interval = self.config.interval;
        match self.follows {
            Some(state) => self.become_(state, Why::Group, now, out),
            None if self.config.priority == OWNER => {
                self.become_(State::Master, Why::Owner, now, out);
            }
            None => self.become_(State::Backup, Why::Started, now, out),
        }
    }

    fn stop(&mut self, why: Why, now: Instant, out: &mut Vec<Action>) {
        if self.state == State::Master {
            self.advertise(RESIGNS, out);
        }
        self.become_(State::Initialise, why, now, out);
    }

    fn configure(&mut self, config: Config, now: Instant, out: &mut Vec<Action>) {
        if config == self.config {
            return;
        }
        let is_another = (config.vrid, config.ipv6) != (self.config.vrid, self.config.ipv6);
        if is_another && self.is_up {
            self.stop(Why::Stopped, now, out);
        }
        self.master_interval = config.interval;
        self.config = config;
        if !self.is_up {
            return;
        }
        match self.state {
            State::Initialise => self.start(now, out),
            // Timers follow the new settings.
            State::Backup if self.config.priority == OWNER && self.follows.is_none() => {
                self.become_(State::Master, Why::Owner, now, out);
            }
            state => self.become_(state, Why::Started, now, out),
        }
    }

    fn follow(&mut self, authority: Option<State>, now: Instant, out: &mut Vec<Action>) {
        if self.follows == authority {
            return;
        }
        if self.follows.is_none() && self.state == State::Master {
            self.advertise(RESIGNS, out);
        }
        self.follows = authority;
        match (self.is_up, authority) {
            (false, _) => {}
            (true, Some(state)) => self.become_(state, Why::Group, now, out),
            (true, None) => self.start(now, out),
        }
    }

    /// Handles a valid advertisement of this virtual router (RFC 5798, 6.4.2 and 6.4.3).
    fn take(&mut self, offer: &AdvertisementContents, now: Instant, out: &mut Vec<Action>) {
        let own = self.config.priority;
        match (self.state, offer.priority) {
            (State::Initialise, _) => {}
            (State::Backup, RESIGNS) => self.due = Some(now + self.skew()),
            (State::Backup, theirs) if !self.config.preempt || theirs >= own => {
                self.master_interval = offer.interval;
                self.due = Some(now + self.master_down());
            }
            // Ignored: the master-down interval expires soon, and then this router takes over.
            (State::Backup, _) => {}
            (State::Master, RESIGNS) => {
                self.advertise(own, out);
                self.due = Some(now + self.config.interval);
            }
            (State::Master, theirs) => {
                let is_higher = Some(offer.from) > self.config.source;
                if theirs > own || theirs == own && is_higher {
                    self.master_interval = offer.interval;
                    let why = Why::Better(theirs, offer.from);
                    self.become_(State::Backup, why, now, out);
                }
            }
        }
    }
}

/// Priority of the address owner (RFC 5798, 5.2.4).
const OWNER: u8 = 255;
/// Priority of a master that resigns.
const RESIGNS: u8 = 0;

impl Machine for VirtualRouter {
    type Event<'a> = Event<'a>;
    type Action = Action;
    type Timer = Timer;

    fn handle(&mut self, event: Event<'_>, now: Instant, out: &mut Vec<Action>) {
        match event {
            Event::Configure(config) => self.configure(config, now, out),
            Event::Up if self.is_up => {}
            Event::Up => {
                self.is_up = true;
                self.start(now, out);
            }
            Event::Down if !self.is_up => {}
            Event::Down => {
                self.stop(Why::Stopped, now, out);
                self.is_up = false;
            }
            Event::Follow(authority) => self.follow(authority, now, out),
            Event::Received(_) if self.follows.is_some() || !self.is_up => {}
            Event::Received(heard) => match receive::check(&self.config, heard) {
                Ok(offer) => {
                    self.counters.received += 1;
                    // The next master continues this sequence.
                    self.sequence = offer.sequence.unwrap_or(0).max(self.sequence);
                    self.take(&offer, now, out);
                }
                Err(fault) => {
                    self.counters.discarded += 1;
                    out.push(Action::Discarded(fault));
                }
            },
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Action>) {
        if self.due.is_none_or(|due| due > now) {
            return;
        }
        match self.state {
            State::Initialise => self.due = None,
            State::Backup => self.become_(State::Master, Why::MasterDown, now, out),
            State::Master => {
                self.advertise(self.config.priority, out);
                self.due = Some(now + self.config.interval);
            }
        }
    }

    fn deadline(&self) -> Option<(Instant, Timer)> {
        let timer = match self.state {
            State::Master => Timer::Advertise,
            State::Initialise | State::Backup => Timer::MasterDown,
        };
        self.due.map(|due| (due, timer))
    }
}
