//! A disk that loses power: what was synced is there, of what was not any part in any order.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use machine::Rng;
use redb::StorageBackend;

/// Tearing happens between sectors: a sector is written wholly or not.
const SECTOR: usize = 512;

/// What was asked of the disk since the last sync.
#[derive(Clone, Debug)]
enum Step {
    Write(u64, Vec<u8>),
    Resize(u64),
}

/// The disk's plates, and what is still in its memory.
#[derive(Clone, Debug, Default)]
struct State {
    synced: Vec<u8>,
    pending: Vec<Step>,
    /// Counts syncs; at [`State::cut_at`] the power goes, before the sync has done anything.
    syncs: usize,
    cut_at: Option<usize>,
    dead: bool,
    /// How many more writes it takes before it is full.
    room: Option<usize>,
}

/// A disk that several see: the database, and the test that pulls the plug.
#[derive(Clone, Debug, Default)]
pub(super) struct Disk(Arc<Mutex<State>>);

impl Disk {
    fn with<T>(&self, f: impl FnOnce(&mut State) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// How often something was synced.
    pub(super) fn syncs(&self) -> usize {
        self.with(|state| state.syncs)
    }

    /// Lets the power go when the sync of this number is asked for.
    pub(super) fn cut_at(&self, sync: Option<usize>) {
        self.with(|state| state.cut_at = sync);
    }

    /// Lets it be full after so many writes more, or never.
    pub(super) fn full_after(&self, writes: Option<usize>) {
        self.with(|state| state.room = writes);
    }

    /// Whether the power is gone.
    pub(super) fn is_dead(&self) -> bool {
        self.with(|state| state.dead)
    }

    /// The disk after the power came back: of what was not synced each step happened, did not, or
    /// happened in part, in any order.
    pub(super) fn after_power_loss(&self, rng: &mut Rng) -> Self {
        self.with(|state| {
            let mut plates = state.synced.clone();
            let mut steps = state.pending.clone();
            for index in (1..steps.len()).rev() {
                steps.swap(index, below(rng, index + 1));
            }
            // A fair part of all cuts loses everything, or nothing.
            let luck = below(rng, 4);
            for step in steps {
                match (luck, below(rng, 3)) {
                    (0, _) => {}
                    (1, _) | (_, 0) => apply(&mut plates, &step),
                    (_, 1) => tear(&mut plates, &step, rng),
                    _ => {}
                }
            }
            Self(Arc::new(Mutex::new(State {
                synced: plates,
                ..State::default()
            })))
        })
    }
}

fn below(rng: &mut Rng, bound: usize) -> usize {
    (rng.next_u64() % bound as u64) as usize
}

fn apply(plates: &mut Vec<u8>, step: &Step) {
    match step {
        Step::Resize(len) => plates.resize(*len as usize, 0),
        Step::Write(offset, bytes) => {
            let (from, to) = (*offset as usize, *offset as usize + bytes.len());
            if plates.len() < to {
                plates.resize(to, 0);
            }
            plates[from..to].copy_from_slice(bytes);
        }
    }
}

/// Some sectors of a write happen, the others do not.
fn tear(plates: &mut Vec<u8>, step: &Step, rng: &mut Rng) {
    let Step::Write(offset, bytes) = step else {
        return;
    };
    for (index, sector) in bytes.chunks(SECTOR).enumerate() {
        if rng.next_u64() & 1 == 0 {
            let at = offset + (index * SECTOR) as u64;
            apply(plates, &Step::Write(at, sector.to_vec()));
        }
    }
}

fn no_power() -> io::Error {
    io::Error::other("no power")
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        self.with(|state| {
            let resized = state.pending.iter().rev().find_map(|step| match step {
                Step::Resize(len) => Some(*len),
                Step::Write(..) => None,
            });
            Ok(resized.unwrap_or(state.synced.len() as u64))
        })
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.with(|state| {
            let mut seen = vec![0; out.len()];
            let (from, to) = (offset as usize, offset as usize + out.len());
            let there = state.synced.get(from..to.min(state.synced.len()));
            if let Some(there) = there {
                seen[..there.len()].copy_from_slice(there);
            }
            for step in &state.pending {
                if let Step::Write(at, bytes) = step {
                    let at = *at as usize;
                    let (first, behind) = (at.max(from), (at + bytes.len()).min(to));
                    if first < behind {
                        seen[first - from..behind - from]
                            .copy_from_slice(&bytes[first - at..behind - at]);
                    }
                }
            }
            out.copy_from_slice(&seen);
            Ok(())
        })
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.with(|state| match state.dead {
            true => Err(no_power()),
            false => {
                state.pending.push(Step::Resize(len));
                Ok(())
            }
        })
    }

    fn sync_data(&self) -> io::Result<()> {
        self.with(|state| {
            if state.dead || state.cut_at == Some(state.syncs) {
                state.dead = true;
                return Err(no_power());
            }
            state.syncs += 1;
            for step in std::mem::take(&mut state.pending) {
                apply(&mut state.synced, &step);
            }
            Ok(())
        })
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.with(|state| match (state.dead, &mut state.room) {
            (true, _) => Err(no_power()),
            (false, Some(0)) => Err(io::ErrorKind::StorageFull.into()),
            (false, room) => {
                room.iter_mut().for_each(|room| *room -= 1);
                state.pending.push(Step::Write(offset, data.to_vec()));
                Ok(())
            }
        })
    }
}
