//! Link monitoring of a bonding interface: determines the state of each slave and selects the active slave.
//!
//! ```text
//! link of a slave ──────┐                      ┌─▶ Become: a slave went up or down
//! packet from a slave ──┤─▶ check ─▶ up, down ─┤
//! time ─────────────────┘                      └─▶ Active: another slave became the active one
//! ```
//! With `link-monitoring=mii` the machine checks the links in intervals, and a change counts after its delay. With
//! `arp` a slave is up while it receives packets; the machine asks its owner to send ARP requests to the targets. The
//! rules are those of the Linux bonding driver, which RouterOS uses: the up delay is skipped while no other slave is
//! up, and a slave that receives nothing for more than two intervals is down.

mod share;
#[cfg(test)]
mod tests;

use machine::{Duration, Instant, Machine};

pub use share::{BUCKETS, share_out};

/// ARP monitoring: intervals without received packets after which a slave is down.
const SILENT_CHECKS: u32 = 2;

/// Link monitoring mode (`link-monitoring`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// No monitoring: all slaves count as up.
    Nothing,
    /// Checks the link state in this interval.
    Links(Duration),
    /// Sends ARP requests in this interval and checks for received packets.
    Arp(Duration),
}

/// Configuration of a bonding interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Link monitoring mode.
    pub watch: Watch,
    /// Delay between link up and slave up (`up-delay`).
    pub up_delay: Duration,
    /// Delay between link down and slave down (`down-delay`).
    pub down_delay: Duration,
    /// Slave that is active whenever it is up.
    pub primary: Option<u16>,
}

/// Events of a bonding interface. The owner numbers the slaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The configuration was set or changed.
    Configure(Config),
    /// A slave was added; the flag is its link state. Slaves become active in the order in which they were added.
    Slave(u16, bool),
    /// A slave was removed.
    SlaveGone(u16),
    /// The link of a slave went up (`true`) or down.
    Link(u16, bool),
    /// A slave received a packet since the last check.
    Heard(u16),
}

/// Actions that the owner of the machine carries out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A slave went up (`true`) or down.
    Become(u16, bool),
    /// The active slave changed; `None`: no slave is up.
    Active(Option<u16>),
    /// Send ARP requests to the targets now.
    Ask,
}

/// Timers of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// Next check of the slaves.
    Look,
}

/// Link monitor of one bonding interface.
#[derive(Debug)]
pub struct Links {
    config: Config,
    /// Slaves in order of their addition.
    slaves: Vec<Slave>,
    active: Option<u16>,
    /// Time of the next check.
    look: Option<Instant>,
}

#[derive(Debug)]
struct Slave {
    number: u16,
    link: bool,
    up: bool,
    /// End of the running up or down delay, at which the slave takes over its link state.
    changes_at: Option<Instant>,
    heard: bool,
    /// Number of consecutive intervals without received packets.
    silent: u32,
}

impl Links {
    /// Creates a monitor without slaves.
    pub const fn new(config: Config) -> Self {
        Self {
            config,
            slaves: Vec::new(),
            active: None,
            look: None,
        }
    }

    /// True if this slave is up.
    pub fn is_up(&self, number: u16) -> bool {
        let mut slaves = self.slaves.iter();
        slaves.any(|slave| slave.number == number && slave.up)
    }

    /// The active slave.
    pub const fn active(&self) -> Option<u16> {
        self.active
    }

    fn slave(&mut self, number: u16) -> Option<&mut Slave> {
        self.slaves.iter_mut().find(|slave| slave.number == number)
    }

    /// Checks all slaves.
    fn check(&mut self, now: Instant, out: &mut Vec<Action>) {
        match self.config.watch {
            Watch::Nothing => {
                for slave in &mut self.slaves {
                    slave.become_(true, out);
                }
            }
            Watch::Links(_) => self.check_links(now, out),
            Watch::Arp(_) => {
                for slave in &mut self.slaves {
                    let heard = core::mem::take(&mut slave.heard);
                    slave.silent = if heard { 0 } else { slave.silent + 1 };
                    match (slave.link, heard) {
                        (false, _) => slave.become_(false, out),
                        (true, true) => slave.become_(true, out),
                        (true, false) if slave.silent > SILENT_CHECKS => slave.become_(false, out),
                        (true, false) => {}
                    }
                }
                out.push(Action::Ask);
            }
        }
        self.choose(out);
    }

    fn check_links(&mut self, now: Instant, out: &mut Vec<Action>) {
        for at in 0..self.slaves.len() {
            let is_alone = self.slaves.iter().all(|slave| !slave.up);
            let slave = &mut self.slaves[at];
            if slave.link == slave.up {
                slave.changes_at = None;
                continue;
            }
            let delay = match slave.link {
                true if is_alone => Duration::ZERO,
                true => self.config.up_delay,
                false => self.config.down_delay,
            };
            let changes_at = *slave.changes_at.get_or_insert(now + delay);
            if changes_at <= now || delay == Duration::ZERO {
                slave.become_(slave.link, out);
            }
        }
    }

    /// Selects the active slave: the primary slave, else the current one, else the first one; slaves that are down do
    /// not count.
    fn choose(&mut self, out: &mut Vec<Action>) {
        let up = |number: &u16| self.is_up(*number);
        let primary = self.config.primary.filter(up);
        let first = self.slaves.iter().find(|slave| slave.up);
        let first = first.map(|slave| slave.number);
        let active = primary.or_else(|| self.active.filter(up)).or(first);
        if active != self.active {
            self.active = active;
            out.push(Action::Active(active));
        }
    }

    /// Schedules the next check, on a grid of the monitoring interval; none while no slave can change.
    fn plan(&mut self, now: Instant) {
        let differs = |slave: &Slave| slave.link != slave.up || slave.changes_at.is_some();
        let next = |interval: Duration| {
            let interval = interval.max(Duration::from_millis(1));
            let since = u128::from(now.as_nanos()) % interval.as_nanos();
            now + (interval - Duration::from_nanos(since as u64))
        };
        self.look = match self.config.watch {
            Watch::Nothing => None,
            Watch::Links(_) if !self.slaves.iter().any(differs) => None,
            Watch::Arp(_) if self.slaves.is_empty() => None,
            Watch::Links(interval) | Watch::Arp(interval) => {
                self.look.filter(|at| *at > now).or(Some(next(interval)))
            }
        };
    }
}

impl Slave {
    fn become_(&mut self, up: bool, out: &mut Vec<Action>) {
        self.changes_at = None;
        if core::mem::replace(&mut self.up, up) != up {
            out.push(Action::Become(self.number, up));
        }
    }
}

impl Machine for Links {
    type Event<'a> = Event;
    type Action = Action;
    type Timer = Timer;

    fn handle(&mut self, event: Event, now: Instant, out: &mut Vec<Action>) {
        match event {
            Event::Configure(config) if config == self.config => return,
            Event::Configure(config) => {
                self.config = config;
                self.look = None;
                for slave in &mut self.slaves {
                    (slave.changes_at, slave.silent) = (None, 0);
                }
                if config.watch == Watch::Nothing {
                    self.check(now, out);
                }
            }
            Event::Slave(number, link) => {
                if self.slave(number).is_some() {
                    return;
                }
                let up = link || self.config.watch == Watch::Nothing;
                self.slaves.push(Slave {
                    number,
                    link,
                    up,
                    changes_at: None,
                    heard: false,
                    silent: 0,
                });
                if up {
                    out.push(Action::Become(number, true));
                }
            }
            Event::SlaveGone(number) => {
                let up = self.is_up(number);
                self.slaves.retain(|slave| slave.number != number);
                if up {
                    out.push(Action::Become(number, false));
                }
            }
            Event::Link(number, link) => {
                if let Some(slave) = self.slave(number) {
                    slave.link = link;
                }
            }
            Event::Heard(number) => {
                if let Some(slave) = self.slave(number) {
                    slave.heard = true;
                }
                return;
            }
        }
        self.choose(out);
        self.plan(now);
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Action>) {
        if self.look.is_some_and(|at| at <= now) {
            self.look = None;
            self.check(now, out);
            self.plan(now);
        }
    }

    fn deadline(&self) -> Option<(Instant, Timer)> {
        self.look.map(|at| (at, Timer::Look))
    }
}
