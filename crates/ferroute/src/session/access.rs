//! Logins to a running router, and initial passwords.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::IpAddr;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use access::{Answer, Login, Refused, Service, password};
use btest::srp::Verifier;
use menu::{Policies, Reason, Sealed, Store};
use router::{Holder, Instance};
use rustix::rand::{GetRandomFlags, getrandom};
use script::Session;
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

use crate::inlet::bandwidth::settings::needs_verifiers;
use crate::inlet::radius;
use crate::run::shared::{Shared, set_clock};
use crate::session::handle::SessionHandle;
use crate::session::hashing;
use crate::session::interrupts::LoginInterrupts;

/// Length of a generated password: five bits per letter.
const PASSWORD_LETTERS: usize = 16;

/// Credential of a login.
pub(crate) enum Proof {
    /// Password.
    Password(Vec<u8>),
    /// Public key whose possession is proved: `ssh-ed25519 AAAA…`.
    Key(String),
}

/// A login. Dropping it ends the login.
pub(crate) struct LoginSession {
    shared: Arc<Shared>,
    login: Login,
    /// Interrupts of its sessions.
    ends: Arc<LoginInterrupts>,
    /// Safe mode of the login.
    handle: SessionHandle,
    /// Dropping it reports the end of the session to RADIUS accounting.
    _told: Option<oneshot::Sender<()>>,
}

impl LoginSession {
    fn new(shared: &Arc<Shared>, login: Login) -> Self {
        let ends = Arc::new(LoginInterrupts::default());
        login.when_ended(Waker::from(Arc::clone(&ends)));
        Self {
            ends,
            handle: SessionHandle::new(shared, &login.user),
            shared: Arc::clone(shared),
            login,
            _told: None,
        }
    }

    /// Adds RADIUS accounting of the session.
    fn attended(mut self, session: Option<radius::Session>) -> Self {
        if let Some(session) = session {
            let (told, ended) = oneshot::channel();
            self._told = Some(told);
            tokio::spawn(session.attend(Arc::clone(&self.shared), self.login.id, ended));
        }
        self
    }

    /// Creates a command session with the user's rights.
    pub(crate) fn session(&self) -> Session {
        let mut session = self.shared.scripting.session(&self.login.user);
        self.handle.give(&mut session);
        session.rights = self.login.rights.clone();
        session.login = self.login.id;
        self.ends.add(&session.interrupter());
        session
    }

    /// Returns the user name.
    pub(crate) fn user(&self) -> &str {
        &self.login.user
    }

    /// Returns the names of the user's policies.
    pub(crate) fn policies(&self) -> Vec<&'static str> {
        let now = self.login.rights.now();
        let words = Policies::WORDS.iter().copied();
        words
            .filter(|word| now.contains(Policies::of(word)))
            .collect()
    }

    /// Returns true if the user may manage users: such users always find room.
    pub(crate) fn is_administrator(&self) -> bool {
        self.login.rights.now().contains(Policies::POLICY)
    }

    /// Returns true if the session holds safe mode. Waits for the router's lock.
    pub(crate) fn is_in_safe_mode(&self) -> bool {
        self.handle.safe_mode() == Holder::Own
    }

    /// Ends the session regularly, which keeps the changes of safe mode.
    pub(crate) fn leave(&self) {
        self.handle.leave();
    }

    /// Returns true if the session must close: ended by another user, or idle for too long.
    pub(crate) fn is_over(&self, idle: Duration) -> bool {
        self.login.is_ended() || self.login.idle.is_some_and(|most| idle >= most)
    }
}

impl Drop for LoginSession {
    fn drop(&mut self) {
        let mut instance = self.shared.read();
        set_clock(&mut instance, self.shared.now());
        instance.leave(&self.login);
    }
}

impl Shared {
    /// Authenticates a user from the network. Slow for passwords, but only other logins wait, and no thread.
    ///
    /// # Errors
    /// The refusal; all reasons have one text.
    pub(crate) async fn authenticate(
        self: &Arc<Self>,
        user: String,
        proof: Proof,
        address: IpAddr,
        service: Service,
    ) -> Result<LoginSession, Refused> {
        match proof {
            Proof::Password(secret) => {
                let turn = move |shared: &Arc<Self>| {
                    let mut instance = shared.read();
                    let attempt = instance.attempt(&user, address, service);
                    let now = shared.now();
                    let begins = instance.turn(&attempt, now)?;
                    Ok((attempt, begins - now))
                };
                let (attempt, wait) = self.apart(turn).await?;
                tokio::time::sleep(wait).await;
                let answer = hashing::look(attempt, secret.clone()).await;
                let answer = answer.ok_or(Refused::TooMany)?;
                // Timing must not reveal which names are local.
                let asked = radius::ask_about(self, answer, secret, address, service);
                let (answer, session) = asked.await;
                let entered = self.apart(|shared| shared.admit(answer)).await?;
                Ok(entered.attended(session))
            }
            Proof::Key(key) => {
                let prove = move |shared: &Arc<Self>| {
                    let attempt = shared.read().attempt(&user, address, service);
                    shared.admit(attempt.key(&key))
                };
                self.apart(prove).await
            }
        }
    }

    /// Runs work that waits for the router's lock, which no task may do.
    async fn apart<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Arc<Self>) -> Result<T, Refused> + Send + 'static,
    ) -> Result<T, Refused> {
        let shared = Arc::clone(self);
        let done = spawn_blocking(move || work(&shared)).await;
        done.unwrap_or(Err(Refused::Full))
    }

    fn admit(self: &Arc<Self>, answer: Answer) -> Result<LoginSession, Refused> {
        let mut instance = self.read();
        set_clock(&mut instance, self.now());
        let login = instance.admit(answer)?;
        drop(instance);
        Ok(LoginSession::new(self, login))
    }

    /// Logs in the client of the local socket: the user who runs the router. Single commands are not logged.
    ///
    /// # Errors
    /// There are too many sessions.
    pub(crate) fn enter_locally(
        self: &Arc<Self>,
        user: &str,
        quiet: bool,
    ) -> Result<LoginSession, Refused> {
        let mut instance = self.read();
        set_clock(&mut instance, self.now());
        let login = instance.admit_locally(user, quiet)?;
        drop(instance);
        Ok(LoginSession::new(self, login))
    }
}

/// Seals a new password. With an authenticating bandwidth test server it gets a verifier for its owner.
pub(crate) fn seal(store: &Store, owner: Option<&str>, text: &str) -> Result<String, Reason> {
    password::check(store, text)?;
    let salt = random().map_err(Reason::failure)?;
    let owned = text.to_owned();
    let sealed = hashing::hash(move || password::seal(&owned, salt));
    let sealed = sealed.ok_or_else(|| Reason::failure("the password can not be hashed"))?;
    let Some(owner) = owner.filter(|_| needs_verifiers(store)) else {
        return Ok(sealed);
    };
    let salt = random().map_err(Reason::failure)?;
    let verifier = Verifier::of(owner, text, salt).to_text();
    Ok(Sealed::bound(&sealed, &verifier, owner).to_string())
}

/// Returns true if a text matches a sealed password.
pub(crate) fn opens(seal: &str, text: &str) -> bool {
    let (seal, text) = (seal.to_owned(), text.to_owned());
    hashing::hash(move || password::opens(&seal, text.as_bytes())).unwrap_or(false)
}

/// Generates a password for `admin` if no other user could log in from the network to manage users, or if the
/// last generated one was never shown, and prints it once.
pub(crate) fn first_password(
    instance: &mut Instance,
    notes: &BTreeMap<String, String>,
    out: &mut dyn Write,
) -> Result<(), String> {
    if instance.store().fault().is_some() {
        // A password that cannot be stored would change at the next start.
        return Ok(());
    }
    let failed = |error: Reason| format!("the first password: {error}");
    let made = password::from_random(&random::<PASSWORD_LETTERS>()?);
    if !instance.give_first_password(notes, &made).map_err(failed)? {
        return Ok(());
    }
    let line = format!("ferroute: the password of admin is {made} (it is not shown again)\n");
    match out.write_all(line.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => instance.first_password_is_told().map_err(failed),
        Err(error) => {
            tracing::error!(
                "the password of admin could not be printed, the next start generates another: {error}"
            );
            Ok(())
        }
    }
}

/// Returns random bytes of the kernel.
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

    /// Starts a router once with this state; returns its output.
    fn started(state: &Path, out: &mut dyn Write) -> Result<(), String> {
        let key = Key::new([7; 32], "a test");
        let durable = Durable::open(state, &key, OnDamage::Refuse)?;
        let kept = durable.load()?;
        let mut store = schema::store();
        store.set_seal(seal, opens);
        let notes = match kept {
            Some(kept) => {
                store.load(&kept.saved);
                kept.notes
            }
            None => BTreeMap::new(),
        };
        store.set_journal(Box::new(durable));
        let made = Instance::new(&Setup::offline(crate::run::shared::clock()), store);
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
