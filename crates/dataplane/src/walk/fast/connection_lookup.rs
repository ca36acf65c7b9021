//! Connection lookup for all packets of a chunk.

use core::ops::Range;

use kernels::{Lanes, Work};

use super::chunk_lookups::ChunkLookups;
use crate::connection::Tracker;
use crate::walk::decide::CHUNK;

/// Looks up the connections of all packets, the likeliest index entry first, so that prefetches
/// overlap with lookups. Misses are left to the decider.
pub(in crate::walk) struct ConnectionLookup<'a> {
    pub(in crate::walk) count: usize,
    pub(in crate::walk) lookups: &'a mut ChunkLookups,
    pub(in crate::walk) tracker: &'a Tracker,
    pub(in crate::walk) tracks: [bool; 2],
    /// Families (IPv4, IPv6) that FastTrack may forward.
    pub(in crate::walk) fasttracks: [bool; 2],
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
