//! `/system/backup`: the whole configuration in a file.
//!
//! A file is its magic, one byte that says how it is kept, and the configuration: behind its SHA-256
//! where it is readable to all, else encrypted with AES-256-GCM under a key that scrypt makes of the
//! password. Either way a file is read wholly and checked before anything changes.

use aes_gcm::aead::{Aead as _, Payload};
use aes_gcm::{Aes256Gcm, KeyInit as _};
use menu::{Reason, Reply, Saved};
use rustix::rand::{GetRandomFlags, getrandom};
use sha2::{Digest as _, Sha256};

use super::Desk;
use crate::store::code;

const MAGIC: &[u8] = b"ferroute backup 1\n";
const PLAIN: u8 = 0;
const ENCRYPTED: u8 = 1;
const SALT: usize = 16;
const NONCE: usize = 12;
const SUM: usize = 32;

impl Desk<'_> {
    pub(super) fn save(&mut self) -> Result<Reply, Reason> {
        let name = match self.text("name").filter(|name| !name.is_empty()) {
            Some(name) => name,
            None => self.name_by_date(),
        };
        // RouterOS: without a password the file is not encrypted.
        let password = self.text("password").filter(|text| !text.is_empty());
        let password = password.filter(|_| !self.is("dont-encrypt"));
        self.say("Saving system configuration")?;
        let contents = encode(&self.store.save(), password.as_deref())?;
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
        let date = self.control.log.clock.date_time();
        let digits: String = date.chars().filter(char::is_ascii_digit).collect();
        let (day, time) = digits.split_at_checked(8).unwrap_or_default();
        format!("{word}-{day}-{}", time.get(..4).unwrap_or_default())
    }

    pub(super) fn load(&mut self) -> Result<Reply, Reason> {
        self.without(&["force-v6-to-v7-configuration-upgrade"])?;
        let name = self.needed("name")?;
        let contents = self.read(&name, ENDING)?;
        let saved = decode(&contents, &self.text("password").unwrap_or_default())?;
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

/// A configuration as the contents of a file.
///
/// # Errors
/// There is no randomness to be had.
pub(super) fn encode(saved: &Saved, password: Option<&str>) -> Result<Vec<u8>, Reason> {
    let plain = code::saved(saved);
    let mut out = MAGIC.to_vec();
    let Some(password) = password else {
        out.push(PLAIN);
        out.extend_from_slice(&Sha256::digest(&plain));
        out.extend_from_slice(&plain);
        return Ok(out);
    };
    out.push(ENCRYPTED);
    let mut random = [0; SALT + NONCE];
    let filled = getrandom(&mut random, GetRandomFlags::empty());
    if filled != Ok(random.len()) {
        return Err(Reason::failure("no random numbers"));
    }
    out.extend_from_slice(&random);
    let (salt, nonce) = random.split_at(SALT);
    let sealed = cipher(password, salt)?.encrypt(
        &nonce.try_into().map_err(|_| damaged())?,
        Payload {
            msg: &plain,
            aad: &out,
        },
    );
    out.extend_from_slice(&sealed.map_err(|_| damaged())?);
    Ok(out)
}

/// The configuration that the contents of a file are.
///
/// # Errors
/// It is none, it is damaged, or the password is another.
pub(super) fn decode(contents: &[u8], password: &str) -> Result<Saved, Reason> {
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
            let payload = Payload {
                msg: sealed,
                aad: head,
            };
            let nonce = nonce.try_into().map_err(|_| damaged())?;
            let opened = cipher(password, salt)?.decrypt(&nonce, payload);
            opened.map_err(|_| Reason::failure("wrong password, or the file is damaged"))?
        }
        _ => return Err(damaged()),
    };
    code::read_saved(&plain).ok_or_else(damaged)
}

/// The cipher under the key that a password and a salt make; what it costs is what guessing costs.
fn cipher(password: &str, salt: &[u8]) -> Result<Aes256Gcm, Reason> {
    let mut key = [0; 32];
    let params = scrypt::Params::new(15, 8, 1).map_err(|_| damaged())?;
    scrypt::scrypt(password.as_bytes(), salt, &params, &mut key).map_err(|_| damaged())?;
    Ok(Aes256Gcm::new(&key.into()))
}

fn damaged() -> Reason {
    Reason::failure("the file is damaged")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backup_is_read_as_it_was_written_and_damage_is_noticed() {
        let saved = schema::store().save();
        for password in [None, Some("secret")] {
            let file = encode(&saved, password).expect("random numbers");

            let read = decode(&file, password.unwrap_or_default());
            assert_eq!(read.as_ref(), Ok(&saved));
            let step = if password.is_some() {
                file.len() / 3
            } else {
                97
            };
            for at in (0..file.len()).step_by(step.max(1)) {
                let mut broken = file.clone();
                broken[at] ^= 4;
                assert!(decode(&broken, "secret").is_err(), "{at}");
                assert!(decode(&file[..at], "secret").is_err(), "{at}");
            }
        }
    }

    #[test]
    fn without_its_password_a_backup_tells_nothing() {
        let mut store = schema::store();
        let menu = store.menu("/system/identity").expect("it is declared");
        let mark = store.begin();
        let name = ("name", Some(menu::Value::text("a-name-to-look-for")));
        store
            .set(menu, menu::Id::SETTINGS, &[name])
            .expect("a name");
        store.commit(mark).expect("no journal");

        let file = encode(&store.save(), Some("secret")).expect("random numbers");

        let find = |hay: &[u8]| hay.windows(18).any(|piece| piece == b"a-name-to-look-for");
        assert!(find(&encode(&store.save(), None).expect("no randomness")));
        assert!(!find(&file));
        let refused = decode(&file, "Secret");
        assert_eq!(
            refused,
            Err(Reason::failure("wrong password, or the file is damaged"))
        );
    }
}
