//! IPv4 headers of sixteen Ethernet frames, one column per 32-bit word.

use frame::Frame;
use kernels::Lanes;

use super::{Column, Headers, TOGETHER, astride, column, elsewhere, rows, shows};
use crate::interface::{Interface, OwnAddresses};
use crate::snapshot::Snapshot;
use crate::walk::{ingress, prerouting};

/// Blocks of 16 bytes that are loaded per frame: up to the TCP flags.
const PARTS: usize = 3;

/// The loaded words, and the lengths of the frames in bytes.
pub(in crate::walk) struct Headers4 {
    words: [[Column; 4]; PARTS],
    lens: Column,
}

impl Headers4 {
    /// Returns the folded sums of the header words: 0xffff where the header checksum is right.
    #[inline(always)]
    pub(in crate::walk) fn sums(&self) -> Column {
        let [[.., a], [b, c, d, e], [f, ..]] = &self.words;
        let halves = |word: u32| (word >> 16) + (word & 0xffff);
        let middle = column(|at| halves(b[at]) + halves(c[at]) + halves(d[at]) + halves(e[at]));
        let sums = column(|at| middle[at] + (a[at] & 0xffff) + (f[at] >> 16));
        column(|at| halves(sums[at]))
    }
}

impl Headers for Headers4 {
    const IPV6: bool = false;
    const DATAGRAM: u32 = 28;
    const SEGMENT: u32 = 40;
    type Address = u32;

    #[inline(always)]
    fn suit(frame: &Frame) -> bool {
        shows(frame, ingress::IPV4)
    }

    #[inline(always)]
    fn may_enter(snapshot: &Snapshot, interface: &Interface) -> bool {
        interface.ipv4 & !snapshot.ipv4.checks_way_back()
    }

    #[inline(always)]
    fn read<L: Lanes>(lanes: L, frames: &[Frame; TOGETHER]) -> Self {
        let (rows, lens) = rows::<{ PARTS * 16 }, PARTS>(frames);
        let words = lanes.columns(&rows);
        Self { words, lens }
    }

    #[inline(always)]
    fn differ(&self, mac: u64) -> Column {
        let [first, second, _, kind] = &self.words[0];
        let elsewhere = elsewhere(first, second, mac);
        column(|at| elsewhere[at] | (kind[at] >> 8 ^ 0x08_0045))
    }

    #[inline(always)]
    fn doubts<L: Lanes>(&self, lanes: L, own: &OwnAddresses) -> Column {
        prerouting::doubts4(lanes, own, self)
    }

    #[inline(always)]
    fn lens(&self) -> &Column {
        &self.lens
    }

    #[inline(always)]
    fn totals(&self) -> Column {
        column(|at| self.words[1][0][at] >> 16)
    }

    #[inline(always)]
    fn sources(&self) -> Column {
        astride(&self.words[1][2], &self.words[1][3])
    }

    #[inline(always)]
    fn destinations(&self) -> Column {
        astride(&self.words[1][3], &self.words[2][0])
    }

    #[inline(always)]
    fn lifetimes(&self) -> Column {
        column(|at| self.words[1][1][at] >> 8 & 0xff)
    }

    #[inline(always)]
    fn protocols(&self) -> Column {
        column(|at| self.words[1][1][at] & 0xff)
    }

    /// Returns the more-fragments flag and the fragment offset.
    #[inline(always)]
    fn fragments(&self) -> Column {
        column(|at| self.words[1][1][at] >> 16 & 0x3fff)
    }

    #[inline(always)]
    fn ports(&self) -> Column {
        astride(&self.words[2][0], &self.words[2][1])
    }

    #[inline(always)]
    fn flags(&self, _frames: &[Frame; TOGETHER]) -> Column {
        column(|at| self.words[2][3][at] & 0xff)
    }
}
