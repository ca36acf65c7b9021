//! Memory straight from the kernel: zeroed, page-aligned, on huge pages where the machine has them.

use core::ptr::NonNull;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Miri knows neither this flag nor advice, which change no meaning.
const FLAGS: MapFlags = if cfg!(miri) {
    MapFlags::PRIVATE
} else {
    MapFlags::PRIVATE.union(MapFlags::NORESERVE)
};

/// The size of the pages that memory comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// 2 MB, where the machine has them and the mapping is that large.
    Huge,
    /// The usual size.
    Small,
}

/// A zeroed anonymous mapping. It is unmapped when dropped, unless `leak` was called.
///
/// Pages take memory only when they are first touched.
#[derive(Debug)]
pub struct Region {
    mapping: NonNull<u8>,
    mapped: usize,
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: a region is plain memory without thread affinity; who may touch which byte is decided by
// the type that is built on top.
unsafe impl Send for Region {}
// SAFETY: as above; the region itself offers only its address and length.
unsafe impl Sync for Region {}

impl Region {
    /// Maps at least `len` bytes, aligned to 2 MB where that pays, and asks for huge pages.
    ///
    /// # Errors
    /// What the kernel says when there is not that much address space.
    pub fn new(len: usize) -> std::io::Result<Self> {
        Self::with_pages(len, Pages::Huge)
    }

    /// As `new`, with huge pages or without: on small ones, what is touched here and there takes
    /// less memory.
    ///
    /// # Errors
    /// What the kernel says when there is not that much address space.
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
            // SAFETY: the range was mapped above. A kernel without huge pages refuses the advice,
            // which costs speed and nothing else.
            let _ = unsafe { madvise(base.as_ptr().cast(), len, Advice::LinuxHugepage) };
        }
        Ok(Self {
            mapping,
            mapped,
            base,
            len,
        })
    }

    /// The first byte.
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// The length in bytes, a multiple of the page size.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Never: a region has at least one page.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Keeps the mapping for the rest of the process's life.
    pub fn leak(self) {
        core::mem::forget(self);
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: this very range was mapped in `new`, and the owner gave up the region.
        let _ = unsafe { munmap(self.mapping.as_ptr().cast(), self.mapped) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_zeroed_and_writable_to_its_last_byte() {
        let region = Region::new(3 << 20).expect("3 MB of address space");
        // SAFETY: the range lies in the mapping and nobody else has its address.
        let bytes =
            unsafe { core::slice::from_raw_parts_mut(region.base().as_ptr(), region.len()) };

        assert!(bytes.chunks(4096).all(|page| page == [0; 4096]));
        bytes[region.len() - 1] = 1;
        assert_eq!(region.base().as_ptr() as usize % HUGE_PAGE_BYTES, 0);
    }
}
