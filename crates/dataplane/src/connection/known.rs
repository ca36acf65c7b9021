//! A connection copied from the table of a router that runs: the tracer walks a packet through what
//! is known of its connection, and changes nothing of that.

use super::entry::talk_in;
use super::hash::Hash;
use super::id::Slot;
use super::layout::{Layout, SHARED};
use super::row::{Row, Words};
use super::state::TcpState;
use super::table::{Entries, Table};
use super::tcp::flag;
use super::tracker::Tracker;
use crate::packet::Tuple;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// What can be seen of it.
    pub row: Row,
    /// Whether the packet that was asked for is one of its answers.
    pub reply: bool,
    words: Words,
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
}
