//! Logging in, and who is logged in.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::task::Waker;

use machine::{Duration, Instant};
use menu::{Clock, Grant, Id, Policies, Rights, Store};

use crate::ending::Ending;
use crate::limit::Limiter;
use crate::rights::Grants;
use crate::user::{User, bare_key};
use crate::{Service, password};

/// Sessions at once.
const SESSIONS: usize = 256;

/// Names of users are remembered and logged up to this length in bytes.
const NAME: usize = 64;

/// A line for the log: topics and text.
pub type Line = (&'static str, String);

/// Why somebody was not let in. They all read the same: a stranger learns nothing from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// No such user, no such password, or not from there.
    Credentials,
    /// There were too many tries from there, or for that user.
    TooMany,
    /// There are too many sessions.
    Full,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("invalid user name or password (6)")
    }
}

/// Somebody who tries to log in, before anything is proved.
#[derive(Debug)]
pub struct Attempt {
    name: String,
    address: IpAddr,
    service: Service,
    user: Option<User>,
}

/// An attempt with its proof looked at. Only [`Attempt`] makes one.
#[derive(Debug)]
pub struct Answer {
    attempt: Attempt,
    proved: bool,
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
    proved: Option<(Id, String)>,
    ended: Arc<Ending>,
}

/// Who is logged in, and who has tried too often.
#[derive(Debug)]
pub struct Access {
    sources: Limiter<IpAddr>,
    names: Limiter<String>,
    sessions: BTreeMap<u64, Active>,
    last: u64,
    seen: BTreeMap<Id, Clock>,
    grants: Grants,
}

impl Default for Access {
    fn default() -> Self {
        Self {
            sources: Limiter::new(10, Duration::from_secs(6)),
            // From many sources at once: guessing must be slow, locking somebody out must be hard.
            names: Limiter::new(100, Duration::from_secs(2)),
            sessions: BTreeMap::new(),
            last: 0,
            seen: BTreeMap::new(),
            grants: Grants::default(),
        }
    }
}

impl Attempt {
    /// Looks at a password. Slow, and equally so for unknown users: nobody is to wait for it.
    #[must_use]
    pub fn password(self, secret: &[u8]) -> Answer {
        let usable = self
            .user
            .as_ref()
            .filter(|user| user.may_use_password(self.service));
        let seal = usable.map_or("", |user| user.seal.as_str());
        let proved = password::opens(seal, secret);
        self.answer(proved)
    }

    /// Looks at a key whose possession was proved: `ssh-ed25519 AAAA…`.
    #[must_use]
    pub fn key(self, key: &str) -> Answer {
        let proved = self
            .user
            .as_ref()
            .is_some_and(|user| user.keys.contains(&bare_key(key)));
        self.answer(proved)
    }

    fn answer(self, proved: bool) -> Answer {
        let (address, service) = (self.address, self.service);
        let may_enter = self
            .user
            .as_ref()
            .is_some_and(|user| user.may_enter(address, service));
        Answer {
            proved: proved && may_enter,
            attempt: self,
        }
    }
}

impl Access {
    /// Begins an attempt, if there is one left. The first of those that are one too many is worth
    /// a line in the log.
    ///
    /// # Errors
    /// There were too many attempts lately.
    pub fn attempt(
        &mut self,
        store: &Store,
        name: &str,
        (address, service): (IpAddr, Service),
        now: Instant,
    ) -> Result<Attempt, Refused> {
        let name = short(name);
        let source = source(address);
        if !self.sources.take(&source, now) {
            return Err(Refused::TooMany);
        }
        if !self.names.take(&name, now) {
            return Err(Refused::TooMany);
        }
        let user = User::find(store, &name);
        Ok(Attempt {
            name,
            address,
            service,
            user,
        })
    }

    /// Lets somebody in who has proved to be a user, and still is the same.
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
        let Answer { attempt, proved } = answer;
        let (name, address, service) = (attempt.name, attempt.address, attempt.service);
        let whence = format!("{} via {}", address.to_canonical(), service.name());
        let before = attempt.user.filter(|_| proved);
        // Looking at the proof took time, in which the user may have become another.
        let user = before.and_then(|before| {
            let now = User::find(store, &name)?;
            let same = now.id == before.id && now.seal == before.seal;
            (same && now.may_enter(address, service)).then_some(now)
        });
        let Some(user) = user else {
            let line = format!("login failure for user {name} from {whence}");
            out.push(("system,error,critical", line));
            return Err(Refused::Credentials);
        };
        self.sources.give_back(&source(address));
        self.names.give_back(&name);
        self.seen.insert(user.id, clock);
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
            ended: Arc::default(),
        };
        let rights = Rights::of(Policies::ALL, self.grants.of(user));
        self.insert(active, rights, user.idle)
    }

    fn insert(
        &mut self,
        active: Active,
        rights: Rights,
        idle: Option<Duration>,
    ) -> Result<Login, Refused> {
        if self.sessions.len() >= SESSIONS {
            return Err(Refused::Full);
        }
        self.last += 1;
        let login = Login {
            id: self.last,
            user: active.user.clone(),
            item: None,
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

/// What tries are counted by: an address, or the network that one host may have of IPv6.
fn source(address: IpAddr) -> IpAddr {
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
