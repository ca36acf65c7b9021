//! What a simple queue is for, and what is looked at of a packet.

/// What a queue is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// Addresses with this prefix; IPv4 in the low 32 bits, `len` counts from their first bit.
    Prefix {
        /// IPv6 rather than IPv4.
        ipv6: bool,
        /// The prefix; what lies behind it is 0.
        address: u128,
        /// How many bits it has.
        len: u8,
    },
    /// What comes in or goes out by this interface.
    Interface(u32),
}

/// Which way a packet goes, as the target sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the target.
    Up,
    /// To the target.
    Down,
}

/// Which packets a queue is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Match {
    /// Any of them.
    pub targets: Vec<Target>,
    /// Whom the target exchanges packets with, if that counts.
    pub peer: Option<Target>,
    /// Marks, any of them; none: whatever the mark.
    pub marks: Vec<u32>,
}

/// What is looked at of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// IPv6 rather than IPv4.
    pub ipv6: bool,
    /// Its source as it came.
    pub source: u128,
    /// Its destination as it leaves.
    pub destination: u128,
    /// The interface that it came by; 0: none.
    pub ingress: u32,
    /// The interface that it leaves by; 0: none.
    pub egress: u32,
    /// Its mark; 0: none.
    pub mark: u32,
}

/// An address without the bits behind a prefix of this length.
pub(crate) fn masked(address: u128, ipv6: bool, len: u8) -> u128 {
    let bits = if ipv6 { 128 } else { 32 };
    let rest = bits - u32::from(len).min(bits);
    match rest {
        128 => 0,
        rest => address >> rest << rest,
    }
}

impl Target {
    pub(crate) fn covers(&self, ipv6: bool, address: u128, interface: u32) -> bool {
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
    /// Whether a packet that goes this way is meant.
    pub fn takes(&self, seen: &Seen, direction: Direction) -> bool {
        let (own, peer) = seen.ends(direction);
        let is_peer = |target: &Target| target.covers(seen.ipv6, peer.0, peer.1);
        let is_own = |target: &Target| target.covers(seen.ipv6, own.0, own.1);
        (self.marks.is_empty() || self.marks.contains(&seen.mark))
            && self.peer.as_ref().is_none_or(is_peer)
            && self.targets.iter().any(is_own)
    }
}

impl Seen {
    /// Address and interface on the target's side, and on the other.
    pub(crate) fn ends(&self, direction: Direction) -> ((u128, u32), (u128, u32)) {
        let (from, to) = ((self.source, self.ingress), (self.destination, self.egress));
        match direction {
            Direction::Down => (to, from),
            Direction::Up => (from, to),
        }
    }
}
