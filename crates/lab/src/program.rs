//! Shell word of this program, so that printed hints can be copied.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Returns `ferroute` if the shell would find this executable by that name, else its path.
pub fn word() -> String {
    let file = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("ferroute"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    of(&file, &path)
}

/// Returns the word for an executable, given a search path.
fn of(file: &Path, path: &OsStr) -> String {
    let name = file.file_name().unwrap_or(file.as_os_str());
    let real = |path: &Path| path.canonicalize().ok();
    // The shell runs the first match.
    let found = std::env::split_paths(path).find_map(|folder| real(&folder.join(name)));
    match found {
        Some(found) if Some(&found) == real(file).as_ref() => shell(Path::new(name)),
        _ => shell(file),
    }
}

/// Quotes a path as one shell word.
pub fn shell(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_named_by_its_name_in_path_or_by_its_file() {
        let file = std::env::current_exe().expect("there is a file of this program");
        let folder = file.parent().expect("it is in a folder");
        let name = file.file_name().and_then(OsStr::to_str).expect("plain");

        assert_eq!(of(&file, folder.as_os_str()), name);
        assert_eq!(
            of(&file, OsStr::new("/nowhere:")),
            file.to_str().expect("plain")
        );
        assert_eq!(of(&file, OsStr::new("")), file.to_str().expect("plain"));
    }

    #[test]
    fn a_path_is_quoted_as_one_word() {
        assert_eq!(shell(Path::new("/a/b-c.d")), "/a/b-c.d");
        assert_eq!(shell(Path::new("/a b/it's")), "'/a b/it'\\''s'");
    }
}
