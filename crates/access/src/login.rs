//! Login and sessions.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::task::Waker;

use machine::{Duration, Instant};
use menu::{Clock, Grant, Id, Policies, Rights, Sealed, Store};

use crate::ending::Ending;
use crate::limit::{Limit, Limiter};
use crate::rights::Grants;
use crate::user::{Seal, User, bare_key, of_group};
use crate::{Service, password};

/// Maximum number of sessions.
const SESSIONS: usize = 256;

/// Additional sessions for administrators and for local users.
const FOR_ADMINISTRATORS: usize = 64;

/// Maximum length in bytes of user names in memory and log.
const NAME: usize = 64;

/// Maximum number of remembered login addresses per user.
const KNOWN: usize = 16;

/// Maximum time that an attempt waits for others of its source.
const PATIENCE: Duration = Duration::from_secs(20);

/// Limit of attempts from an address from which the user never logged in.
const STRANGER: Limit = Limit {
    burst: 10,
    refill: Duration::from_secs(6),
};

/// Limit of such attempts while many addresses try the user's name: slows distributed guessing, but lets the first
/// attempts of the user from a new address pass.
const CROWD: Limit = Limit {
    burst: 2,
    ..STRANGER
};

/// Limit of failures per name beyond which [`CROWD`] applies.
const FAILURES: Limit = Limit {
    burst: 100,
    refill: Duration::from_secs(2),
};

/// Limit of attempts from an address from which the user logged in before.
const REGULAR: Limit = Limit {
    burst: 10,
    refill: Duration::from_secs(1),
};

/// Log line: topics and text.
pub type Line = (&'static str, String);

/// Reason why a login was refused. All have the same text, so that a stranger learns nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Unknown user, wrong password, or address not allowed.
    Credentials,
    /// Too many attempts from this source are waiting.
    TooMany,
    /// Too many sessions.
    Full,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("invalid user name or password (6)")
    }
}

/// Source of an attempt, for rate limits. An IPv6 address counts as its /64.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// A user at an address with an earlier successful login.
    Known(Id, IpAddr),
    /// Any other address.
    Stranger(IpAddr),
}

/// A login attempt before authentication.
#[derive(Debug)]
pub struct Attempt {
    name: String,
    address: IpAddr,
    service: Service,
    user: Option<User>,
    source: Source,
}

/// An attempt after its credentials were checked. Only [`Attempt`] creates it.
#[derive(Debug)]
pub struct Answer {
    attempt: Attempt,
    proof: Proof,
}

/// Result of the check.
#[derive(Debug)]
enum Proof {
    Nothing,
    /// The password matches this hash.
    Seal(Seal),
    /// The client possesses this key.
    Key(String),
    /// A RADIUS server accepted the user.
    Server(Vouched),
}

/// Attributes from a RADIUS server for a user without local account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vouched {
    /// Group that gives the policies.
    pub group: String,
    /// Idle timeout of sessions, if limited.
    pub idle: Option<Duration>,
}

/// A logged-in user. The holder calls [`Access::leave`] at the end.
#[derive(Clone, Debug)]
pub struct Login {
    /// Session id.
    pub id: u64,
    /// User name.
    pub user: String,
    /// Item of the user; `None` for a local login.
    pub item: Option<Id>,
    /// A RADIUS server accepted the user.
    pub by_server: bool,
    /// Current rights of the user.
    pub rights: Rights,
    /// Idle timeout, if limited.
    pub idle: Option<Duration>,
    ended: Arc<Ending>,
}

impl Login {
    /// True if somebody else terminated the session, so that it must close.
    pub fn is_ended(&self) -> bool {
        self.ended.is_ended()
    }

    /// Sets the waker to notify on termination.
    pub fn when_ended(&self, waker: Waker) {
        self.ended.tell(waker);
    }
}

/// A session, as in `/user/active`.
#[derive(Clone, Debug)]
pub struct Active {
    /// User name.
    pub user: String,
    /// Group.
    pub group: String,
    /// Source address; `None` for a local login.
    pub address: Option<IpAddr>,
    /// Service.
    pub service: Service,
    /// Time of the login.
    pub when: Clock,
    /// Login and logout are not logged.
    quiet: bool,
    /// Item and password hash at the login; `None` for a local login.
    proved: Option<(Id, Seal)>,
    /// Policies of the group, for a user accepted by a RADIUS server.
    pub(crate) of_server: Option<Grant>,
    ended: Arc<Ending>,
}

/// Sessions, known login addresses, and rate limits of attempts.
#[derive(Debug, Default)]
pub struct Access {
    sources: Limiter<Source>,
    /// Failures of strangers by name.
    failures: Limiter<String>,
    known: BTreeMap<Id, VecDeque<IpAddr>>,
    sessions: BTreeMap<u64, Active>,
    last: u64,
    seen: BTreeMap<Id, Clock>,
    grants: Grants,
}

impl Attempt {
    /// Source of the attempt.
    pub const fn source(&self) -> &Source {
        &self.source
    }

    /// Checks a password. Slow, and equally slow for unknown users; call it without a lock.
    #[must_use]
    pub fn password(self, secret: &[u8]) -> Answer {
        let usable = self
            .user
            .as_ref()
            .filter(|user| user.may_use_password(self.service));
        let seal = usable.map(|user| user.seal.clone());
        let sealed = seal.as_ref().map_or("", Seal::as_str);
        let sealed = Sealed::parse(sealed).seal;
        let proof = match (password::opens(sealed, secret), seal) {
            (true, Some(seal)) => Proof::Seal(seal),
            _ => Proof::Nothing,
        };
        Answer {
            attempt: self,
            proof,
        }
    }

    /// Name of the user, on one line.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Verifier of the user's password for a key exchange; `None` for an unknown user, or for a password without a
    /// verifier for this name.
    pub fn verifier(&self) -> Option<&str> {
        let usable = self.user.as_ref();
        let usable = usable.filter(|user| user.may_use_password(self.service));
        Sealed::parse(usable?.seal.as_str()).verifier(&self.name)
    }

    /// Returns true if the user's password has no verifier for the user's name.
    pub fn lacks_verifier(&self) -> bool {
        let has_password = |user: &User| user.may_use_password(self.service);
        self.user.as_ref().is_some_and(has_password) && self.verifier().is_none()
    }

    /// Ends a key exchange with the verifier. `is_proved` is true if the client proved that it knows the password.
    #[must_use]
    pub fn exchange(self, is_proved: bool) -> Answer {
        let seal = self.user.as_ref().map(|user| user.seal.clone());
        let seal = seal.filter(|_| is_proved && self.verifier().is_some());
        Answer {
            attempt: self,
            proof: seal.map_or(Proof::Nothing, Proof::Seal),
        }
    }

    /// Accepts a key whose possession the client proved: `ssh-ed25519 AAAA…`.
    #[must_use]
    pub fn key(self, key: &str) -> Answer {
        Answer {
            attempt: self,
            proof: Proof::Key(bare_key(key)),
        }
    }
}

impl Answer {
    /// True if a RADIUS server may be asked: the check failed and there is no local user of this name.
    pub const fn may_be_asked_elsewhere(&self) -> bool {
        self.attempt.user.is_none() && matches!(self.proof, Proof::Nothing)
    }

    /// User name of the attempt.
    pub fn name(&self) -> &str {
        &self.attempt.name
    }

    /// Replaces the result by the acceptance of a RADIUS server.
    #[must_use]
    pub fn vouched(self, vouched: Vouched) -> Self {
        Self {
            proof: Proof::Server(vouched),
            ..self
        }
    }

    /// True if the credentials match this user's configuration.
    fn admits(&self, user: &User) -> bool {
        let (address, service) = (self.attempt.address, self.attempt.service);
        let proved = match &self.proof {
            Proof::Nothing => false,
            Proof::Seal(seal) => user.may_use_password(service) && user.seal == *seal,
            Proof::Key(key) => user.keys.contains(key),
            // A local user of this name was added meanwhile and takes precedence.
            Proof::Server(_) => false,
        };
        proved && user.may_enter(address, service)
    }
}

impl Access {
    /// Starts an attempt. A password attempt must wait for its [`Access::turn`].
    pub fn attempt(&self, store: &Store, name: &str, address: IpAddr, service: Service) -> Attempt {
        let name = short(name);
        let user = User::find(store, &name);
        let network = network(address);
        let known = user.as_ref().filter(|user| {
            let known = self.known.get(&user.id);
            known.is_some_and(|known| known.contains(&network))
        });
        let source = match known {
            Some(user) => Source::Known(user.id, network),
            None => Source::Stranger(network),
        };
        Attempt {
            name,
            address,
            service,
            user,
            source,
        }
    }

    /// Time at which the password of an attempt may be checked. A key needs no turn.
    ///
    /// # Errors
    /// Fails if too many attempts from this source are waiting.
    pub fn turn(&mut self, attempt: &Attempt, now: Instant) -> Result<Instant, Refused> {
        let limit = match attempt.source {
            Source::Known(..) => REGULAR,
            Source::Stranger(_) => {
                let name = &attempt.name;
                match self.failures.take(name, FAILURES, Duration::ZERO, now) {
                    Some(_) => STRANGER,
                    None => CROWD,
                }
            }
        };
        let turn = self.sources.take(&attempt.source, limit, PATIENCE, now);
        turn.ok_or(Refused::TooMany)
    }

    /// Logs in a user with valid credentials. Reads the user again, because the configuration may have changed
    /// meanwhile.
    ///
    /// # Errors
    /// Fails for invalid credentials or too many sessions.
    pub fn admit(
        &mut self,
        store: &Store,
        answer: Answer,
        clock: Clock,
        out: &mut Vec<Line>,
    ) -> Result<Login, Refused> {
        let user = User::find(store, &answer.attempt.name);
        let is_free = user.is_none();
        let user = user.filter(|user| answer.admits(user));
        let Answer { attempt, proof } = answer;
        let whence = format!(
            "{} via {}",
            attempt.address.to_canonical(),
            attempt.service.name()
        );
        if let Proof::Server(vouched) = &proof
            && is_free
            && let Some(login) = self.enter_by_server(store, &attempt, vouched, clock)
        {
            let login = login?;
            let line = format!("user {} logged in from {whence}", login.user);
            out.push(("system,info,account", line));
            return Ok(login);
        }
        let (name, address, service) = (attempt.name, attempt.address, attempt.service);
        let Some(user) = user else {
            let line = format!("login failure for user {name} from {whence}");
            out.push(("system,error,critical", line));
            return Err(Refused::Credentials);
        };
        if matches!(proof, Proof::Seal(_)) {
            self.sources.give_back(&attempt.source);
            self.failures.give_back(&name);
        }
        self.seen.insert(user.id, clock);
        self.remember(user.id, address);
        let mut login = self.enter(name, &user, Some(address), service, clock)?;
        login.item = Some(user.id);
        let line = format!("user {} logged in from {whence}", login.user);
        out.push(("system,info,account", line));
        Ok(login)
    }

    /// Logs in a local user with all policies. A login for a single command need not be logged.
    ///
    /// # Errors
    /// Fails if there are too many sessions.
    pub fn local(
        &mut self,
        store: &Store,
        name: &str,
        quiet: bool,
        clock: Clock,
        out: &mut Vec<Line>,
    ) -> Result<Login, Refused> {
        let user = User::find(store, name);
        let group = user.as_ref().map_or("full", |user| &user.group).to_owned();
        let active = Active {
            user: short(name),
            group,
            address: None,
            service: Service::Local,
            when: clock,
            quiet,
            proved: None,
            of_server: None,
            ended: Arc::default(),
        };
        if !quiet {
            let line = format!("user {name} logged in via local");
            out.push(("system,info,account", line));
        }
        self.insert(active, Rights::FULL, None)
    }

    fn enter(
        &mut self,
        name: String,
        user: &User,
        address: Option<IpAddr>,
        service: Service,
        when: Clock,
    ) -> Result<Login, Refused> {
        let active = Active {
            user: name,
            group: user.group.clone(),
            address: address.map(|address| address.to_canonical()),
            service,
            when,
            quiet: false,
            proved: Some((user.id, user.seal.clone())),
            of_server: None,
            ended: Arc::default(),
        };
        let rights = Rights::of(Policies::ALL, self.grants.of(user));
        self.insert(active, rights, user.idle)
    }

    /// Logs in a user accepted by a RADIUS server, with the policies of the group; fails if these do not allow the
    /// service.
    fn enter_by_server(
        &mut self,
        store: &Store,
        attempt: &Attempt,
        vouched: &Vouched,
        when: Clock,
    ) -> Option<Result<Login, Refused>> {
        let policies = of_group(store, &vouched.group);
        if !policies.contains(attempt.service.policy()) {
            return None;
        }
        self.sources.give_back(&attempt.source);
        self.failures.give_back(&attempt.name);
        let grant = Grant::new(policies);
        let active = Active {
            user: attempt.name.clone(),
            group: vouched.group.clone(),
            address: Some(attempt.address.to_canonical()),
            service: attempt.service,
            when,
            quiet: false,
            proved: None,
            of_server: Some(grant.clone()),
            ended: Arc::default(),
        };
        Some(self.insert(active, Rights::of(Policies::ALL, grant), vouched.idle))
    }

    fn insert(
        &mut self,
        active: Active,
        rights: Rights,
        idle: Option<Duration>,
    ) -> Result<Login, Refused> {
        let most = match rights.now().contains(Policies::POLICY) {
            true => SESSIONS + FOR_ADMINISTRATORS,
            false => SESSIONS,
        };
        if self.sessions.len() >= most {
            return Err(Refused::Full);
        }
        self.last += 1;
        let login = Login {
            id: self.last,
            user: active.user.clone(),
            item: None,
            by_server: active.of_server.is_some(),
            rights,
            idle,
            ended: Arc::clone(&active.ended),
        };
        self.sessions.insert(self.last, active);
        Ok(login)
    }

    /// Ends a session.
    pub fn leave(&mut self, id: u64, out: &mut Vec<Line>) {
        let Some(active) = self.sessions.remove(&id) else {
            return;
        };
        if active.quiet {
            return;
        }
        let whence = match active.address {
            Some(address) => format!("from {address} via {}", active.service.name()),
            None => format!("via {}", active.service.name()),
        };
        let line = format!("user {} logged out {whence}", active.user);
        out.push(("system,info,account", line));
    }

    /// True if a RADIUS server accepted the user of a session.
    pub const fn is_of_server(active: &Active) -> bool {
        active.of_server.is_some()
    }

    /// Terminates a session. Returns false if there is none.
    pub fn end(&self, id: u64) -> bool {
        let active = self.sessions.get(&id);
        active.is_some_and(|active| {
            active.ended.end();
            true
        })
    }

    /// Applies changes of users and groups made by the login `by`. Policies change at once. Terminates sessions of
    /// users who may no longer log in or whose password changed, except for session `by`. Local sessions stay.
    pub fn follow(&mut self, store: &Store, by: u64) {
        self.grants.follow(store);
        for (id, active) in &mut self.sessions {
            if let Some(grant) = &active.of_server {
                let policies = of_group(store, &active.group);
                grant.set(policies);
                // A local user of this name was added.
                let is_taken = User::find(store, &active.user).is_some();
                if is_taken || !policies.contains(active.service.policy()) {
                    active.ended.end();
                }
                continue;
            }
            let (Some(address), Some((item, seal))) = (active.address, &mut active.proved) else {
                continue;
            };
            let item = store.item("/user", *item);
            let item = item.filter(|item| item.text("name") == active.user);
            let stays = item.is_some_and(|item| {
                let user = User::of(store, item);
                let same = *seal == user.seal || *id == by;
                *seal = user.seal.clone();
                active.group.clone_from(&user.group);
                same && user.may_enter(address, active.service)
            });
            if !stays {
                active.ended.end();
            }
        }
    }

    /// Current grant of a user; an empty one if there is none.
    pub fn grant(&self, store: &Store, name: &str) -> Grant {
        let user = store.named("user", name);
        user.map_or_else(Grant::default, |user| self.grants.get(user.id))
    }

    /// All sessions by id, oldest first.
    pub fn sessions(&self) -> impl Iterator<Item = (u64, &Active)> {
        self.sessions.iter().map(|(id, active)| (*id, active))
    }

    /// Time of the user's last login from the network.
    pub fn last_seen(&self, user: Id) -> Option<Clock> {
        self.seen.get(&user).copied()
    }

    /// Remembers a login address of a user; the oldest one is forgotten first.
    pub fn remember(&mut self, user: Id, address: IpAddr) {
        let known = self.known.entry(user).or_default();
        let network = network(address);
        if !known.contains(&network) {
            known.truncate(KNOWN - 1);
            known.push_front(network);
        }
    }

    /// Login addresses of a user, newest first.
    pub fn known(&self, user: Id) -> impl Iterator<Item = IpAddr> {
        self.known.get(&user).into_iter().flatten().copied()
    }

    /// Restores the time of a login before the restart.
    pub fn recall(&mut self, user: Id, when: Clock) {
        self.seen.insert(user, when);
    }

    /// True if the user has this key, so that proof of possession is worthwhile.
    pub fn is_key(store: &Store, name: &str, key: &str) -> bool {
        let user = User::find(store, name);
        user.is_some_and(|user| user.keys.contains(&bare_key(key)))
    }
}

/// An IPv4 address, or the /64 of an IPv6 address.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX))),
        v4 => v4,
    }
}

/// Shortens a user name for memory and log, on one line.
fn short(name: &str) -> String {
    let end = (0..=NAME.min(name.len()))
        .rev()
        .find(|at| name.is_char_boundary(*at));
    let cut = name.get(..end.unwrap_or(0)).unwrap_or_default();
    cut.chars()
        .map(|c| if c.is_control() { '?' } else { c })
        .collect()
}

#[cfg(test)]
mod tests;
