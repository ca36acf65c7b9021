//! Large zero-initialised arrays of atomics, for shared tables.

use core::ops::Deref;
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

use crate::{Pages, Region};

/// An array of atomics, initially zero, aligned to a page.
///
/// The kernel commits memory when a page is first touched, so an array may have the maximum size of its
/// table.
#[derive(Debug)]
pub struct Zeroed<T> {
    region: Region,
    len: usize,
    of: core::marker::PhantomData<T>,
}

/// Atomics whose zero value is all bits zero.
///
/// Sealed: implemented for the unsigned atomics and arrays of them.
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
    /// Creates an array of `len` zeros.
    ///
    /// # Errors
    /// Returns the kernel's error if it cannot reserve the address space.
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
        // SAFETY: the region was created for `len` elements and lives as long as `self`; it is aligned to a
        // page and zeroed, and zero is a value of every `Atomic`. No other code has its address, and the
        // elements behind the reference change only atomically.
        unsafe { core::slice::from_raw_parts(self.region.base().cast().as_ptr(), self.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::Ordering;

    #[test]
    fn an_array_is_zero_and_writable_to_its_last_element() {
        // Miri visits all elements on every borrow.
        const LEN: usize = if cfg!(miri) { 1 << 10 } else { 1 << 20 };
        let array = Zeroed::<AtomicU64>::new(LEN, Pages::Huge).expect("8 MB of address space");
        assert!(array.iter().all(|word| word.load(Ordering::Relaxed) == 0));

        array[array.len() - 1].store(7, Ordering::Relaxed);

        assert_eq!(array.len(), LEN);
        assert_eq!(array[array.len() - 1].load(Ordering::Relaxed), 7);
        assert_eq!(array.as_ptr() as usize % 64, 0);
    }
}
