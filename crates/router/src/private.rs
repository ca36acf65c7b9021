//! What is kept for the router's own user alone.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Takes from all others what they may do with a file or a folder, as whoever made it has left it. It follows
/// symbolic links; what is not there is no error.
///
/// # Errors
/// What the system says, with the path: it is somebody else's, or on a disk that is only read.
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
                "{path}: others may read it, and that cannot be changed: {error}"
            ))
        }
        _ => Ok(()),
    }
}
