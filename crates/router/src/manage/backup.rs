//! `/system/backup`: the whole configuration in a file.
//!
//! A file contains its magic, one byte for its form, and the configuration: either with its SHA-256 in front, or
//! encrypted with AES-256-GCM under a key that scrypt derives from the password. In both cases the whole file is read
//! and checked before anything changes.

use menu::{Call, Preparation, Reason, Reply, Saved, Value};
use sha2::{Digest as _, Sha256};

use super::{CommandContext, read_file};
use crate::drive::Control;
use crate::store::aead::{Cipher, NONCE};
use crate::store::code;

const MAGIC: &[u8] = b"ferroute backup 1\n";
const PLAIN: u8 = 0;
const ENCRYPTED: u8 = 1;
const SALT: usize = 16;
const KEY: usize = 32;
const SUM: usize = 32;

/// A key that scrypt derived from a password, with its salt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    salt: [u8; SALT],
    key: [u8; KEY],
}

impl Key {
    /// Derives the key of a password; the cost of scrypt slows down guessing.
    fn of(password: &str, salt: [u8; SALT]) -> Result<Self, Reason> {
        let mut key = [0; KEY];
        let params = scrypt::Params::new(15, 8, 1).map_err(|_| damaged())?;
        scrypt::scrypt(password.as_bytes(), &salt, &params, &mut key).map_err(|_| damaged())?;
        Ok(Self { salt, key })
    }

    /// Encodes the key as the prepared value of a command.
    fn made(self) -> Vec<u8> {
        [&self.salt[..], &self.key].concat()
    }

    fn read(made: &[u8]) -> Option<Self> {
        let (salt, key) = made.split_first_chunk()?;
        let key = key.try_into().ok()?;
        Some(Self { salt: *salt, key })
    }

    fn cipher(&self) -> Cipher {
        Cipher::new(&self.key)
    }
}

impl Control {
    /// Returns the preparation of the key for saving or loading a backup; `None` without a password.
    pub(crate) fn key_of_backup(&self, call: &Call<'_>) -> Result<Option<Preparation>, Reason> {
        let argument = |name: &str| {
            let mut arguments = call.arguments.iter();
            arguments.find(|(n, _)| *n == name).map(|(_, value)| value)
        };
        let text = |name| argument(name).map(ToString::to_string);
        let salt = match call.command {
            "save" => {
                let plain = argument("dont-encrypt").and_then(Value::as_bool);
                match text("password").is_none_or(|text| text.is_empty()) || plain == Some(true) {
                    true => return Ok(None),
                    false => random()?,
                }
            }
            _ => {
                let Some(name) = text("name").filter(|name| !name.is_empty()) else {
                    return Ok(None);
                };
                match salt_of(&read_file(&self.manage.files, &name, ENDING)?) {
                    Some(salt) => salt,
                    None => return Ok(None),
                }
            }
        };
        let password = text("password").unwrap_or_default();
        Ok(Some(Box::new(move || {
            Key::of(&password, salt).map(Key::made)
        })))
    }
}

impl CommandContext<'_> {
    pub(super) fn save(&mut self) -> Result<Reply, Reason> {
        let name = match self.text("name").filter(|name| !name.is_empty()) {
            Some(name) => name,
            None => self.name_by_date(),
        };
        // RouterOS: without a password the file is not encrypted.
        let key = self.call.made.and_then(Key::read);
        self.say("Saving system configuration")?;
        let contents = encode(&self.store.save(), key.as_ref())?;
        let ending = if name.ends_with(ENDING) { "" } else { ENDING };
        self.write(&format!("{name}{ending}"), &contents)?;
        self.say("Configuration backup saved")?;
        Ok(Reply::default())
    }

    /// RouterOS: `identity-20261121-1857`.
    fn name_by_date(&self) -> String {
        let identity = self.store.settings("/system/identity");
        let identity = identity.map_or("ferroute", |item| item.text("name"));
        let word = identity.replace(|c: char| !c.is_ascii_alphanumeric() && c != '-', "_");
        let date = self.control.clock.now().date_time();
        let digits: String = date.chars().filter(char::is_ascii_digit).collect();
        let (day, time) = digits.split_at_checked(8).unwrap_or_default();
        format!("{word}-{day}-{}", time.get(..4).unwrap_or_default())
    }

    pub(super) fn load(&mut self) -> Result<Reply, Reason> {
        self.without(&["force-v6-to-v7-configuration-upgrade"])?;
        let name = self.needed("name")?;
        // Loading shows no contents to the user.
        let contents = read_file(&self.control.manage.files, &name, ENDING)?;
        let key = self.call.made.and_then(Key::read);
        let saved = decode(&contents, key.as_ref())?;
        let mut wanted = schema::store();
        let lost = wanted.load(&saved);
        if let Some(lost) = lost.first() {
            return Err(Reason::failure(format!("this version cannot take {lost}")));
        }
        self.say("Restoring system configuration")?;
        let by = self.by(format!("backup {name} loaded"));
        let changes = self.store.become_like(&wanted, by)?;
        self.control.follow(self.store, changes);
        self.say("System configuration restored")?;
        Ok(Reply::default())
    }
}

const ENDING: &str = ".backup";

/// Returns the salt of an encrypted file.
fn salt_of(contents: &[u8]) -> Option<[u8; SALT]> {
    let kept = contents.strip_prefix(MAGIC)?.strip_prefix(&[ENCRYPTED])?;
    kept.first_chunk().copied()
}

fn random<const N: usize>() -> Result<[u8; N], Reason> {
    crate::store::vault::random().map_err(|error| Reason::failure(error.to_string()))
}

/// Encodes a configuration as file contents.
///
/// # Errors
/// The system gives no random numbers.
pub(super) fn encode(saved: &Saved, key: Option<&Key>) -> Result<Vec<u8>, Reason> {
    let plain = code::saved(saved);
    let mut out = MAGIC.to_vec();
    let Some(key) = key else {
        out.push(PLAIN);
        out.extend_from_slice(&Sha256::digest(&plain));
        out.extend_from_slice(&plain);
        return Ok(out);
    };
    let nonce: [u8; NONCE] = random()?;
    out.push(ENCRYPTED);
    out.extend_from_slice(&key.salt);
    out.extend_from_slice(&nonce);
    let head = out.clone();
    let sealed = key.cipher().encrypt(nonce, &head, &plain, &mut out);
    sealed.map_err(|error| Reason::failure(error.to_string()))?;
    Ok(out)
}

/// Decodes the configuration in file contents.
///
/// # Errors
/// The contents are no backup, are damaged, or have another password.
pub(super) fn decode(contents: &[u8], key: Option<&Key>) -> Result<Saved, Reason> {
    let kept = contents.strip_prefix(MAGIC);
    let kept = kept.ok_or_else(|| Reason::failure("not a backup file"))?;
    let plain = match kept.split_first() {
        Some((&PLAIN, rest)) => {
            let (sum, plain) = rest.split_at_checked(SUM).ok_or_else(damaged)?;
            match Sha256::digest(plain)[..] == *sum {
                true => plain.to_vec(),
                false => return Err(damaged()),
            }
        }
        Some((&ENCRYPTED, rest)) => {
            let (random, sealed) = rest.split_at_checked(SALT + NONCE).ok_or_else(damaged)?;
            let (salt, nonce) = random.split_at(SALT);
            let head = &contents[..contents.len() - sealed.len()];
            let nonce = nonce.try_into().map_err(|_| damaged())?;
            // If the file was replaced after the key was derived, its salt differs.
            let key = key.filter(|key| key.salt == *salt).ok_or_else(damaged)?;
            let opened = key.cipher().decrypt(nonce, head, sealed);
            opened.ok_or_else(|| Reason::failure("wrong password, or the file is damaged"))?
        }
        _ => return Err(damaged()),
    };
    code::read_saved(&plain).ok_or_else(damaged)
}

fn damaged() -> Reason {
    Reason::failure("the file is damaged")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(password: &str) -> Key {
        let salt = random().expect("random numbers");
        let made = Key::of(password, salt).expect("a key").made();
        Key::read(&made).expect("it was made here")
    }

    #[test]
    fn a_backup_is_read_as_it_was_written_and_damage_is_noticed() {
        let saved = schema::store().save();
        let secret = key("secret");
        for key in [None, Some(&secret)] {
            let file = encode(&saved, key).expect("random numbers");

            let read = decode(&file, key);
            assert_eq!(read.as_ref(), Ok(&saved));
            let step = if key.is_some() { file.len() / 3 } else { 97 };
            for at in (0..file.len()).step_by(step.max(1)) {
                let mut broken = file.clone();
                broken[at] ^= 4;
                assert!(decode(&broken, Some(&secret)).is_err(), "{at}");
                assert!(decode(&file[..at], Some(&secret)).is_err(), "{at}");
            }
        }
    }

    #[test]
    fn without_its_password_a_backup_tells_nothing() {
        let mut store = schema::store();
        let menu = store.menu("/system/identity").expect("it is declared");
        let mark = store.begin();
        let name = ("name", Some(Value::text("a-name-to-look-for")));
        store
            .set(menu, menu::Id::SETTINGS, &[name])
            .expect("a name");
        store.commit(mark).expect("no journal");

        let file = encode(&store.save(), Some(&key("secret"))).expect("random numbers");

        let find = |hay: &[u8]| hay.windows(18).any(|piece| piece == b"a-name-to-look-for");
        assert!(find(&encode(&store.save(), None).expect("no randomness")));
        assert!(!find(&file));
        let salt = salt_of(&file).expect("it is encrypted");
        let other = Key::of("Secret", salt).expect("a key");
        let refused = decode(&file, Some(&other));
        assert_eq!(
            refused,
            Err(Reason::failure("wrong password, or the file is damaged"))
        );
    }
}
