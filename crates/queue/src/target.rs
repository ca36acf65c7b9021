//! Targets of simple queues, and the packet fields they are compared with.

/// Target of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// Addresses with this prefix. IPv4 addresses are in the low 32 bits; `len` counts from their first bit.
    Prefix {
        /// IPv6 instead of IPv4.
        ipv6: bool,
        /// The prefix; all bits after the prefix are 0.
        address: u128,
        /// Prefix length.
        len: u8,
    },
    /// Packets received or sent by this interface.
    Interface(u32),
}

/// Direction of a packet, seen from the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the target.
    Up,
    /// To the target.
    Down,
}

/// Match of a queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Match {
    /// A packet must match one of these targets.
    pub targets: Vec<Target>,
    /// Communication partner of the target, if the match requires one.
    pub peer: Option<Target>,
    /// Packet marks to match; an empty list matches every packet.
    pub marks: Vec<u32>,
}

/// Fields of a packet that are matched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketFields {
    /// IPv6 instead of IPv4.
    pub ipv6: bool,
    /// Source address on arrival.
    pub source: u128,
    /// Destination address on departure.
    pub destination: u128,
    /// Ingress interface; 0: none.
    pub ingress: u32,
    /// Egress interface; 0: none.
    pub egress: u32,
    /// Mark; 0: none.
    pub mark: u32,
}

/// Clears the bits of an address after a prefix of this length.
pub(crate) fn masked(address: u128, ipv6: bool, len: u8) -> u128 {
    let bits = if ipv6 { 128 } else { 32 };
    let rest = bits - u32::from(len).min(bits);
    match rest {
        128 => 0,
        rest => address >> rest << rest,
    }
}

impl Target {
    /// Returns true if the target has an address (IPv4 in the low 32 bits), or is the interface.
    pub fn covers(&self, ipv6: bool, address: u128, interface: u32) -> bool {
        match *self {
            Self::Prefix {
                ipv6: of,
                address: prefix,
                len,
            } => of == ipv6 && masked(address, ipv6, len) == prefix,
            Self::Interface(id) => id == interface,
        }
    }
}

impl Match {
    /// Returns true if a packet matches in this direction.
    pub fn takes(&self, seen: &PacketFields, direction: Direction) -> bool {
        let (own, peer) = seen.ends(direction);
        let is_peer = |target: &Target| target.covers(seen.ipv6, peer.0, peer.1);
        let is_own = |target: &Target| target.covers(seen.ipv6, own.0, own.1);
        (self.marks.is_empty() || self.marks.contains(&seen.mark))
            && self.peer.as_ref().is_none_or(is_peer)
            && self.targets.iter().any(is_own)
    }
}

impl PacketFields {
    /// Returns address and interface of the target's side and of the other side.
    pub(crate) fn ends(&self, direction: Direction) -> ((u128, u32), (u128, u32)) {
        let (from, to) = ((self.source, self.ingress), (self.destination, self.egress));
        match direction {
            Direction::Down => (to, from),
            Direction::Up => (from, to),
        }
    }
}
