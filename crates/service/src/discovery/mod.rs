//! Neighbour discovery (`/ip/neighbor`): announces the router by MNDP, CDP and LLDP (IEEE 802.1AB) and collects the
//! announcements of neighbours.
//!
//! ```text
//! interface added ─▶ announce at once, then in each interval ─▶ withdraw when the interface is removed
//! received ─▶ neighbour entry by interface and MAC address; data of each protocol expires separately
//! ```
//! The neighbour table is bounded per interface and in total; messages of further neighbours are counted and discarded.

mod announce;
mod config;
mod parse;
mod table;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use machine::{Duration, Instant, Machine};
use wire::Mac;

use announce::AnnouncementBuilder;
pub use config::{Config, Port, Protocol, Protocols, System};
pub use parse::Fault;
use parse::Message;
pub use table::{Announcement, Lldp, MOST, MOST_ON_PORT, Neighbour};
use table::{AnnouncementSource, Table};

/// Id of an interface.
pub type PortId = u32;

/// Maximum number of interfaces that announce in one tick; the others follow in the next ticks.
const AT_ONCE: usize = 128;
/// Minimum interval between answers to requests.
const ANSWERS: Duration = Duration::from_secs(1);

/// Events of neighbour discovery.
#[derive(Debug)]
pub enum Event<'a> {
    /// The configuration changed; `None` disables sending and receiving.
    Configure(Option<Config>),
    /// An interface was added, changed or removed.
    Port(PortId, Option<Port>),
    /// A message arrived.
    Received {
        /// Ingress interface.
        on: PortId,
        /// Interface of the bridge port, if different.
        below: Option<PortId>,
        /// Source MAC address.
        from: Mac,
        /// Protocol of the message.
        protocol: Protocol,
        /// Payload after the UDP, LLC/SNAP or Ethernet header.
        bytes: &'a [u8],
    },
}

/// Actions that the owner of the machine carries out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a message on an interface.
    Send(PortId, Protocol, Vec<u8>),
    /// The received message was discarded.
    Discarded(Fault),
}

/// Timers of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// An interface sends its next announcement.
    Tell,
    /// Data of a neighbour expires.
    Expire,
}

/// A local interface.
#[derive(Debug)]
struct LocalPort {
    port: Port,
    /// Time of the next announcement.
    due: Option<Instant>,
    /// Number of MNDP messages sent.
    counter: u32,
    /// Time of the last answer to a request.
    answered: Option<Instant>,
}

/// Neighbour discovery of all interfaces.
#[derive(Debug, Default)]
pub struct Discovery {
    config: Option<Config>,
    ports: BTreeMap<PortId, LocalPort>,
    due: BTreeSet<(Instant, PortId)>,
    /// MAC addresses of the interfaces; the lowest one is the router's chassis id.
    macs: BTreeSet<(Mac, PortId)>,
    table: Table,
}

impl Discovery {
    /// All neighbours, ordered by interface.
    pub fn neighbours(&self) -> impl Iterator<Item = &Neighbour> {
        self.table.all()
    }

    fn configure(&mut self, config: Option<Config>, now: Instant, out: &mut Vec<Action>) {
        let before = self.config.clone();
        if before == config {
            return;
        }
        let tells = |config: &Option<Config>, protocol: Protocol| {
            { config.as_ref() }.is_some_and(|config| config.tells && config.protocols.has(protocol))
        };
        for protocol in [Protocol::Cdp, Protocol::Lldp] {
            if tells(&before, protocol) && !tells(&config, protocol) {
                let ports: Vec<_> = self.ports.keys().copied().collect();
                for id in ports {
                    self.announce(id, protocol, true, now, out);
                }
            }
        }
        let listens = config.as_ref().filter(|config| config.listens);
        let heard = listens.map_or(Protocols::default(), |config| config.protocols);
        self.table.keep(heard);
        self.config = config;
        let does = self.config.as_ref().is_some_and(|config| config.tells);
        let ids: Vec<_> = self.ports.keys().copied().collect();
        for id in ids {
            self.schedule(id, does.then_some(now));
        }
    }

    fn lay(&mut self, id: PortId, port: Option<Port>, now: Instant, out: &mut Vec<Action>) {
        let Some(port) = port else {
            for protocol in [Protocol::Cdp, Protocol::Lldp] {
                self.announce(id, protocol, true, now, out);
            }
            self.schedule(id, None);
            if let Some(own) = self.ports.remove(&id) {
                self.macs.remove(&(own.port.mac, id));
            }
            return self.table.forget(id);
        };
        let mac = port.mac;
        match self.ports.get_mut(&id) {
            Some(own) if own.port == port => return,
            Some(own) => {
                self.macs.remove(&(own.port.mac, id));
                own.port = port;
            }
            None => {
                let own = LocalPort {
                    port,
                    due: None,
                    counter: 0,
                    answered: None,
                };
                self.ports.insert(id, own);
            }
        }
        self.macs.insert((mac, id));
        let does = self.config.as_ref().is_some_and(|config| config.tells);
        self.schedule(id, does.then_some(now));
    }

    fn schedule(&mut self, id: PortId, at: Option<Instant>) {
        let Some(own) = self.ports.get_mut(&id) else {
            return;
        };
        if let Some(before) = own.due {
            self.due.remove(&(before, id));
        }
        own.due = at;
        if let Some(at) = at {
            self.due.insert((at, id));
        }
    }

    /// Sends an announcement, if sending is enabled on the interface. With `ends` it withdraws earlier announcements.
    fn announce(
        &self,
        id: PortId,
        protocol: Protocol,
        ends: bool,
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        let (Some(config), Some(own)) = (&self.config, self.ports.get(&id)) else {
            return;
        };
        if !config.tells || !config.protocols.has(protocol) {
            return;
        }
        let endpoint = |neighbour: &Neighbour| {
            let lldp = neighbour.lldp().and_then(|told| told.lldp.as_ref());
            lldp.is_some_and(|lldp| lldp.endpoint)
        };
        let uptime = now.saturating_since(config.system.started).as_secs();
        let telling = AnnouncementBuilder {
            config,
            port: &own.port,
            chassis: self.macs.first().map_or(own.port.mac, |(mac, _)| *mac),
            counter: own.counter,
            uptime: u32::try_from(uptime).unwrap_or(u32::MAX),
            hold: if ends { 0 } else { config.hold() },
            endpoints: self.table.on(id).any(endpoint),
        };
        out.push(Action::Send(id, protocol, telling.bytes(protocol)));
    }

    fn announce_all(&mut self, id: PortId, now: Instant, out: &mut Vec<Action>) {
        for protocol in Protocol::ALL {
            self.announce(id, protocol, false, now, out);
        }
        if let Some(own) = self.ports.get_mut(&id) {
            own.counter = own.counter.wrapping_add(1);
        }
        let interval = self.config.as_ref().map(|config| config.interval);
        self.schedule(id, interval.map(|interval| now + interval));
    }

    fn receive(
        &mut self,
        source: AnnouncementSource,
        protocol: Protocol,
        bytes: &[u8],
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        let AnnouncementSource {
            port: on,
            mac: from,
            ..
        } = source;
        let (Some(config), Some(own)) = (&self.config, self.ports.get_mut(&on)) else {
            return;
        };
        // Ignores the router's own frames and disabled protocols.
        if from == own.port.mac || !config.protocols.has(protocol) {
            return;
        }
        let message = match parse::read(protocol, bytes) {
            Ok(message) => message,
            Err(fault) => return out.push(Action::Discarded(fault)),
        };
        match message {
            Message::Request => {
                let rests = |at: Instant| now.saturating_since(at) < ANSWERS;
                if config.tells && !own.answered.is_some_and(rests) {
                    own.answered = Some(now);
                    self.announce(on, protocol, false, now, out);
                }
            }
            Message::Announcement(_, _) if !config.listens => {}
            Message::Announcement(Some(0), _) => self.table.end(on, from, protocol),
            Message::Announcement(seconds, told) => {
                let seconds = seconds.unwrap_or(config.hold());
                let until = now + Duration::from_secs(seconds.into());
                if !self.table.put(source, protocol, now, until, *told) {
                    out.push(Action::Discarded(Fault::Full));
                }
            }
        }
    }
}

impl Machine for Discovery {
    type Event<'a> = Event<'a>;
    type Action = Action;
    type Timer = Timer;

    fn handle(&mut self, event: Event<'_>, now: Instant, out: &mut Vec<Action>) {
        match event {
            Event::Configure(config) => self.configure(config, now, out),
            Event::Port(id, port) => self.lay(id, port, now, out),
            Event::Received {
                on,
                below,
                from,
                protocol,
                bytes,
            } => {
                let source = AnnouncementSource {
                    port: on,
                    below,
                    mac: from,
                };
                self.receive(source, protocol, bytes, now, out);
            }
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Action>) {
        self.table.expire(now);
        for _ in 0..AT_ONCE {
            let Some((_, id)) = self.due.first().copied().filter(|due| due.0 <= now) else {
                break;
            };
            self.announce_all(id, now, out);
        }
    }

    fn deadline(&self) -> Option<(Instant, Timer)> {
        let tell = self.due.first().map(|due| (due.0, Timer::Tell));
        let expire = self.table.deadline().map(|at| (at, Timer::Expire));
        [tell, expire].into_iter().flatten().min_by_key(|due| due.0)
    }
}
