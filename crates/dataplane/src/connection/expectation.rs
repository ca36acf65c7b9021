//! Connections that helpers expect: a tuple, parts of which may be anything, and whose child it is.
//!
//! Bounded: 4,096 for a worker. Looking one up costs four lookups in an ordered map, and nothing
//! while there is none.

use std::collections::BTreeMap;

use super::id::EntryId;
use super::settings::{TICKS_PER_SECOND, Tick};
use super::state::Helper;
use crate::packet::Tuple;

/// The most expectations of a worker.
const EXPECTATIONS_MAX: usize = 4_096;

/// A connection that a helper expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// The connection over which it was agreed upon.
    pub parent: EntryId,
    /// The tuple of its first packet. Source address and source port are not looked at where they
    /// are 0.
    pub tuple: Tuple,
    /// The helper that expects it; `connection-type` of the child.
    pub helper: Helper,
    /// Where its first packet is to be sent instead; none leaves the destination as it is.
    pub destination: Option<(u128, u16)>,
    /// The source address that its first packet leaves with; none leaves the source as it is.
    pub source: Option<u128>,
    /// The destination port of its answers where that is not the source port that it leaves with:
    /// PPTP's tunnels have a number of their own in each direction.
    pub answer: Option<u16>,
    /// How long it is expected, in seconds.
    pub timeout_secs: u32,
    /// More than one connection is expected.
    pub lasting: bool,
}

impl Expectation {
    /// What becomes of its first packet, which came with this tuple.
    pub fn translated(&self, tuple: &Tuple) -> Tuple {
        let own = (tuple.destination, tuple.destination_port);
        let (destination, destination_port) = self.destination.unwrap_or(own);
        Tuple {
            source: self.source.unwrap_or(tuple.source),
            destination,
            destination_port,
            ..*tuple
        }
    }

    /// The tuple of its answers when it leaves like this.
    pub fn reply(&self, leaves: &Tuple) -> Tuple {
        let reversed = leaves.reversed();
        match self.answer {
            None => reversed,
            Some(answer) => Tuple {
                source_port: 0,
                destination_port: answer,
                ..reversed
            },
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    destination: u128,
    source: u128,
    ports: (u16, u16),
    protocol: u8,
    ipv6: bool,
}

impl Key {
    const fn of(tuple: &Tuple) -> Self {
        Self {
            destination: tuple.destination,
            source: tuple.source,
            ports: (tuple.destination_port, tuple.source_port),
            protocol: tuple.protocol,
            ipv6: tuple.ipv6,
        }
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Expectations {
    by_tuple: BTreeMap<Key, (Tick, Expectation)>,
    /// The second in which those whose time was up were last taken out.
    swept: u32,
}

impl Expectations {
    /// Expects a connection, in the place of what was expected under the same tuple. False when
    /// there are too many.
    pub(super) fn insert(&mut self, expectation: Expectation, now: Tick) -> bool {
        let key = Key::of(&expectation.tuple);
        if self.by_tuple.len() >= EXPECTATIONS_MAX && !self.by_tuple.contains_key(&key) {
            return false;
        }
        let deadline = now.after(expectation.timeout_secs * TICKS_PER_SECOND);
        self.by_tuple.insert(key, (deadline, expectation));
        true
    }

    /// Whether just this tuple is expected.
    pub(super) fn contains(&self, tuple: &Tuple) -> bool {
        self.by_tuple.contains_key(&Key::of(tuple))
    }

    /// What expects a connection with this tuple, the most exact first.
    pub(super) fn find(&self, tuple: &Tuple) -> Option<&Expectation> {
        if self.by_tuple.is_empty() {
            return None;
        }
        let exact = Key::of(tuple);
        let any_port = |key: Key| Key {
            ports: (key.ports.0, 0),
            ..key
        };
        let any_source = Key { source: 0, ..exact };
        [exact, any_port(exact), any_source, any_port(any_source)]
            .iter()
            .find_map(|key| Some(&self.by_tuple.get(key)?.1))
    }

    /// The expected connection came.
    pub(super) fn fulfil(&mut self, tuple: &Tuple) -> Option<Expectation> {
        let found = *self.find(tuple)?;
        if !found.lasting {
            self.by_tuple.remove(&Key::of(&found.tuple));
        }
        Some(found)
    }

    /// Takes out what a connection expected that is gone.
    pub(super) fn forget(&mut self, parent: EntryId, mut gone: impl FnMut(&Tuple)) {
        self.by_tuple.retain(|_, (_, expectation)| {
            let stays = expectation.parent != parent;
            if !stays {
                gone(&expectation.tuple);
            }
            stays
        });
    }

    /// Takes out what did not come in time, once a second.
    pub(super) fn sweep(&mut self, now: Tick, mut gone: impl FnMut(&Tuple)) {
        if self.by_tuple.is_empty() || now.second() == self.swept {
            return;
        }
        self.swept = now.second();
        self.by_tuple.retain(|_, (deadline, expectation)| {
            let stays = deadline.since(now) > 0;
            if !stays {
                gone(&expectation.tuple);
            }
            stays
        });
    }
}
