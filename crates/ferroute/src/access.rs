//! Logging in to a running router, and the secrets that begin with it.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;
use std::time::Duration;

use access::{Login, Refused, Service, password};
use menu::{Reason, Store};
use router::Instance;
use rustix::rand::{GetRandomFlags, getrandom};
use script::Session;

use crate::core::{Shared, set_clock};
use crate::ends::Ends;
use crate::seat::Seat;

/// Letters of a password that is made up: five bits each.
const LETTERS: usize = 16;

/// One hash at a time: each takes 16 MB and a core for some time, and strangers ask for them.
static HASHING: Mutex<()> = Mutex::new(());

/// What somebody proves with to be a user.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Proof<'a> {
    /// A password.
    Password(&'a [u8]),
    /// A public key whose possession was proved: `ssh-ed25519 AAAA…`.
    Key(&'a str),
}

/// Somebody who is logged in, until this is dropped.
pub(crate) struct Entered {
    shared: Arc<Shared>,
    login: Login,
    /// What runs in its sessions.
    ends: Arc<Ends>,
    /// What is held in safe mode goes with it.
    seat: Seat,
}

impl Entered {
    fn new(shared: &Arc<Shared>, login: Login) -> Self {
        let ends = Arc::new(Ends::default());
        login.when_ended(Waker::from(Arc::clone(&ends)));
        Self {
            ends,
            seat: Seat::new(shared, &login.user),
            shared: Arc::clone(shared),
            login,
        }
    }

    /// A session of commands with what the user may do.
    pub(crate) fn session(&self) -> Session {
        let mut session = self.shared.scripting.session(&self.login.user);
        self.seat.give(&mut session);
        session.rights = self.login.rights.clone();
        session.login = self.login.id;
        self.ends.add(&session.interrupter());
        session
    }

    /// The user's name.
    pub(crate) fn user(&self) -> &str {
        &self.login.user
    }

    /// The session leaves in order: what it holds in safe mode is kept.
    pub(crate) fn leave(&self) {
        self.seat.leave();
    }

    /// Whether the session is to close: somebody has ended it, or it was idle for too long.
    pub(crate) fn is_over(&self, idle: Duration) -> bool {
        self.login.is_ended() || self.login.idle.is_some_and(|most| idle >= most)
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let mut instance = self.shared.lock();
        set_clock(&mut instance);
        instance.leave(&self.login);
    }
}

impl Shared {
    /// Lets somebody in from the network. Slow for a password, and nobody but other logins waits
    /// for it.
    ///
    /// # Errors
    /// Why not; all reasons read the same.
    pub(crate) fn authenticate(
        self: &Arc<Self>,
        user: &str,
        proof: Proof<'_>,
        address: IpAddr,
        service: Service,
    ) -> Result<Entered, Refused> {
        let attempt = self.lock().attempt(user, address, service, self.now())?;
        let answer = match proof {
            Proof::Password(secret) => {
                let _one = HASHING.lock().unwrap_or_else(PoisonError::into_inner);
                attempt.password(secret)
            }
            Proof::Key(key) => attempt.key(key),
        };
        let mut instance = self.lock();
        set_clock(&mut instance);
        let login = instance.admit(answer)?;
        drop(instance);
        Ok(Entered::new(self, login))
    }

    /// Lets in whoever has the local socket: the user who runs the router. The log has no line for
    /// a single command.
    ///
    /// # Errors
    /// There are too many sessions.
    pub(crate) fn enter_locally(
        self: &Arc<Self>,
        user: &str,
        quiet: bool,
    ) -> Result<Entered, Refused> {
        let mut instance = self.lock();
        set_clock(&mut instance);
        let login = instance.admit_locally(user, quiet)?;
        drop(instance);
        Ok(Entered::new(self, login))
    }
}

/// Seals a password that somebody sets.
pub(crate) fn seal(store: &Store, text: &str) -> Result<String, Reason> {
    password::check(store, text)?;
    let salt = random().map_err(Reason::failure)?;
    Ok(password::seal(text, salt))
}

/// Makes up a password for `admin` where nobody could log in from the network to manage users, or where
/// nobody was told the last one, and says it once.
pub(crate) fn first_password(
    instance: &mut Instance,
    notes: &BTreeMap<String, String>,
    out: &mut dyn Write,
) -> Result<(), String> {
    let failed = |error: Reason| format!("the first password: {error}");
    let made = password::from_random(&random::<LETTERS>()?);
    if !instance.give_first_password(notes, &made).map_err(failed)? {
        return Ok(());
    }
    let line = format!("ferroute: the password of admin is {made} (it is not shown again)\n");
    match out.write_all(line.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => instance.first_password_is_told().map_err(failed),
        Err(error) => {
            tracing::error!(
                "the password of admin could not be shown, the next start makes another: {error}"
            );
            Ok(())
        }
    }
}

/// Random bytes of the kernel's.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], String> {
    let mut bytes = [0; N];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        let got = getrandom(rest, GetRandomFlags::empty());
        filled += got.map_err(|error| format!("random numbers: {error}"))?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use router::drive::Setup;
    use router::store::{Durable, Key, OnDamage};

    use super::*;

    /// One start of a router with this state; what it says.
    fn started(state: &Path, out: &mut dyn Write) -> Result<(), String> {
        let key = Key::new([7; 32], "a test");
        let durable = Durable::open(state, &key, OnDamage::Refuse)?;
        let kept = durable.load()?;
        let mut store = schema::store();
        store.set_seal(seal, |seal, text| password::opens(seal, text.as_bytes()));
        let notes = match kept {
            Some(kept) => {
                store.load(&kept.saved);
                kept.notes
            }
            None => BTreeMap::new(),
        };
        store.set_journal(Box::new(durable));
        let made = Instance::new(&Setup::OFFLINE, store);
        let (mut instance, _) = made.map_err(|error| error.to_string())?;
        first_password(&mut instance, &notes, out)
    }

    #[test]
    fn a_password_that_could_not_be_shown_is_made_anew_at_the_next_start() {
        let state = std::env::temp_dir().join(format!("ferroute-untold-{}", std::process::id()));
        let mut full = fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .expect("Linux has it");
        let (mut second, mut third) = (Vec::new(), Vec::new());

        let starts = [
            started(&state, &mut full),
            started(&state, &mut second),
            started(&state, &mut third),
        ];

        let _ = fs::remove_dir_all(&state);
        assert_eq!(starts, [Ok(()), Ok(()), Ok(())]);
        let said = String::from_utf8_lossy(&second).into_owned();
        assert!(
            said.starts_with("ferroute: the password of admin is "),
            "{said}"
        );
        assert_eq!(third, b"", "it is said once");
    }
}
