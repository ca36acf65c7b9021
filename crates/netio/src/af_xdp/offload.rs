//! Maps that the kernel's programs read and we write, for the table of shortcuts and the switch (`offload`).

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use frame::shortcut::Shortcuts;
use frame::switch::BridgeOffload;
use offload::{Map, MapSize, Switch, Table};

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

/// All that the kernel does for a router: shortcuts, and a switch. Clones are of the same.
#[derive(Clone, Debug)]
pub struct XdpOffload {
    table: Arc<Table<SharedMap>>,
    switch: Arc<Switch<SharedMap>>,
}

impl XdpOffload {
    /// Makes the maps; `seed` is random.
    ///
    /// # Errors
    /// What the kernel says: it has no such maps, or does not let us have them.
    pub fn new(seed: u64) -> io::Result<Self> {
        Ok(Self {
            table: Table::new(seed, SharedMap::new)?,
            switch: Switch::new(seed.rotate_left(32), SharedMap::new)?,
        })
    }

    /// The shortcuts as control sees them.
    pub fn shortcuts(&self) -> Arc<dyn Shortcuts> {
        Arc::clone(&self.table) as Arc<dyn Shortcuts>
    }

    /// The switch.
    pub fn switch(&self) -> Arc<dyn BridgeOffload> {
        Arc::clone(&self.switch) as Arc<dyn BridgeOffload>
    }

    pub(super) fn table(&self) -> &Arc<Table<SharedMap>> {
        &self.table
    }

    /// Where frames are switched.
    pub(super) fn maps(&self) -> &Arc<Switch<SharedMap>> {
        &self.switch
    }
}
