//! The pieces of one packet.

use std::collections::BTreeMap;

use super::piece::{Join, Piece};

/// A packet of which pieces are missing.
#[derive(Debug)]
pub(super) struct Datagram<T> {
    first: Option<First<T>>,
    /// Data by offset; none overlap.
    data: BTreeMap<u16, Box<[u8]>>,
    /// Where the fragmented part ends, once the last piece is here.
    end: Option<usize>,
    /// Bytes of data here.
    received: usize,
    /// The ECN bits seen: bit n stands for n.
    ecn: u8,
}

/// What the first piece alone knows.
#[derive(Debug)]
struct First<T> {
    head: Box<[u8]>,
    join: Join,
    tag: T,
}

/// What became of a piece.
#[derive(Debug)]
pub(super) enum Collected<T> {
    Incomplete,
    Duplicate,
    Overlap,
    TooLong,
    MixedEcn,
    Whole { packet: Vec<u8>, tag: T },
}

impl<T> Default for Datagram<T> {
    fn default() -> Self {
        Self {
            first: None,
            data: BTreeMap::new(),
            end: None,
            received: 0,
            ecn: 0,
        }
    }
}

impl<T: Copy> Datagram<T> {
    /// Takes a piece. Unless it says `Incomplete` or `Duplicate`, the packet is done with.
    pub(super) fn insert(&mut self, piece: &Piece<'_>, tag: T) -> Collected<T> {
        let from = usize::from(piece.offset);
        let to = from + piece.data.len();
        if self
            .data
            .get(&piece.offset)
            .is_some_and(|old| **old == *piece.data)
        {
            return Collected::Duplicate;
        }
        if self.overlaps(piece.offset, to) || self.contradicts(to, piece.more) {
            return Collected::Overlap;
        }
        if !piece.more {
            self.end = Some(to);
        }
        self.received += piece.data.len();
        self.ecn |= 1 << piece.ecn;
        self.data.insert(piece.offset, piece.data.into());
        if piece.offset == 0 {
            self.first = Some(First {
                head: piece.head.into(),
                join: piece.join,
                tag,
            });
        }
        self.finish()
    }

    /// The first piece as it arrived, if it is here.
    pub(super) fn first_piece(&self) -> Option<(Vec<u8>, T)> {
        let first = self.first.as_ref()?;
        let data = self.data.get(&0)?;
        Some(([&first.head[..], &data[..]].concat(), first.tag))
    }

    fn overlaps(&self, from: u16, to: usize) -> bool {
        let mut before = self.data.range(..=from).map(|(&at, data)| end(at, data));
        let mut after = self.data.range(from..).map(|(&at, _)| usize::from(at));
        before
            .next_back()
            .is_some_and(|end| end > usize::from(from))
            || after.next().is_some_and(|at| at < to)
    }

    /// Whether a piece that ends at `to` does not fit what is known of the end.
    fn contradicts(&self, to: usize, more: bool) -> bool {
        let last = self.data.last_key_value();
        let reached = last.map_or(0, |(&at, data)| end(at, data));
        match self.end {
            Some(end) => to > end || (!more && to != end),
            None => !more && reached > to,
        }
    }

    fn finish(&mut self) -> Collected<T> {
        let (Some(first), Some(end)) = (&self.first, self.end) else {
            return Collected::Incomplete;
        };
        // Without overlaps, so many bytes below the end are all of them.
        if self.received < end {
            return Collected::Incomplete;
        }
        let Ok(ecn) = joined_ecn(self.ecn) else {
            return Collected::MixedEcn;
        };
        let Some(mut packet) = first.join.header(&first.head, end, ecn) else {
            return Collected::TooLong;
        };
        for data in self.data.values() {
            packet.extend_from_slice(data);
        }
        let tag = first.tag;
        Collected::Whole { packet, tag }
    }
}

impl<T> Datagram<T> {
    /// What the pieces cost, in bytes.
    pub(super) fn used_bytes(&self) -> usize {
        let head = self.first.as_ref().map_or(0, |first| first.head.len());
        head + self.received + self.data.len() * PIECE_BYTES
    }
}

/// Where data at an offset ends.
fn end(at: u16, data: &[u8]) -> usize {
    usize::from(at) + data.len()
}

/// The ECN bits of the whole packet, where they are not the first piece's: a mark on one piece is
/// a mark on all (RFC 3168, 5.3).
///
/// # Errors
/// Some pieces were marked and others cannot have been: no router does that.
fn joined_ecn(seen: u8) -> Result<Option<u8>, ()> {
    const NOT_CAPABLE: u8 = 1;
    const MARKED: u8 = 1 << 3;
    if seen & MARKED == 0 {
        return Ok(None);
    }
    if seen & NOT_CAPABLE != 0 {
        return Err(());
    }
    Ok(Some(3))
}

/// What a piece costs beside its bytes.
const PIECE_BYTES: usize = 64;
