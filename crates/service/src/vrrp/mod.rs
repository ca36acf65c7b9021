//! One virtual router of VRRP, as a machine: version 3 (RFC 5798) and version 2 (RFC 3768).
//!
//! ```text
//!              up, priority 255                 priority 255
//!  initialise ──────────────────▶ master ◀──────────────────────────────┐
//!      │                          ▲    │ a better one advertises        │
//!      │ up        master is down │    ▼                                │
//!      └────────────────────────▶ backup ────────────────────────────── ┘
//! ```
//!
//! From any state `Down` leads back to `initialise`; a master says so first, by priority 0. A member of a group does
//! what the group's authority does ([`Event::Follow`]): it sends nothing and hears nothing (RouterOS).

mod config;
mod receive;
mod security;
#[cfg(test)]
mod tests;

use core::net::IpAddr;

use machine::{Duration, Instant, Machine};
use wire::{Mac, vrrp};

pub use config::{Authentication, Config, Version};
use receive::Offer;
pub use receive::{Fault, Heard, hear};

/// What a virtual router does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Nothing.
    #[default]
    Initialise,
    /// It waits for the master to fail.
    Backup,
    /// It has the addresses.
    Master,
}

/// What happens to a virtual router.
#[derive(Debug)]
pub enum Event<'a> {
    /// It is configured anew.
    Configure(Config),
    /// It may speak: its interface runs, and it has an address to speak with.
    Up,
    /// It may not any more.
    Down,
    /// An advertisement of this virtual router arrived, which [`hear`] has read.
    Received(&'a Heard<'a>),
    /// The authority of its group does this; none where it has no authority, and decides itself.
    Follow(Option<State>),
}

/// What a virtual router wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send this IP packet to a group, or to the other router.
    Send(Vec<u8>),
    /// It does this from now on.
    Become(State, Why),
    /// An advertisement was discarded.
    Discarded(Fault),
}

/// Why a virtual router does what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Its interface runs.
    Started,
    /// It owns the addresses.
    Owner,
    /// No master has been heard for so long.
    MasterDown,
    /// A better one is there: its priority, and who it is.
    Better(u8, IpAddr),
    /// Its interface does not run any more.
    Stopped,
    /// The authority of its group does.
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

/// The timers of a virtual router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// A master advertises.
    Advertise,
    /// A backup takes the master for dead.
    MasterDown,
}

/// What a virtual router has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Advertisements sent.
    pub sent: u64,
    /// Advertisements heard and accepted.
    pub received: u64,
    /// Advertisements discarded.
    pub discarded: u64,
    /// How often it became master.
    pub elected: u64,
}

/// See the module.
#[derive(Debug)]
pub struct VirtualRouter {
    config: Config,
    state: State,
    is_up: bool,
    follows: Option<State>,
    /// What the master says the interval is; the own one before it has said anything (RFC 5798, 6.1).
    master_interval: Duration,
    due: Option<Instant>,
    /// Of what it sends, as an authentication header tells it.
    sequence: u32,
    counters: Counters,
}

impl VirtualRouter {
    /// A virtual router that does nothing yet.
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

    /// What it does.
    pub const fn state(&self) -> State {
        self.state
    }

    /// How it is configured.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// What it has counted.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Its link address while it is master.
    pub const fn mac(&self) -> Mac {
        vrrp::virtual_mac(self.config.vrid, self.config.ipv6)
    }

    /// How long a backup waits longer the less its priority is (RFC 5798, 6.1; RFC 3768, 6.1).
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

    /// Sends an advertisement with this priority. Members of a group leave that to its authority.
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

    /// Takes an advertisement of this virtual router that is as it should be (RFC 5798, 6.4.2 and 6.4.3).
    fn take(&mut self, offer: &Offer, now: Instant, out: &mut Vec<Action>) {
        let own = self.config.priority;
        match (self.state, offer.priority) {
            (State::Initialise, _) => {}
            (State::Backup, RESIGNS) => self.due = Some(now + self.skew()),
            (State::Backup, theirs) if !self.config.preempt || theirs >= own => {
                self.master_interval = offer.interval;
                self.due = Some(now + self.master_down());
            }
            // It will be taken for dead in a while, and then this is master.
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

/// The priority of who owns the addresses of a virtual router (RFC 5798, 5.2.4).
const OWNER: u8 = 255;
/// The priority that says that a master stops.
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
