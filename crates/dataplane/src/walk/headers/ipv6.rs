//! IPv6 headers of sixteen Ethernet frames, one column per 32-bit word.

use frame::Frame;
use kernels::Lanes;

use super::{Column, Headers, TOGETHER, astride, column, elsewhere, rows, shows};
use crate::interface::{Interface, OwnAddresses};
use crate::snapshot::Snapshot;
use crate::walk::{ingress, prerouting};

/// Blocks of 16 bytes that are loaded per frame: up to the UDP header.
const PARTS: usize = 4;
/// Offset of the source address in a frame.
const SOURCE: usize = 14 + 8;
/// Offset of the TCP flags in a frame.
const FLAGS: usize = 14 + 40 + 13;

/// The loaded words and addresses, and the lengths of the frames in bytes.
pub(in crate::walk) struct Headers6 {
    words: [[Column; 4]; PARTS],
    lens: Column,
    sources: [u128; TOGETHER],
    destinations: [u128; TOGETHER],
}

impl Headers6 {
    /// Returns the four words of the source addresses, the first word first.
    #[inline(always)]
    pub(in crate::walk) fn source_words(&self) -> [Column; 4] {
        let [_, [_, a, b, c], [d, e, ..], _] = &self.words;
        [astride(a, b), astride(b, c), astride(c, d), astride(d, e)]
    }

    /// Returns the first two words of the destination addresses.
    #[inline(always)]
    pub(in crate::walk) fn destination_words(&self) -> [Column; 2] {
        let [_, a, b, c] = &self.words[2];
        [astride(a, b), astride(b, c)]
    }
}

impl Headers for Headers6 {
    const IPV6: bool = true;
    const DATAGRAM: u32 = 48;
    const SEGMENT: u32 = 60;
    type Address = u128;

    #[inline(always)]
    fn suit(frame: &Frame) -> bool {
        shows(frame, ingress::IPV6)
    }

    #[inline(always)]
    fn may_enter(snapshot: &Snapshot, interface: &Interface) -> bool {
        interface.ipv6 & !snapshot.ipv6.checks_way_back()
    }

    #[inline(always)]
    fn read<L: Lanes>(lanes: L, frames: &[Frame; TOGETHER]) -> Self {
        let (rows, lens) = rows::<{ PARTS * 16 }, PARTS>(frames);
        let words = lanes.columns(&rows);
        Self {
            words,
            lens,
            sources: lanes.wide(&rows, SOURCE),
            destinations: lanes.wide(&rows, SOURCE + 16),
        }
    }

    #[inline(always)]
    fn differ(&self, mac: u64) -> Column {
        let [first, second, _, kind] = &self.words[0];
        let elsewhere = elsewhere(first, second, mac);
        column(|at| elsewhere[at] | (kind[at] >> 12 ^ 0x8_6dd6))
    }

    #[inline(always)]
    fn doubts<L: Lanes>(&self, lanes: L, own: &OwnAddresses) -> Column {
        prerouting::doubts6(lanes, own, self)
    }

    #[inline(always)]
    fn lens(&self) -> &Column {
        &self.lens
    }

    #[inline(always)]
    fn totals(&self) -> Column {
        column(|at| (self.words[1][0][at] & 0xffff) + 40)
    }

    #[inline(always)]
    fn sources(&self) -> [u128; TOGETHER] {
        self.sources
    }

    #[inline(always)]
    fn destinations(&self) -> [u128; TOGETHER] {
        self.destinations
    }

    #[inline(always)]
    fn lifetimes(&self) -> Column {
        column(|at| self.words[1][1][at] >> 16 & 0xff)
    }

    #[inline(always)]
    fn protocols(&self) -> Column {
        column(|at| self.words[1][1][at] >> 24)
    }

    /// Always 0: fragments have an extension header, whose number shows as protocol.
    #[inline(always)]
    fn fragments(&self) -> Column {
        [0; TOGETHER]
    }

    #[inline(always)]
    fn ports(&self) -> Column {
        astride(&self.words[3][1], &self.words[3][2])
    }

    #[inline(always)]
    fn flags(&self, frames: &[Frame; TOGETHER]) -> Column {
        column(|at| frames[at].bytes().get(FLAGS).copied().unwrap_or(0).into())
    }
}
