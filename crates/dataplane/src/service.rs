//! Services: what control asked to hear. A table, filled by control and read by workers, names the service of a
//! frame for this router: by EtherType, LLC or SNAP, and group; by IP protocol, UDP port, or ICMP type.
//!
//! Only frames that are neither IPv4 nor IPv6, and packets for this router, are looked up. Each worker limits each
//! service by a rate and a burst of its own, so that no service takes the ring to control from the others.

use core::fmt;
use core::net::{IpAddr, SocketAddr};

use machine::Instant;
use wire::Mac;

use crate::drop::DropReason;
use crate::flow::{Upper, upper4, upper6};
use crate::gate::{Admission, Arrival, CHALLENGE_MAX, Gated, Limits, PerSender};
use crate::packet::protocol;

/// How many services there can be.
pub const SERVICES: usize = 64;

/// A service, by its place in the table. A name keeps its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceId(u8);

impl ServiceId {
    /// The service at this place; none beyond [`SERVICES`].
    pub const fn new(index: usize) -> Option<Self> {
        match index < SERVICES {
            true => Some(Self(index as u8)),
            false => None,
        }
    }

    /// Its place, below [`SERVICES`].
    pub const fn index(self) -> usize {
        self.0 as usize % SERVICES
    }
}

/// A set of services.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServiceSet(pub u64);

impl ServiceSet {
    /// Whether it has this service.
    pub const fn has(self, id: ServiceId) -> bool {
        self.0 >> id.index() & 1 != 0
    }

    /// The set with this service, or without it.
    #[must_use]
    pub const fn with(self, id: ServiceId, is_in: bool) -> Self {
        let bit = 1 << id.index();
        match is_in {
            true => Self(self.0 | bit),
            false => Self(self.0 & !bit),
        }
    }
}

/// What tells that a frame is a service's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Match {
    /// What a frame carries, sent to this router's link address or to any group.
    Frame(Carried),
    /// The same, sent to this group alone. It comes before the same sent to any.
    FrameTo(Mac, Carried),
    /// An IP protocol: those of its packets that no port or type is registered for.
    Protocol {
        /// The family.
        ipv6: bool,
        /// The number.
        protocol: u8,
    },
    /// Datagrams to this UDP port.
    Udp {
        /// The family.
        ipv6: bool,
        /// The destination port.
        port: u16,
    },
    /// Datagrams to these UDP ports, but for those that are registered one by one. What nobody takes of them goes
    /// to the host stack.
    UdpPorts {
        /// The family.
        ipv6: bool,
        /// The first destination port.
        first: u16,
        /// The last one.
        last: u16,
    },
    /// ICMP messages of this type; with `ipv6` those of ICMPv6.
    Icmp {
        /// The family.
        ipv6: bool,
        /// The type.
        kind: u8,
    },
}

/// What a frame carries that is not IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Carried {
    /// By its EtherType.
    EtherType(u16),
    /// Behind a length: by the address of the LLC header's destination (IEEE 802.2), as of spanning tree.
    Llc(u8),
    /// Behind a length and a SNAP header: by organisation and protocol (IEEE 802), as of CDP.
    Snap([u8; 3], u16),
}

/// Which of the packets of a service are heard, by their destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Addressed {
    /// All that are for this router.
    #[default]
    Any,
    /// Those to an address of its own.
    Own,
    /// Those to a broadcast address, or to a group.
    Many,
}

/// Which interfaces' frames are heard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// Those of all interfaces.
    #[default]
    Everywhere,
    /// Those of the interfaces that were asked for (`InterfaceTable::set_services`).
    Asked,
}

/// How many frames a worker hands to control for a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// In a second, in the long run.
    pub per_second: u32,
    /// At once.
    pub burst: u32,
}

impl Rate {
    /// Half of it.
    const fn half(self) -> Self {
        Self {
            per_second: self.per_second / 2,
            burst: self.burst / 2,
        }
    }
}

/// A service, as it is registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// The name that traces and counters show. Services of one name are one.
    pub name: &'static str,
    /// What tells its frames.
    pub matches: Vec<Match>,
    /// Which of its packets are heard, by destination.
    pub addressed: Addressed,
    /// Its packets meet the rules of `input` first. Otherwise they pass them, as they pass those of Linux where
    /// somebody reads a raw socket: a DHCP client hears its offer whatever the firewall lets in.
    pub meets_rules: bool,
    /// Which interfaces' frames are heard.
    pub scope: Scope,
    /// How many are heard.
    pub rate: Rate,
    /// How many are heard of one sender, where there is no gate: half of all, unless the service says otherwise.
    pub per_sender: PerSender,
    /// Sorts the datagrams of known peers and of strangers.
    pub gate: Gated,
}

impl Service {
    /// A service with one match: on all interfaces, behind the rules of `input`.
    pub fn new(name: &'static str, matches: impl Into<Vec<Match>>, rate: Rate) -> Self {
        let matches = matches.into();
        Self {
            name,
            per_sender: PerSender::of(&matches, rate.half()),
            matches,
            addressed: Addressed::Any,
            meets_rules: true,
            scope: Scope::Everywhere,
            rate,
            gate: Gated::default(),
        }
    }

    /// Tells senders apart by their link address: some of them have no IP address yet.
    #[must_use]
    pub fn by_link(self) -> Self {
        Self {
            per_sender: PerSender::Link(self.rate.half()),
            ..self
        }
    }
}

/// The services that control hears, compiled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Services {
    /// By match, sorted.
    matches: Vec<(Match, ServiceId)>,
    /// By id.
    facts: Vec<Option<Facts>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Facts {
    name: &'static str,
    addressed: Addressed,
    meets_rules: bool,
    scope: Scope,
    rate: Rate,
    per_sender: PerSender,
    gate: Gated,
}

/// A match that two services want.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The match.
    pub what: Match,
    /// The service that has it.
    pub by: &'static str,
}

/// What the table says of a packet for this router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// It is this service's.
    Service(ServiceId),
    /// It is a fragment of what may be a service's: it has to be whole first.
    Piece,
}

impl Services {
    /// Adds a service at its place.
    ///
    /// # Errors
    /// A match that another has; the service is there without it.
    pub fn add(&mut self, id: ServiceId, service: &Service) -> Result<(), Taken> {
        if self.facts.len() <= id.index() {
            self.facts.resize(id.index() + 1, None);
        }
        self.facts[id.index()] = Some(Facts {
            name: service.name,
            addressed: service.addressed,
            meets_rules: service.meets_rules,
            scope: service.scope,
            rate: service.rate,
            per_sender: service.per_sender,
            gate: service.gate.clone(),
        });
        let mut taken = Ok(());
        for what in &service.matches {
            match self.matches.binary_search_by_key(what, |(what, _)| *what) {
                Err(at) => self.matches.insert(at, (*what, id)),
                Ok(at) if self.matches[at].1 == id => {}
                Ok(at) => {
                    let by = self.name(self.matches[at].1);
                    taken = Err(Taken { what: *what, by });
                }
            }
        }
        taken
    }

    /// The name of a service.
    pub fn name(&self, id: ServiceId) -> &'static str {
        self.facts(id).map_or("gone", |facts| facts.name)
    }

    /// The service of this name.
    pub fn named(&self, name: &str) -> Option<ServiceId> {
        let mut facts = self.facts.iter();
        let at = facts.position(|facts| facts.as_ref().is_some_and(|facts| facts.name == name))?;
        ServiceId::new(at)
    }

    /// Whether the packets of a service meet the rules of `input`.
    pub fn meets_rules(&self, id: ServiceId) -> bool {
        self.facts(id).is_some_and(|facts| facts.meets_rules)
    }

    /// Decides whether control hears a frame of a service. `l3` is where its packet begins.
    pub(crate) fn admit(
        &self,
        limits: &mut Limits,
        id: ServiceId,
        (frame, l3): (&[u8], usize),
        now: Instant,
    ) -> Admission {
        let Some(facts) = self.facts(id) else {
            return Admission::Dropped(DropReason::ServiceLimit);
        };
        let arrival = || arrival(frame.get(l3..)?, now);
        if let Some(gate) = &facts.gate.0
            && let Some(arrival) = arrival()
        {
            return limits.sort(id, facts.rate, &**gate, &arrival);
        }
        limits.admit(id, (facts.rate, facts.per_sender), (frame, l3), now)
    }

    /// Writes what a stranger is asked for that sent this packet; returns its length.
    pub(crate) fn challenge(
        &self,
        id: ServiceId,
        packet: &[u8],
        now: Instant,
        answer: &mut [u8; CHALLENGE_MAX],
    ) -> Option<usize> {
        let gate = self.facts(id)?.gate.0.as_ref()?;
        let arrival = arrival(packet, now)?;
        // A longer answer would amplify what somebody sends under the address of another.
        { gate.challenge(&arrival, answer) }.filter(|len| *len <= arrival.payload.len())
    }

    fn facts(&self, id: ServiceId) -> Option<&Facts> {
        self.facts.get(id.index())?.as_ref()
    }

    /// The service of this match, on an interface that asked for these.
    fn of(&self, what: Match, asked: ServiceSet) -> Option<ServiceId> {
        let at = { &self.matches }.binary_search_by_key(&what, |(what, _)| *what);
        let (_, id) = self.matches[at.ok()?];
        let everywhere = self.facts(id)?.scope == Scope::Everywhere;
        (everywhere || asked.has(id)).then_some(id)
    }

    /// The service of a UDP port.
    fn of_port(&self, ipv6: bool, port: u16, asked: ServiceSet) -> Option<ServiceId> {
        let alone = self.of(Match::Udp { ipv6, port }, asked);
        alone.or_else(|| {
            let behind = Match::UdpPorts {
                ipv6,
                first: port,
                last: u16::MAX,
            };
            let at = { &self.matches }.partition_point(|(what, _)| *what <= behind);
            let (what, _) = self.matches.get(at.checked_sub(1)?)?;
            match what {
                Match::UdpPorts {
                    ipv6: own, last, ..
                } if *own == ipv6 && port <= *last => self.of(*what, asked),
                _ => None,
            }
        })
    }

    /// The service of a frame to this router or to a group, which is not of IP. `bytes` is the frame, `l3` where
    /// what it carries begins, behind this type or length.
    pub fn frame(
        &self,
        bytes: &[u8],
        (l3, ethertype): (usize, u16),
        asked: ServiceSet,
    ) -> Option<ServiceId> {
        let to = Mac(*bytes.first_chunk()?);
        let carried = carried(bytes.get(l3..)?, ethertype)?;
        let to_this = self.of(Match::FrameTo(to, carried), asked);
        to_this.or_else(|| self.of(Match::Frame(carried), asked))
    }

    /// What a packet for this router is: of a service, or a fragment of what may be. `many`: it was sent to a
    /// broadcast address or to a group.
    pub fn packet(&self, packet: &[u8], many: bool, asked: ServiceSet) -> Option<Found> {
        let (ipv6, upper) = upper(packet)?;
        if upper.fragment {
            return { self.may_be(ipv6, upper.protocol, asked) }.then_some(Found::Piece);
        }
        let payload = packet.get(upper.offset..).unwrap_or_default();
        let named = match (upper.protocol, payload) {
            (protocol::UDP, [_, _, high, low, ..]) => {
                let port = u16::from_be_bytes([*high, *low]);
                self.of_port(ipv6, port, asked)
            }
            (number, [kind, ..]) if number == icmp(ipv6) => {
                self.of(Match::Icmp { ipv6, kind: *kind }, asked)
            }
            _ => None,
        };
        let protocol = upper.protocol;
        let suits = |id: &ServiceId| match self.facts(*id).map(|facts| facts.addressed) {
            Some(Addressed::Any) => true,
            Some(Addressed::Own) => !many,
            Some(Addressed::Many) => many,
            None => false,
        };
        let named = named.filter(suits);
        let by_protocol = || self.of(Match::Protocol { ipv6, protocol }, asked);
        let found = named.or_else(|| by_protocol().filter(suits));
        found.map(Found::Service)
    }

    /// Whether some service has several UDP ports.
    fn has_ports(&self, ipv6: bool, asked: ServiceSet) -> bool {
        let mut all = self.matches.iter();
        all.any(|(what, _)| {
            matches!(what, Match::UdpPorts { ipv6: own, .. } if *own == ipv6)
                && self.of(*what, asked).is_some()
        })
    }

    /// Whether packets of this protocol may be a service's.
    fn may_be(&self, ipv6: bool, number: u8, asked: ServiceSet) -> bool {
        let (first, last) = match number {
            protocol::UDP if self.has_ports(ipv6, asked) => return true,
            protocol::UDP => (
                Match::Udp { ipv6, port: 0 },
                Match::Udp {
                    ipv6,
                    port: u16::MAX,
                },
            ),
            number if number == icmp(ipv6) => (
                Match::Icmp { ipv6, kind: 0 },
                Match::Icmp {
                    ipv6,
                    kind: u8::MAX,
                },
            ),
            protocol => {
                let what = Match::Protocol { ipv6, protocol };
                return self.of(what, asked).is_some();
            }
        };
        let from = self.matches.partition_point(|(what, _)| *what < first);
        let to = self.matches.partition_point(|(what, _)| *what <= last);
        let mut named = self.matches[from..to].iter();
        let protocol = number;
        named.any(|(what, _)| self.of(*what, asked).is_some())
            || self.of(Match::Protocol { ipv6, protocol }, asked).is_some()
    }
}

/// What a frame carries behind its type or length.
fn carried(payload: &[u8], ethertype: u16) -> Option<Carried> {
    /// The least EtherType; a length is less (IEEE 802.3, 3.2.6).
    const ETHERTYPES: u16 = 1536;
    if ethertype >= ETHERTYPES {
        return Some(Carried::EtherType(ethertype));
    }
    match payload.get(..usize::from(ethertype))? {
        [0xaa, 0xaa, 3, a, b, c, high, low, ..] => {
            let number = u16::from_be_bytes([*high, *low]);
            Some(Carried::Snap([*a, *b, *c], number))
        }
        [destination, _, _, ..] => Some(Carried::Llc(*destination)),
        _ => None,
    }
}

/// The datagram of a packet, if it is a whole one.
fn arrival(packet: &[u8], now: Instant) -> Option<Arrival<'_>> {
    let (ipv6, upper) = upper(packet)?;
    if upper.protocol != protocol::UDP || upper.fragment {
        return None;
    }
    let datagram = packet.get(upper.offset..)?;
    let [a, b, c, d, e, f, ..] = *datagram.first_chunk::<8>()?;
    let [from, to, len] = [[a, b], [c, d], [e, f]].map(u16::from_be_bytes);
    let address: IpAddr = match ipv6 {
        false => IpAddr::from(*packet.get(12..)?.first_chunk::<4>()?),
        true => IpAddr::from(*packet.get(8..)?.first_chunk::<16>()?),
    };
    Some(Arrival {
        payload: datagram.get(8..usize::from(len))?,
        from: SocketAddr::new(address, from),
        port: to,
        now,
    })
}

const fn icmp(ipv6: bool) -> u8 {
    match ipv6 {
        true => protocol::ICMPV6,
        false => protocol::ICMP,
    }
}

fn upper(packet: &[u8]) -> Option<(bool, Upper)> {
    match packet.first()? >> 4 {
        6 => Some((true, upper6(packet)?)),
        _ => Some((false, upper4(packet)?)),
    }
}

impl fmt::Display for Match {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Frame(carried) => carried.fmt(f),
            Self::FrameTo(to, carried) => write!(f, "{carried} to {to}"),
            Self::Protocol { protocol, .. } => write!(f, "IP protocol {protocol}"),
            Self::Udp { port, .. } => write!(f, "UDP port {port}"),
            Self::UdpPorts { first, last, .. } => write!(f, "UDP ports {first} to {last}"),
            Self::Icmp { kind, .. } => write!(f, "ICMP type {kind}"),
        }
    }
}

impl fmt::Display for Carried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EtherType(number) => write!(f, "EtherType {number:#06x}"),
            Self::Llc(address) => write!(f, "LLC {address:#04x}"),
            Self::Snap([a, b, c], number) => write!(f, "SNAP {a:02x}{b:02x}{c:02x} {number:#06x}"),
        }
    }
}
