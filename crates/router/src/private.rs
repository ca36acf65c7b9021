//! Restricts files to the router's own user.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Removes the permissions of group and others from a file or folder. Follows symbolic links; a missing file is no
/// error.
///
/// # Errors
/// The system's error, with the path: another user owns the file, or the file system is read-only.
pub fn close_to_others(path: &Path) -> Result<(), String> {
    let closed = || -> io::Result<()> {
        let mode = fs::metadata(path)?.permissions().mode();
        match mode & 0o077 {
            0 => Ok(()),
            _ => fs::set_permissions(path, Permissions::from_mode(mode & 0o7700)),
        }
    };
    match closed() {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            let path = path.display();
            Err(format!(
                "{path}: other users may read it, and its permissions cannot be changed: {error}"
            ))
        }
        _ => Ok(()),
    }
}
