//! LACP of one bond (IEEE 802.1AX-2014, clause 6): both ends agree on the links that carry frames.
//!
//! ```text
//! LACPDU ─▶ receive ─▶ partner data ─▶ select ─▶ mux ─▶ Become
//!              │               (aggregator,   (attach, collect,
//!           periodic            active group)  distribute)
//!              └──────────▶ transmit ◀────────────┘─▶ Send
//! ```
//!
//! Each state machine of the standard is a file, and its variables are fields in `port.rs`. One group of ports
//! carries frames. Ports with another partner are standby until the active group has no port left, so that no partner
//! sends to a port that does not collect. A port without LACP partner may carry frames alone (individual link).
//!
//! After each event all machines run until none changes state ([`Lacp::settle`]).

mod config;
mod mux;
mod port;
mod receive;
mod select;
#[cfg(test)]
mod tests;
mod transmit;

use machine::{Instant, Machine};
use wire::Mac;
use wire::lacp::{Information, LEN, Pdu};

pub use config::{Config, Link};
pub use port::{Counters, Mux, Receive, Selected};
use port::{Group, Port};

/// Maximum number of rounds per event; the machines settle within far fewer.
const ROUNDS: usize = 64;

/// LACP of one bond. It has no ports initially.
#[derive(Debug)]
pub struct Lacp {
    config: Config,
    /// Sorted by number.
    ports: Vec<Port>,
    /// Group of the ports that carry frames.
    active: Option<Group>,
    unsettled: u64,
}

/// Events of a bond's links.
#[derive(Debug)]
pub enum Event<'a> {
    /// The configuration changed.
    Configure(Config),
    /// A port was added; its number is 1 to 65,535.
    Port(u16),
    /// A port was removed.
    PortGone(u16),
    /// The link of a port changed.
    Link(u16, Link),
    /// A slow-protocols PDU arrived on a port; holds the bytes after the EtherType.
    Received(u16, &'a [u8]),
}

/// Actions that the owner of the machine carries out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a slow-protocols PDU on a port.
    Send {
        /// Port.
        port: u16,
        /// Bytes after the EtherType.
        pdu: Box<[u8; LEN]>,
    },
    /// The role of a port changed.
    Become {
        /// Port.
        port: u16,
        /// The port accepts frames.
        collecting: bool,
        /// The port sends frames.
        distributing: bool,
    },
    /// A port received a LACPDU of this bond: its cable is a loop.
    Looped {
        /// Port.
        port: u16,
    },
}

/// Timers of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// `current_while_timer`: the partner's data expires.
    Current,
    /// `wait_while_timer`: the wait for more ports of an aggregator ends.
    Wait,
    /// `periodic_timer`: the next periodic LACPDU.
    Periodic,
    /// The rate limit allows the next LACPDU.
    Transmit,
    /// A looped port is tried again.
    Loop,
}

/// State of a port, for display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortView {
    /// Data that the port sends.
    pub actor: Information,
    /// Data of the partner.
    pub partner: Information,
    /// State of the receive machine.
    pub receive: Receive,
    /// Selection state.
    pub selected: Selected,
    /// State of the mux machine.
    pub mux: Mux,
    /// The port receives its own LACPDUs.
    pub looped: bool,
    /// Counters.
    pub counters: Counters,
}

/// State of the active aggregator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aggregate {
    /// Local key.
    pub key: u16,
    /// System id of the partner; `None` without LACP.
    pub partner: Option<Mac>,
    /// Key of the partner.
    pub partner_key: u16,
    /// Number of ports.
    pub ports: usize,
}

impl Lacp {
    /// Creates a bond without ports.
    pub const fn new(config: Config) -> Self {
        Self {
            config,
            ports: Vec::new(),
            active: None,
            unsettled: 0,
        }
    }

    /// Returns the state of a port.
    pub fn port(&self, number: u16) -> Option<PortView> {
        let port = &self.ports[self.place(number)?];
        Some(PortView {
            actor: port.actor(&self.config),
            partner: port.partner,
            receive: port.receive,
            selected: port.selected,
            mux: port.mux,
            looped: port.looped_until.is_some(),
            counters: port.counters,
        })
    }

    /// Returns the active aggregator.
    pub fn aggregate(&self) -> Option<Aggregate> {
        let active = self.active?;
        let of_it = self.ports.iter().filter(|port| port.group == self.active);
        Some(Aggregate {
            key: active.key,
            partner: active.partner(),
            partner_key: active.partner_key,
            ports: of_it.count(),
        })
    }

    /// Number of events after which the machines did not settle; always 0 unless there is a bug.
    pub const fn unsettled(&self) -> u64 {
        self.unsettled
    }

    fn place(&self, number: u16) -> Option<usize> {
        self.ports
            .binary_search_by_key(&number, |port| port.number)
            .ok()
    }

    fn configure(&mut self, config: Config) {
        if config == self.config {
            return;
        }
        self.config = config;
        for port in &mut self.ports {
            port.selected = Selected::Unselected;
            port.need_to_transmit = true;
        }
    }

    fn change_link(&mut self, number: u16, link: Link, now: Instant) {
        let Some(place) = self.place(number) else {
            return;
        };
        let port = &mut self.ports[place];
        let before = core::mem::replace(&mut port.link, link);
        if before.up != link.up {
            port.change_enabled(now);
        } else if before != link {
            port.selected = Selected::Unselected;
            port.need_to_transmit = true;
        }
    }

    fn receive(&mut self, number: u16, bytes: &[u8], now: Instant, out: &mut Vec<Action>) {
        let Some(place) = self.place(number) else {
            return;
        };
        let config = self.config;
        let port = &mut self.ports[place];
        if !port.link.up {
            return;
        }
        match Pdu::parse(bytes) {
            Err(_) => port.counters.unknown += 1,
            Ok(Pdu::Marker { response, marker }) => port.answer_marker(response, marker, now, out),
            Ok(Pdu::Lacp { actor, .. }) if actor.system == config.system => {
                port.receive_own(&config, now, out);
            }
            Ok(Pdu::Lacp { actor, partner, .. }) => {
                port.receive(&config, actor, partner, now);
                self.forget_moved(place);
            }
        }
    }

    /// `port_moved`: resets a port without link if its partner appears on another port.
    fn forget_moved(&mut self, to: usize) {
        let heard = self.ports[to].partner;
        for (place, port) in self.ports.iter_mut().enumerate() {
            let same = (port.partner.system, port.partner.port) == (heard.system, heard.port);
            if place != to && !port.link.up && same {
                port.partner = port::NOBODY;
            }
        }
    }

    /// Runs all machines until none changes state, then sends LACPDUs and reports changed roles.
    fn settle(&mut self, now: Instant, out: &mut Vec<Action>) {
        let mut rounds = 0;
        while self.select() | self.multiplex(now) {
            rounds += 1;
            if rounds == ROUNDS {
                self.unsettled += 1;
                break;
            }
        }
        for port in &mut self.ports {
            port.pace(&self.config, now);
            port.transmit(&self.config, now, out);
            port.report(out);
        }
    }
}

impl Machine for Lacp {
    type Event<'a> = Event<'a>;
    type Action = Action;
    type Timer = Timer;

    fn handle(&mut self, event: Event<'_>, now: Instant, out: &mut Vec<Action>) {
        match event {
            Event::Configure(config) => self.configure(config),
            Event::Port(number) => {
                let place = self.ports.binary_search_by_key(&number, |port| port.number);
                if let Err(place) = place {
                    self.ports.insert(place, Port::new(number));
                }
            }
            Event::PortGone(number) => {
                if let Some(place) = self.place(number) {
                    self.ports.remove(place);
                }
            }
            Event::Link(number, link) => self.change_link(number, link, now),
            Event::Received(number, bytes) => self.receive(number, bytes, now, out),
        }
        self.settle(now, out);
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Action>) {
        if self.deadline().is_none_or(|(due, _)| due > now) {
            return;
        }
        for port in &mut self.ports {
            port.time_out(now);
        }
        self.settle(now, out);
    }

    fn deadline(&self) -> Option<(Instant, Timer)> {
        self.ports.iter().filter_map(Port::deadline).min()
    }
}
