//! Which program wrote the store: another one may read some values otherwise.

/// The note with the program that last compared what is stored with what it reads.
pub(super) const NOTE: &str = "program";

/// What tells this program's file from another one: its size, and when it was written.
pub(super) fn identity() -> Option<String> {
    let file = std::fs::metadata("/proc/self/exe").ok()?;
    let written = file
        .modified()
        .ok()?
        .duration_since(std::time::UNIX_EPOCH)
        .ok()?;
    Some(format!("{} {}", file.len(), written.as_nanos()))
}
