//! An in-memory database on the bytes of a file, without copying them.

use std::io;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use redb::StorageBackend;

/// Bytes of a database. Writes do not reach the file.
#[derive(Debug)]
pub(super) struct Loaded(RwLock<Vec<u8>>);

impl Loaded {
    pub(super) const fn new(bytes: Vec<u8>) -> Self {
        Self(RwLock::new(bytes))
    }

    fn bytes(&self) -> RwLockReadGuard<'_, Vec<u8>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn bytes_mut(&self) -> RwLockWriteGuard<'_, Vec<u8>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the range of some bytes.
///
/// # Errors
/// The range exceeds the address space.
fn place(offset: u64, length: usize) -> io::Result<std::ops::Range<usize>> {
    let begin = usize::try_from(offset).ok();
    let range = begin.and_then(|begin| Some(begin..begin.checked_add(length)?));
    range.ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

impl StorageBackend for Loaded {
    fn len(&self) -> io::Result<u64> {
        Ok(self.bytes().len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let place = place(offset, out.len())?;
        let bytes = self.bytes();
        out.copy_from_slice(bytes.get(place).ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        let length = place(length, 0)?.start;
        self.bytes_mut().resize(length, 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let place = place(offset, data.len())?;
        let mut bytes = self.bytes_mut();
        let there = bytes.get_mut(place).ok_or(io::ErrorKind::UnexpectedEof)?;
        there.copy_from_slice(data);
        Ok(())
    }
}
