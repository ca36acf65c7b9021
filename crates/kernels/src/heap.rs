//! What the system's allocator keeps for later (malloc_trim(3)).

/// Returns all free pages of the heap to the system; `free` returns only pages at the heap's end. The call takes
/// milliseconds per hundred megabytes, and threads that allocate wait meanwhile.
pub fn trim_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the function has no preconditions and may be called from any thread (malloc_trim(3), MT-Safe).
    unsafe {
        libc::malloc_trim(0);
    }
}
