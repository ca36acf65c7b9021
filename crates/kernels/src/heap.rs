//! Returns unused heap memory to the system (malloc_trim(3)).

/// Returns all free pages of the heap to the system; `free` returns only pages at the heap's end. The call
/// takes milliseconds per hundred megabytes, and other threads wait for it when they allocate.
pub fn trim_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the function has no preconditions and may be called from any thread (malloc_trim(3), MT-Safe).
    unsafe {
        libc::malloc_trim(0);
    }
}
