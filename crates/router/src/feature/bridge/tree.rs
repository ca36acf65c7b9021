//! Spanning tree of a bridge: feeds ports and BPDUs to the machine of `service::stp` and carries
//! out its actions.

use std::collections::{BTreeMap, BTreeSet};

use dataplane::service::{FrameContent, Match, Rate, Service};
use dataplane::table::HostKind;
use frame::InterfaceId;
use machine::{Instant, Machine};
use service::stp::{Action, Bridge, Config, Event, Link, PortConfig, Protocol, State};
use wire::EtherType;
use wire::bpdu::{GROUP, PROVIDER_GROUP};

use super::{BridgeState, Bridges};
use crate::feature::Effects;
use crate::feature::hear::{How, Outgoing, ReceiveOutcome, ReceivedPacket};
use crate::intent::ItemId;

/// Service that receives BPDUs.
pub(super) const SERVICE: &str = "stp";
/// Allows a thousand ports whose neighbours send at the maximum rate.
const RATE: Rate = Rate {
    per_second: 10_000,
    burst: 2_048,
};
/// The LLC header of BPDUs (IEEE 802.1Q, 14.1).
const LLC: [u8; 3] = [0x42, 0x42, 0x03];
/// Bytes of an Ethernet header.
const ETHERNET: usize = 14;

/// Spanning tree of one bridge.
#[derive(Debug)]
pub(super) struct Tree {
    machine: Bridge,
    config: Config,
    /// Ports as last passed to the machine, by number.
    told: BTreeMap<u16, (PortConfig, Link)>,
    /// Whether the bridge was enabled when ports were last passed on.
    is_up: bool,
    /// Trees in which each port learns, and in which it forwards: one bit per tree, bit 0 for the
    /// common tree.
    states: BTreeMap<u16, (u32, u32)>,
}

/// Whether an action changes the state of a port.
pub(super) const fn becomes(action: &Action) -> bool {
    matches!(action, Action::Become { .. })
}

impl Tree {
    pub(super) fn new(config: Config) -> Self {
        Self {
            machine: Bridge::new(config.clone()),
            config,
            told: BTreeMap::new(),
            is_up: true,
            states: BTreeMap::new(),
        }
    }

    pub(super) fn machine(&self) -> &Bridge {
        &self.machine
    }

    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    pub(super) fn is_on(&self) -> bool {
        self.config.protocol != Protocol::None
    }

    /// Returns the trees in which a port learns, and in which it forwards.
    pub(super) fn states(&self, port: u16) -> (u32, u32) {
        self.states.get(&port).copied().unwrap_or_default()
    }

    /// Applies the configuration and the changed ports; `None` removes a port. Returns the
    /// machine's actions.
    fn follow(
        &mut self,
        config: Config,
        ports: BTreeMap<u16, Option<(PortConfig, Link)>>,
        now: Instant,
    ) -> Vec<Action> {
        let mut actions = Vec::new();
        let mut tell = |event: Event<'_>| self.machine.handle(event, now, &mut actions);
        if config != self.config {
            tell(Event::Configure(config.clone()));
            self.config = config;
        }
        for (number, _) in ports.iter().filter(|(_, port)| port.is_none()) {
            if self.told.remove(number).is_some() {
                tell(Event::PortGone(*number));
                self.states.remove(number);
            }
        }
        for (number, port) in ports {
            let Some((port, link)) = port else { continue };
            let before = self.told.get(&number);
            if before.is_none_or(|(before, _)| *before != port) {
                tell(Event::PortWithLink(number, port.clone(), link));
            } else if before.is_none_or(|(_, before)| *before != link) {
                tell(Event::Link(number, link));
            }
            self.told.insert(number, (port, link));
        }
        self.note(&actions);
        actions
    }

    /// Records new port states.
    fn note(&mut self, actions: &[Action]) {
        for action in actions {
            let Action::Become { port, tree, state } = action else {
                continue;
            };
            let Some(bit) = 1_u32.checked_shl(u32::from(*tree)) else {
                continue;
            };
            let (learning, forwarding) = self.states.entry(*port).or_default();
            let (learns, forwards) = match state {
                State::Discarding => (false, false),
                State::Learning => (true, false),
                State::Forwarding => (true, true),
            };
            for (set, is_in) in [(learning, learns), (forwarding, forwards)] {
                match is_in {
                    true => *set |= bit,
                    false => *set &= !bit,
                }
            }
        }
    }
}

impl BridgeState {
    /// Passes changed configuration and links to the machine. Returns its actions.
    pub(super) fn follow_tree(&mut self, now: Instant) -> Vec<Action> {
        let mut config = self.config.tree.clone();
        config.address = self.mac().unwrap_or_default();
        let is_up = !self.config.interface.disabled;
        if core::mem::replace(&mut self.tree.is_up, is_up) != is_up {
            self.port_index.change_all();
        }
        let changed = core::mem::take(&mut self.port_index.changed);
        let port = |number: u16| {
            let port = self.ports.get(self.port_index.name(number)?)?;
            let link = Link {
                up: port.link.running && is_up,
                megabits: port.link.speed_mbps,
                full_duplex: !port.link.half_duplex,
            };
            { port.link.is_slave }.then(|| (port.config.tree.clone(), link))
        };
        let ports = changed.into_iter().map(|number| (number, port(number)));
        let ports = ports.collect();
        self.tree.follow(config, ports, now)
    }
}

impl Bridges {
    /// Carries out the actions of a bridge's spanning tree.
    pub(super) fn do_(
        &mut self,
        item: ItemId,
        actions: Vec<Action>,
        now: Instant,
        out: &mut Effects,
    ) {
        let Some(one) = self.all.get_mut(&item) else {
            return;
        };
        let deadline = one.tree.machine.deadline();
        self.timers.set(item, deadline.map(|(at, _)| at));
        let mut flushed = BTreeSet::new();
        let mut is_other = false;
        for action in actions {
            match action {
                Action::Send { port, bpdu } => one.send(port, &bpdu, out),
                Action::Become { .. } => is_other = true,
                Action::Flush { port, tree } => {
                    flushed.extend(one.port_numbered(port).map(|id| (id, tree)));
                }
                Action::Guarded { port } => {
                    let name = one.name_of(port);
                    let bridge = &one.config.interface.name;
                    let message = format!(
                        "{bridge}: BPDU on {name}: bpdu-guard closes the port until it is enabled again"
                    );
                    out.log("bridge,stp,warning", message);
                }
            }
        }
        if !flushed.is_empty() {
            self.flush(item, &flushed);
            if let Some(one) = self.all.get_mut(&item) {
                one.tree_changed(now, out);
            }
        }
        if is_other && let Some(one) = self.all.get_mut(&item) {
            one.publish(&self.vlans, &self.lists, out);
        }
    }

    /// Removes the hosts learned on these ports, each in one tree, in a single walk of the table.
    fn flush(&self, item: ItemId, ports: &BTreeSet<(InterfaceId, u16)>) {
        let (Some(one), Some(table)) = (self.all.get(&item), &self.table) else {
            return;
        };
        let config = one.tree.config();
        table.bridges().walk(0, u32::MAX, |key, host| {
            let is_learned = !matches!(host.kind, HostKind::Static | HostKind::Local);
            let tree = config.tree_of(key.vid);
            !(is_learned && ports.contains(&(host.port, tree)))
        });
    }

    /// Returns the BPDU service if a spanning tree is on.
    pub(super) fn services_of_trees(&self) -> Vec<Service> {
        if !self.all.values().any(|one| one.tree.is_on()) {
            return Vec::new();
        }
        let to = |group| Match::FrameTo(group, FrameContent::Llc(LLC[0]));
        vec![Service::new(SERVICE, [to(GROUP), to(PROVIDER_GROUP)], RATE)]
    }

    /// Handles a BPDU.
    pub(super) fn hear_bpdu(
        &mut self,
        heard: &ReceivedPacket<'_>,
        now: Instant,
        out: &mut Effects,
    ) -> ReceiveOutcome {
        let Some(item) = self.ids.get(&heard.interface).copied() else {
            return ReceiveOutcome::NotMine;
        };
        let Some(one) = self.all.get_mut(&item).filter(|one| one.tree.is_on()) else {
            return ReceiveOutcome::NotMine;
        };
        let Some(number) = one.number_of(heard.interface) else {
            return ReceiveOutcome::NotMine;
        };
        let Some(bpdu) = bpdu(heard) else {
            return ReceiveOutcome::NotMine;
        };
        let mut actions = Vec::new();
        let event = Event::Received(number, bpdu);
        one.tree.machine.handle(event, now, &mut actions);
        one.tree.note(&actions);
        self.do_(item, actions, now, out);
        ReceiveOutcome::Taken
    }

    /// Runs the spanning trees whose timers expired.
    pub(super) fn tick_trees(&mut self, now: Instant, out: &mut Effects) {
        while let Some(item) = self.timers.due(now) {
            let mut actions = Vec::new();
            if let Some(one) = self.all.get_mut(&item) {
                one.tree.machine.tick(now, &mut actions);
                one.tree.note(&actions);
            }
            self.do_(item, actions, now, out);
        }
    }
}

impl BridgeState {
    fn send(&self, port: u16, bpdu: &[u8], out: &mut Effects) {
        let Some(interface) = self.port_numbered(port) else {
            return;
        };
        let group = match self.config.is_provider() {
            true => PROVIDER_GROUP,
            false => GROUP,
        };
        let bytes = [&LLC, bpdu].concat();
        let length = EtherType(bytes.len() as u16);
        out.send(Outgoing {
            interface,
            bytes,
            how: How::Frame(group, length),
        });
    }
}

/// Returns the BPDU of a frame: the bytes behind the LLC header, cut to the length field of the
/// frame.
fn bpdu<'a>(heard: &ReceivedPacket<'a>) -> Option<&'a [u8]> {
    let length = heard.frame.get(ETHERNET - 2..ETHERNET)?;
    let length = usize::from(u16::from_be_bytes([length[0], length[1]]));
    let packet = heard.packet();
    let packet = packet.get(..length).unwrap_or(packet);
    packet.strip_prefix(&LLC)
}
