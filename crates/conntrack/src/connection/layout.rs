//! Where the words of an entry lie. A line is 64 bytes, eight words.
//!
//! | line | IPv4 | IPv6 |
//! |---|---|---|
//! | 0 | original: addresses, facts, rate, rewrite (2) | original: addresses (4), facts |
//! | 1 | shared | shared |
//! | 2 | reply, as 0 | reply, as 0 |
//! | 3, 4 | | original, reply: rate, rewrite (7) |
//!
//! The facts of a direction are the words `meta`, `packets`, `bytes` and `last`. `meta` is the tuple's
//! ports and protocol (40 bits), the direction's copy of the [`flag`]s (8) and the next hop's lower bits (16).
//! `last` is the tick of the direction's last packet (32), the next hop's generation (28) and its upper
//! bits; `rate` the byte counter when the running second began (32 bits), the bytes of the second before
//! (16, see `rate`) and 16 bits of an IPv4 connection's rewrite. Two cold words (timer links, attachment)
//! lie in an array apart.
//!
//! With its two places in the index (35 bytes on average) an IPv4 connection takes 243 bytes, one of
//! IPv6 371.

use core::sync::atomic::{AtomicU64, Ordering};

use fib::NextHopId;
use fib::adjacency::NEXT_HOP_BITS;
use fib::fib::GENERATION_BITS;
use packet::Tuple;

use super::id::NextHop;

/// A cache line of an entry.
pub(super) type Line = [AtomicU64; 8];
/// The cold words of an entry: links of the timer; attachment and the timer's place.
pub(super) type Cold = [AtomicU64; 2];

/// Bytes that a connection takes, its two places in the index included: IPv4, IPv6.
pub const ENTRY_BYTES: [u64; 2] = [
    (Ipv4::LINES * 64 + 16 + INDEX_BYTES) as u64,
    (Ipv6::LINES * 64 + 16 + INDEX_BYTES) as u64,
];
/// On average.
const INDEX_BYTES: usize = 35;

/// The line that both directions share.
pub(super) const SHARED: usize = 1;

/// The words of the shared line.
pub(super) mod shared {
    /// Version (32, odd while identity changes) | generation (32).
    pub(in crate::connection) const VERSION: usize = 0;
    /// Timeout in seconds (24) | TCP state (8) | helper (8) | own flags (16) | epoch of purges (8).
    pub(in crate::connection) const STATE: usize = 1;
    /// TCP: what a direction sent and may send, `end` | `end_max`; FastTrack: slow packets.
    pub(in crate::connection) const SENT: [usize; 2] = [2, 3];
    /// TCP: the largest windows, original | reply.
    pub(in crate::connection) const WINDOWS: usize = 4;
    /// TCP: the end of the last segment | bits of `tcp::Talk`.
    pub(in crate::connection) const LAST: usize = 5;
    /// TCP: the highest acknowledgements, original | reply.
    pub(in crate::connection) const ACKS: usize = 6;
    /// Of GRE, in the place of TCP's acknowledgements: what its first packet's header said.
    pub(in crate::connection) const GRE: usize = 6;
    /// TCP with FastTrack: the ends of both directions' trails, original | reply.
    pub(in crate::connection) const ENDS: usize = 6;
    /// Of a connection with FastTrack, in the place of TCP's numbers: packets of the slow walk (40) | mark of
    /// the direction's trail (24).
    pub(in crate::connection) const SLOW_PACKETS: [usize; 2] = [2, 4];
    /// And their bytes (44) | claim (20).
    pub(in crate::connection) const SLOW_BYTES: [usize; 2] = [3, 5];
    /// Mark | egress interface.
    pub(in crate::connection) const MARK: usize = 7;
}

/// What each direction's line knows of the connection.
pub(super) mod flag {
    /// A packet came in the reply direction.
    pub(in crate::connection) const SEEN_REPLY: u8 = 1;
    /// It is kept when the table is full.
    pub(in crate::connection) const ASSURED: u8 = 2;
    /// It is marked for FastTrack.
    pub(in crate::connection) const FASTTRACK: u8 = 4;
    /// The bits of `NatState`, from here on.
    pub(in crate::connection) const NAT_SHIFT: u8 = 3;
    /// The shared line says more: it has a mark, a helper watches it, or one expected it.
    pub(in crate::connection) const NOTED: u8 = 128;
}

/// What only the shared line knows.
pub(super) mod own {
    /// The slot holds a connection.
    pub(in crate::connection) const LIVE: u16 = 1;
    /// Its source was translated by `masquerade`.
    pub(in crate::connection) const MASQUERADE: u16 = 2;
    /// Its reply tuple is claimed in `Homes`.
    pub(in crate::connection) const CLAIMED: u16 = 4;
    /// A `connection-limit` counts it: rules are told when it ends.
    pub(in crate::connection) const COUNTED: u16 = 8;
    /// A helper expected it.
    pub(in crate::connection) const EXPECTED: u16 = 16;
    /// Its original tuple is claimed in `Homes`.
    pub(in crate::connection) const CLAIMED_ORIGINAL: u16 = 32;
    /// Its packets may go by shortcuts: who learned those is told when it ends.
    pub(in crate::connection) const SHORTCUT: u16 = 64;
}

/// Where the epoch lies in the shared line's state.
pub(super) const EPOCH_SHIFT: u32 = 56;

/// The part of `meta` that belongs to the tuple.
pub(super) const TUPLE_BITS: u64 = (1 << 40) - 1;
/// Where the flags lie in `meta`.
pub(super) const FLAGS_SHIFT: u32 = 40;
/// Where the lower bits of the next hop lie in `meta`.
const NEXT_HOP_SHIFT: u32 = 48;
/// Those bits. The others lie above the next hop's generation.
const NEXT_HOP_LOW: u32 = u64::BITS - NEXT_HOP_SHIFT;
const _: () = assert!(NEXT_HOP_LOW + u32::BITS - GENERATION_BITS >= NEXT_HOP_BITS);

/// The next hop that these words of a direction remember.
#[inline(always)]
pub(super) const fn next_hop_of(meta: u64, last: u64) -> NextHop {
    let high = (last >> 32) as u32;
    NextHop {
        id: NextHopId((meta >> NEXT_HOP_SHIFT) as u32 | high >> GENERATION_BITS << NEXT_HOP_LOW),
        generation: high & ((1 << GENERATION_BITS) - 1),
    }
}

/// The words with another next hop.
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

/// A family's places.
pub(super) trait Layout: Copy + core::fmt::Debug + Default + Send + Sync + 'static {
    /// Of IPv6 rather than IPv4.
    const IPV6: bool;
    /// Bytes of a network header without options.
    const HEADER: usize;
    /// Lines of an entry.
    const LINES: usize;
    /// The words of the direction's line; the key's words come first and end in `META`.
    const META: usize;
    /// The direction's packets.
    const PACKETS: usize = Self::META + 1;
    /// The direction's bytes.
    const BYTES: usize = Self::META + 2;
    /// Last | generation of the next hop and the upper bits of its id.
    const LAST: usize = Self::META + 3;
    /// The line of a direction's rate and rewrite.
    const RATE_LINE: [usize; 2];
    /// The rate's word in that line; the rewrite follows to the line's end.
    const RATE: usize;
    /// A tuple as it lies in the line, without flags and next hop.
    type Key: AsRef<[u64]> + Copy;
    /// A rewrite.
    type Rewrite: Copy + Default;

    /// The words that a tuple is known by.
    fn key(tuple: &Tuple) -> Self::Key;
    /// The tuple that a line's first words show.
    fn tuple(words: &[u64; 8]) -> Tuple;
    /// A rewrite's words for the line, and 16 bits for the rate's word.
    fn pack(rewrite: &Self::Rewrite) -> (&[u64], u16);
    /// The rewrite that is kept so.
    fn unpack(word: impl Fn(usize) -> u64, rest: u16) -> Self::Rewrite;
}

/// The line of a direction.
#[inline(always)]
pub(super) const fn line_of(reply: bool) -> usize {
    (reply as usize) * 2
}

/// IPv4's places.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ipv4;

/// IPv6's places.
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

/// Two numbers in a word, the first in its low half.
#[inline(always)]
pub(super) const fn pair(low: u32, high: u32) -> u64 {
    low as u64 | (high as u64) << 32
}

/// The low half of a word for even numbers, else the high one.
#[inline(always)]
pub(super) const fn half_of(word: u64, half: usize) -> u32 {
    (word >> (half % 2 * 32)) as u32
}

/// Reads a word; the owner reads what it wrote, others what is whole by itself.
#[inline(always)]
pub(super) fn load(word: &AtomicU64) -> u64 {
    word.load(Ordering::Relaxed)
}

/// Writes a word that the caller's worker owns.
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
    fn a_tuple_survives_its_line_beside_flags_and_next_hop() {
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
