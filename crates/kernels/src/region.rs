//! Anonymous mappings: zeroed, page-aligned, on huge pages if available.

use core::ptr::NonNull;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Miri supports neither this flag nor `madvise`; both affect performance only.
const FLAGS: MapFlags = if cfg!(miri) {
    MapFlags::PRIVATE
} else {
    MapFlags::PRIVATE.union(MapFlags::NORESERVE)
};

/// Page size of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// 2 MB, if available and if the mapping is large enough.
    Huge,
    /// The normal page size.
    Small,
}

/// A zeroed anonymous mapping, unmapped on drop unless `leak` was called.
///
/// The kernel commits memory when a page is first touched.
#[derive(Debug)]
pub struct Region {
    mapping: NonNull<u8>,
    mapped: usize,
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: a region is plain memory without thread affinity; the type built on top decides which thread may
// access which byte.
unsafe impl Send for Region {}
// SAFETY: as above; the region itself offers only its address and length.
unsafe impl Sync for Region {}

impl Region {
    /// Maps at least `len` bytes and requests huge pages, with 2 MB alignment where useful.
    ///
    /// # Errors
    /// Returns the kernel's error if it cannot reserve the address space.
    pub fn new(len: usize) -> std::io::Result<Self> {
        Self::with_pages(len, Pages::Huge)
    }

    /// Maps at least `len` bytes with the given page size; small pages need less memory for sparse access.
    ///
    /// # Errors
    /// Returns the kernel's error if it cannot reserve the address space.
    pub fn with_pages(len: usize, pages: Pages) -> std::io::Result<Self> {
        let len = len.max(1).next_multiple_of(4096);
        let huge = pages == Pages::Huge && len >= HUGE_PAGE_BYTES;
        let slack = if huge { HUGE_PAGE_BYTES } else { 0 };
        let mapped = len + slack;
        // SAFETY: a new anonymous mapping at an address of the kernel's choice aliases nothing.
        let address = unsafe {
            mmap_anonymous(
                core::ptr::null_mut(),
                mapped,
                ProtFlags::READ | ProtFlags::WRITE,
                FLAGS,
            )?
        };
        let mapping = NonNull::new(address.cast::<u8>())
            .ok_or_else(|| std::io::Error::other("the kernel mapped the null page"))?;
        let offset = if slack > 0 {
            mapping.align_offset(HUGE_PAGE_BYTES)
        } else {
            0
        };
        // SAFETY: `align_offset` is below the slack, so base + len stays inside the mapping.
        let base = unsafe { mapping.add(offset) };
        if huge && !cfg!(miri) {
            // SAFETY: the range was mapped above. A kernel without huge pages refuses the advice, which only
            // costs speed.
            let _ = unsafe { madvise(base.as_ptr().cast(), len, Advice::LinuxHugepage) };
        }
        Ok(Self {
            mapping,
            mapped,
            base,
            len,
        })
    }

    /// Returns the address of the first byte.
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Returns the length in bytes, a multiple of the page size.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns false: a region has at least one page.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Keeps the mapping until the process ends.
    pub fn leak(self) {
        core::mem::forget(self);
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: this range was mapped in `new`, and the owner has given up the region.
        let _ = unsafe { munmap(self.mapping.as_ptr().cast(), self.mapped) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_zeroed_and_writable_to_its_last_byte() {
        let region = Region::new(3 << 20).expect("3 MB of address space");
        // SAFETY: the range lies in the mapping and no other code has its address.
        let bytes =
            unsafe { core::slice::from_raw_parts_mut(region.base().as_ptr(), region.len()) };

        assert!(bytes.chunks(4096).all(|page| page == [0; 4096]));
        bytes[region.len() - 1] = 1;
        assert_eq!(region.base().as_ptr() as usize % HUGE_PAGE_BYTES, 0);
    }
}
