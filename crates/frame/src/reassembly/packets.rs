//! Incomplete packets from the oldest to the newest, each with its fragments sorted by offset.

use std::collections::HashMap;

use machine::Instant;

use super::piece::{Join, Key, Piece};
use super::slab::{NONE, Slab};
use super::{Lost, of_pieces};
use crate::{Frame, Pool};

/// All incomplete packets of a reassembly.
#[derive(Debug)]
pub(super) struct Packets<T> {
    index: HashMap<Key, u32>,
    packets: Slab<Packet>,
    pieces: Slab<ReceivedFragment<T>>,
    oldest: u32,
    newest: u32,
    used_bytes: usize,
}

#[derive(Debug)]
struct Packet {
    key: Key,
    /// Time of the first fragment.
    since: Instant,
    older: u32,
    newer: u32,
    /// The fragments with the lowest and the highest offset.
    first: u32,
    last: u32,
    pieces: usize,
    /// End of the fragmented part, once the last fragment has arrived.
    end: Option<usize>,
    /// Bytes of data received.
    received: usize,
    /// The ECN fields received: bit n stands for value n.
    ecn: u8,
    /// Length of the longest fragment, and of the longest with DF, from the network header on.
    longest: u16,
    longest_dont: u16,
    /// True if fragments overlapped; further fragments are discarded.
    poisoned: bool,
}

/// A received fragment.
#[derive(Debug)]
pub(super) struct ReceivedFragment<T> {
    pub(super) frame: Frame,
    pub(super) tag: T,
    pub(super) offset: u16,
    head_len: u16,
    data_len: u16,
    join: Join,
    /// The fragment with the next higher offset.
    next: u32,
}

/// Position of a new fragment in the fragment list of its packet.
pub(super) enum InsertPosition {
    /// After this fragment, or before all.
    Behind(u32),
    /// The fragment is an exact duplicate.
    Duplicate,
    /// The fragment overlaps another, or contradicts the known end.
    Overlap,
}

/// Bytes that an incomplete packet costs besides its frames.
const PACKET_BYTES: usize = 256;

impl<T> Default for Packets<T> {
    fn default() -> Self {
        Self {
            index: HashMap::new(),
            packets: Slab::default(),
            pieces: Slab::default(),
            oldest: NONE,
            newest: NONE,
            used_bytes: 0,
        }
    }
}

impl<T> ReceivedFragment<T> {
    /// Lengths fit into 16 bits, as those of packets do.
    pub(super) fn new(piece: &Piece, frame: Frame, tag: T) -> Self {
        Self {
            frame,
            tag,
            offset: piece.offset,
            head_len: piece.head_len as u16,
            data_len: piece.data_len as u16,
            join: piece.join,
            next: NONE,
        }
    }

    /// Returns the end of the fragment's data.
    fn end(&self) -> usize {
        usize::from(self.offset) + usize::from(self.data_len)
    }

    fn data(&self) -> &[u8] {
        let from = usize::from(self.frame.l3) + usize::from(self.head_len);
        let data = self.frame.bytes().get(from..);
        let data = data.and_then(|data| data.get(..usize::from(self.data_len)));
        data.unwrap_or_default()
    }
}

impl<T: Copy> Packets<T> {
    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }

    pub(super) fn used_bytes(&self) -> usize {
        self.used_bytes
    }

    /// Returns the oldest packet and the time of its first fragment.
    pub(super) fn oldest(&self) -> Option<(u32, Instant)> {
        let packet = self.packets.get(self.oldest)?;
        Some((self.oldest, packet.since))
    }

    /// Returns the packet with this key; creates it if necessary.
    pub(super) fn of(&mut self, key: Key, now: Instant) -> u32 {
        if let Some(at) = self.index.get(&key) {
            return *at;
        }
        let at = self.packets.insert(Packet {
            key,
            since: now,
            older: self.newest,
            newer: NONE,
            first: NONE,
            last: NONE,
            pieces: 0,
            end: None,
            received: 0,
            ecn: 0,
            longest: 0,
            longest_dont: 0,
            poisoned: false,
        });
        match self.packets.get_mut(self.newest) {
            Some(newest) => newest.newer = at,
            None => self.oldest = at,
        }
        self.newest = at;
        self.index.insert(key, at);
        self.used_bytes += PACKET_BYTES;
        at
    }

    /// Returns the position of a new fragment in the list of its packet.
    pub(super) fn place(
        &self,
        at: u32,
        piece: &Piece,
        held: &ReceivedFragment<T>,
    ) -> InsertPosition {
        let Some(packet) = self.packets.get(at).filter(|packet| !packet.poisoned) else {
            return InsertPosition::Overlap;
        };
        let last = self.pieces.get(packet.last);
        let (mut behind, mut next) = match last {
            // Fragments nearly always arrive in order.
            Some(last) if last.offset < piece.offset => (packet.last, NONE),
            _ => (NONE, packet.first),
        };
        while let Some(other) = self.pieces.get(next)
            && other.offset < piece.offset
        {
            (behind, next) = (next, other.next);
        }
        let after = self.pieces.get(next);
        if after.is_some_and(|after| after.offset == held.offset && after.data() == held.data()) {
            return InsertPosition::Duplicate;
        }
        let (from, to) = (usize::from(held.offset), held.end());
        let before = self.pieces.get(behind);
        let overlaps = before.is_some_and(|before| before.end() > from)
            || after.is_some_and(|after| usize::from(after.offset) < to);
        let reached = last.map_or(0, ReceivedFragment::end);
        let contradicts = match packet.end {
            Some(end) => to > end || (!piece.more && to != end),
            None => !piece.more && reached > to,
        };
        match overlaps || contradicts {
            true => InsertPosition::Overlap,
            false => InsertPosition::Behind(behind),
        }
    }

    /// Inserts a fragment at its position; returns the number of fragments.
    pub(super) fn insert(
        &mut self,
        at: u32,
        behind: u32,
        piece: &Piece,
        mut held: ReceivedFragment<T>,
    ) -> usize {
        let Some(packet) = self.packets.get_mut(at) else {
            return 0;
        };
        let before = self.pieces.get(behind);
        held.next = before.map_or(packet.first, |before| before.next);
        let (end, is_last) = (held.end(), held.next == NONE);
        self.used_bytes += held.frame.class().slot_bytes();
        let place = self.pieces.insert(held);
        match self.pieces.get_mut(behind) {
            Some(before) => before.next = place,
            None => packet.first = place,
        }
        if is_last {
            packet.last = place;
        }
        if !piece.more {
            packet.end = Some(end);
        }
        packet.pieces += 1;
        packet.received += piece.data_len;
        packet.ecn |= 1 << piece.ecn;
        let len = (piece.head_len + piece.data_len) as u16;
        packet.longest = packet.longest.max(len);
        if piece.dont {
            packet.longest_dont = packet.longest_dont.max(len);
        }
        packet.pieces
    }

    /// Returns the packet in one frame if it is complete; its fragments are unchanged.
    pub(super) fn join(&self, at: u32, pool: &mut Pool) -> Option<Result<(Frame, T), Lost>> {
        let packet = self.packets.get(at)?;
        let first = self.pieces.get(packet.first)?;
        // Without overlaps, this number of bytes means that all have arrived.
        let end = packet.end.filter(|end| packet.received >= *end)?;
        Some(self.write(packet, first, end, pool))
    }

    fn write(
        &self,
        packet: &Packet,
        first: &ReceivedFragment<T>,
        end: usize,
        pool: &mut Pool,
    ) -> Result<(Frame, T), Lost> {
        let ecn = joined_ecn(packet.ecn).map_err(|()| Lost::Ecn)?;
        let l3 = usize::from(first.frame.l3);
        let head_len = first.join.kept(usize::from(first.head_len));
        // Lengths have 16 bits (RFC 791, 3.1; RFC 8200, 3); IPv6 excludes the fixed header, which is checked
        // below.
        if end > usize::from(u16::MAX) {
            return Err(Lost::Malformed);
        }
        let mut whole = pool.alloc(l3 + head_len + end).ok_or(Lost::NoBuffer)?;
        whole.copy_meta(&first.frame);
        // The flow hash of a fragment covers addresses only.
        whole.flow = 0;
        whole.offload = of_pieces(packet.longest);
        let written = self
            .copy(packet, first, head_len, &mut whole)
            .and_then(|()| {
                let head = whole.bytes_mut().get_mut(l3..l3 + head_len)?;
                // As in Linux: the whole packet gets DF if its longest fragment had it.
                let dont = packet.longest_dont == packet.longest;
                first.join.finish(head, end, ecn, dont)
            });
        match written {
            Some(()) => Ok((whole, first.tag)),
            None => {
                pool.free(whole);
                Err(Lost::Malformed)
            }
        }
    }

    /// Copies link header, headers and data.
    fn copy(
        &self,
        packet: &Packet,
        first: &ReceivedFragment<T>,
        head_len: usize,
        whole: &mut Frame,
    ) -> Option<()> {
        let head_len = usize::from(first.frame.l3) + head_len;
        let (head, data) = whole.bytes_mut().split_at_mut_checked(head_len)?;
        head.copy_from_slice(first.frame.bytes().get(..head_len)?);
        let mut next = packet.first;
        while let Some(held) = self.pieces.get(next) {
            let place = data.get_mut(usize::from(held.offset)..held.end())?;
            // A mismatch means that the frame was shortened since it was parsed.
            place.copy_from_slice(Some(held.data()).filter(|data| data.len() == place.len())?);
            next = held.next;
        }
        Some(())
    }

    /// Removes a packet's fragments; later fragments count as overlaps.
    pub(super) fn poison(&mut self, at: u32, each: impl FnMut(ReceivedFragment<T>)) {
        self.empty(at, each);
        if let Some(packet) = self.packets.get_mut(at) {
            packet.poisoned = true;
        }
    }

    /// Removes a packet.
    pub(super) fn remove(&mut self, at: u32, each: impl FnMut(ReceivedFragment<T>)) {
        self.empty(at, each);
        let Some(packet) = self.packets.remove(at) else {
            return;
        };
        match self.packets.get_mut(packet.older) {
            Some(older) => older.newer = packet.newer,
            None => self.oldest = packet.newer,
        }
        match self.packets.get_mut(packet.newer) {
            Some(newer) => newer.older = packet.older,
            None => self.newest = packet.older,
        }
        self.index.remove(&packet.key);
        self.used_bytes -= PACKET_BYTES;
    }

    /// Removes a packet's fragments.
    fn empty(&mut self, at: u32, mut each: impl FnMut(ReceivedFragment<T>)) {
        let Some(packet) = self.packets.get_mut(at) else {
            return;
        };
        let mut next = core::mem::replace(&mut packet.first, NONE);
        (packet.last, packet.pieces, packet.received) = (NONE, 0, 0);
        while let Some(held) = self.pieces.remove(next) {
            next = held.next;
            self.used_bytes -= held.frame.class().slot_bytes();
            each(held);
        }
    }
}

/// Returns the ECN field of the whole packet if it differs from the first fragment's: a congestion mark on
/// one fragment applies to the whole (RFC 3168, 5.3).
///
/// # Errors
/// If some fragments are marked and others are not ECN-capable, which no router produces.
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
