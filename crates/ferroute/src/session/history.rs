//! Console history of users, stored in the state folder.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use console::history::{History, LINES};
use router::private::close_to_others;

/// Folder within the state folder.
const FOLDER: &str = "history";

/// Lines with these words are not stored, since a secret follows.
const SECRET_WORDS: [&str; 6] = [
    "password",
    "secret",
    "passphrase",
    "private-key",
    "-key=",
    "pin=",
];

/// Location of a user's history; nowhere without a state folder.
#[derive(Clone, Debug)]
pub(crate) struct HistoryFile {
    file: Option<PathBuf>,
}

impl HistoryFile {
    /// Returns the history location of a user.
    pub(crate) fn of(state: Option<&Path>, user: &str) -> Self {
        let file = state.map(|state| state.join(FOLDER).join(file_name(user)));
        Self { file }
    }

    /// Loads the stored lines.
    pub(crate) fn load(&self) -> History {
        let bytes = self.file.as_ref().and_then(|file| fs::read(file).ok());
        let text = String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned();
        History::new(text.lines().map(String::from))
    }

    /// Stores the lines, readable by the router's user alone. Errors are ignored.
    pub(crate) fn keep(&self, history: &History) {
        let Some(file) = &self.file else { return };
        if let Err(error) = write(file, history) {
            tracing::debug!("{}: {error}", file.display());
        }
    }
}

fn write(file: &Path, history: &History) -> io::Result<()> {
    let Some(folder) = file.parent() else {
        return Ok(());
    };
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(folder)?;
    close_to_others(folder).map_err(io::Error::other)?;
    let kept = history.lines().filter(|line| is_harmless(line));
    let mut lines: Vec<_> = kept.rev().take(LINES).collect();
    lines.reverse();
    let text = lines.iter().fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "{line}");
        text
    });
    let fresh = file.with_extension("new");
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    io::Write::write_all(&mut options.open(&fresh)?, text.as_bytes())?;
    fs::rename(fresh, file)
}

fn is_harmless(line: &str) -> bool {
    SECRET_WORDS.iter().all(|secret| !line.contains(secret))
}

/// Returns a file name for a user name, without path separators.
fn file_name(user: &str) -> String {
    let mut name = String::new();
    for byte in user.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' => name.push(char::from(byte)),
            _ => {
                let _ = write!(name, "%{byte:02x}");
            }
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_session_has_earlier_lines_without_secrets() {
        let state = std::env::temp_dir().join(format!("ferroute-past-{}", std::process::id()));
        let file = HistoryFile::of(Some(&state), "../ad min");
        let typed = ["/ip address print", "/user add name=x password=y", "/quit"];

        file.keep(&History::new(typed.map(String::from)));
        let again = file.load();

        fs::remove_dir_all(&state).expect("it was made above");
        let lines: Vec<_> = again.lines().collect();
        assert_eq!(lines, ["/ip address print", "/quit"]);
        assert_eq!(file_name("../ad min"), "%2e%2e%2fad%20min");
    }
}
