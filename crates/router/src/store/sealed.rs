//! Secrets of the router in files of their own, such as the host key of SSH: encrypted like the store, with two copies
//! per file, so that one damaged page loses nothing.
//!
//! ```text
//! magic, length of a copy (4 bytes) │ salt, name of the key, sealed secret │ zeros up to 8 KiB │ second copy
//! ```

use std::io;
use std::path::PathBuf;

use super::files;
use super::vault::{Head, Key, SealContext, Vault};

const MAGIC: &[u8] = b"ferroute secret\n";
/// Beginning of unencrypted key files of earlier versions.
const PEM: &[u8] = b"-----BEGIN ";
/// Offset of the second copy: further from the first than a page, the unit of disk damage.
const SECOND: usize = 8 << 10;

/// The state folder of a router, and the key of its secrets.
#[derive(Clone, Debug)]
pub struct StateFolder {
    /// The folder.
    pub path: PathBuf,
    /// The key.
    pub key: Key,
}

/// Result of reading a secret's file.
#[derive(Debug, PartialEq, Eq)]
pub enum Secret {
    /// There is no such file.
    Missing,
    /// The decrypted secret.
    Sealed(Vec<u8>),
    /// Contents of an unencrypted file of an earlier version.
    Clear(Vec<u8>),
    /// No copy can be decrypted: the file is damaged, or encrypted with another key.
    Unreadable,
}

impl StateFolder {
    /// Reads the secret in a file of the folder, such as `ssh/host_ed25519`.
    ///
    /// # Errors
    /// The system's error.
    pub fn read_secret(&self, name: &str) -> io::Result<Secret> {
        let bytes = match files::read(&self.path.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Secret::Missing),
            bytes => bytes?,
        };
        if bytes.starts_with(PEM) {
            return Ok(Secret::Clear(bytes));
        }
        let copies = [0, SECOND].into_iter();
        let mut open = copies.filter_map(|at| self.open_copy(name, bytes.get(at..)?));
        Ok(open.next().map_or(Secret::Unreadable, Secret::Sealed))
    }

    fn open_copy(&self, name: &str, bytes: &[u8]) -> Option<Vec<u8>> {
        let (len, rest) = bytes.strip_prefix(MAGIC)?.split_first_chunk()?;
        let copy = rest.get(..u32::from_le_bytes(*len) as usize)?;
        let (head, sealed) = copy.split_at_checked(Head::LEN)?;
        Vault::of(&self.key, Head::read(head)?).open(&place(name), sealed)
    }

    /// Writes a secret to a file of the folder, encrypted and synced, readable by the router's user only.
    ///
    /// # Errors
    /// The system's error, or the secret exceeds the size of a copy.
    pub fn write_secret(&self, name: &str, secret: &[u8]) -> io::Result<()> {
        use std::os::unix::fs::DirBuilderExt as _;
        let path = self.path.join(name);
        if let Some(folder) = path.parent() {
            let mut builder = std::fs::DirBuilder::new();
            builder.recursive(true).mode(0o700).create(folder)?;
        }
        let vault = Vault::new(&self.key)?;
        let sealed = vault.seal(&place(name), secret)?;
        let len = (Head::LEN + sealed.len()) as u32;
        let mut copy = [MAGIC, &len.to_le_bytes(), &vault.head.bytes(), &sealed].concat();
        if copy.len() > SECOND / 2 {
            return Err(io::Error::other("the secret is too long"));
        }
        let second = copy.clone();
        copy.resize(SECOND, 0);
        files::replace(&path, None, &[&copy, &second])
    }

    /// Renames the file of an unreadable secret.
    ///
    /// # Errors
    /// The system's error.
    pub fn put_secret_aside(&self, name: &str) -> io::Result<()> {
        let path = self.path.join(name);
        files::set_aside(&path, &files::with_suffix(&path, ".damaged"))
    }
}

fn place(name: &str) -> SealContext<'_> {
    SealContext("secret", name, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(StateFolder);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("ferroute-secret-{}-{name}", std::process::id());
            Self(StateFolder {
                path: std::env::temp_dir().join(name),
                key: Key::new([7; 32], "a test"),
            })
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0.path);
        }
    }

    #[test]
    fn a_secret_is_sealed_and_outlives_a_damaged_page() {
        let folder = Folder::new("pages");
        let state = &folder.0;
        assert_eq!(state.read_secret("a/key").ok(), Some(Secret::Missing));

        state
            .write_secret("a/key", b"hush hush")
            .expect("there is room");

        let file = state.path.join("a/key");
        let whole = std::fs::read(&file).expect("it was written");
        assert!(!whole.windows(4).any(|bytes| bytes == b"hush"));
        for page in (0..whole.len()).step_by(4_096) {
            let mut bytes = whole.clone();
            let end = bytes.len().min(page + 4_096);
            bytes[page..end].fill(0);
            std::fs::write(&file, bytes).expect("our file");
            let found = state.read_secret("a/key").ok();
            assert_eq!(found, Some(Secret::Sealed(b"hush hush".to_vec())), "{page}");
        }
        std::fs::write(&file, b"something").expect("our file");
        assert_eq!(state.read_secret("a/key").ok(), Some(Secret::Unreadable));
        std::fs::write(&file, b"-----BEGIN KEY").expect("our file");
        let clear = Secret::Clear(b"-----BEGIN KEY".to_vec());
        assert_eq!(state.read_secret("a/key").ok(), Some(clear));
    }

    #[test]
    fn a_secret_with_another_key_or_name_is_unreadable() {
        let folder = Folder::new("other");
        let state = &folder.0;
        state
            .write_secret("key", b"hush hush")
            .expect("there is room");
        std::fs::copy(state.path.join("key"), state.path.join("copy")).expect("our files");
        let other = StateFolder {
            key: Key::new([8; 32], "another"),
            ..state.clone()
        };

        assert_eq!(other.read_secret("key").ok(), Some(Secret::Unreadable));
        assert_eq!(state.read_secret("copy").ok(), Some(Secret::Unreadable));
    }
}
