//! Source of the machine's key: the service manager, a file given by option, or a file created beside the user's
//! settings. The key is never in the state folder, so that a copy of the folder is not enough.
//!
//! A router starts in spite of one flipped bit in the key file or the salt file. The ledger contains the name of its
//! key: if the key file does not match, each key that differs by one bit of the file is compared with that name. The
//! salt file contains the salt three times.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use super::Key;
use super::files::{private_file, put_in_place};
use super::records;
use super::vault::{NAME, random};
use crate::private::close_to_others;

/// Name of the service manager's credential.
const CREDENTIAL: &str = "store-key";
/// File of the passphrase's salt, in the state folder.
const SALT: &str = "configuration.salt";
/// File that every encrypted store contains.
const LEDGER: &str = "configuration.ledger";
const KEY: usize = 32;
/// Maximum size of a file whose flipped bits are searched: the digits of a key, and a line end.
const LONGEST_FILE: usize = 2 * KEY + 2;
/// Length of a salt in bytes.
const SALT_LEN: usize = 16;
/// Cost of scrypt for a passphrase (RFC 7914): 32 MiB.
const COST: (u8, u32, u32) = (15, 8, 1);

/// Options for the key.
#[derive(Clone, Debug, Default)]
pub struct KeyFrom {
    /// File with the key, created if it does not exist.
    pub file: Option<PathBuf>,
    /// File with a passphrase.
    pub passphrase: Option<PathBuf>,
}

impl KeyFrom {
    /// Returns the key of the store in this folder.
    ///
    /// # Errors
    /// The problem, with the file's name.
    pub fn key(&self, folder: &Path) -> Result<Key, String> {
        if let Some(path) = &self.passphrase {
            return of_passphrase(path, folder);
        }
        if let Some(path) = &self.file {
            return of_file(path, folder);
        }
        if let Some(credentials) = std::env::var_os("CREDENTIALS_DIRECTORY") {
            let path = Path::new(&credentials).join(CREDENTIAL);
            // The service manager owns this file: it is neither created nor changed.
            if path.exists() {
                return read(&path, folder).map_err(|error| named(&path, error));
            }
        }
        of_file(&usual_file(), folder)
    }
}

/// Returns the default key file of the user.
fn usual_file() -> PathBuf {
    let settings = std::env::var_os("XDG_CONFIG_HOME").filter(|path| !path.is_empty());
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".config"));
    match settings.map(PathBuf::from).or_else(home) {
        Some(settings) => settings.join("ferroute/store.key"),
        None => PathBuf::from("/var/lib/ferroute-key/store.key"),
    }
}

fn named(path: &Path, error: impl std::fmt::Display) -> String {
    format!("the store's key {}: {error}", path.display())
}

/// Reads the key from a file; creates the file if it does not exist, unless the store needs an existing key.
fn of_file(path: &Path, folder: &Path) -> Result<Key, String> {
    if !path.exists() {
        if folder.join(LEDGER).exists() {
            let what = format!(
                "the file is missing, and the configuration in {} needs it",
                folder.display()
            );
            return Err(named(path, what));
        }
        make(path).map_err(|error| named(path, error))?;
    }
    close_to_others(path)?;
    read(path, folder).map_err(|error| named(path, error))
}

/// Reads the key from a file, for the store in a folder.
fn read(path: &Path, folder: &Path) -> io::Result<Key> {
    let bytes = fs::read(path)?;
    let needed = records::key_names(&folder.join(LEDGER))?;
    let own = of_bytes(&bytes).map(|key| Key::new(key, path.display().to_string()));
    if own.as_ref().is_some_and(|own| is_needed(own, &needed)) || bytes.len() > LONGEST_FILE {
        return own.ok_or_else(no_key);
    }
    let mut mended = one_bit_off(&bytes).filter_map(|bytes| {
        let key = Key::new(of_bytes(&bytes)?, path.display().to_string());
        is_needed(&key, &needed).then_some(key)
    });
    match mended.next() {
        Some(key) if !needed.is_empty() => Ok(key.with_complaint(Some(flipped(path)))),
        _ => own.ok_or_else(no_key),
    }
}

fn no_key() -> io::Error {
    io::Error::other("expected 32 bytes or 64 hexadecimal digits")
}

/// Parses the contents of a key file.
fn of_bytes(bytes: &[u8]) -> Option<[u8; KEY]> {
    let digits = || {
        let text = std::str::from_utf8(bytes).ok()?.trim();
        let pairs = text.as_bytes().chunks(2);
        let pairs = pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
        pairs.collect::<Option<Vec<_>>>()?.try_into().ok()
    };
    bytes.try_into().ok().or_else(digits)
}

/// Whether the store needs this key; a store without a name of its key accepts any.
fn is_needed(key: &Key, needed: &[[u8; NAME]]) -> bool {
    needed.is_empty() || needed.contains(&key.name())
}

/// Returns all byte strings that differ in one bit.
fn one_bit_off(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    (0..bytes.len() * 8).map(|bit| {
        let mut other = bytes.to_vec();
        other[bit / 8] ^= 1 << (bit % 8);
        other
    })
}

/// Message about a file with one flipped bit.
fn flipped(path: &Path) -> String {
    format!(
        "{}: one bit is wrong; the router uses the key that the configuration needs: restore the file, and \
         check its disk",
        path.display()
    )
}

/// Creates a key file. If two routers create it at once, the second one uses the key of the first.
fn make(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
    }
    let key: [u8; KEY] = random()?;
    let digits: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    let unfinished = path.with_extension(format!("new-{}", std::process::id()));
    let mut file = private_file(&unfinished)?;
    file.write_all(format!("{digits}\n").as_bytes())?;
    file.sync_all()?;
    let linked = fs::hard_link(&unfinished, path);
    fs::remove_file(&unfinished)?;
    match linked {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    }
}

/// Derives the key from a passphrase and the salt of the folder with scrypt.
fn of_passphrase(path: &Path, folder: &Path) -> Result<Key, String> {
    let text = fs::read(path).map_err(|error| named(path, error))?;
    let text = text.trim_ascii_end();
    if text.is_empty() {
        return Err(named(path, "the file contains no passphrase"));
    }
    let path_of_salt = folder.join(SALT);
    let (salt, is_damaged) = salt_of(&path_of_salt).map_err(|error| named(&path_of_salt, error))?;
    let key = stretched(text, &salt, path).map_err(|error| named(path, error))?;
    Ok(key.with_complaint(is_damaged.then(|| flipped(&path_of_salt))))
}

/// Derives the key from a passphrase and a salt (RFC 7914).
fn stretched(text: &[u8], salt: &[u8], path: &Path) -> Result<Key, String> {
    let (log, blocks, lanes) = COST;
    let mut key = [0; KEY];
    let params = scrypt::Params::new(log, blocks, lanes).map_err(|error| error.to_string())?;
    scrypt::scrypt(text, salt, &params, &mut key).map_err(|error| error.to_string())?;
    let from = format!("the passphrase in {}", path.display());
    Ok(Key::new(key, from))
}

/// Reads the salt from a file, or creates the file; returns the salt, and whether the file is damaged. The file
/// contains the salt three times, so that two copies outvote a flipped bit; earlier versions wrote it once.
fn salt_of(path: &Path) -> io::Result<(Vec<u8>, bool)> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Ok(bytes) if bytes.len() == 3 * SALT_LEN => {
            let vote = |at: usize| {
                let (a, b, c) = (bytes[at], bytes[at + SALT_LEN], bytes[at + 2 * SALT_LEN]);
                a & b | a & c | b & c
            };
            let salt: Vec<u8> = (0..SALT_LEN).map(vote).collect();
            let is_damaged = bytes != salt.repeat(3);
            return Ok((salt, is_damaged));
        }
        salt => return Ok((salt?, false)),
    }
    if let Some(folder) = path.parent() {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
    }
    let salt: [u8; SALT_LEN] = random()?;
    let unfinished = path.with_extension("salt.new");
    let mut file = private_file(&unfinished)?;
    file.write_all(&salt.repeat(3))?;
    file.sync_all()?;
    put_in_place(&unfinished, path)?;
    Ok((salt.to_vec(), false))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::super::ledger::Ledger;
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let name = format!("ferroute-key-{}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("state")).expect("a new folder");
        folder
    }

    #[test]
    fn a_key_file_is_made_once_and_not_if_existing_state_needs_it() {
        let folder = folder("file");
        let (path, state) = (folder.join("own/store.key"), folder.join("state"));
        let from = KeyFrom {
            file: Some(path.clone()),
            passphrase: None,
        };

        let made = from.key(&state).expect("it is made");

        let mode = fs::metadata(&path)
            .expect("it is there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(from.key(&state).map(|key| key.name()), Ok(made.name()));
        fs::write(state.join(LEDGER), b"").expect("our folder");
        fs::remove_file(&path).expect("our file");
        let error = from.key(&state).err().unwrap_or_default();
        assert!(error.contains("needs it"), "{error}");
        assert!(!path.exists());
        fs::write(&path, b"too short").expect("our file");
        let error = from.key(&state).err().unwrap_or_default();
        assert!(error.contains("64 hexadecimal digits"), "{error}");
        let _ = fs::remove_dir_all(&folder);
    }

    #[test]
    fn a_wrong_bit_in_the_file_of_the_key_or_of_the_salt_keeps_no_store_closed() {
        let folder = folder("bit");
        let state = folder.join("state");
        let phrase = folder.join("passphrase");
        fs::write(&phrase, b"correct horse").expect("our folder");
        let file = KeyFrom {
            file: Some(folder.join("store.key")),
            passphrase: None,
        };
        let passphrase = KeyFrom {
            file: None,
            passphrase: Some(phrase),
        };
        for (from, damaged) in [
            (file, folder.join("store.key")),
            (passphrase, state.join(SALT)),
        ] {
            let key = from.key(&state).expect("it is made");
            Ledger::make(&state.join(LEDGER), &key, 0).expect("our folder");
            let whole = fs::read(&damaged).expect("it was made");
            // Bits of all kinds: one that makes another digit, one that makes none, one of the end of the line.
            for (at, bit) in [(0, 0), (9, 7), (whole.len() - 1, 3)] {
                let mut bytes = whole.clone();
                bytes[at] ^= 1 << bit;
                fs::write(&damaged, &bytes).expect("our file");
                let found = from.key(&state).expect("it is found");
                assert_eq!(found.name(), key.name(), "{} {at}", damaged.display());
                assert!(
                    found
                        .complaint()
                        .is_some_and(|said| said.contains("one bit"))
                );
            }
            fs::write(&damaged, &whole).expect("our file");
            assert_eq!(from.key(&state).expect("it is whole").complaint(), None);
            fs::remove_file(state.join(LEDGER)).expect("our file");
        }
        let _ = fs::remove_dir_all(&folder);
    }

    #[test]
    fn a_passphrase_makes_the_same_key_in_its_folder_and_another_elsewhere() {
        let folder = folder("passphrase");
        let path = folder.join("passphrase");
        let from = KeyFrom {
            file: None,
            passphrase: Some(path.clone()),
        };
        fs::write(&path, b"correct horse\n").expect("our file");
        let (one, other) = (folder.join("state"), folder.join("other"));

        let name = |state: &Path| from.key(state).map(|key| key.name());

        let first = name(&one).expect("a passphrase");
        assert_eq!(name(&one), Ok(first));
        assert_ne!(name(&other), Ok(first));
        fs::write(&path, b"correct horse battery\n").expect("our file");
        assert_ne!(name(&one), Ok(first));
        fs::write(&path, b"\n").expect("our file");
        assert!(name(&one).is_err());
        let _ = fs::remove_dir_all(&folder);
    }
}
