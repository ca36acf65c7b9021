//! Large arrays of atomics that the kernel gives as zeros: what shared tables are built from.

use core::ops::Deref;
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

use crate::{Pages, Region};

/// An array of atomics, all zero at first, aligned to a page.
///
/// An element takes memory only once its page is touched, so an array may be made as large as its
/// table could ever become.
#[derive(Debug)]
pub struct Zeroed<T> {
    region: Region,
    len: usize,
    of: core::marker::PhantomData<T>,
}

/// Atomics whose zero is all bits zero.
///
/// Sealed: implemented here for the unsigned ones, and for arrays of them.
pub trait Atomic: sealed::Sealed {}

mod sealed {
    pub trait Sealed {}
}

macro_rules! atomics {
    ($($atomic:ty),*) => {
        $(
            impl sealed::Sealed for $atomic {}
            impl Atomic for $atomic {}
        )*
    };
}
atomics!(AtomicU8, AtomicU32, AtomicU64);

impl<T: Atomic, const N: usize> sealed::Sealed for [T; N] {}
impl<T: Atomic, const N: usize> Atomic for [T; N] {}

impl<T: Atomic> Zeroed<T> {
    /// An array of `len` zeros.
    ///
    /// # Errors
    /// What the kernel says when there is not that much address space.
    pub fn new(len: usize, pages: Pages) -> std::io::Result<Self> {
        let bytes = len
            .checked_mul(size_of::<T>())
            .ok_or(std::io::ErrorKind::InvalidInput)?;
        Ok(Self {
            region: Region::with_pages(bytes, pages)?,
            len,
            of: core::marker::PhantomData,
        })
    }
}

impl<T: Atomic> Deref for Zeroed<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: the region was made for `len` elements and lives as long as `self`; it is
        // aligned to a page, zeroed, and zero is a value of every `Atomic`. Nobody else has its
        // address, and what is behind the reference changes only atomically.
        unsafe { core::slice::from_raw_parts(self.region.base().cast().as_ptr(), self.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::Ordering;

    #[test]
    fn an_array_is_zero_and_writable_to_its_last_element() {
        // Miri walks through all elements whenever they are borrowed.
        const LEN: usize = if cfg!(miri) { 1 << 10 } else { 1 << 20 };
        let array = Zeroed::<AtomicU64>::new(LEN, Pages::Huge).expect("8 MB of address space");
        assert!(array.iter().all(|word| word.load(Ordering::Relaxed) == 0));

        array[array.len() - 1].store(7, Ordering::Relaxed);

        assert_eq!(array.len(), LEN);
        assert_eq!(array[array.len() - 1].load(Ordering::Relaxed), 7);
        assert_eq!(array.as_ptr() as usize % 64, 0);
    }
}
