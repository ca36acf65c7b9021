//! A connection copied from the table of a router that runs: the tracer walks a packet through what
//! is known of its connection, or of the one by which its own is expected, and changes nothing of that.

use packet::Tuple;

use super::board::Board;
use super::entry::talk_in;
use super::expectation::Expectation;
use super::hash::Hash;
use super::id::{EntryId, Slot};
use super::layout::{Layout, SHARED};
use super::row::{Row, Words};
use super::settings::Tick;
use super::state::TcpState;
use super::table::{Entries, Table};
use super::tcp::flag;
use super::tracker::Tracker;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// What can be seen of it.
    pub row: Row,
    /// Whether the packet that was asked for is one of its answers.
    pub reply: bool,
    words: Words,
}

/// A connection that is not there, and that a helper expects.
#[derive(Clone, Debug)]
pub struct Awaited {
    /// The connection over which it was agreed upon.
    pub parent: Known,
    /// What expects it.
    pub expectation: Expectation,
    /// All that is expected by its parent, itself as well: the directions of a stream find each other.
    all: Vec<Expectation>,
}

/// What a TCP segment says that goes on where its conversation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextSegment {
    /// Its flags, as in the header.
    pub flags: u8,
    /// Its number.
    pub seq: u32,
    /// What it acknowledges.
    pub ack: u32,
}

impl Known {
    /// The connection's next segment in the packet's direction, without data. Of one that FastTrack
    /// carries no numbers are known, and any will do.
    pub fn next_segment(&self) -> NextSegment {
        let shared = self.words.lines[SHARED].map(Into::into);
        let talk = talk_in(&shared, self.reply);
        let (seq, ack) = (talk.sender.end, talk.receiver.end);
        match (self.row.tcp_state, self.reply) {
            // Its SYN once more.
            (TcpState::SynSent, false) => NextSegment {
                flags: flag::SYN,
                seq: seq.wrapping_sub(1),
                ack: 0,
            },
            (TcpState::SynSent, true) => NextSegment {
                flags: flag::SYN | flag::ACK,
                seq: 1,
                ack,
            },
            _ => NextSegment {
                flags: flag::ACK,
                seq,
                ack,
            },
        }
    }
}

impl Table {
    /// The connection between the ends of a packet, whichever worker has it. One that begins, ends or
    /// gets another place meanwhile may be seen or not.
    pub fn known(&self, tuple: &Tuple) -> Option<Known> {
        let mut parts = self.parts().zip(0..);
        parts.find_map(|((keys, ipv4, ipv6), worker)| {
            let hash = keys.hash(tuple);
            match tuple.ipv6 {
                true => known(ipv6, worker, hash, tuple),
                false => known(ipv4, worker, hash, tuple),
            }
        })
    }
}

impl Table {
    /// What expects a connection that begins with this tuple, whichever worker does. What is expected only
    /// now, or not any more, may be seen or not.
    pub fn awaited(&self, tuple: &Tuple) -> Option<Awaited> {
        let all = || self.boards().flat_map(|board| Board::iter(board));
        let fits = all().filter_map(|one| Some((one.fits(tuple)?, one)));
        let (_, expectation) = fits.min_by_key(|(exactness, _)| *exactness)?;
        if expectation.held {
            return None;
        }
        let parent = expectation.parent;
        Some(Awaited {
            parent: self.copy_of(parent)?,
            expectation,
            all: all().filter(|one| one.parent == parent).collect(),
        })
    }

    /// The connection with this id, if there still is one.
    fn copy_of(&self, id: EntryId) -> Option<Known> {
        let mut parts = self.parts().skip(usize::from(id.slot.worker()));
        let (_, ipv4, ipv6) = parts.next()?;
        match id.slot.is_ipv6() {
            true => copy_of(ipv6, id),
            false => copy_of(ipv4, id),
        }
    }
}

fn copy_of<F: Layout>(entries: &Entries<F>, id: EntryId) -> Option<Known> {
    let words = entries.read(id.slot.place())?;
    let row = Row::of::<F>(id.slot, &words).filter(|row| row.id == id)?;
    Some(Known {
        row,
        reply: false,
        words,
    })
}

fn known<F: Layout>(entries: &Entries<F>, worker: u16, hash: Hash, tuple: &Tuple) -> Option<Known> {
    entries.shelf().look(hash, |target| {
        let place = target >> 1;
        let words = entries.read(place)?;
        let row = Row::of::<F>(Slot::new(F::IPV6, worker, place), &words)?;
        // It may be another one of this hash, or another one by now.
        let reply = row.original != *tuple;
        (!reply || row.reply == *tuple).then_some(Known { row, reply, words })
    })
}

impl Tracker {
    /// Puts a copy of a connection into its own table. False when there is no room.
    pub fn adopt(&mut self, known: &Known) -> bool {
        let Known { row, words, .. } = known;
        let ipv6 = row.original.ipv6;
        if self.admit(ipv6).is_err() {
            return false;
        }
        let keys = self.keys();
        let adopted = match ipv6 {
            true => self.ipv6.adopt(row, words, &keys),
            false => self.ipv4.adopt(row, words, &keys),
        };
        if adopted.is_none() {
            self.dismiss(ipv6);
        }
        adopted.is_some()
    }

    /// Expects what is expected by a connection of another table, and puts a copy of that connection into
    /// its own. False when there is no room.
    pub fn adopt_awaited(&mut self, awaited: &Awaited, now: Tick) -> bool {
        if !self.adopt(&awaited.parent) {
            return false;
        }
        let Some(way) = self.lookup(&awaited.parent.row.original) else {
            return false;
        };
        let parent = self.id(way);
        let mut all = awaited.all.iter();
        all.all(|one| self.expect(Expectation { parent, ..*one }, now))
    }
}
