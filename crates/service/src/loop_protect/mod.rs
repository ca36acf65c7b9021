//! RouterOS loop protect: interfaces broadcast frames; an interface that receives a frame of the same router is part
//! of a loop and is disabled for a time.
//!
//! ```text
//!            frame of an enabled interface
//!   on ──────────────────────────────────────▶ disabled
//!    ▲                                            │ disable time, or new configuration
//!    └────────────────────────────────────────────┘
//! ```
//! RouterOS: the source MAC address alone identifies the sender of a frame. The payload after EtherType 0x9003 is not
//! published; here it is padding.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use machine::{Duration, Instant, Machine};
use wire::Mac;

/// Minimum interval between frames of an interface.
const LEAST: Duration = Duration::from_millis(100);

/// Payload of a frame: padding (IEEE 802.3, 3.2.8).
pub const PAYLOAD: [u8; 46] = [0; 46];

/// Settings of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Interval between frames, at least 100 ms.
    pub send_interval: Duration,
    /// Time for which the interface is disabled; zero: until its configuration changes.
    pub disable_time: Duration,
}

/// Events; the owner numbers the interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Loop protect was enabled or reconfigured on an interface; the interface is enabled.
    Protect(u64, Config),
    /// Loop protect was disabled, or the interface was removed.
    Leave(u64),
    /// MAC address and link state of an interface changed.
    Link(u64, Mac, bool),
    /// A loop-protect frame arrived.
    Received {
        /// Ingress interface.
        by: u64,
        /// Source MAC address.
        source: Mac,
    },
}

/// Actions that the owner of the machine carries out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Broadcast a loop-protect frame.
    Send(u64),
    /// Disable an interface.
    SwitchOff {
        /// Interface to disable.
        interface: u64,
        /// Interface that sent the frame, possibly the same one.
        sender: u64,
        /// Source MAC address of the frame.
        source: Mac,
    },
    /// Enable an interface again.
    SwitchOn(u64),
}

/// State of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Enabled: sends and receives.
    On,
    /// Disabled because of a loop.
    Off,
}

/// Interface with loop protect.
#[derive(Clone, Copy, Debug)]
struct Interface {
    config: Config,
    mac: Mac,
    has_link: bool,
    state: State,
    /// Time of the next frame, or end of the disable time.
    due: Option<Instant>,
}

/// Loop protect of all interfaces of a router.
#[derive(Clone, Debug, Default)]
pub struct LoopProtect {
    interfaces: BTreeMap<u64, Interface>,
    /// Interfaces by MAC address.
    macs: BTreeSet<(Mac, u64)>,
    due: BTreeSet<(Instant, u64)>,
}

impl LoopProtect {
    /// True if loop protect is enabled on the interface.
    pub fn is_protected(&self, interface: u64) -> bool {
        self.interfaces.contains_key(&interface)
    }

    /// True if the interface is disabled because of a loop.
    pub fn is_off(&self, interface: u64) -> bool {
        let interface = self.interfaces.get(&interface);
        interface.is_some_and(|interface| interface.state == State::Off)
    }

    /// True if loop protect is enabled on no interface.
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
        // Ignores late frames of a disabled interface; otherwise both ends of a cable would be disabled although one
        // suffices.
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
    /// Interface with the next timer.
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
