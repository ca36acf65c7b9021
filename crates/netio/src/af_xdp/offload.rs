//! Memory-mapped BPF maps that the kernel's programs read and this process writes, for flow offload and bridge
//! offload.

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
        // SAFETY: `at` has checked that they lie in the mapping, which the reference borrows; all accesses are
        // atomic, and the kernel's program may read their 32-bit halves separately.
        unsafe { NonNull::slice_from_raw_parts(words, self.words).as_ref() }
    }

    fn descriptor(&self) -> i32 {
        self.map.as_raw_fd()
    }
}

/// State of the kernel offload: flow table and bridge. Clones share it.
#[derive(Clone, Debug)]
pub struct XdpOffload {
    table: Arc<Table<SharedMap>>,
    switch: Arc<Switch<SharedMap>>,
}

impl XdpOffload {
    /// Creates the maps; `seed` is random.
    ///
    /// # Errors
    /// Returns the kernel's error: maps not supported or not permitted.
    pub fn new(seed: u64) -> io::Result<Self> {
        Ok(Self {
            table: Table::new(seed, SharedMap::new)?,
            switch: Switch::new(seed.rotate_left(32), SharedMap::new)?,
        })
    }

    /// Flow table, for the control plane.
    pub fn shortcuts(&self) -> Arc<dyn Shortcuts> {
        Arc::clone(&self.table) as Arc<dyn Shortcuts>
    }

    /// Bridge offload, for the control plane.
    pub fn switch(&self) -> Arc<dyn BridgeOffload> {
        Arc::clone(&self.switch) as Arc<dyn BridgeOffload>
    }

    pub(super) fn table(&self) -> &Arc<Table<SharedMap>> {
        &self.table
    }

    /// Maps of the bridge offload.
    pub(super) fn maps(&self) -> &Arc<Switch<SharedMap>> {
        &self.switch
    }
}
