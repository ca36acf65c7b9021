//! Identifies the program that wrote the store: another version may read some values differently.

/// Note that identifies the program that last compared the stored state with its own reading.
pub(super) const NOTE: &str = "program";

/// Returns size and modification time of this program's file, which differ between versions.
pub(super) fn identity() -> Option<String> {
    let file = std::fs::metadata("/proc/self/exe").ok()?;
    let written = file
        .modified()
        .ok()?
        .duration_since(std::time::UNIX_EPOCH)
        .ok()?;
    Some(format!("{} {}", file.len(), written.as_nanos()))
}
