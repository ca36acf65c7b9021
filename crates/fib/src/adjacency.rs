//! Next hops: egress interface, port, MTU and link header of the packets that a route forwards.
//!
//! A FIB leaf is a [`NextHopId`]; its line in this table contains all that forwarding needs. A change of a
//! neighbour or link changes only this line, never a route. There is one writer, the control plane, and many
//! readers; a line has a version (seqlock), so that a reader retries if it meets a concurrent write.

use core::net::Ipv4Addr;
use core::sync::atomic::{AtomicU64, Ordering, fence};

use frame::InterfaceId;
use frame::shortcut::Dependency;
use kernels::{Pages, Zeroed};
use packet::out::OutId;

/// Id of a next hop or of a group of next hops; 0 means no route.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NextHopId(pub u32);

impl NextHopId {
    /// No matching route.
    pub const NO_ROUTE: Self = Self(0);
}

/// Number of bits of an id.
pub const NEXT_HOP_BITS: u32 = 20;
/// Maximum number of next hops of both families together. FIBs, groups and connections have room for their
/// ids.
pub const NEXT_HOPS: usize = 1 << NEXT_HOP_BITS;
/// Maximum length of a link header: Ethernet with four tags, or the beginning of a tunnel header.
pub const HEADER_BYTES: usize = 32;
/// Maximum number of members of an ECMP group; a gateway that is listed twice counts twice.
pub const GROUP_MEMBERS: usize = 16;

/// Treatment of a packet that is sent to a next hop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The next hop does not exist: treated as no route.
    #[default]
    NoRoute,
    /// Write the link header and send the packet. The fast path handles only this kind.
    Forward,
    /// A connected network: the destination itself is the neighbour, still unresolved.
    Glean,
    /// A gateway whose MAC address is not known yet.
    Incomplete,
    /// An address of this router.
    Local,
    /// The broadcast address of a connected network.
    Broadcast,
    /// Drop silently.
    Blackhole,
    /// Drop with ICMP host unreachable.
    Unreachable,
    /// Drop with ICMP administratively prohibited.
    Prohibit,
    /// A group: the flow's hash selects a member.
    Group,
    /// Look the destination up again in another routing table (`egress` is its number).
    Table,
}

impl Kind {
    fn from_bits(bits: u8) -> Self {
        const KINDS: [Kind; 11] = [
            Kind::NoRoute,
            Kind::Forward,
            Kind::Glean,
            Kind::Incomplete,
            Kind::Local,
            Kind::Broadcast,
            Kind::Blackhole,
            Kind::Unreachable,
            Kind::Prohibit,
            Kind::Group,
            Kind::Table,
        ];
        KINDS.get(usize::from(bits)).copied().unwrap_or_default()
    }
}

/// A next hop in unpacked form; in the table it takes one cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Adjacency {
    /// Treatment of the packet.
    pub kind: Kind,
    /// Number of bytes of `header` that are written before the packet, from the Ethernet destination to the
    /// EtherType; 0 for links without a header.
    pub header_len: u8,
    /// The port or device that sends the frames.
    pub out: OutId,
    /// Layer-3 MTU of the egress interface in bytes. A group stores member ids here ([`Self::member_at`]).
    pub mtu: u32,
    /// The egress interface; for `Kind::Table` the number of the table. A group stores member ids here
    /// ([`Self::member_at`]).
    pub egress: InterfaceId,
    /// Number of members of a group, else 0.
    pub members: u8,
    /// The link header. A group stores member ids here ([`Self::member_at`]).
    pub header: [u8; HEADER_BYTES],
}

impl Adjacency {
    /// The content of an id that was never written.
    pub const NONE: Self = Self {
        kind: Kind::NoRoute,
        header_len: 0,
        out: OutId::NONE,
        mtu: 0,
        egress: InterfaceId::NONE,
        members: 0,
        header: [0; HEADER_BYTES],
    };

    /// Returns the group's member for a flow with this hash.
    #[inline]
    pub fn member(&self, hash: u32) -> NextHopId {
        let count = u64::from(self.members.max(1));
        self.member_at(((u64::from(hash) * count) >> 32) as usize)
    }

    /// Returns the dependency of shortcuts to this next hop; `None` if shortcuts are impossible, because
    /// frames leave tagged or not by a port.
    pub fn footing(&self) -> Option<Dependency> {
        let plain = self.header_len == 14 && self.out.as_port().is_some();
        let link = *self.header.first_chunk()?;
        plain.then_some(Dependency::Link {
            egress: self.egress,
            link,
        })
    }

    /// Iterates over the members of a group.
    pub fn members(&self) -> impl Iterator<Item = NextHopId> {
        let members = usize::from(self.members).min(GROUP_MEMBERS);
        (0..members).map(|at| self.member_at(at))
    }

    /// Returns a member of a group. The lower 16 bits of the ids are stored in `header` in native byte order,
    /// the upper four bits in `mtu` and `egress`.
    #[inline]
    fn member_at(&self, at: usize) -> NextHopId {
        let at = at % GROUP_MEMBERS;
        let low = u16::from_ne_bytes([self.header[at * 2], self.header[at * 2 + 1]]);
        let high = u64::from(self.mtu) | u64::from(self.egress.0) << 32;
        NextHopId(u32::from(low) | ((high >> (at * 4)) as u32 & 0xf) << 16)
    }

    /// Creates a group of the first [`GROUP_MEMBERS`] members.
    #[inline]
    pub fn group(members: &[NextHopId]) -> Self {
        let mut group = Self {
            kind: Kind::Group,
            ..Self::default()
        };
        let mut high = 0;
        for (at, member) in members.iter().take(GROUP_MEMBERS).enumerate() {
            group.header[at * 2..at * 2 + 2].copy_from_slice(&(member.0 as u16).to_ne_bytes());
            high |= u64::from(member.0 >> 16 & 0xf) << (at * 4);
            group.members += 1;
        }
        group.mtu = high as u32;
        group.egress = InterfaceId((high >> 32) as u32);
        group
    }
}

/// Word 0: version (32) | kind (8) | header_len (8); word 1: mtu (32) | egress (32); word 2: members (8) |
/// out (24) | generation (32); words 3 to 6: header; word 7: IPv4 gateway.
type Line = [AtomicU64; 8];

/// The table of next hops: one writer, any number of readers.
///
/// The kernel commits memory page by page as lines are written.
#[derive(Debug)]
pub struct AdjacencyTable {
    lines: Zeroed<Line>,
}

impl Default for AdjacencyTable {
    fn default() -> Self {
        Self::new()
    }
}

impl AdjacencyTable {
    /// Creates a table in which every id is [`Kind::NoRoute`].
    ///
    /// # Panics
    /// If the kernel cannot reserve 64 MB of address space.
    pub fn new() -> Self {
        // Miri visits all lines on every borrow.
        let lines = if cfg!(miri) { 1 << 10 } else { NEXT_HOPS };
        Self {
            lines: Zeroed::new(lines, Pages::Small)
                .expect("a process begins with address space for its next hops"),
        }
    }

    #[inline(always)]
    fn line(&self, id: NextHopId) -> &Line {
        &self.lines[id.0 as usize]
    }

    /// Prefetches the line of `id`.
    #[inline(always)]
    pub fn prefetch(&self, id: NextHopId) {
        kernels::prefetch(self.line(id));
    }

    /// Returns the egress interface of a next hop as a hint: the line may be changing, or its kind may store
    /// something else there.
    #[inline(always)]
    pub fn egress_hint(&self, id: NextHopId) -> InterfaceId {
        InterfaceId((self.line(id)[1].load(Ordering::Relaxed) >> 32) as u32)
    }

    /// Reads a next hop consistently.
    #[inline]
    pub fn read(&self, id: NextHopId) -> Adjacency {
        let line = self.line(id);
        loop {
            let first = line[0].load(Ordering::Acquire);
            let mut adjacency = Adjacency {
                kind: Kind::from_bits((first >> 32) as u8),
                header_len: (first >> 40) as u8,
                ..Adjacency::default()
            };
            let second = line[1].load(Ordering::Relaxed);
            adjacency.mtu = second as u32;
            adjacency.egress = InterfaceId((second >> 32) as u32);
            let third = line[2].load(Ordering::Relaxed);
            adjacency.members = third as u8;
            adjacency.out = OutId::from_bits(third as u32 >> 8);
            for (word, bytes) in line[3..7].iter().zip(adjacency.header.chunks_exact_mut(8)) {
                bytes.copy_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes());
            }
            fence(Ordering::Acquire);
            // The version is odd during a write.
            if first & 1 == 0 && line[0].load(Ordering::Relaxed) == first {
                return adjacency;
            }
            core::hint::spin_loop();
        }
    }

    /// Writes a next hop. Only the control plane calls this, from one thread at a time.
    pub fn write(&self, id: NextHopId, adjacency: &Adjacency) {
        let line = self.line(id);
        let version = (line[0].load(Ordering::Relaxed) as u32).wrapping_add(1);
        line[0].store(u64::from(version), Ordering::Relaxed);
        fence(Ordering::Release);
        line[1].store(
            u64::from(adjacency.mtu) | (u64::from(adjacency.egress.0) << 32),
            Ordering::Relaxed,
        );
        let generation = line[2].load(Ordering::Relaxed) & GENERATION;
        let out = u64::from(adjacency.out.bits()) << 8;
        let third = u64::from(adjacency.members) | out | generation;
        line[2].store(third, Ordering::Relaxed);
        for (word, bytes) in line[3..7].iter().zip(adjacency.header.chunks_exact(8)) {
            let mut eight = [0; 8];
            eight.copy_from_slice(bytes);
            word.store(u64::from_ne_bytes(eight), Ordering::Relaxed);
        }
        let first = u64::from(version.wrapping_add(1))
            | (u64::from(adjacency.kind as u8) << 32)
            | (u64::from(adjacency.header_len) << 40);
        line[0].store(first, Ordering::Release);
    }

    /// Stores the IPv4 address of the neighbour that the next hop represents. Only the control plane calls
    /// this.
    pub fn set_gateway(&self, id: NextHopId, gateway: Option<Ipv4Addr>) {
        let bits = gateway.map_or(0, |gateway| u64::from(gateway.to_bits()));
        self.line(id)[7].store(bits, Ordering::Release);
    }

    /// Returns the IPv4 address of the neighbour; `None` if the destination itself is the neighbour.
    pub fn gateway(&self, id: NextHopId) -> Option<Ipv4Addr> {
        let bits = self.line(id)[7].load(Ordering::Acquire) as u32;
        (bits != 0).then(|| Ipv4Addr::from_bits(bits))
    }

    /// Changes `id` to no route and increments its generation. Only the control plane calls this.
    pub fn retire(&self, id: NextHopId) {
        let word = &self.line(id)[2];
        let generation = (word.load(Ordering::Relaxed) & GENERATION).wrapping_add(1 << 32);
        self.write(id, &Adjacency::default());
        self.set_gateway(id, None);
        word.store(generation, Ordering::Release);
    }

    /// Returns how often `id` was freed.
    #[inline]
    pub fn generation(&self, id: NextHopId) -> u32 {
        (self.line(id)[2].load(Ordering::Acquire) >> 32) as u32
    }
}

/// The bits of word 2 that a write preserves.
const GENERATION: u64 = 0xffff_ffff_0000_0000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_words_are_read_back() {
        let table = AdjacencyTable::new();
        let mut adjacency = Adjacency {
            kind: Kind::Forward,
            header_len: 18,
            out: OutId::port(7),
            mtu: 9000,
            egress: InterfaceId(0xdead_beef),
            ..Adjacency::default()
        };
        adjacency.header[..18].copy_from_slice(&[3; 18]);

        table.write(NextHopId(5), &adjacency);

        assert_eq!(table.read(NextHopId(5)), adjacency);
        assert_eq!(table.read(NextHopId(6)).kind, Kind::NoRoute);
    }

    #[test]
    fn a_gateway_stays_until_its_entry_is_released() {
        let (table, id) = (AdjacencyTable::new(), NextHopId(5));
        let gateway = Some(Ipv4Addr::new(192, 0, 2, 1));
        assert_eq!(table.gateway(id), None);

        table.set_gateway(id, gateway);
        table.write(id, &Adjacency::default());
        assert_eq!((table.gateway(id), table.generation(id)), (gateway, 0));

        table.retire(id);
        assert_eq!((table.gateway(id), table.generation(id)), (None, 1));
    }

    #[test]
    fn a_group_stores_all_bits_of_its_members() {
        let ids: Vec<_> = (0..GROUP_MEMBERS as u32)
            .map(|at| NextHopId(NEXT_HOPS as u32 - 1 - at * 0xedcb))
            .collect();
        let table = AdjacencyTable::new();
        table.write(NextHopId(5), &Adjacency::group(&ids));

        let group = table.read(NextHopId(5));
        assert!(group.members().eq(ids));
    }

    #[test]
    fn a_group_spreads_over_all_its_members_and_no_others() {
        let ids = [NextHopId(3), NextHopId(0x9_0009), NextHopId(0x9_0009)];
        let group = Adjacency::group(&ids);
        let picks: Vec<_> = (0..300u32)
            .map(|i| group.member(i.wrapping_mul(14_316_557)))
            .collect();

        assert_eq!(group.member(0), NextHopId(3));
        assert_eq!(group.member(u32::MAX), ids[1]);
        assert!(picks.iter().all(|p| ids.contains(p)));
        assert!(picks.iter().filter(|p| **p == ids[1]).count() > 150);
    }
}
