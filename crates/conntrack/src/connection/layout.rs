//! Memory layout of an entry. A line is a 64-byte cache line of eight words.
//!
//! | line | IPv4 | IPv6 |
//! |---|---|---|
//! | 0 | original: addresses, facts, rate, rewrite (2) | original: addresses (4), facts |
//! | 1 | shared | shared |
//! | 2 | reply, as 0 | reply, as 0 |
//! | 3, 4 | | original, reply: rate, rewrite (7) |
//!
//! The facts of a direction are the words `meta`, `packets`, `bytes` and `last`. `meta` holds the tuple's
//! ports and protocol (40 bits), the direction's copy of the [`flag`]s (8) and the lower bits of the next hop
//! (16). `last` holds the tick of the direction's last packet (32), the next hop's generation (28) and its
//! upper bits. `rate` holds the byte counter at the start of the current second (32 bits), the bytes of the
//! second before (16, encoded by `rate`) and 16 bits of an IPv4 connection's rewrite. Two cold words (timer
//! links, attachment) are in a separate array.
//!
//! Including its two items in the index (35 bytes on average), an IPv4 connection takes 243 bytes, an IPv6
//! connection 371.

use core::sync::atomic::{AtomicU64, Ordering};

use fib::NextHopId;
use fib::adjacency::NEXT_HOP_BITS;
use fib::fib::GENERATION_BITS;
use packet::Tuple;

use super::id::NextHop;

/// One cache line of an entry.
pub(super) type Line = [AtomicU64; 8];
/// The cold words of an entry: timer links; attachment and position in the timer wheel.
pub(super) type Cold = [AtomicU64; 2];

/// Bytes per connection, including its two items in the index: IPv4, IPv6.
pub const ENTRY_BYTES: [u64; 2] = [
    (Ipv4::LINES * 64 + 16 + INDEX_BYTES) as u64,
    (Ipv6::LINES * 64 + 16 + INDEX_BYTES) as u64,
];
/// Average bytes of a connection in the index.
const INDEX_BYTES: usize = 35;

/// Number of the line that both directions share.
pub(super) const SHARED: usize = 1;

/// Word numbers of the shared line.
pub(super) mod shared {
    /// Version (32, odd while the identity changes) | generation (32).
    pub(in crate::connection) const VERSION: usize = 0;
    /// Timeout in seconds (24) | TCP state (8) | helper (8) | own flags (16) | epoch of purges (8).
    pub(in crate::connection) const STATE: usize = 1;
    /// TCP: the end of the sent data and of the permitted data of a direction, `end` | `end_max`. FastTrack: slow-path
    /// packets.
    pub(in crate::connection) const SENT: [usize; 2] = [2, 3];
    /// TCP: the largest windows, original | reply.
    pub(in crate::connection) const WINDOWS: usize = 4;
    /// TCP: the end of the last segment | bits of `tcp::Talk`.
    pub(in crate::connection) const LAST: usize = 5;
    /// TCP: the highest acknowledgements, original | reply.
    pub(in crate::connection) const ACKS: usize = 6;
    /// GRE: header of the first packet; shares the word of the TCP acknowledgements.
    pub(in crate::connection) const GRE: usize = 6;
    /// FastTracked TCP: last known sequence numbers, original | reply.
    pub(in crate::connection) const ENDS: usize = 6;
    /// FastTrack, in place of the TCP state: slow-path packets (40) | byte mark of the direction's trail
    /// (24).
    pub(in crate::connection) const SLOW_PACKETS: [usize; 2] = [2, 4];
    /// FastTrack: slow-path bytes (44) | claim (20).
    pub(in crate::connection) const SLOW_BYTES: [usize; 2] = [3, 5];
    /// Mark | egress interface.
    pub(in crate::connection) const MARK: usize = 7;
}

/// Flags that are copied to the lines of both directions.
pub(super) mod flag {
    /// A packet arrived in the reply direction.
    pub(in crate::connection) const SEEN_REPLY: u8 = 1;
    /// The connection is assured: a full table does not evict it.
    pub(in crate::connection) const ASSURED: u8 = 2;
    /// The connection is FastTracked.
    pub(in crate::connection) const FASTTRACK: u8 = 4;
    /// Position of the bits of `NatState`.
    pub(in crate::connection) const NAT_SHIFT: u8 = 3;
    /// The shared line holds more: a mark, or a helper that reads or expected the connection.
    pub(in crate::connection) const NOTED: u8 = 128;
}

/// Flags of the shared line only.
pub(super) mod own {
    /// The slot holds a connection.
    pub(in crate::connection) const LIVE: u16 = 1;
    /// `masquerade` translated the source.
    pub(in crate::connection) const MASQUERADE: u16 = 2;
    /// The reply tuple is claimed in `TupleClaims`.
    pub(in crate::connection) const CLAIMED: u16 = 4;
    /// A `connection-limit` counts the connection: the firewall is notified when it ends.
    pub(in crate::connection) const COUNTED: u16 = 8;
    /// A helper expected the connection.
    pub(in crate::connection) const EXPECTED: u16 = 16;
    /// The original tuple is claimed in `TupleClaims`.
    pub(in crate::connection) const CLAIMED_ORIGINAL: u16 = 32;
    /// The connection may have shortcuts: their owner is notified when it ends.
    pub(in crate::connection) const SHORTCUT: u16 = 64;
}

/// Position of the purge epoch in the word `STATE`.
pub(super) const EPOCH_SHIFT: u32 = 56;

/// The bits of `meta` that belong to the tuple.
pub(super) const TUPLE_BITS: u64 = (1 << 40) - 1;
/// Position of the flags in `meta`.
pub(super) const FLAGS_SHIFT: u32 = 40;
/// Position of the next hop's lower bits in `meta`.
const NEXT_HOP_SHIFT: u32 = 48;
/// Number of those bits. The upper bits are in `last`, above the generation.
const NEXT_HOP_LOW: u32 = u64::BITS - NEXT_HOP_SHIFT;
const _: () = assert!(NEXT_HOP_LOW + u32::BITS - GENERATION_BITS >= NEXT_HOP_BITS);

/// Decodes the next hop from a direction's words.
#[inline(always)]
pub(super) const fn next_hop_of(meta: u64, last: u64) -> NextHop {
    let high = (last >> 32) as u32;
    NextHop {
        id: NextHopId((meta >> NEXT_HOP_SHIFT) as u32 | high >> GENERATION_BITS << NEXT_HOP_LOW),
        generation: high & ((1 << GENERATION_BITS) - 1),
    }
}

/// Returns the words with another next hop.
#[inline(always)]
pub(super) const fn with_next_hop(meta: u64, last: u64, hop: NextHop) -> (u64, u64) {
    let rest = meta & !(u64::MAX << NEXT_HOP_SHIFT);
    let high =
        hop.generation & ((1 << GENERATION_BITS) - 1) | hop.id.0 >> NEXT_HOP_LOW << GENERATION_BITS;
    (
        rest | (hop.id.0 as u64) << NEXT_HOP_SHIFT,
        pair(last as u32, high),
    )
}

/// Entry layout of an address family.
pub(super) trait Layout: Copy + core::fmt::Debug + Default + Send + Sync + 'static {
    /// True for IPv6.
    const IPV6: bool;
    /// Bytes of a network header without options.
    const HEADER: usize;
    /// Lines per entry.
    const LINES: usize;
    /// Word number of `meta`, the last word of the key; the key's words come first.
    const META: usize;
    /// Word number of the packet counter.
    const PACKETS: usize = Self::META + 1;
    /// Word number of the byte counter.
    const BYTES: usize = Self::META + 2;
    /// Word number of: last packet's tick | next hop's generation and upper bits.
    const LAST: usize = Self::META + 3;
    /// Line number of each direction's rate and rewrite.
    const RATE_LINE: [usize; 2];
    /// Word number of the rate in that line; the rewrite follows up to the line's end.
    const RATE: usize;
    /// A tuple in the encoding of the line, without flags and next hop.
    type Key: AsRef<[u64]> + Copy;
    /// A rewrite of this family.
    type Rewrite: Copy + Default;

    /// Encodes a tuple.
    fn key(tuple: &Tuple) -> Self::Key;
    /// Decodes the tuple from the first words of a line.
    fn tuple(words: &[u64; 8]) -> Tuple;
    /// Encodes a rewrite: words for the line, and 16 bits for the rate's word.
    fn pack(rewrite: &Self::Rewrite) -> (&[u64], u16);
    /// Decodes a rewrite.
    fn unpack(word: impl Fn(usize) -> u64, rest: u16) -> Self::Rewrite;
}

/// Returns the line number of a direction.
#[inline(always)]
pub(super) const fn line_of(reply: bool) -> usize {
    (reply as usize) * 2
}

/// Entry layout of IPv4.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ipv4;

/// Entry layout of IPv6.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ipv6;

impl Layout for Ipv4 {
    const IPV6: bool = false;
    const HEADER: usize = 20;
    const LINES: usize = 3;
    const META: usize = 1;
    const RATE_LINE: [usize; 2] = [0, 2];
    const RATE: usize = 5;
    type Key = [u64; 2];
    type Rewrite = super::draft::Rewrite4;

    #[inline(always)]
    fn key(tuple: &Tuple) -> [u64; 2] {
        [
            (tuple.source as u64) << 32 | tuple.destination as u64 & 0xffff_ffff,
            tuple.ports(),
        ]
    }

    fn tuple(words: &[u64; 8]) -> Tuple {
        let source = u128::from(words[0] >> 32);
        let destination = u128::from(words[0] as u32);
        Tuple::of(source, destination, words[1], false)
    }

    fn pack(rewrite: &Self::Rewrite) -> (&[u64], u16) {
        (&rewrite.0[..2], rewrite.0[2] as u16)
    }

    #[inline(always)]
    fn unpack(word: impl Fn(usize) -> u64, rest: u16) -> Self::Rewrite {
        super::draft::Rewrite4([word(0), word(1), u64::from(rest)])
    }
}

impl Layout for Ipv6 {
    const IPV6: bool = true;
    const HEADER: usize = 40;
    const LINES: usize = 5;
    const META: usize = 4;
    const RATE_LINE: [usize; 2] = [3, 4];
    const RATE: usize = 0;
    type Key = [u64; 5];
    type Rewrite = super::draft::Rewrite6;

    #[inline(always)]
    fn key(tuple: &Tuple) -> [u64; 5] {
        [
            (tuple.source >> 64) as u64,
            tuple.source as u64,
            (tuple.destination >> 64) as u64,
            tuple.destination as u64,
            tuple.ports(),
        ]
    }

    fn tuple(words: &[u64; 8]) -> Tuple {
        let address = |at: usize| u128::from(words[at]) << 64 | u128::from(words[at + 1]);
        Tuple::of(address(0), address(2), words[4], true)
    }

    fn pack(rewrite: &Self::Rewrite) -> (&[u64], u16) {
        (&rewrite.0, 0)
    }

    #[inline(always)]
    fn unpack(word: impl Fn(usize) -> u64, _: u16) -> Self::Rewrite {
        super::draft::Rewrite6(core::array::from_fn(word))
    }
}

/// Packs two numbers into a word, the first in the low half.
#[inline(always)]
pub(super) const fn pair(low: u32, high: u32) -> u64 {
    low as u64 | (high as u64) << 32
}

/// Returns the low half of a word if `half` is even, else the high half.
#[inline(always)]
pub(super) const fn half_of(word: u64, half: usize) -> u32 {
    (word >> (half % 2 * 32)) as u32
}

/// Reads a word. Relaxed: the owner reads its own writes, other threads need only single words.
#[inline(always)]
pub(super) fn load(word: &AtomicU64) -> u64 {
    word.load(Ordering::Relaxed)
}

/// Writes a word. Only the owning worker calls this.
#[inline(always)]
pub(super) fn store(word: &AtomicU64, value: u64) {
    word.store(value, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use packet::protocol;

    use super::*;

    fn check<F: Layout>(tuple: Tuple) {
        let mut words = [u64::MAX; 8];
        for (word, key) in words.iter_mut().zip(F::key(&tuple).as_ref()) {
            *word = *key;
        }
        words[F::META] |= 0xffff_ff00_0000_0000;

        assert_eq!(F::tuple(&words), tuple);
        assert_eq!(F::key(&tuple).as_ref().len(), F::META + 1);
    }

    #[test]
    fn a_tuple_round_trips_through_its_cache_line_with_flags_and_next_hop() {
        let tuple = Tuple {
            source: 0xffff_fffe,
            destination: 0x0102_0304,
            source_port: 65_535,
            destination_port: 1,
            protocol: protocol::UDP,
            ipv6: false,
        };
        check::<Ipv4>(tuple);
        check::<Ipv6>(Tuple {
            source: u128::MAX - 5,
            destination: 1 << 127 | 9,
            ipv6: true,
            ..tuple
        });
    }
}
