//! Maps that the kernel's programs read and we write, for the table of shortcuts (`offload`).

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use frame::shortcut::Shortcuts;
use offload::{Map, MapSize, Table};

use super::bpf;
use crate::sys::Mapping;

/// A map with its memory.
#[derive(Debug)]
pub(super) struct SharedMap {
    map: OwnedFd,
    memory: Mapping,
    words: usize,
}

// SAFETY: the mapping is accessed as atomics alone, and only through `&self`.
unsafe impl Sync for SharedMap {}

impl SharedMap {
    fn new(size: MapSize) -> io::Result<Self> {
        let MapSize {
            value_bytes,
            entries,
        } = size;
        let map = bpf::create_map(bpf::ARRAY, value_bytes as u32, entries as u32)?;
        let bytes = value_bytes * entries;
        let memory = Mapping::new(&map, 0, bytes.next_multiple_of(4096))?;
        Ok(Self {
            map,
            memory,
            words: bytes / 8,
        })
    }
}

impl Map for SharedMap {
    fn words(&self) -> &[AtomicU64] {
        let words = self.memory.at::<AtomicU64>(0, self.words);
        // SAFETY: `at` has checked that they lie in the mapping, which the reference borrows; everybody
        // accesses them as atomics, whose parts of 32 bits the kernel's program may read alone.
        unsafe { NonNull::slice_from_raw_parts(words, self.words).as_ref() }
    }

    fn descriptor(&self) -> i32 {
        self.map.as_raw_fd()
    }
}

/// All shortcuts of a router. Clones are of the same.
#[derive(Clone, Debug)]
pub struct XdpShortcuts(Arc<Table<SharedMap>>);

impl XdpShortcuts {
    /// Makes the maps; `seed` is random.
    ///
    /// # Errors
    /// What the kernel says: it has no such maps, or does not let us have them.
    pub fn new(seed: u64) -> io::Result<Self> {
        Table::new(seed, SharedMap::new).map(Self)
    }

    /// The same, as control sees them.
    pub fn control(&self) -> Arc<dyn Shortcuts> {
        Arc::clone(&self.0) as Arc<dyn Shortcuts>
    }

    pub(super) fn table(&self) -> &Arc<Table<SharedMap>> {
        &self.0
    }
}
