//! Connection lookup for all packets of a chunk.

use core::ops::Range;

use kernels::{Lanes, Work};

use super::CHUNK;
use super::ahead::Ahead;
use crate::connection::Tracker;

/// Looks up the connections of all packets, the likeliest index entry first, so that prefetches
/// overlap with lookups. Misses are left to the guard.
pub(super) struct Find<'a> {
    pub(super) count: usize,
    pub(super) ahead: &'a mut Ahead,
    pub(super) tracker: &'a Tracker,
    pub(super) tracks: [bool; 2],
    /// Families (IPv4, IPv6) that FastTrack may forward.
    pub(super) fasttracks: [bool; 2],
}

impl Work for Find<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(mut self, lanes: L) {
        let (mut at, count) = (0, self.count.min(CHUNK));
        while at < count {
            let (ipv6, end) = self.ahead.which.family(at, count);
            match (self.tracks[usize::from(ipv6)], ipv6) {
                (true, true) => self.find::<_, true>(lanes, at..end),
                (true, false) => self.find::<_, false>(lanes, at..end),
                (false, _) => {}
            }
            at = end;
        }
    }
}

impl Find<'_> {
    #[inline(always)]
    fn find<L: Lanes, const IPV6: bool>(&mut self, lanes: L, places: Range<usize>) {
        let (tracker, ahead) = (self.tracker, &mut *self.ahead);
        let (ways, columns) = (&mut ahead.ways, &ahead.run.columns);
        tracker.candidates::<L, IPV6>(lanes, ways, places.clone());
        tracker.verify::<IPV6>(ways, places.clone(), |at| columns.tuple::<IPV6>(at));
        let marked = ways.with_fasttrack(places.clone());
        if self.fasttracks[usize::from(IPV6)] {
            ahead.which.fasttrack |= marked & ahead.which.plain;
        }
        let all = u64::MAX >> (CHUNK - places.len().max(1)) << places.start;
        let mut slow = ahead.which.tcp & !marked & all;
        while slow != 0 {
            if let Some(way) = ahead.ways.get(slow.trailing_zeros() as usize) {
                tracker.prefetch_shared(way);
            }
            slow &= slow - 1;
        }
    }
}
