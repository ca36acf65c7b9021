//! What commands print. Whoever does not read any more (`| head`) gets no more, and the command ends as
//! if it had been read.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write as _};

/// Prints a line.
pub(crate) fn line(line: impl Display) -> Result<(), String> {
    text(format_args!("{line}\n"))
}

/// Prints text that has its own line ends.
pub(crate) fn text(text: impl Display) -> Result<(), String> {
    read(write!(io::stdout().lock(), "{text}"))
}

/// Prints bytes as they are.
pub(crate) fn bytes(bytes: &[u8]) -> Result<(), String> {
    read(io::stdout().lock().write_all(bytes))
}

/// A full disk is told of.
fn read(written: io::Result<()>) -> Result<(), String> {
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(format!("standard output: {error}"))
        }
        _ => Ok(()),
    }
}
