//! LACP of one bond (IEEE 802.1AX-2014, clause 6), as a machine: which links carry frames, as both ends agree.
//!
//! ```text
//! PDU ─▶ receive ─▶ what the partner is ─▶ select ─▶ mux ─▶ Become
//!            │                (which aggregator, and  (attach, collect,
//!         periodic             which of them is used)  distribute)
//!            └──────────▶ transmit ◀──────────────────────┘─▶ Send
//! ```
//!
//! The standard's machines are files here, its variables fields of `port.rs`. A bond has one set of ports that carries
//! frames; ports whose partner is another system wait as standby ones until it has none left, so that no partner sends
//! to where nobody listens. A port that hears no LACP at all may carry frames alone (an individual link).
//!
//! After an event all machines run until none has anything to do ([`Lacp::settle`]).

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

/// How often the machines are run for an event at most: they settle long before.
const ROUNDS: usize = 64;

/// The link aggregation control of a bond. It has no port at first.
#[derive(Debug)]
pub struct Lacp {
    config: Config,
    /// In the order of their numbers.
    ports: Vec<Port>,
    /// What those ports have in common that carry frames.
    active: Option<Group>,
    unsettled: u64,
}

/// What happens to a bond's links.
#[derive(Debug)]
pub enum Event<'a> {
    /// The bond is configured anew.
    Configure(Config),
    /// A port comes; its number is 1 to 65,535.
    Port(u16),
    /// A port goes.
    PortGone(u16),
    /// A port's link is so from now on.
    Link(u16, Link),
    /// A PDU of the slow protocols arrived by a port: what follows the EtherType.
    Received(u16, &'a [u8]),
}

/// What a bond wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send this out of a port, behind the EtherType of the slow protocols.
    Send {
        /// The port.
        port: u16,
        /// The PDU.
        pdu: Box<[u8; LEN]>,
    },
    /// A port does this from now on.
    Become {
        /// The port.
        port: u16,
        /// It takes frames.
        collecting: bool,
        /// It sends frames.
        distributing: bool,
    },
    /// A port hears what this bond says: its cable leads back here.
    Looped {
        /// The port.
        port: u16,
    },
}

/// What a timer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// A partner was not heard for too long (`current_while_timer`).
    Current,
    /// Others may still come to an aggregator (`wait_while_timer`).
    Wait,
    /// It is time to speak (`periodic_timer`).
    Periodic,
    /// A PDU waits, as too many were sent.
    Transmit,
    /// A port that heard itself is tried again.
    Loop,
}

/// What a bond knows of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortView {
    /// What it tells of itself.
    pub actor: Information,
    /// What it knows of its partner.
    pub partner: Information,
    /// The state of its receive machine.
    pub receive: Receive,
    /// Whether it is among those that may carry frames.
    pub selected: Selected,
    /// The state of its mux machine.
    pub mux: Mux,
    /// It hears itself.
    pub looped: bool,
    /// What it sent and received.
    pub counters: Counters,
}

/// What the ports that carry frames have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aggregate {
    /// Their key here.
    pub key: u16,
    /// The partner's system; none where nobody speaks LACP.
    pub partner: Option<Mac>,
    /// Their key there.
    pub partner_key: u16,
    /// How many they are.
    pub ports: usize,
}

impl Lacp {
    /// That of a bond with this configuration.
    pub const fn new(config: Config) -> Self {
        Self {
            config,
            ports: Vec::new(),
            active: None,
            unsettled: 0,
        }
    }

    /// What it knows of a port.
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

    /// What those ports have in common that carry frames, or are about to.
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

    /// How often the machines did not settle: never, if they are right.
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
                port.hear_itself(&config, now, out);
            }
            Ok(Pdu::Lacp { actor, partner, .. }) => {
                port.hear(&config, actor, partner, now);
                self.forget_moved(place);
            }
        }
    }

    /// What a port without a link knew is forgotten when its partner speaks at another port (`port_moved`).
    fn forget_moved(&mut self, to: usize) {
        let heard = self.ports[to].partner;
        for (place, port) in self.ports.iter_mut().enumerate() {
            let same = (port.partner.system, port.partner.port) == (heard.system, heard.port);
            if place != to && !port.link.up && same {
                port.partner = port::NOBODY;
            }
        }
    }

    /// Runs all machines until none has anything to do, then speaks, and tells the owner what came of it.
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
            port.tell(out);
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
