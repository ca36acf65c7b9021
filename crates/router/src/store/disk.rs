//! A simulated disk that loses power: after a crash any subset of the unsynced writes survives, in any order.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use machine::Rng;
use redb::StorageBackend;

/// Tearing happens between sectors: a sector is written wholly or not.
const SECTOR: usize = 512;

/// An operation since the last sync.
#[derive(Clone, Debug)]
enum Step {
    Write(u64, Vec<u8>),
    Resize(u64),
}

/// Contents of the simulated disk: synced bytes, and unsynced operations.
#[derive(Clone, Debug, Default)]
struct State {
    synced: Vec<u8>,
    pending: Vec<Step>,
    /// Number of syncs; at [`State::cut_at`] the power fails before the sync has an effect.
    syncs: usize,
    cut_at: Option<usize>,
    dead: bool,
    /// Number of writes until the disk is full.
    room: Option<usize>,
}

/// A disk with shared access: for the database, and for the test that cuts the power.
#[derive(Clone, Debug, Default)]
pub(super) struct Disk(Arc<Mutex<State>>);

impl Disk {
    fn with<T>(&self, f: impl FnOnce(&mut State) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the number of syncs.
    pub(super) fn syncs(&self) -> usize {
        self.with(|state| state.syncs)
    }

    /// Cuts the power at the sync with this number.
    pub(super) fn cut_at(&self, sync: Option<usize>) {
        self.with(|state| state.cut_at = sync);
    }

    /// Fills the disk after this number of further writes; `None` never fills it.
    pub(super) fn full_after(&self, writes: Option<usize>) {
        self.with(|state| state.room = writes);
    }

    /// Whether the power is cut.
    pub(super) fn is_dead(&self) -> bool {
        self.with(|state| state.dead)
    }

    /// Returns the disk after a power loss: each unsynced operation took effect completely, partly or not at all, in
    /// any order.
    pub(super) fn after_power_loss(&self, rng: &mut Rng) -> Self {
        self.with(|state| {
            let mut plates = state.synced.clone();
            let mut steps = state.pending.clone();
            for index in (1..steps.len()).rev() {
                steps.swap(index, below(rng, index + 1));
            }
            // A fair share of all cuts loses all unsynced operations, or none.
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

/// Applies some sectors of a write, and omits the others.
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
