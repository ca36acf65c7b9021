//! Copy of a connection from a running router's table: the packet tracer works on the copy of a packet's
//! connection, or of the parent that expects it, and leaves the table unchanged.

use packet::Tuple;

use super::entry::talk_in;
use super::expectation::Expectation;
use super::hash::Hash;
use super::id::{EntryId, Slot};
use super::layout::{Layout, SHARED};
use super::row::{Row, Words};
use super::settings::Tick;
use super::shared_expectations::SharedExpectations;
use super::state::TcpState;
use super::table::{Entries, Table};
use super::tcp::flag;
use super::tracker::Tracker;

/// Copy of a connection from the table of a running router.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionCopy {
    /// The connection's fields.
    pub row: Row,
    /// True if the traced packet belongs to the reply direction.
    pub reply: bool,
    words: Words,
}

/// An expected connection that has not arrived yet.
#[derive(Clone, Debug)]
pub struct ExpectedConnection {
    /// The connection whose payload announced it.
    pub parent: ConnectionCopy,
    /// The expectation that matches.
    pub expectation: Expectation,
    /// All expectations of the parent, including this one: a helper needs the related ports of a stream.
    all: Vec<Expectation>,
}

/// Header fields of a TCP segment that continues a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextSegment {
    /// TCP flags, as in the header.
    pub flags: u8,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
}

impl ConnectionCopy {
    /// Returns the connection's next segment in the packet's direction, without payload. For a FastTracked
    /// connection the numbers are unknown; any are accepted.
    pub fn next_segment(&self) -> NextSegment {
        let shared = self.words.lines[SHARED].map(Into::into);
        let talk = talk_in(&shared, self.reply);
        let (seq, ack) = (talk.sender.end, talk.receiver.end);
        match (self.row.tcp_state, self.reply) {
            // A retransmission of its SYN.
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
    /// Finds the connection of a tuple on any worker. A connection that begins, ends or moves meanwhile may
    /// be missed.
    pub fn known(&self, tuple: &Tuple) -> Option<ConnectionCopy> {
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
    /// Finds the expectation that matches the tuple on any worker. An expectation that is added or removed
    /// meanwhile may be missed.
    pub fn awaited(&self, tuple: &Tuple) -> Option<ExpectedConnection> {
        let all = || {
            self.shared_expectations()
                .flat_map(|expectations| SharedExpectations::iter(expectations))
        };
        let fits = all().filter_map(|one| Some((one.fits(tuple)?, one)));
        let (_, expectation) = fits.min_by_key(|(exactness, _)| *exactness)?;
        if expectation.held {
            return None;
        }
        let parent = expectation.parent;
        Some(ExpectedConnection {
            parent: self.copy_of(parent)?,
            expectation,
            all: all().filter(|one| one.parent == parent).collect(),
        })
    }

    /// Returns a copy of the connection with this id, if it still exists.
    fn copy_of(&self, id: EntryId) -> Option<ConnectionCopy> {
        let mut parts = self.parts().skip(usize::from(id.slot.worker()));
        let (_, ipv4, ipv6) = parts.next()?;
        match id.slot.is_ipv6() {
            true => copy_of(ipv6, id),
            false => copy_of(ipv4, id),
        }
    }
}

fn copy_of<F: Layout>(entries: &Entries<F>, id: EntryId) -> Option<ConnectionCopy> {
    let words = entries.read(id.slot.place())?;
    let row = Row::of::<F>(id.slot, &words).filter(|row| row.id == id)?;
    Some(ConnectionCopy {
        row,
        reply: false,
        words,
    })
}

fn known<F: Layout>(
    entries: &Entries<F>,
    worker: u16,
    hash: Hash,
    tuple: &Tuple,
) -> Option<ConnectionCopy> {
    entries.shared_buckets().search(hash, |target| {
        let place = target >> 1;
        let words = entries.read(place)?;
        let row = Row::of::<F>(Slot::new(F::IPV6, worker, place), &words)?;
        // The entry may be another one with the same hash, or may have changed meanwhile.
        let reply = row.original != *tuple;
        (!reply || row.reply == *tuple).then_some(ConnectionCopy { row, reply, words })
    })
}

impl Tracker {
    /// Adds a copy of a connection to this tracker's table. Returns false if there is no room.
    pub fn adopt(&mut self, known: &ConnectionCopy) -> bool {
        let ConnectionCopy { row, words, .. } = known;
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

    /// Adds copies of an expectation and of its parent connection to this tracker. Returns false if there is
    /// no room.
    pub fn adopt_awaited(&mut self, awaited: &ExpectedConnection, now: Tick) -> bool {
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
