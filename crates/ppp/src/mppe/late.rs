//! Keys of packets that have not arrived: packets out of order are decrypted within a bound.

use std::collections::VecDeque;

use zeroize::Zeroizing;

/// Maximum number of keys, and of consecutive missing packets whose keys are kept.
pub(super) const MAX_LATE: u16 = 16;

/// Keys of the latest missing packets of stateless encryption, by count.
#[derive(Default)]
pub(super) struct LateKeys {
    keys: VecDeque<(u16, Zeroizing<[u8; 16]>)>,
}

impl LateKeys {
    /// Returns an instance that allocates no more memory.
    pub(super) fn new() -> Self {
        Self {
            keys: VecDeque::with_capacity(usize::from(MAX_LATE)),
        }
    }

    /// Keeps the key of a missing packet instead of the oldest one.
    pub(super) fn keep(&mut self, count: u16, key: Zeroizing<[u8; 16]>) {
        if self.keys.len() >= usize::from(MAX_LATE) {
            self.keys.pop_front();
        }
        self.keys.push_back((count, key));
    }

    /// Returns the key of a missing packet.
    pub(super) fn get(&self, count: u16) -> Option<Zeroizing<[u8; 16]>> {
        let mut all = self.keys.iter();
        let (_, key) = all.find(|(own, _)| *own == count)?;
        Some(key.clone())
    }

    /// Forgets the key of a packet that has arrived, or whose key was kept in vain.
    pub(super) fn remove(&mut self, count: u16) {
        self.keys.retain(|(own, _)| *own != count);
    }
}
