//! Loop protection of RouterOS: interfaces send frames to all, and one that receives what an interface of the same
//! router has sent is part of a loop, and is switched off for a time.
//!
//! ```text
//!            frame of an interface that is on
//!   on ──────────────────────────────────────▶ switched off
//!    ▲                                            │ disable time, or configured anew
//!    └────────────────────────────────────────────┘
//! ```
//! RouterOS: who sent a frame is told by its source alone. What stands behind the EtherType (0x9003) is not published;
//! here it is nothing but padding.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use machine::{Duration, Instant, Machine};
use wire::Mac;

/// The least time between two frames of an interface.
const LEAST: Duration = Duration::from_millis(100);

/// What such a frame carries: padding (IEEE 802.3, 3.2.8).
pub const PAYLOAD: [u8; 46] = [0; 46];

/// How an interface is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The time between two of its frames: 100 ms at least.
    pub send_interval: Duration,
    /// For how long it is switched off; zero is until it is configured anew.
    pub disable_time: Duration,
}

/// What happens to interfaces, which are named by numbers of their owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// An interface is protected from now on, or configured anew, which switches it on.
    Protect(u64, Config),
    /// An interface is protected no more, or gone.
    Leave(u64),
    /// An interface has this link address, and has a link or none.
    Link(u64, Mac, bool),
    /// A frame of loop protection came in by an interface.
    Received {
        /// The interface.
        by: u64,
        /// Its source.
        source: Mac,
    },
}

/// What is wanted of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It sends a frame of loop protection to all.
    Send(u64),
    /// It is switched off.
    SwitchOff {
        /// The interface.
        interface: u64,
        /// The one whose frame it received: itself or another.
        sender: u64,
        /// The address of that one.
        source: Mac,
    },
    /// It is switched on again.
    SwitchOn(u64),
}

/// Whether an interface is part of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It sends, and listens.
    On,
    /// It was in a loop.
    Off,
}

/// An interface that is protected.
#[derive(Clone, Copy, Debug)]
struct Interface {
    config: Config,
    mac: Mac,
    has_link: bool,
    state: State,
    /// When its next frame is due, or the end of the time in which it is switched off.
    due: Option<Instant>,
}

/// All interfaces of a router that are protected from loops.
#[derive(Clone, Debug, Default)]
pub struct LoopProtect {
    interfaces: BTreeMap<u64, Interface>,
    /// By link address.
    macs: BTreeSet<(Mac, u64)>,
    due: BTreeSet<(Instant, u64)>,
}

impl LoopProtect {
    /// Whether an interface is protected.
    pub fn is_protected(&self, interface: u64) -> bool {
        self.interfaces.contains_key(&interface)
    }

    /// Whether an interface is switched off.
    pub fn is_off(&self, interface: u64) -> bool {
        let interface = self.interfaces.get(&interface);
        interface.is_some_and(|interface| interface.state == State::Off)
    }

    /// Whether nothing is protected.
    pub fn is_empty(&self) -> bool {
        self.interfaces.is_empty()
    }

    fn set_due(&mut self, interface: u64, at: Option<Instant>) {
        let Some(of) = self.interfaces.get_mut(&interface) else {
            return;
        };
        if let Some(before) = core::mem::replace(&mut of.due, at) {
            self.due.remove(&(before, interface));
        }
        if let Some(at) = at {
            self.due.insert((at, interface));
        }
    }

    fn protect(&mut self, interface: u64, config: Config, now: Instant, out: &mut Vec<Action>) {
        match self.interfaces.get_mut(&interface) {
            Some(of) if of.config == config => return,
            Some(of) => of.config = config,
            None => {
                let of = Interface {
                    config,
                    mac: Mac::default(),
                    has_link: false,
                    state: State::On,
                    due: None,
                };
                self.interfaces.insert(interface, of);
            }
        }
        self.switch_on(interface, now, out);
    }

    fn leave(&mut self, interface: u64, out: &mut Vec<Action>) {
        self.set_due(interface, None);
        let Some(gone) = self.interfaces.remove(&interface) else {
            return;
        };
        self.macs.remove(&(gone.mac, interface));
        if gone.state == State::Off {
            out.push(Action::SwitchOn(interface));
        }
    }

    fn link(&mut self, interface: u64, mac: Mac, has_link: bool) {
        if let Some(of) = self.interfaces.get_mut(&interface) {
            self.macs.remove(&(of.mac, interface));
            (of.mac, of.has_link) = (mac, has_link);
            self.macs.insert((mac, interface));
        }
    }

    fn received(&mut self, by: u64, source: Mac, now: Instant, out: &mut Vec<Action>) {
        let is_on = |interface: u64| {
            let interface = self.interfaces.get(&interface);
            interface.is_some_and(|interface| interface.state == State::On)
        };
        if !is_on(by) {
            return;
        }
        // What one that is off had sent before is no sign of a loop that is left: else both ends of a cable would be
        // switched off where one is enough.
        let of_mac = self.macs.range((source, u64::MIN)..=(source, u64::MAX));
        let mut senders = of_mac.map(|(_, sender)| *sender).filter(|at| is_on(*at));
        let Some(sender) = senders.next() else {
            return;
        };
        let Some(of) = self.interfaces.get_mut(&by) else {
            return;
        };
        of.state = State::Off;
        let disable_time = of.config.disable_time;
        let until = (!disable_time.is_zero()).then(|| now + disable_time);
        self.set_due(by, until);
        out.push(Action::SwitchOff {
            interface: by,
            sender,
            source,
        });
    }

    fn switch_on(&mut self, interface: u64, now: Instant, out: &mut Vec<Action>) {
        let Some(of) = self.interfaces.get_mut(&interface) else {
            return;
        };
        if core::mem::replace(&mut of.state, State::On) == State::Off {
            out.push(Action::SwitchOn(interface));
        }
        let next = now + of.config.send_interval.max(LEAST);
        self.set_due(interface, Some(next));
    }
}

impl Machine for LoopProtect {
    type Event<'a> = Event;
    type Action = Action;
    /// The interface that has something due.
    type Timer = u64;

    fn handle(&mut self, event: Event, now: Instant, out: &mut Vec<Action>) {
        match event {
            Event::Protect(interface, config) => self.protect(interface, config, now, out),
            Event::Leave(interface) => self.leave(interface, out),
            Event::Link(interface, mac, has_link) => self.link(interface, mac, has_link),
            Event::Received { by, source } => self.received(by, source, now, out),
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Action>) {
        while let Some((_, interface)) = self.due.first().copied().filter(|(at, _)| *at <= now) {
            self.set_due(interface, None);
            let Some(of) = self.interfaces.get(&interface).copied() else {
                continue;
            };
            match of.state {
                State::Off => self.switch_on(interface, now, out),
                State::On => {
                    if of.has_link {
                        out.push(Action::Send(interface));
                    }
                    let next = now + of.config.send_interval.max(LEAST);
                    self.set_due(interface, Some(next));
                }
            }
        }
    }

    fn deadline(&self) -> Option<(Instant, u64)> {
        self.due.first().copied()
    }
}
