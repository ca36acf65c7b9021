//! Queues per flow with round robin, used by SFQ and FQ-CoDel. Only flows with packets use memory.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

use packet::Tuple;

/// Returns a hash of a flow. Each queue has a random key, so senders without the key cannot choose flows that
/// share a queue (within the strength of a 64-bit mixing function).
pub(super) fn hash(tuple: &Tuple, key: u64) -> u32 {
    let ports = u64::from(tuple.source_port) << 16 | u64::from(tuple.destination_port);
    let words = [
        tuple.source as u64,
        (tuple.source >> 64) as u64,
        tuple.destination as u64,
        (tuple.destination >> 64) as u64,
        ports << 8 | u64::from(tuple.protocol),
    ];
    let mixed = words.iter().fold(key, |hash, word| mix(hash ^ word));
    (mixed >> 32) as u32
}

/// Mixes the bits of a word (Steele, Lea and Flood, 2014).
pub(super) const fn mix(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

/// Hasher for queue numbers, which are hashes already.
#[derive(Debug, Default)]
pub(super) struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        mix(self.0)
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes
            .iter()
            .for_each(|byte| self.0 = self.0 << 8 | u64::from(*byte));
    }

    fn write_u32(&mut self, number: u32) {
        self.0 = number.into();
    }
}

/// List of the round robin that a flow is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    New,
    Old,
}

/// A flow.
#[derive(Debug)]
struct Flow<L> {
    line: L,
    /// Bytes that the flow may still send in this round.
    credit: i64,
}

/// The flows of a discipline. `L` is a queue with packets.
#[derive(Debug)]
pub(super) struct Flows<L> {
    all: HashMap<u32, Flow<L>, BuildHasherDefault<NumberHasher>>,
    fresh: VecDeque<u32>,
    old: VecDeque<u32>,
    /// Bytes per round.
    quantum: i64,
}

impl<L: Default> Flows<L> {
    pub(super) fn new(quantum: u32) -> Self {
        Self {
            all: HashMap::default(),
            fresh: VecDeque::new(),
            old: VecDeque::new(),
            quantum: quantum.max(1).into(),
        }
    }

    /// Returns the queue of a flow and adds new flows to the round robin; new flows are served first
    /// (RFC 8290, 4.2).
    pub(super) fn line(&mut self, number: u32) -> &mut L {
        let (fresh, quantum) = (&mut self.fresh, self.quantum);
        let flow = self.all.entry(number).or_insert_with(|| {
            fresh.push_back(number);
            Flow {
                line: L::default(),
                credit: quantum,
            }
        });
        &mut flow.line
    }

    /// Returns the queue of an existing flow.
    pub(super) fn get(&mut self, number: u32) -> Option<&mut L> {
        self.all.get_mut(&number).map(|flow| &mut flow.line)
    }

    /// Returns all queues.
    pub(super) fn lines(&self) -> impl Iterator<Item = (u32, &L)> {
        self.all.iter().map(|(number, flow)| (*number, &flow.line))
    }

    /// Returns the next packet in round robin. `take` removes a packet from a queue and returns it with its
    /// length. If `take` returns `None`, the flow ends; a new flow is moved to the old flows once before
    /// that.
    pub(super) fn next<P>(
        &mut self,
        mut take: impl FnMut(&mut L) -> Option<(P, u32)>,
    ) -> Option<P> {
        loop {
            let (turn, number) = match (self.fresh.front(), self.old.front()) {
                (Some(number), _) => (Turn::New, *number),
                (None, Some(number)) => (Turn::Old, *number),
                (None, None) => return None,
            };
            let Some(flow) = self.all.get_mut(&number) else {
                self.leave(turn);
                continue;
            };
            if flow.credit <= 0 {
                flow.credit += self.quantum;
                self.leave(turn);
                self.old.push_back(number);
                continue;
            }
            match take(&mut flow.line) {
                Some((packet, bytes)) => {
                    flow.credit -= i64::from(bytes);
                    return Some(packet);
                }
                None => {
                    self.leave(turn);
                    match turn {
                        Turn::New if !self.old.is_empty() => self.old.push_back(number),
                        _ => _ = self.all.remove(&number),
                    }
                }
            }
        }
    }

    fn leave(&mut self, turn: Turn) {
        match turn {
            Turn::New => self.fresh.pop_front(),
            Turn::Old => self.old.pop_front(),
        };
    }
}
