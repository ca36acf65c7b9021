//! Batch lookup of the connections of many packets: the entries are prefetched for the likeliest match while
//! the other packets are looked up.

use core::ops::Range;

use kernels::Lanes;
use packet::Tuple;

use super::entry::flags_of;
use super::hash::Hash;
use super::id::FlowId;
use super::layout::{Ipv4, Ipv6, Layout, flag};
use super::limits::Limits;
use super::part::Part;
use super::pass::Passed;
use super::settings::Tick;
use super::table::Lines;
use super::tracker::{Tracker, of_family};

/// Maximum number of packets per batch.
pub const TOGETHER: usize = 64;

/// Lookup results of a batch, by the packet's index in the batch.
#[derive(Debug)]
pub struct BatchLookup {
    hashes: [Hash; TOGETHER],
    ways: [Option<FlowId>; TOGETHER],
    /// Line numbers of the directions, and the flags in those lines.
    lines: [u32; TOGETHER],
    flags: [u8; TOGETHER],
}

/// Consecutive packets of a batch, for [`Tracker::pass_together`].
#[derive(Clone, Debug)]
pub struct BatchPackets<'a> {
    /// The verified lookup results of the batch.
    pub ways: &'a BatchLookup,
    /// Indices of the packets in the batch.
    pub places: Range<usize>,
    /// Lengths of the packets in bytes, from the network header on.
    pub lens: &'a [u32],
    /// A bit for each TCP packet of the batch, by index in the batch.
    pub segments: u64,
}

impl Default for BatchLookup {
    fn default() -> Self {
        Self {
            hashes: [Hash::default(); TOGETHER],
            ways: [None; TOGETHER],
            lines: [0; TOGETHER],
            flags: [0; TOGETHER],
        }
    }
}

impl BatchLookup {
    /// Returns the direction of a packet.
    #[inline(always)]
    pub fn get(&self, at: usize) -> Option<FlowId> {
        self.ways[at % TOGETHER]
    }

    /// Returns the line number of a packet's direction.
    #[inline(always)]
    pub(super) fn line(&self, at: usize) -> Option<u32> {
        self.get(at).map(|_| self.lines[at % TOGETHER])
    }

    /// Returns the directions of a range of packets.
    #[inline(always)]
    pub fn of(&self, places: Range<usize>) -> &[Option<FlowId>] {
        &self.ways[places]
    }

    /// Returns a bit mask of the packets in a range whose connections are FastTracked.
    #[inline(always)]
    pub fn with_fasttrack(&self, places: Range<usize>) -> u64 {
        let flags = places.clone().zip(&self.flags[places]);
        flags.fold(0, |marked, (at, flags)| {
            marked | u64::from(flags & flag::FASTTRACK != 0) << at
        })
    }
}

impl Tracker {
    /// Computes the hashes of a range of packets and prefetches their index buckets.
    #[inline(always)]
    pub fn ask<const IPV6: bool>(
        &self,
        ways: &mut BatchLookup,
        places: Range<usize>,
        tuple: impl Fn(usize) -> Tuple,
    ) {
        let keys = self.keys();
        let hashes = &mut ways.hashes[places.clone()];
        of_family!(ref self, IPV6, part => {
            let buckets = part.buckets();
            for (at, hash) in places.zip(hashes) {
                *hash = keys.hash(&tuple(at));
                buckets.prefetch(*hash);
            }
        });
    }

    /// Finds the likeliest direction of each packet from the index alone and prefetches its entry. Only
    /// [`Tracker::find`] can tell that a packet has no connection.
    #[inline(always)]
    pub fn candidates<L: Lanes, const IPV6: bool>(
        &self,
        lanes: L,
        ways: &mut BatchLookup,
        places: Range<usize>,
    ) {
        of_family!(ref self, IPV6, part => part.candidates(lanes, ways, places));
    }

    /// Drops candidates whose tuple differs from the packet's.
    #[inline(always)]
    pub fn verify<const IPV6: bool>(
        &self,
        ways: &mut BatchLookup,
        places: Range<usize>,
        tuple: impl Fn(usize) -> Tuple,
    ) {
        if IPV6 {
            let key = |at| Ipv6::key(&tuple(at));
            self.ipv6.verify(ways, places, key);
        } else {
            let key = |at| Ipv4::key(&tuple(at));
            self.ipv4.verify(ways, places, key);
        }
    }

    /// Processes packets in order, as [`Tracker::pass`] and [`Tracker::pass_segment`] do, until one needs the
    /// slow path; returns the number of processed packets. `packet` returns a packet by its position in the
    /// range.
    #[inline(always)]
    pub fn pass_together<'p, const IPV6: bool>(
        &mut self,
        packets: BatchPackets<'_>,
        packet: impl Fn(usize) -> &'p [u8],
        now: Tick,
        passed: impl FnMut(usize, Passed),
    ) -> usize {
        let limits = &self.limits;
        of_family!(mut self, IPV6, part => part.pass_together(packets, packet, now, limits, passed))
    }
}

impl<F: Layout> Part<F> {
    #[inline(always)]
    fn candidates<L: Lanes>(&self, lanes: L, ways: &mut BatchLookup, places: Range<usize>) {
        let (buckets, lines, slot) = (self.buckets(), self.lines(), self.slot());
        let rewrites = F::IPV6 && self.translates();
        let hashes = &ways.hashes[places.clone()];
        let numbers = &mut ways.lines[places.clone()];
        for ((way, hash), number) in ways.ways[places].iter_mut().zip(hashes).zip(numbers) {
            let chained = || buckets.is_chained(*hash);
            let target = match buckets.first(lanes, *hash) {
                None if chained() => self.any(*hash),
                target => target,
            };
            let Some(target) = target else {
                *way = None;
                continue;
            };
            *way = Some(FlowId::to(slot, target));
            let (place, reply) = (target >> 1, target & 1 != 0);
            *number = Lines::<F>::number(place, reply);
            lines.prefetch(*number);
            // The rewrite of an IPv4 connection is in the same line.
            if rewrites {
                lines.prefetch_rewrite(place, reply);
            }
        }
    }

    #[inline(always)]
    fn verify(&self, ways: &mut BatchLookup, places: Range<usize>, key: impl Fn(usize) -> F::Key) {
        let lines = self.lines();
        let numbers = &ways.lines[places.clone()];
        let flags = &mut ways.flags[places.clone()];
        let both = ways.ways[places.clone()].iter_mut().zip(flags);
        for ((at, number), (way, flags)) in places.zip(numbers).zip(both) {
            *flags = 0;
            if way.is_none() {
                continue;
            }
            match flags_of::<F>(lines.line(*number), &key(at)) {
                Some(found) => *flags = found,
                None => *way = None,
            }
        }
    }

    #[inline(always)]
    fn pass_together<'p>(
        &mut self,
        packets: BatchPackets<'_>,
        packet: impl Fn(usize) -> &'p [u8],
        now: Tick,
        limits: &Limits,
        mut passed: impl FnMut(usize, Passed),
    ) -> usize {
        let BatchPackets {
            ways,
            places,
            lens,
            segments,
        } = packets;
        let segments = segments >> (places.start % TOGETHER);
        let both = ways.ways[places.clone()]
            .iter()
            .zip(&ways.lines[places.clone()]);
        for (at, ((way, number), len)) in both.zip(lens).enumerate() {
            let Some(way) = *way else {
                return at;
            };
            let found = match segments >> (at % TOGETHER) & 1 {
                0 => self.pass(way, self.lines().line(*number), *len, now),
                _ => self.pass_segment(way, *number, packet(at), *len, now, limits),
            };
            match found {
                Some(of_packet) => passed(at, of_packet),
                None => return at,
            }
        }
        places.len().min(lens.len())
    }
}
