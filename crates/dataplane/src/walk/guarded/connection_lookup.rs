//! Connection lookup for all packets of a chunk.

use core::ops::Range;

use kernels::{Lanes, Work};

use super::CHUNK;
use super::chunk_lookups::ChunkLookups;
use crate::connection::Tracker;

/// Looks up the connections of all packets, the likeliest index entry first, so that prefetches
/// overlap with lookups. Misses are left to the guard.
pub(super) struct ConnectionLookup<'a> {
    pub(super) count: usize,
    pub(super) lookups: &'a mut ChunkLookups,
    pub(super) tracker: &'a Tracker,
    pub(super) tracks: [bool; 2],
    /// Families (IPv4, IPv6) that FastTrack may forward.
    pub(super) fasttracks: [bool; 2],
}

impl Work for ConnectionLookup<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(mut self, lanes: L) {
        let (mut at, count) = (0, self.count.min(CHUNK));
        while at < count {
            let (ipv6, end) = self.lookups.sets.family(at, count);
            match (self.tracks[usize::from(ipv6)], ipv6) {
                (true, true) => self.find::<_, true>(lanes, at..end),
                (true, false) => self.find::<_, false>(lanes, at..end),
                (false, _) => {}
            }
            at = end;
        }
    }
}

impl ConnectionLookup<'_> {
    #[inline(always)]
    fn find<L: Lanes, const IPV6: bool>(&mut self, lanes: L, places: Range<usize>) {
        let (tracker, lookups) = (self.tracker, &mut *self.lookups);
        let (ways, columns) = (&mut lookups.ways, &lookups.batch.columns);
        tracker.candidates::<L, IPV6>(lanes, ways, places.clone());
        tracker.verify::<IPV6>(ways, places.clone(), |at| columns.tuple::<IPV6>(at));
        let marked = ways.with_fasttrack(places.clone());
        if self.fasttracks[usize::from(IPV6)] {
            lookups.sets.fasttrack |= marked & lookups.sets.plain;
        }
        let all = u64::MAX >> (CHUNK - places.len().max(1)) << places.start;
        let mut slow = lookups.sets.tcp & !marked & all;
        while slow != 0 {
            if let Some(way) = lookups.ways.get(slow.trailing_zeros() as usize) {
                tracker.prefetch_shared(way);
            }
            slow &= slow - 1;
        }
    }
}
