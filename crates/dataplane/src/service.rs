//! Services: the frames that control receives. A table, written by control and read by workers,
//! maps frames for this router to services: by EtherType, LLC or SNAP and multicast group; by IP
//! protocol, UDP port or ICMP type.
//!
//! Only frames that are neither IPv4 nor IPv6, and packets for this router, are looked up. Each
//! worker limits each service by a separate rate and burst, so that no service starves the others
//! on the ring to control.

use core::fmt;
use core::net::{IpAddr, SocketAddr};

use frame::InterfaceId;
use machine::Instant;
use wire::Mac;

use crate::drop::DropReason;
use crate::flow::{Upper, upper4, upper6};
use crate::gate::{Admission, Arrival, CHALLENGE_MAX, Gated, Limits, PerSender, Rates};
use crate::packet::protocol;

/// Maximum number of services.
pub const SERVICES: usize = 64;

/// A service, by its index in the table. A name keeps its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceId(u8);

impl ServiceId {
    /// Returns the service with this index; `None` from [`SERVICES`] on.
    pub const fn new(index: usize) -> Option<Self> {
        match index < SERVICES {
            true => Some(Self(index as u8)),
            false => None,
        }
    }

    /// Returns the index, below [`SERVICES`].
    pub const fn index(self) -> usize {
        self.0 as usize % SERVICES
    }
}

/// A set of services.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServiceSet(pub u64);

impl ServiceSet {
    /// Returns true if the set has this service.
    pub const fn has(self, id: ServiceId) -> bool {
        self.0 >> id.index() & 1 != 0
    }

    /// Returns the set with this service added or removed.
    #[must_use]
    pub const fn with(self, id: ServiceId, is_in: bool) -> Self {
        let bit = 1 << id.index();
        match is_in {
            true => Self(self.0 | bit),
            false => Self(self.0 & !bit),
        }
    }
}

/// A pattern for the frames of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Match {
    /// Frames with this content, to this router's MAC address or any multicast address.
    Frame(FrameContent),
    /// Frames with this content to this multicast address only. Precedes `Frame`.
    FrameTo(Mac, FrameContent),
    /// Packets of an IP protocol that match no registered port or type.
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
    /// Datagrams to these UDP ports, except ports that are registered singly. Datagrams that no
    /// service accepts go to the host stack.
    UdpPorts {
        /// The family.
        ipv6: bool,
        /// The first destination port.
        first: u16,
        /// The last destination port, included.
        last: u16,
    },
    /// ICMP messages of this type, or ICMPv6 messages with `ipv6`.
    Icmp {
        /// The family.
        ipv6: bool,
        /// The type.
        kind: u8,
    },
}

/// The content of a frame other than an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FrameContent {
    /// By its EtherType.
    EtherType(u16),
    /// Behind a length: the destination service access point of the LLC header (IEEE 802.2), as for
    /// spanning tree.
    Llc(u8),
    /// Behind a length and a SNAP header: organisation and protocol (IEEE 802), as for CDP.
    Snap([u8; 3], u16),
}

/// The destinations of a service's packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Addressed {
    /// All packets for this router.
    #[default]
    Any,
    /// Packets to an address of this router.
    Own,
    /// Packets to a broadcast or multicast address.
    Many,
}

/// The interfaces whose frames a service receives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// All interfaces.
    #[default]
    Everywhere,
    /// Interfaces that have the service in their set (`InterfaceTable::set_services`).
    Asked,
}

/// The rate at which a worker hands frames of a service to control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Frames per second in the long run.
    pub per_second: u32,
    /// Frames in a burst.
    pub burst: u32,
}

impl Rate {
    /// Returns half of the rate.
    const fn half(self) -> Self {
        Self {
            per_second: self.per_second / 2,
            burst: self.burst / 2,
        }
    }
}

/// A registered service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// Name in traces and counters. Services with equal names are one service.
    pub name: &'static str,
    /// The patterns of its frames.
    pub matches: Vec<Match>,
    /// The destinations of its packets.
    pub addressed: Addressed,
    /// Packets must pass the rules of `input` first. Otherwise they bypass these rules, like
    /// packets for raw sockets in Linux: a DHCP client receives its offer whatever the firewall
    /// accepts.
    pub meets_rules: bool,
    /// The interfaces whose frames it receives.
    pub scope: Scope,
    /// Rate limit of the service on each worker.
    pub rate: Rate,
    /// Rate limit per sender without a gate: half of the service's rate by default.
    pub per_sender: PerSender,
    /// Rate limit of all senders on one interface together, without a gate.
    pub per_interface: Option<Rate>,
    /// Classifies the datagrams of known and unknown senders.
    pub gate: Gated,
}

impl Service {
    /// Creates a service with one match, on all interfaces, behind the rules of `input`.
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
            per_interface: None,
            gate: Gated::default(),
        }
    }

    /// Distinguishes senders by MAC address, because some have no IP address yet.
    #[must_use]
    pub fn by_link(self) -> Self {
        Self {
            per_sender: PerSender::Link(self.rate.half()),
            ..self
        }
    }
}

/// The compiled table of services.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Services {
    /// Patterns and their services, sorted.
    matches: Vec<(Match, ServiceId)>,
    /// Facts by service index.
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
    per_interface: Option<Rate>,
    gate: Gated,
}

/// A pattern that another service has already registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DuplicateMatch {
    /// The pattern.
    pub what: Match,
    /// The service that has it.
    pub by: &'static str,
}

/// A frame of a service.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received<'a> {
    /// Ingress interface.
    pub(crate) interface: InterfaceId,
    pub(crate) frame: &'a [u8],
    /// Offset of the packet in the frame.
    pub(crate) l3: usize,
    pub(crate) now: Instant,
}

/// The result of a lookup for a packet for this router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookupResult {
    /// The packet belongs to this service.
    Service(ServiceId),
    /// A fragment of a possible service packet, which must be reassembled first.
    Piece,
}

impl Services {
    /// Adds a service at its index.
    ///
    /// # Errors
    /// A pattern that another service has; the service is added without it.
    pub fn add(&mut self, id: ServiceId, service: &Service) -> Result<(), DuplicateMatch> {
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
            per_interface: service.per_interface,
            gate: service.gate.clone(),
        });
        let mut taken = Ok(());
        for what in &service.matches {
            match self.matches.binary_search_by_key(what, |(what, _)| *what) {
                Err(at) => self.matches.insert(at, (*what, id)),
                Ok(at) if self.matches[at].1 == id => {}
                Ok(at) => {
                    let by = self.name(self.matches[at].1);
                    taken = Err(DuplicateMatch { what: *what, by });
                }
            }
        }
        taken
    }

    /// Returns the name of a service.
    pub fn name(&self, id: ServiceId) -> &'static str {
        self.facts(id).map_or("gone", |facts| facts.name)
    }

    /// Returns the service with this name.
    pub fn named(&self, name: &str) -> Option<ServiceId> {
        let mut facts = self.facts.iter();
        let at = facts.position(|facts| facts.as_ref().is_some_and(|facts| facts.name == name))?;
        ServiceId::new(at)
    }

    /// Returns true if packets of a service must pass the rules of `input`.
    pub fn meets_rules(&self, id: ServiceId) -> bool {
        self.facts(id).is_some_and(|facts| facts.meets_rules)
    }

    /// Decides whether control receives a frame of a service.
    pub(crate) fn admit(
        &self,
        limits: &mut Limits,
        id: ServiceId,
        received: &Received<'_>,
    ) -> Admission {
        let Received { frame, l3, now, .. } = *received;
        let Some(facts) = self.facts(id) else {
            return Admission::Dropped(DropReason::ServiceLimit);
        };
        let arrival = || arrival(frame.get(l3..)?, now);
        if let Some(gate) = &facts.gate.0
            && let Some(arrival) = arrival()
        {
            return limits.sort(id, facts.rate, &**gate, &arrival);
        }
        let rates = Rates {
            service: facts.rate,
            per_sender: facts.per_sender,
            per_interface: facts.per_interface,
        };
        limits.admit(id, rates, received)
    }

    /// Writes the answer that asks the unknown sender of this packet to prove its address. Returns
    /// the length in bytes.
    pub(crate) fn challenge(
        &self,
        id: ServiceId,
        packet: &[u8],
        now: Instant,
        answer: &mut [u8; CHALLENGE_MAX],
    ) -> Option<usize> {
        let gate = self.facts(id)?.gate.0.as_ref()?;
        let arrival = arrival(packet, now)?;
        // A longer answer would amplify attacks with forged source addresses.
        { gate.challenge(&arrival, answer) }.filter(|len| *len <= arrival.payload.len())
    }

    fn facts(&self, id: ServiceId) -> Option<&Facts> {
        self.facts.get(id.index())?.as_ref()
    }

    /// Returns the service of a pattern, if the interface has it in its set or the service receives
    /// frames of all interfaces.
    fn of(&self, what: Match, asked: ServiceSet) -> Option<ServiceId> {
        let at = { &self.matches }.binary_search_by_key(&what, |(what, _)| *what);
        let (_, id) = self.matches[at.ok()?];
        let everywhere = self.facts(id)?.scope == Scope::Everywhere;
        (everywhere || asked.has(id)).then_some(id)
    }

    /// Returns the service of a UDP port.
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

    /// Returns the service of a frame without an IP packet. `bytes` is the frame, and its content
    /// begins at `l3`, behind this EtherType or length.
    pub fn frame(
        &self,
        bytes: &[u8],
        l3: usize,
        ethertype: u16,
        asked: ServiceSet,
    ) -> Option<ServiceId> {
        let to = Mac(*bytes.first_chunk()?);
        let carried = carried(bytes.get(l3..)?, ethertype)?;
        let to_this = self.of(Match::FrameTo(to, carried), asked);
        to_this.or_else(|| self.of(Match::Frame(carried), asked))
    }

    /// Returns the service of a packet for this router, or a fragment of one. `many`: the
    /// destination is a broadcast or multicast address.
    pub fn packet(&self, packet: &[u8], many: bool, asked: ServiceSet) -> Option<LookupResult> {
        let (ipv6, upper) = upper(packet)?;
        if upper.fragment {
            return { self.may_be(ipv6, upper.protocol, asked) }.then_some(LookupResult::Piece);
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
        found.map(LookupResult::Service)
    }

    /// Returns true if some service has a range of UDP ports.
    fn has_ports(&self, ipv6: bool, asked: ServiceSet) -> bool {
        let mut all = self.matches.iter();
        all.any(|(what, _)| {
            matches!(what, Match::UdpPorts { ipv6: own, .. } if *own == ipv6)
                && self.of(*what, asked).is_some()
        })
    }

    /// Returns true if packets of this protocol may belong to a service.
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

/// Returns the content of a frame behind its EtherType or length.
fn carried(payload: &[u8], ethertype: u16) -> Option<FrameContent> {
    /// The smallest EtherType; smaller values are lengths (IEEE 802.3, 3.2.6).
    const ETHERTYPES: u16 = 1536;
    if ethertype >= ETHERTYPES {
        return Some(FrameContent::EtherType(ethertype));
    }
    match payload.get(..usize::from(ethertype))? {
        [0xaa, 0xaa, 3, a, b, c, high, low, ..] => {
            let number = u16::from_be_bytes([*high, *low]);
            Some(FrameContent::Snap([*a, *b, *c], number))
        }
        [destination, _, _, ..] => Some(FrameContent::Llc(*destination)),
        _ => None,
    }
}

/// Returns the UDP datagram of a packet, if it is whole.
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

impl fmt::Display for FrameContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EtherType(number) => write!(f, "EtherType {number:#06x}"),
            Self::Llc(address) => write!(f, "LLC {address:#04x}"),
            Self::Snap([a, b, c], number) => write!(f, "SNAP {a:02x}{b:02x}{c:02x} {number:#06x}"),
        }
    }
}
