//! Standard output of commands. If the reader closes the pipe (`| head`), output stops and the command ends
//! successfully.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

/// Prints a line.
pub(crate) fn line(line: impl Display) -> Result<(), String> {
    text(format_args!("{line}\n"))
}

/// Prints text with its own line ends.
pub(crate) fn text(text: impl Display) -> Result<(), String> {
    read(write!(io::stdout().lock(), "{text}"))
}

/// Writes text to a file; `-` is standard output.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn to_file(file: &Path, contents: &str) -> Result<(), String> {
    if file == Path::new("-") {
        return text(contents);
    }
    std::fs::write(file, contents).map_err(|error| format!("{}: {error}", file.display()))
}

/// Prints raw bytes.
pub(crate) fn bytes(bytes: &[u8]) -> Result<(), String> {
    read(io::stdout().lock().write_all(bytes))
}

/// Reports errors such as a full disk, except for a closed pipe.
fn read(written: io::Result<()>) -> Result<(), String> {
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(format!("standard output: {error}"))
        }
        _ => Ok(()),
    }
}
