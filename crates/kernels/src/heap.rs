//! What the system's allocator keeps for later (malloc_trim(3)).

/// Gives the pages of free memory back to the system, all over the heap. The allocator does so by itself only at the
/// heap's end. It takes milliseconds for each hundred megabytes; other threads that allocate wait meanwhile.
pub fn trim_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the function has no preconditions and may be called from any thread (malloc_trim(3), MT-Safe).
    unsafe {
        libc::malloc_trim(0);
    }
}
