//! The links of a bond, as a machine: which of them are up, and which one is active.
//!
//! ```text
//! link of a slave ─┐               ┌─▶ Become: it is up or down
//! heard a slave ───┤─▶ look ─▶ up ─┤
//! time ────────────┘               └─▶ Active: this one carries what only one may carry
//! ```
//! Links are looked at in intervals, and a change counts when it has lasted for a delay (`link-monitoring=mii`); or a
//! slave is up while something is heard by it, for which targets are asked (`arp`). The rules are those of Linux's
//! driver, which RouterOS has: a delay to come up is not kept while no other slave is up, and a slave that hears
//! nothing for more than two intervals is down.

mod share;
#[cfg(test)]
mod tests;

use machine::{Duration, Instant, Machine};

pub use share::{BUCKETS, share_out};

/// Intervals without a sound after which a slave is down.
const SILENT: u32 = 2;

/// How slaves are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// They are not: all count as up.
    Nothing,
    /// By their links, which are looked at so often.
    Links(Duration),
    /// By what they hear of targets that are asked so often.
    Arp(Duration),
}

/// What is configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// How slaves are watched.
    pub watch: Watch,
    /// How long a link must be there before its slave is up.
    pub up_delay: Duration,
    /// How long it must be gone before its slave is down.
    pub down_delay: Duration,
    /// The slave that is active while it is up.
    pub primary: Option<u16>,
}

/// What happens to a bond's slaves. Each has a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The bond is configured anew.
    Configure(Config),
    /// A slave comes, with a link or without one. The order of coming is that of becoming active.
    Slave(u16, bool),
    /// A slave goes.
    SlaveGone(u16),
    /// The link of a slave is there, or not.
    Link(u16, bool),
    /// Something was received by a slave since the last look.
    Heard(u16),
}

/// What a bond wants done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A slave is up, or down.
    Become(u16, bool),
    /// This slave is active from now on; none: no slave is up.
    Active(Option<u16>),
    /// It is time to ask the targets.
    Ask,
}

/// What its timer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// Slaves are looked at.
    Look,
}

/// See the module.
#[derive(Debug)]
pub struct Links {
    config: Config,
    /// In the order in which they came.
    slaves: Vec<Slave>,
    active: Option<u16>,
    /// When slaves are looked at next.
    look: Option<Instant>,
}

#[derive(Debug)]
struct Slave {
    number: u16,
    link: bool,
    up: bool,
    /// When it is what its link says.
    turns: Option<Instant>,
    heard: bool,
    /// For how many intervals it has heard nothing.
    silent: u32,
}

impl Links {
    /// Those of a bond with this configuration, without slaves.
    pub const fn new(config: Config) -> Self {
        Self {
            config,
            slaves: Vec::new(),
            active: None,
            look: None,
        }
    }

    /// Whether a slave is up.
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

    /// Looks at all slaves.
    fn look(&mut self, now: Instant, out: &mut Vec<Action>) {
        match self.config.watch {
            Watch::Nothing => {
                for slave in &mut self.slaves {
                    slave.become_(true, out);
                }
            }
            Watch::Links(_) => self.look_at_links(now, out),
            Watch::Arp(_) => {
                for slave in &mut self.slaves {
                    let heard = core::mem::take(&mut slave.heard);
                    slave.silent = if heard { 0 } else { slave.silent + 1 };
                    match (slave.link, heard) {
                        (false, _) => slave.become_(false, out),
                        (true, true) => slave.become_(true, out),
                        (true, false) if slave.silent > SILENT => slave.become_(false, out),
                        (true, false) => {}
                    }
                }
                out.push(Action::Ask);
            }
        }
        self.choose(out);
    }

    fn look_at_links(&mut self, now: Instant, out: &mut Vec<Action>) {
        for at in 0..self.slaves.len() {
            let is_alone = self.slaves.iter().all(|slave| !slave.up);
            let slave = &mut self.slaves[at];
            if slave.link == slave.up {
                slave.turns = None;
                continue;
            }
            let delay = match slave.link {
                true if is_alone => Duration::ZERO,
                true => self.config.up_delay,
                false => self.config.down_delay,
            };
            let turns = *slave.turns.get_or_insert(now + delay);
            if turns <= now || delay == Duration::ZERO {
                slave.become_(slave.link, out);
            }
        }
    }

    /// Chooses the active slave: the primary one if that is up, else the one that is, else the first.
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

    /// Works out when the next look is worth something: links are looked at in a grid of their interval.
    fn plan(&mut self, now: Instant) {
        let differs = |slave: &Slave| slave.link != slave.up || slave.turns.is_some();
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
        self.turns = None;
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
                    (slave.turns, slave.silent) = (None, 0);
                }
                if config.watch == Watch::Nothing {
                    self.look(now, out);
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
                    turns: None,
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
            self.look(now, out);
            self.plan(now);
        }
    }

    fn deadline(&self) -> Option<(Instant, Timer)> {
        self.look.map(|at| (at, Timer::Look))
    }
}
