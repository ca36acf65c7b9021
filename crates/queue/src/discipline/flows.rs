//! Lines by flow that take turns, as SFQ and FQ-CoDel have them: memory is taken for flows that have packets alone.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

use packet::Tuple;

/// A hash of a flow, of which each queue has its own by a key: who does not know it cannot choose flows that share
/// a line (as far as a mixing of 64 bits goes).
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

/// Numbers of lines hash to themselves.
#[derive(Debug, Default)]
pub(super) struct Same(u64);

impl Hasher for Same {
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

/// Which turns a flow takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    New,
    Old,
}

/// A flow.
#[derive(Debug)]
struct Flow<L> {
    line: L,
    /// Bytes that it may send at this turn.
    credit: i64,
}

/// See the module. `L` is a line with packets.
#[derive(Debug)]
pub(super) struct Flows<L> {
    all: HashMap<u32, Flow<L>, BuildHasherDefault<Same>>,
    fresh: VecDeque<u32>,
    old: VecDeque<u32>,
    /// Bytes at a turn.
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

    /// The line of a flow, which takes turns from now on. Flows that have just begun come first (RFC 8290, 4.2).
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

    /// A line that is there.
    pub(super) fn get(&mut self, number: u32) -> Option<&mut L> {
        self.all.get_mut(&number).map(|flow| &mut flow.line)
    }

    /// All lines.
    pub(super) fn lines(&self) -> impl Iterator<Item = (u32, &L)> {
        self.all.iter().map(|(number, flow)| (*number, &flow.line))
    }

    /// The next packet by turns. `take` gives a packet of a line with its bytes, or none where the line has none to
    /// give: it ends then, unless it is one of those that have just begun, which waits among the others once.
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
