//! Headers of sixteen consecutive frames, loaded together into columns: one array per header field.
//! The columns suit untagged packets without options or extension headers. The checks report any
//! other frame as different, and the caller parses such frames one by one.

mod ipv4;
mod ipv6;

use frame::Frame;
use kernels::Lanes;

use super::fast::AddressColumns;
use super::fast::pass1_results::DestinationKey;
use super::ingress::ETHERNET;
use crate::interface::{Interface, OwnAddresses};
use crate::snapshot::Snapshot;

pub(super) use ipv4::Headers4;
pub(super) use ipv6::Headers6;

/// Number of frames that are loaded together.
pub(super) const TOGETHER: usize = 16;
/// One value per frame.
pub(super) type Column = [u32; TOGETHER];

/// Header columns of one family.
pub(super) trait Headers: Sized {
    const IPV6: bool;
    /// Bytes of the shortest UDP datagram and of the shortest TCP segment, including the network
    /// header.
    const DATAGRAM: u32;
    const SEGMENT: u32;
    type Address: DestinationKey + AddressColumns;

    /// Returns true if loading this frame and its successors together is likely to pay.
    fn suit(frame: &Frame) -> bool;

    /// Returns true if packets of an interface may enter together at all.
    fn may_enter(snapshot: &Snapshot, interface: &Interface) -> bool;

    fn read<L: Lanes>(lanes: L, frames: &[Frame; TOGETHER]) -> Self;

    /// Returns 0 for each plain frame of this family to the link address `mac`, and another value
    /// for other frames.
    fn differ(&self, mac: u64) -> Column;

    /// Returns 0 for each packet that surely enters, and another value where prerouting must
    /// decide.
    fn doubts<L: Lanes>(&self, lanes: L, own: &OwnAddresses) -> Column;

    /// Returns the frame lengths in bytes.
    fn lens(&self) -> &Column;

    /// Returns the packet lengths in bytes that the headers state.
    fn totals(&self) -> Column;

    fn sources(&self) -> [Self::Address; TOGETHER];
    fn destinations(&self) -> [Self::Address; TOGETHER];
    fn lifetimes(&self) -> Column;
    fn protocols(&self) -> Column;

    /// Returns a value other than 0 for each fragment.
    fn fragments(&self) -> Column;

    /// Returns the ports of TCP and UDP packets, the source port in the upper half.
    fn ports(&self) -> Column;

    /// Returns the TCP flags. Undefined for packets of other protocols and for truncated segments.
    fn flags(&self, frames: &[Frame; TOGETHER]) -> Column;

    /// Returns the bytes behind the Ethernet header, padding included.
    #[inline(always)]
    fn rest(&self) -> Column {
        column(|at| self.lens()[at].saturating_sub(ETHERNET as u32))
    }
}

/// Loads the first `BYTES` bytes of each frame, and the frame lengths. Bytes beyond a frame's end
/// are undefined.
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

/// Returns true if a frame has this EtherType behind its link addresses.
#[inline(always)]
fn shows(frame: &Frame, ethertype: u16) -> bool {
    let kind = frame.bytes().get(ETHERNET - 2..ETHERNET);
    kind == Some(&ethertype.to_be_bytes())
}

/// Returns 0 for each frame to the link address `mac`, and another value for other frames. `first`
/// and `second` are the first two words of the frames.
#[inline(always)]
fn elsewhere(first: &Column, second: &Column, mac: u64) -> Column {
    let (high, low) = ((mac >> 16) as u32, mac as u32 & 0xffff);
    column(|at| (first[at] ^ high) | (second[at] >> 16 ^ low))
}

/// Returns the 32-bit values that span the lower half of one word and the upper half of the next.
#[inline(always)]
fn astride(high: &Column, low: &Column) -> Column {
    column(|at| high[at] << 16 | low[at] >> 16)
}

/// Builds a column. Replaces `core::array::from_fn`, which is not compiled for the machine's
/// instruction set here.
#[inline(always)]
pub(super) fn column(number: impl Fn(usize) -> u32) -> Column {
    let mut column = [0; TOGETHER];
    for (at, to) in column.iter_mut().enumerate() {
        *to = number(at);
    }
    column
}
