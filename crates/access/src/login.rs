//! Logging in, and who is logged in.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::task::Waker;

use machine::{Duration, Instant};
use menu::{Clock, Grant, Id, Policies, Rights, Store};

use crate::ending::Ending;
use crate::limit::{Limit, Limiter};
use crate::rights::Grants;
use crate::user::{Seal, User, bare_key, of_group};
use crate::{Service, password};

/// Sessions at once.
const SESSIONS: usize = 256;

/// Sessions above these for administrators, and for whoever sits at the machine.
const FOR_ADMINISTRATORS: usize = 64;

/// Names of users are remembered and logged up to this length in bytes.
const NAME: usize = 64;

/// Addresses from which a user has logged in that are remembered.
const KNOWN: usize = 16;

/// The longest that a try waits for others of its source.
const PATIENCE: Duration = Duration::from_secs(20);

/// Tries of an address from which the user has not logged in.
const STRANGER: Limit = Limit {
    burst: 10,
    refill: Duration::from_secs(6),
};

/// The same, while many such addresses try the user's name: guessing from many addresses is to be
/// slow, and the owner's first tries from a new one are to pass.
const CROWD: Limit = Limit {
    burst: 2,
    ..STRANGER
};

/// Failures by name until its strangers are a crowd.
const FAILURES: Limit = Limit {
    burst: 100,
    refill: Duration::from_secs(2),
};

/// Tries of a user at an address from which that user has logged in before.
const REGULAR: Limit = Limit {
    burst: 10,
    refill: Duration::from_secs(1),
};

/// A line for the log: topics and text.
pub type Line = (&'static str, String);

/// Why somebody was not let in. They all read the same: a stranger learns nothing from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// No such user, no such password, or not from there.
    Credentials,
    /// Too many tries from there wait already.
    TooMany,
    /// There are too many sessions.
    Full,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("invalid user name or password (6)")
    }
}

/// What tries are counted by. Of IPv6 it is the network that one host may have.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// A user at an address from which that user has logged in before.
    Known(Id, IpAddr),
    /// Any other address.
    Stranger(IpAddr),
}

/// Somebody who tries to log in, before anything is proved.
#[derive(Debug)]
pub struct Attempt {
    name: String,
    address: IpAddr,
    service: Service,
    user: Option<User>,
    source: Source,
}

/// An attempt with its proof looked at. Only [`Attempt`] makes one.
#[derive(Debug)]
pub struct Answer {
    attempt: Attempt,
    proof: Proof,
}

/// What was proved.
#[derive(Debug)]
enum Proof {
    Nothing,
    /// That the password is the sealed one.
    Seal(Seal),
    /// To have the key.
    Key(String),
    /// That a server knows the user.
    Server(Vouched),
}

/// What a server says of a user whom this router does not know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vouched {
    /// The group whose policies the user has.
    pub group: String,
    /// How long a session may be idle, where that is limited.
    pub idle: Option<Duration>,
}

/// Somebody who has logged in. Whoever holds it tells [`Access::leave`] at the end.
#[derive(Clone, Debug)]
pub struct Login {
    /// The number of the session.
    pub id: u64,
    /// The user's name.
    pub user: String,
    /// The user's item; none for whoever sits at the machine itself.
    pub item: Option<Id>,
    /// Whether a server has let the user in.
    pub by_server: bool,
    /// What the user may do, at every moment.
    pub rights: Rights,
    /// How long the session may be idle, where that is limited.
    pub idle: Option<Duration>,
    ended: Arc<Ending>,
}

impl Login {
    /// Whether the session was ended by somebody else, and is to close.
    pub fn is_ended(&self) -> bool {
        self.ended.is_ended()
    }

    /// Has this woken when somebody ends the session.
    pub fn when_ended(&self, waker: Waker) {
        self.ended.tell(waker);
    }
}

/// A session, as `/user/active` shows it.
#[derive(Clone, Debug)]
pub struct Active {
    /// The user.
    pub user: String,
    /// The user's group.
    pub group: String,
    /// Where the user is; none at this machine.
    pub address: Option<IpAddr>,
    /// The way in.
    pub service: Service,
    /// Since when.
    pub when: Clock,
    /// The log does not say when it begins and ends.
    quiet: bool,
    /// The user's item and what the password was sealed to; none for whoever sits at the machine.
    proved: Option<(Id, Seal)>,
    /// What the group has, of a user whom a server has let in.
    pub(crate) of_server: Option<Grant>,
    ended: Arc<Ending>,
}

/// Who is logged in, who has logged in before, and who has tried too often.
#[derive(Debug, Default)]
pub struct Access {
    sources: Limiter<Source>,
    /// Tries of strangers by name.
    failures: Limiter<String>,
    known: BTreeMap<Id, VecDeque<IpAddr>>,
    sessions: BTreeMap<u64, Active>,
    last: u64,
    seen: BTreeMap<Id, Clock>,
    grants: Grants,
}

impl Attempt {
    /// What the try is counted by.
    pub const fn source(&self) -> &Source {
        &self.source
    }

    /// Looks at a password. Slow, and equally so for unknown users: nobody is to wait for it.
    #[must_use]
    pub fn password(self, secret: &[u8]) -> Answer {
        let usable = self
            .user
            .as_ref()
            .filter(|user| user.may_use_password(self.service));
        let seal = usable.map(|user| user.seal.clone());
        let sealed = seal.as_ref().map_or("", Seal::as_str);
        let proof = match (password::opens(sealed, secret), seal) {
            (true, Some(seal)) => Proof::Seal(seal),
            _ => Proof::Nothing,
        };
        Answer {
            attempt: self,
            proof,
        }
    }

    /// Takes a key whose possession was proved: `ssh-ed25519 AAAA…`.
    #[must_use]
    pub fn key(self, key: &str) -> Answer {
        Answer {
            attempt: self,
            proof: Proof::Key(bare_key(key)),
        }
    }
}

impl Answer {
    /// Whether a server is to be asked: nothing is proved, and nobody here has the name.
    pub const fn may_be_asked_elsewhere(&self) -> bool {
        self.attempt.user.is_none() && matches!(self.proof, Proof::Nothing)
    }

    /// The name that was given.
    pub fn name(&self) -> &str {
        &self.attempt.name
    }

    /// A server has found that the user is who he says to be.
    #[must_use]
    pub fn vouched(self, vouched: Vouched) -> Self {
        Self {
            proof: Proof::Server(vouched),
            ..self
        }
    }

    /// Whether it lets this user in, as the user is configured.
    fn admits(&self, user: &User) -> bool {
        let (address, service) = (self.attempt.address, self.attempt.service);
        let proved = match &self.proof {
            Proof::Nothing => false,
            Proof::Seal(seal) => user.may_use_password(service) && user.seal == *seal,
            Proof::Key(key) => user.keys.contains(key),
            // Somebody has made a user of that name meanwhile, who is asked here.
            Proof::Server(_) => false,
        };
        proved && user.may_enter(address, service)
    }
}

impl Access {
    /// Begins an attempt. One by a password has its time: see [`Access::turn`].
    pub fn attempt(
        &self,
        store: &Store,
        name: &str,
        (address, service): (IpAddr, Service),
    ) -> Attempt {
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

    /// When the password of an attempt may be looked at. A key is proof by itself and needs no
    /// turn.
    ///
    /// # Errors
    /// Too many of its source wait already.
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

    /// Lets somebody in who has proved to be a user. The user is looked up anew: what was proved may
    /// have waited, and be true no more.
    ///
    /// # Errors
    /// Nothing was proved, or there is no room.
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

    /// Lets in whoever sits at the machine itself, as this user and with all policies. For a
    /// single command the log needs no line.
    ///
    /// # Errors
    /// There is no room.
    pub fn local(
        &mut self,
        store: &Store,
        (name, quiet): (&str, bool),
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

    /// Lets somebody in for whom a server speaks, with the rights of the group; none if these do not suffice.
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

    /// Hears that a session is over.
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

    /// Whether a server has let the user of a session in.
    pub const fn is_of_server(active: &Active) -> bool {
        active.of_server.is_some()
    }

    /// Tells a session to end. Says whether there is such a session.
    pub fn end(&self, id: u64) -> bool {
        let active = self.sessions.get(&id);
        active.is_some_and(|active| {
            active.ended.end();
            true
        })
    }

    /// Hears that users or groups are other than before, by a command of the login `by`. What users
    /// may do holds at once; sessions of those end who may not come in any more, or who proved
    /// themselves by a password that is another now, but for the session that changed it. Those at
    /// the machine itself stay.
    pub fn follow(&mut self, store: &Store, by: u64) {
        self.grants.follow(store);
        for (id, active) in &mut self.sessions {
            if let Some(grant) = &active.of_server {
                let policies = of_group(store, &active.group);
                grant.set(policies);
                // Whoever has the name here now is another.
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

    /// What the user of this name may do, at every moment; nothing if there is none.
    pub fn grant(&self, store: &Store, name: &str) -> Grant {
        let user = store.named("user", name);
        user.map_or_else(Grant::default, |user| self.grants.get(user.id))
    }

    /// The sessions, the oldest first, each with its number.
    pub fn sessions(&self) -> impl Iterator<Item = (u64, &Active)> {
        self.sessions.iter().map(|(id, active)| (*id, active))
    }

    /// When a user last logged in from the network.
    pub fn last_seen(&self, user: Id) -> Option<Clock> {
        self.seen.get(&user).copied()
    }

    /// Remembers an address from which a user has logged in; the one that came first is forgotten
    /// first.
    pub fn remember(&mut self, user: Id, address: IpAddr) {
        let known = self.known.entry(user).or_default();
        let network = network(address);
        if !known.contains(&network) {
            known.truncate(KNOWN - 1);
            known.push_front(network);
        }
    }

    /// The addresses from which a user has logged in, the newest first.
    pub fn known(&self, user: Id) -> impl Iterator<Item = IpAddr> {
        self.known.get(&user).into_iter().flatten().copied()
    }

    /// Hears when a user logged in before the router was started.
    pub fn recall(&mut self, user: Id, when: Clock) {
        self.seen.insert(user, when);
    }

    /// Whether a key is one of a user's: whether it is worth proving its possession.
    pub fn is_key(store: &Store, name: &str, key: &str) -> bool {
        let user = User::find(store, name);
        user.is_some_and(|user| user.keys.contains(&bare_key(key)))
    }
}

/// An address, or the network that one host may have of IPv6.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX))),
        v4 => v4,
    }
}

/// A name that a stranger gave, as it is kept and logged: not too long, on one line.
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
