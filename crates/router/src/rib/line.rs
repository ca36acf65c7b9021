//! Next-hop lines: allocates and writes the entries of the adjacency table.
//!
//! A line is one entry of the adjacency table. Several lines may show the same target (a gateway has a line per route
//! class that uses it), and all of them are rewritten in place when the neighbour or the link behind it changes: routes
//! keep their line and are not touched.

use core::net::Ipv4Addr;
use std::collections::{BTreeMap, BTreeSet};

use dataplane::interface::Session;
use dataplane::out::OutId;
use dataplane::table::NextHopId;
use dataplane::table::adjacency::{Adjacency, GROUP_MEMBERS, HEADER_BYTES, Kind};
use frame::InterfaceId;
use machine::SmallSet;
use wire::{EtherType, Mac};

use super::family::Family;

/// Link properties of an interface, for next hops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// Enabled and up: gateways on the link are usable.
    pub running: bool,
    /// Egress of its frames.
    pub out: OutId,
    /// The layer-3 MTU in bytes.
    pub mtu: u32,
    /// Source link address of its frames.
    pub mac: Mac,
    /// Tags of its frames, outermost first: (EtherType, VLAN id).
    pub tags: Vec<(u16, u16)>,
    /// True if frames have an Ethernet header.
    pub ethernet: bool,
    /// The PPPoE session that carries its packets behind an Ethernet header.
    pub session: Option<Session>,
    /// Packets wait for a session: their next hops stay unresolved, and control dials.
    pub awaits_session: bool,
}

/// End of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target<F: Family> {
    /// Drop silently.
    Blackhole,
    /// Drop, and send ICMP host unreachable.
    Unreachable,
    /// Drop, and send ICMP administratively prohibited.
    Prohibit,
    /// This router, by an address of this interface.
    Local(InterfaceId),
    /// A broadcast address of this interface's network.
    Broadcast(InterfaceId),
    /// A connected network: the destination is a neighbour on this interface.
    Connected(InterfaceId),
    /// This neighbour on this interface.
    Neighbour(InterfaceId, F::Addr),
}

impl<F: Family> Target<F> {
    /// Returns the interface of the target.
    pub fn interface(&self) -> Option<InterfaceId> {
        match self {
            Self::Blackhole | Self::Unreachable | Self::Prohibit => None,
            Self::Local(interface)
            | Self::Broadcast(interface)
            | Self::Connected(interface)
            | Self::Neighbour(interface, _) => Some(*interface),
        }
    }
}

/// Content of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Content<F: Family> {
    #[default]
    Nothing,
    One(Target<F>),
    Group(Vec<Target<F>>),
}

/// Destination of lines: the adjacency table, or a model of it.
pub trait LineSink {
    /// Allocates a number; `None` if all are in use.
    fn take_line(&mut self) -> Option<NextHopId>;
    /// Writes a line, with the address of its IPv4 neighbour if it has one.
    fn write_line(&mut self, id: NextHopId, adjacency: &Adjacency, gateway: Option<Ipv4Addr>);
    /// Releases a number that no route or group refers to.
    fn return_line(&mut self, id: NextHopId);
}

/// Identifies a line, with or without a number in the adjacency table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LineId(u32);

#[derive(Debug)]
struct Line<F: Family> {
    content: Content<F>,
    number: NextHopId,
}

impl<F: Family> Default for Line<F> {
    fn default() -> Self {
        Self {
            content: Content::Nothing,
            number: NextHopId::NO_ROUTE,
        }
    }
}

/// All lines of one address family.
#[derive(Debug)]
pub struct Lines<F: Family> {
    links: BTreeMap<InterfaceId, Link>,
    macs: BTreeMap<(InterfaceId, F::Addr), Mac>,
    lines: Vec<Line<F>>,
    by_number: BTreeMap<NextHopId, LineId>,
    /// Lines by target, to find them when the target changes.
    shown: BTreeMap<Target<F>, Vec<LineId>>,
    /// Targets by interface, to find them when the link changes.
    on_link: BTreeMap<InterfaceId, SmallSet<Target<F>>>,
    /// Lines that groups and connected routes share: one per target, with the number of users.
    shared: BTreeMap<Target<F>, (LineId, u32)>,
    free: Vec<LineId>,
    /// Numbers to release once no route refers to them.
    returned: Vec<NextHopId>,
    /// Lines to write, without duplicates.
    dirty: BTreeSet<LineId>,
}

impl<F: Family> Default for Lines<F> {
    fn default() -> Self {
        Self {
            links: BTreeMap::new(),
            macs: BTreeMap::new(),
            lines: Vec::new(),
            by_number: BTreeMap::new(),
            shown: BTreeMap::new(),
            on_link: BTreeMap::new(),
            shared: BTreeMap::new(),
            free: Vec::new(),
            returned: Vec::new(),
            dirty: BTreeSet::new(),
        }
    }
}

impl<F: Family> Lines<F> {
    /// Allocates an unshared line without content.
    pub(super) fn take(&mut self) -> LineId {
        self.free.pop().unwrap_or_else(|| {
            self.lines.push(Line::default());
            LineId((self.lines.len() - 1) as u32)
        })
    }

    /// Releases a line. Its number stays readable until [`Self::return_numbers`].
    pub(super) fn give_back(&mut self, line: LineId) {
        self.forget(line);
        self.dirty.remove(&line);
        let number = core::mem::take(&mut self.at_mut(line).number);
        if number != NextHopId::NO_ROUTE {
            self.by_number.remove(&number);
            self.returned.push(number);
        }
        self.free.push(line);
    }

    /// Releases the numbers that no route refers to any more.
    pub(super) fn return_numbers(&mut self, sink: &mut impl LineSink) {
        for number in self.returned.drain(..) {
            sink.return_line(number);
        }
    }

    /// Returns the number of a line in the adjacency table, once it was written.
    pub(super) fn number(&self, line: LineId) -> NextHopId {
        self.at(line).number
    }

    fn at(&self, line: LineId) -> &Line<F> {
        &self.lines[line.0 as usize]
    }

    fn at_mut(&mut self, line: LineId) -> &mut Line<F> {
        &mut self.lines[line.0 as usize]
    }

    /// Returns the number of interfaces with state.
    #[cfg(test)]
    pub(super) fn interfaces(&self) -> usize {
        self.on_link.len() + self.links.len()
    }

    /// Returns the number of allocated numbers.
    pub fn in_use(&self) -> usize {
        self.by_number.len()
    }

    /// Sets the paths of a line: none for no route, several for a group.
    pub(super) fn show(&mut self, id: LineId, paths: &[Target<F>]) {
        let content = match paths {
            [] => Content::Nothing,
            [one] => Content::One(*one),
            many => Content::Group(many.iter().take(GROUP_MEMBERS).copied().collect()),
        };
        if self.at(id).content == content {
            return;
        }
        // Shares the new members before it releases the old ones, so that common members keep their lines.
        if let Content::Group(members) = &content {
            for member in members {
                let _ = self.share(*member);
            }
        }
        self.forget(id);
        if let Content::One(target) = &content {
            self.list(*target, id);
        }
        self.at_mut(id).content = content;
        self.dirty.insert(id);
    }

    fn forget(&mut self, id: LineId) {
        match core::mem::take(&mut self.at_mut(id).content) {
            Content::Nothing => {}
            Content::One(target) => self.unlist(target, id),
            Content::Group(members) => {
                for member in members {
                    self.unshare(member);
                }
            }
        }
    }

    fn list(&mut self, target: Target<F>, id: LineId) {
        self.shown.entry(target).or_default().push(id);
        if let Some(interface) = target.interface() {
            self.on_link.entry(interface).or_default().insert(target);
        }
    }

    fn unlist(&mut self, target: Target<F>, id: LineId) {
        let Some(lines) = self.shown.get_mut(&target) else {
            return;
        };
        lines.retain(|line| *line != id);
        if !lines.is_empty() {
            return;
        }
        self.shown.remove(&target);
        if let Some(interface) = target.interface()
            && let Some(targets) = self.on_link.get_mut(&interface)
        {
            targets.remove(&target);
            if targets.is_empty() {
                self.on_link.remove(&interface);
            }
        }
    }

    /// Returns the shared line of a target, and counts the caller as a user.
    pub(super) fn share(&mut self, target: Target<F>) -> LineId {
        if let Some((line, users)) = self.shared.get_mut(&target) {
            *users += 1;
            return *line;
        }
        let line = self.take();
        self.shared.insert(target, (line, 1));
        self.show(line, &[target]);
        line
    }

    /// Releases a use of a shared line.
    pub(super) fn unshare(&mut self, target: Target<F>) {
        let Some((id, users)) = self.shared.get_mut(&target) else {
            return;
        };
        *users -= 1;
        let (id, unused) = (*id, *users == 0);
        if unused {
            self.shared.remove(&target);
            self.give_back(id);
        }
    }

    /// Returns the number of the shared line of a target, if the line exists and was written.
    pub(super) fn shared_number(&self, target: &Target<F>) -> NextHopId {
        let shared = self.shared.get(target);
        shared.map_or(NextHopId::NO_ROUTE, |(line, _)| self.number(*line))
    }

    /// Returns the link of an interface.
    pub fn link(&self, interface: InterfaceId) -> Option<&Link> {
        self.links.get(&interface)
    }

    /// Sets or removes the link of an interface; returns whether `running` changed.
    pub(super) fn set_link(&mut self, interface: InterfaceId, link: Option<Link>) -> bool {
        let before = self.links.get(&interface);
        if before == link.as_ref() {
            return false;
        }
        let changed = before.is_some_and(|l| l.running) != link.as_ref().is_some_and(|l| l.running);
        match link {
            Some(link) => self.links.insert(interface, link),
            None => self.links.remove(&interface),
        };
        let targets = self.on_link.get(&interface).cloned().unwrap_or_default();
        for target in targets.iter() {
            self.touch(target);
        }
        changed
    }

    /// Whether an interface can carry packets.
    pub(super) fn running(&self, interface: InterfaceId) -> bool {
        self.links.get(&interface).is_some_and(|l| l.running)
    }

    /// Sets the link address of a neighbour, or removes it.
    pub(super) fn set_mac(&mut self, interface: InterfaceId, addr: F::Addr, mac: Option<Mac>) {
        let changed = match mac {
            Some(mac) => self.macs.insert((interface, addr), mac) != Some(mac),
            None => self.macs.remove(&(interface, addr)).is_some(),
        };
        if changed {
            self.touch(&Target::Neighbour(interface, addr));
        }
    }

    /// Returns the link address of a neighbour, if it is known.
    pub fn mac(&self, interface: InterfaceId, addr: F::Addr) -> Option<Mac> {
        self.macs.get(&(interface, addr)).copied()
    }

    /// Returns the neighbours on an interface with a known link address.
    pub(super) fn neighbours_on(&self, interface: InterfaceId) -> Vec<F::Addr> {
        let from = (interface, F::UNSPECIFIED);
        let rest = self.macs.range(from..).map(|(key, _)| *key);
        let on_it = rest.take_while(|(on, _)| *on == interface);
        on_it.map(|(_, addr)| addr).collect()
    }

    fn touch(&mut self, target: &Target<F>) {
        if let Some(lines) = self.shown.get(target) {
            self.dirty.extend(lines.iter().copied());
        }
    }

    /// Returns the neighbour or network of a line number, for a punted packet.
    pub fn target(&self, id: NextHopId) -> Option<Target<F>> {
        match self.at(*self.by_number.get(&id)?).content {
            Content::One(target) => Some(target),
            Content::Nothing | Content::Group(_) => None,
        }
    }

    /// Writes every changed line; lines without a free number wait for the next call.
    pub(super) fn flush(&mut self, sink: &mut impl LineSink) {
        // Members before groups: readers of a new group find its members written.
        let dirty = core::mem::take(&mut self.dirty);
        let is_group = |line: &LineId| matches!(self.at(*line).content, Content::Group(_));
        let (groups, ones): (Vec<_>, Vec<_>) = dirty.into_iter().partition(is_group);
        for line in ones.into_iter().chain(groups) {
            if self.at(line).number == NextHopId::NO_ROUTE {
                let Some(number) = sink.take_line() else {
                    self.dirty.insert(line);
                    continue;
                };
                self.at_mut(line).number = number;
                self.by_number.insert(number, line);
            }
            let (number, gateway) = (self.at(line).number, self.gateway(line));
            sink.write_line(number, &self.adjacency(line), gateway);
        }
    }

    fn gateway(&self, line: LineId) -> Option<Ipv4Addr> {
        match self.at(line).content {
            Content::One(Target::Neighbour(_, addr)) if !F::IPV6 => {
                Some(Ipv4Addr::from_bits(F::bits(addr) as u32))
            }
            _ => None,
        }
    }

    fn adjacency(&self, line: LineId) -> Adjacency {
        match &self.at(line).content {
            Content::Nothing => Adjacency::default(),
            Content::One(target) => self.render(target),
            Content::Group(members) => {
                let ids: Vec<_> = members
                    .iter()
                    .filter_map(|member| self.shared.get(member))
                    .map(|(line, _)| self.number(*line))
                    .filter(|number| *number != NextHopId::NO_ROUTE)
                    .collect();
                Adjacency::group(&ids)
            }
        }
    }

    fn render(&self, target: &Target<F>) -> Adjacency {
        let kind = match target {
            Target::Blackhole => Kind::Blackhole,
            Target::Unreachable => Kind::Unreachable,
            Target::Prohibit => Kind::Prohibit,
            Target::Local(_) => Kind::Local,
            Target::Broadcast(_) => Kind::Broadcast,
            Target::Connected(_) => Kind::Glean,
            Target::Neighbour(..) => Kind::Incomplete,
        };
        let interface = target.interface().unwrap_or(InterfaceId::NONE);
        let mut adjacency = Adjacency {
            kind,
            egress: interface,
            ..Adjacency::default()
        };
        let Some(link) = self.links.get(&interface) else {
            return adjacency;
        };
        adjacency.out = link.out;
        adjacency.mtu = link.mtu;
        let mac = match target {
            Target::Neighbour(_, addr) => self.mac(interface, *addr),
            Target::Broadcast(_) => Some(Mac([0xff; 6])),
            _ => None,
        };
        if !link.ethernet && matches!(kind, Kind::Glean | Kind::Incomplete) {
            // A link without link addresses needs no resolution.
            let is_complete = match link.session {
                _ if link.awaits_session => false,
                Some(session) => write_session_header::<F>(&mut adjacency, session, link),
                None => true,
            };
            if is_complete {
                adjacency.kind = Kind::Forward;
            }
        } else if let Some(mac) = mac
            && write_header::<F>(&mut adjacency, mac, link)
            && kind == Kind::Incomplete
        {
            adjacency.kind = Kind::Forward;
        }
        adjacency
    }
}

/// Writes the link header for packets of this family to `mac`; returns false if it does not fit.
fn write_header<F: Family>(adjacency: &mut Adjacency, mac: Mac, link: &Link) -> bool {
    let ethertype = if F::IPV6 {
        EtherType::IPV6
    } else {
        EtherType::IPV4
    };
    write_ethernet(adjacency, mac, link, ethertype)
}

/// Writes the link header for packets of this family in a PPPoE session; returns false if it does not fit.
fn write_session_header<F: Family>(
    adjacency: &mut Adjacency,
    session: Session,
    link: &Link,
) -> bool {
    if !write_ethernet(adjacency, session.peer, link, EtherType::PPPOE_SESSION) {
        return false;
    }
    let at = usize::from(adjacency.header_len);
    let place = adjacency.header.get_mut(at..at + Session::HEADER);
    let Some(place) = place else { return false };
    place.copy_from_slice(&session.header(F::IPV6));
    adjacency.header_len += Session::HEADER as u8;
    true
}

/// Writes an Ethernet header with the tags of the link; returns false if it does not fit.
fn write_ethernet(adjacency: &mut Adjacency, mac: Mac, link: &Link, ethertype: EtherType) -> bool {
    let len = 14 + 4 * link.tags.len();
    if len > HEADER_BYTES {
        return false;
    }
    let header = &mut adjacency.header;
    header[..6].copy_from_slice(&mac.0);
    header[6..12].copy_from_slice(&link.mac.0);
    let mut at = 12;
    for (ethertype, vlan_id) in &link.tags {
        header[at..at + 2].copy_from_slice(&ethertype.to_be_bytes());
        header[at + 2..at + 4].copy_from_slice(&vlan_id.to_be_bytes());
        at += 4;
    }
    header[at..at + 2].copy_from_slice(&ethertype.0.to_be_bytes());
    adjacency.header_len = len as u8;
    true
}
