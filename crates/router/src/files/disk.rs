//! Memory disks: folders at the root whose files are gone when the disk is removed or the router stops.

use std::collections::BTreeMap;

use super::file_store::FileStore;
use super::{Files, checked};
use crate::clock::DayClock;

/// Maximum size of all memory disks together, in bytes.
const MEMORY: u64 = 256 << 20;

/// A memory disk.
#[derive(Debug)]
pub(super) struct Disk {
    pub(super) place: FileStore,
    /// Maximum size of its files, in bytes.
    pub(super) bytes: u64,
}

impl Files {
    /// Mounts these memory disks, given by slot and size in bytes, and unmounts all others. Disks that stay keep their
    /// files. The first disks get their size; those for which no memory is left hold nothing.
    pub(crate) fn mount(&mut self, disks: &[(String, Option<u64>)], clock: &DayClock) {
        let mut left = MEMORY;
        let mut mounted = BTreeMap::new();
        for (slot, wanted) in disks {
            let bytes = wanted.unwrap_or(MEMORY).min(left);
            left -= bytes;
            let is_folder = checked(slot).is_ok_and(|name| name == *slot && !name.contains('/'));
            if !is_folder || mounted.contains_key(slot) {
                continue;
            }
            let disk = match self.disks.remove(slot) {
                Some(disk) => Disk { bytes, ..disk },
                None => {
                    let mut place = FileStore::Memory(BTreeMap::new(), clock.clone());
                    // An empty disk has room for a folder.
                    let _ = place.make_folder(slot.clone());
                    Disk { place, bytes }
                }
            };
            mounted.insert(slot.clone(), disk);
        }
        self.disks = mounted;
    }

    /// Moves the memory disks of `other`, which these files replace, to these files.
    pub(crate) fn take_disks(&mut self, other: Self) {
        self.disks = other.disks;
    }

    /// Whether a name is the folder of a memory disk.
    pub(crate) fn is_disk(&self, name: &str) -> bool {
        self.disks.contains_key(name)
    }

    /// Returns the memory disk that contains a file.
    pub(super) fn disk(&self, name: &str) -> Option<&Disk> {
        let slot = name.split('/').next().unwrap_or_default();
        self.disks.get(slot)
    }
}
