//! What commands print. Whoever does not read any more (`| head`) gets no more, and the command ends as
//! if it had been read.

use std::fmt::Display;
use std::io::{self, Write as _};

/// Prints a line.
pub(crate) fn line(line: impl Display) {
    let _ = writeln!(io::stdout().lock(), "{line}");
}

/// Prints text that has its own line ends.
pub(crate) fn text(text: impl Display) {
    let _ = write!(io::stdout().lock(), "{text}");
}
