//! The headers of frames that follow each other, read together, column by column: of untagged IPv4 packets
//! without options, which nearly all are. Others show as what they are not, and are read one by one.

use frame::Frame;
use kernels::Lanes;

use super::ingress::{self, ETHERNET};

/// Frames that are read together.
pub(super) const TOGETHER: usize = 16;
/// A number of each of them.
pub(super) type Column = [u32; TOGETHER];
/// Bytes that are read: up to the flags of TCP.
const READ: usize = 48;
/// What is read of a frame that has less.
const NOTHING: [u8; READ] = [0; READ];

/// See the module.
pub(super) struct Headers {
    words: [Column; READ / 4],
    /// The lengths of the frames.
    pub(super) lens: Column,
}

impl Headers {
    /// Reads frames.
    #[inline(always)]
    pub(super) fn read<L: Lanes>(lanes: L, frames: &[Frame; TOGETHER]) -> Self {
        let mut rows = [&NOTHING; TOGETHER];
        let mut lens = [0; TOGETHER];
        for ((row, len), frame) in rows.iter_mut().zip(&mut lens).zip(frames) {
            *len = frame.len() as u32;
            if let Some(head) = frame.bytes().first_chunk() {
                *row = head;
            }
        }
        let words = lanes.columns(&rows);
        Self { words, lens }
    }

    /// Whether it is worth it to read this frame and those behind it together.
    #[inline(always)]
    pub(super) fn suit(frame: &Frame) -> bool {
        let kind = frame.bytes().get(ETHERNET - 2..ETHERNET);
        kind == Some(&ingress::IPV4.to_be_bytes())
    }

    /// Where these are not frames with an IPv4 packet without options to this link address: something
    /// else than 0.
    #[inline(always)]
    pub(super) fn differ(&self, mac: u64) -> Column {
        let [first, second, _, kind, ..] = &self.words;
        let (high, low) = ((mac >> 16) as u32, mac as u32 & 0xffff);
        column(|at| (first[at] ^ high) | (second[at] >> 16 ^ low) | (kind[at] >> 8 ^ 0x08_0045))
    }

    /// The sums of the words of the network headers, folded once: 0xffff where that is intact.
    #[inline(always)]
    pub(super) fn sums(&self) -> Column {
        let [_, _, _, a, b, c, d, e, f, ..] = &self.words;
        let halves = |word: u32| (word >> 16) + (word & 0xffff);
        let middle = column(|at| halves(b[at]) + halves(c[at]) + halves(d[at]) + halves(e[at]));
        let sums = column(|at| middle[at] + (a[at] & 0xffff) + (f[at] >> 16));
        column(|at| halves(sums[at]))
    }

    /// The lengths that the packets say they have.
    #[inline(always)]
    pub(super) fn totals(&self) -> Column {
        column(|at| self.words[4][at] >> 16)
    }

    /// What there is of the packets, with padding.
    #[inline(always)]
    pub(super) fn rest(&self) -> Column {
        column(|at| self.lens[at].wrapping_sub(ETHERNET as u32))
    }

    #[inline(always)]
    pub(super) fn sources(&self) -> Column {
        self.astride(6)
    }

    #[inline(always)]
    pub(super) fn destinations(&self) -> Column {
        self.astride(7)
    }

    /// Of packets of TCP or UDP the ports, the source's in the upper half.
    #[inline(always)]
    pub(super) fn ports(&self) -> Column {
        self.astride(8)
    }

    /// The numbers that lie half in this word and half in the next.
    #[inline(always)]
    fn astride(&self, word: usize) -> Column {
        let (high, low) = (&self.words[word], &self.words[word + 1]);
        column(|at| high[at] << 16 | low[at] >> 16)
    }

    /// The version, the length of the header, and of the fragment's word "more fragments" and the place:
    /// 0x45 above 14 bits where a packet is whole and without options.
    #[inline(always)]
    pub(super) fn heads(&self) -> Column {
        let (first, fragment) = (&self.words[3], &self.words[5]);
        column(|at| (first[at] >> 8 & 0xff) << 14 | fragment[at] >> 16 & 0x3fff)
    }

    #[inline(always)]
    pub(super) fn lifetimes(&self) -> Column {
        column(|at| self.words[5][at] >> 8 & 0xff)
    }

    #[inline(always)]
    pub(super) fn protocols(&self) -> Column {
        column(|at| self.words[5][at] & 0xff)
    }

    /// Of segments of TCP their flags.
    #[inline(always)]
    pub(super) fn flags(&self) -> Column {
        column(|at| self.words[11][at] & 0xff)
    }
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
