//! The headers of frames that follow each other, read together, column by column: of untagged packets
//! without options or extension headers, which nearly all are. Others show as what they are not, and are
//! read one by one.

mod ipv4;
mod ipv6;

use frame::Frame;
use kernels::Lanes;

use super::entered::Key;
use super::guarded::Kept;
use super::ingress::ETHERNET;
use crate::interface::{Interface, OwnAddresses};
use crate::snapshot::Snapshot;

pub(super) use ipv4::Headers4;
pub(super) use ipv6::Headers6;

/// Frames that are read together.
pub(super) const TOGETHER: usize = 16;
/// A number of each of them.
pub(super) type Column = [u32; TOGETHER];

/// The headers of a family.
pub(super) trait Headers: Sized {
    const IPV6: bool;
    /// The lengths of the shortest datagram of UDP and the shortest segment of TCP, with their network
    /// headers.
    const DATAGRAM: u32;
    const SEGMENT: u32;
    type Address: Key + Kept;

    /// Whether it is worth it to read this frame and those behind it together.
    fn suit(frame: &Frame) -> bool;

    /// Whether packets that come in by an interface may enter together at all.
    fn may_enter(snapshot: &Snapshot, interface: &Interface) -> bool;

    fn read<L: Lanes>(lanes: L, frames: &[Frame; TOGETHER]) -> Self;

    /// Something else than 0 where these are not frames with such packets to this link address.
    fn differ(&self, mac: u64) -> Column;

    /// Something else than 0 where packets do not surely enter; whether they do, prerouting decides then.
    fn doubts<L: Lanes>(&self, lanes: L, own: &OwnAddresses) -> Column;

    /// The lengths of the frames.
    fn lens(&self) -> &Column;

    /// The lengths that the packets say they have.
    fn totals(&self) -> Column;

    fn sources(&self) -> [Self::Address; TOGETHER];
    fn destinations(&self) -> [Self::Address; TOGETHER];
    fn lifetimes(&self) -> Column;
    fn protocols(&self) -> Column;

    /// Something else than 0 where a packet is a fragment.
    fn fragments(&self) -> Column;

    /// Of packets of TCP or UDP the ports, the source's in the upper half.
    fn ports(&self) -> Column;

    /// Of segments of TCP their flags. Those of others mean nothing, nor do those of one that is cut short.
    fn flags(&self, frames: &[Frame; TOGETHER]) -> Column;

    /// What there is of the packets, with padding.
    #[inline(always)]
    fn rest(&self) -> Column {
        column(|at| self.lens()[at].saturating_sub(ETHERNET as u32))
    }
}

/// The parts of frames that are read, and how long the frames are: what lies behind a frame's end means
/// nothing.
#[inline(always)]
fn rows<const BYTES: usize, const PARTS: usize>(
    frames: &[Frame; TOGETHER],
) -> ([&[[u8; 16]; PARTS]; TOGETHER], Column) {
    let mut rows = [const { &[[0; 16]; PARTS] }; TOGETHER];
    let mut lens = [0; TOGETHER];
    for ((row, len), frame) in rows.iter_mut().zip(&mut lens).zip(frames) {
        *len = frame.len() as u32;
        let parts = frame.ahead::<BYTES>().map(|bytes| bytes.as_chunks().0);
        if let Some(Ok(parts)) = parts.map(TryFrom::try_from) {
            *row = parts;
        }
    }
    (rows, lens)
}

/// Whether a frame shows this type behind its link addresses.
#[inline(always)]
fn shows(frame: &Frame, ethertype: u16) -> bool {
    let kind = frame.bytes().get(ETHERNET - 2..ETHERNET);
    kind == Some(&ethertype.to_be_bytes())
}

/// Where frames are not to this link address: something else than 0. `first` and `second` are their first
/// words.
#[inline(always)]
fn elsewhere(first: &Column, second: &Column, mac: u64) -> Column {
    let (high, low) = ((mac >> 16) as u32, mac as u32 & 0xffff);
    column(|at| (first[at] ^ high) | (second[at] >> 16 ^ low))
}

/// The numbers that lie half in the one word and half in the next.
#[inline(always)]
fn astride(high: &Column, low: &Column) -> Column {
    column(|at| high[at] << 16 | low[at] >> 16)
}

/// A number of each of them. In place of what the standard library has for it, which is not compiled for the
/// instruction set of the machine.
#[inline(always)]
pub(super) fn column(number: impl Fn(usize) -> u32) -> Column {
    let mut column = [0; TOGETHER];
    for (at, to) in column.iter_mut().enumerate() {
        *to = number(at);
    }
    column
}
