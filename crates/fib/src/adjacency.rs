//! Next hops: where a packet goes once its route is known, and what is written in front of it.
//!
//! A FIB leaf is a [`NextHopId`]; its line here holds all that forwarding needs: egress interface,
//! port, MTU and the ready link header. A change of a neighbour or a link touches only this line,
//! never a route. One writer (control), many readers; a line carries a version, so that a reader
//! who meets a half-written line reads again.

use core::net::Ipv4Addr;
use core::sync::atomic::{AtomicU64, Ordering, fence};

use frame::InterfaceId;
use frame::shortcut::Footing;
use kernels::{Pages, Zeroed};
use packet::out::OutId;

/// A next hop, or a group of them. 0 is no route.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NextHopId(pub u32);

impl NextHopId {
    /// Nothing matched.
    pub const NO_ROUTE: Self = Self(0);
}

/// The bits of an id.
pub const NEXT_HOP_BITS: u32 = 20;
/// How many next hops there can be, of both families together. FIBs, groups and connections have room for their ids.
pub const NEXT_HOPS: usize = 1 << NEXT_HOP_BITS;
/// The longest link header: Ethernet, four tags or a tunnel's start.
pub const HEADER_BYTES: usize = 32;
/// The most members of a group (ECMP); a gateway that is listed twice counts twice.
pub const GROUP_MEMBERS: usize = 16;

/// What becomes of a packet that is sent to a next hop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// No such next hop: treated as no route.
    #[default]
    NoRoute,
    /// Write the header, send it. The only kind that the fast path finishes.
    Forward,
    /// A connected network: the destination itself is the neighbour, not resolved yet.
    Glean,
    /// A gateway whose link address is not known yet.
    Incomplete,
    /// This router itself.
    Local,
    /// The broadcast address of a connected network.
    Broadcast,
    /// Discard silently.
    Blackhole,
    /// Discard; host unreachable is owed.
    Unreachable,
    /// Discard; administratively prohibited is owed.
    Prohibit,
    /// A group: the flow's hash picks a member.
    Group,
    /// Look the destination up again in another routing table (`table`).
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

/// A next hop as one reads and writes it; in the table it is one cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Adjacency {
    /// What becomes of the packet.
    pub kind: Kind,
    /// Bytes of `header` that are written in front of the packet, from the Ethernet destination to
    /// the EtherType. 0 for links without a header.
    pub header_len: u8,
    /// What takes the frames.
    pub out: OutId,
    /// The layer-3 MTU of the egress interface in bytes. For a group see [`Self::member_at`].
    pub mtu: u32,
    /// The egress interface. For `Kind::Table`: the table's number. For a group see [`Self::member_at`].
    pub egress: InterfaceId,
    /// The members of a group; `members` of `Kind::Group`, else 0.
    pub members: u8,
    /// The ready link header. For a group see [`Self::member_at`].
    pub header: [u8; HEADER_BYTES],
}

impl Adjacency {
    /// What an id that was never written reads as.
    pub const NONE: Self = Self {
        kind: Kind::NoRoute,
        header_len: 0,
        out: OutId::NONE,
        mtu: 0,
        egress: InterfaceId::NONE,
        members: 0,
        header: [0; HEADER_BYTES],
    };

    /// The group's member that a flow with this hash takes.
    #[inline]
    pub fn member(&self, hash: u32) -> NextHopId {
        let count = u64::from(self.members.max(1));
        self.member_at(((u64::from(hash) * count) >> 32) as usize)
    }

    /// What shortcuts rest on that lead here; none where there can be none, as frames leave with tags or by no port.
    pub fn footing(&self) -> Option<Footing> {
        let plain = self.header_len == 14 && self.out.as_port().is_some();
        let link = *self.header.first_chunk()?;
        plain.then_some(Footing::Link {
            egress: self.egress,
            link,
        })
    }

    /// All members of a group.
    pub fn members(&self) -> impl Iterator<Item = NextHopId> {
        let members = usize::from(self.members).min(GROUP_MEMBERS);
        (0..members).map(|at| self.member_at(at))
    }

    /// A member of a group. The lower 16 bits of all ids are where others have the header, in native order, the
    /// upper four where others have MTU and egress.
    #[inline]
    fn member_at(&self, at: usize) -> NextHopId {
        let at = at % GROUP_MEMBERS;
        let low = u16::from_ne_bytes([self.header[at * 2], self.header[at * 2 + 1]]);
        let high = u64::from(self.mtu) | u64::from(self.egress.0) << 32;
        NextHopId(u32::from(low) | ((high >> (at * 4)) as u32 & 0xf) << 16)
    }

    /// A group of these members; the first [`GROUP_MEMBERS`] count.
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

/// word 0: version (32) | kind (8) | header_len (8); word 1: mtu (32) | egress (32);
/// word 2: members (8) | out (24) | generation (32); words 3 to 6: the
/// header; word 7: the IPv4 gateway.
type Line = [AtomicU64; 8];

/// All next hops: one writer, any number of readers.
///
/// Lines take memory as they are written, a page at a time.
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
    /// A table in which every id is [`Kind::NoRoute`].
    ///
    /// # Panics
    /// When the kernel has not 64 MB of address space.
    pub fn new() -> Self {
        // Miri walks through all of them whenever they are borrowed.
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

    /// Asks for the line of `id`.
    #[inline(always)]
    pub fn prefetch(&self, id: NextHopId) {
        kernels::prefetch(self.line(id));
    }

    /// Returns the egress interface of a next hop as a hint: what the line has there may be changing, or mean something
    /// else.
    #[inline(always)]
    pub fn egress_hint(&self, id: NextHopId) -> InterfaceId {
        InterfaceId((self.line(id)[1].load(Ordering::Relaxed) >> 32) as u32)
    }

    /// Reads a next hop; a reader never sees half of a change.
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
            // The version is odd while the writer is at work.
            if first & 1 == 0 && line[0].load(Ordering::Relaxed) == first {
                return adjacency;
            }
            core::hint::spin_loop();
        }
    }

    /// Changes a next hop. Only control calls this, from one thread at a time.
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

    /// Notes which IPv4 neighbour a next hop is, if it is one. Only control calls this.
    pub fn set_gateway(&self, id: NextHopId, gateway: Option<Ipv4Addr>) {
        let bits = gateway.map_or(0, |gateway| u64::from(gateway.to_bits()));
        self.line(id)[7].store(bits, Ordering::Release);
    }

    /// The IPv4 neighbour that a next hop is; none where the destination itself is it.
    pub fn gateway(&self, id: NextHopId) -> Option<Ipv4Addr> {
        let bits = self.line(id)[7].load(Ordering::Acquire) as u32;
        (bits != 0).then(|| Ipv4Addr::from_bits(bits))
    }

    /// Makes `id` no route and gives it its next generation. Only control calls this.
    pub fn retire(&self, id: NextHopId) {
        let word = &self.line(id)[2];
        let generation = (word.load(Ordering::Relaxed) & GENERATION).wrapping_add(1 << 32);
        self.write(id, &Adjacency::default());
        self.set_gateway(id, None);
        word.store(generation, Ordering::Release);
    }

    /// How often `id` was given back.
    #[inline]
    pub fn generation(&self, id: NextHopId) -> u32 {
        (self.line(id)[2].load(Ordering::Acquire) >> 32) as u32
    }
}

/// The bits of word 2 that outlive a write.
const GENERATION: u64 = 0xffff_ffff_0000_0000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
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
    fn a_gateway_stays_until_its_line_is_given_back() {
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
    fn a_group_has_room_for_all_bits_of_its_members() {
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
