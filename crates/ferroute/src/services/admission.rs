//! Admission of commands: each user has a share per service, and administrators have separate capacity.
//!
//! A command occupies a thread while it runs, and a listening command runs as long as its client wants. Waiting
//! commands are tasks. The shares together stay below the number of threads, so that a login always finds one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use menu::Reason;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::session::access::LoginSession;

/// Threads for blocking work: commands and logins.
pub(crate) const THREADS: usize = 1_024;

/// Maximum numbers of concurrent commands.
#[derive(Clone, Copy)]
struct Shares {
    /// Per user and service.
    user: usize,
    /// Of all users of a kind.
    all: usize,
}

const USERS: Shares = Shares { user: 48, all: 256 };

const ADMINISTRATORS: Shares = Shares {
    user: 128,
    all: 512,
};

/// Listening commands per user. They occupy threads only during turns.
const MAX_LISTENERS: usize = 512;

/// Running commands per user whose rows a page follows.
const MAX_STREAMS: usize = 12;

/// Concurrent turns of a user's listening commands.
const CONCURRENT_TURNS: usize = 2;

/// Maximum number of rows that a user's listening commands remember.
const MAX_REMEMBERED_ROWS: usize = 1_000_000;

/// Maximum time that a command waits for others.
const TURN_TIMEOUT: Duration = Duration::from_secs(5);

/// Admission of API and REST commands.
pub(crate) struct CommandAdmission {
    /// Shares in use, by user and service.
    shares: Mutex<BTreeMap<(String, &'static str), Weak<Semaphore>>>,
    users: Arc<Semaphore>,
    administrators: Arc<Semaphore>,
    patience: Duration,
}

/// Owner of a command.
#[derive(Clone)]
pub(crate) struct CommandOwner {
    user: String,
    is_administrator: bool,
    service: &'static str,
}

impl CommandOwner {
    /// Returns the owner for a login, without keeping the login alive.
    pub(crate) fn new(entered: &LoginSession, service: &'static str) -> Self {
        Self {
            user: entered.user().to_owned(),
            is_administrator: entered.is_administrator(),
            service,
        }
    }
}

/// Permission to listen, until dropped.
pub(crate) struct Listener {
    _place: OwnedSemaphorePermit,
    turns: Arc<Semaphore>,
    rows: Arc<Semaphore>,
    remembered: Option<OwnedSemaphorePermit>,
}

impl Listener {
    /// Waits for a turn without time limit.
    pub(crate) async fn turn(
        &self,
        admission: &CommandAdmission,
        owner: &CommandOwner,
    ) -> (OwnedSemaphorePermit, Turn) {
        loop {
            let turn = Arc::clone(&self.turns).acquire_owned().await;
            if let (Ok(turn), Ok(thread)) = (turn, admission.turn(owner).await) {
                return (turn, thread);
            }
        }
    }

    /// Sets the number of remembered rows.
    ///
    /// # Errors
    /// The user's commands would remember too many rows.
    pub(crate) fn remember(&mut self, rows: usize) -> Result<(), Reason> {
        self.remembered = None;
        let rows = u32::try_from(rows).ok();
        let taken = rows.and_then(|rows| {
            let share = Arc::clone(&self.rows);
            share.try_acquire_many_owned(rows).ok()
        });
        self.remembered = Some(taken.ok_or(Reason::Limit("rows"))?);
        Ok(())
    }
}

/// Permission to run one command that goes on, until dropped.
pub(crate) struct StreamTurn {
    _place: OwnedSemaphorePermit,
    _turn: Turn,
}

/// Permission to run one command, until dropped.
pub(crate) struct Turn {
    _share: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

impl Default for CommandAdmission {
    fn default() -> Self {
        Self::new(TURN_TIMEOUT)
    }
}

impl CommandAdmission {
    fn new(patience: Duration) -> Self {
        Self {
            shares: Mutex::default(),
            users: Arc::new(Semaphore::new(USERS.all)),
            administrators: Arc::new(Semaphore::new(ADMINISTRATORS.all)),
            patience,
        }
    }

    /// Waits until a command of this user may run.
    ///
    /// # Errors
    /// Other commands ran for too long.
    pub(crate) async fn turn(&self, owner: &CommandOwner) -> Result<Turn, Reason> {
        let (shares, all) = match owner.is_administrator {
            true => (ADMINISTRATORS, &self.administrators),
            false => (USERS, &self.users),
        };
        let share = self.share((owner.user.clone(), owner.service), shares.user);
        let all = Arc::clone(all);
        let turn = async {
            // Order matters: waiting for one's own share must not occupy general capacity.
            let share = share.acquire_owned().await.ok()?;
            let all = all.acquire_owned().await.ok()?;
            Some(Turn {
                _share: share,
                _all: all,
            })
        };
        let turn = timeout(self.patience, turn).await.ok().flatten();
        turn.ok_or_else(|| Reason::failure("too many commands of this user"))
    }

    /// Waits until a command that goes on may run.
    ///
    /// # Errors
    /// The user has too many, or other commands ran for too long.
    pub(crate) async fn stream(&self, owner: &CommandOwner) -> Result<StreamTurn, Reason> {
        let share = self.share((owner.user.clone(), "streams"), MAX_STREAMS);
        let full =
            |_| Reason::failure("too many running tools of this user; stop another one first");
        Ok(StreamTurn {
            _place: share.try_acquire_owned().map_err(full)?,
            _turn: self.turn(owner).await?,
        })
    }

    /// Admits a listening command.
    ///
    /// # Errors
    /// The user has too many.
    pub(crate) fn listener(&self, owner: &CommandOwner) -> Result<Listener, Reason> {
        let share = |what, size| self.share((owner.user.clone(), what), size);
        let place = share("listening", MAX_LISTENERS).try_acquire_owned();
        let full = |_| Reason::failure("too many commands of this user");
        Ok(Listener {
            _place: place.map_err(full)?,
            turns: share("turns", CONCURRENT_TURNS),
            rows: share("rows", MAX_REMEMBERED_ROWS),
            remembered: None,
        })
    }

    fn share(&self, key: (String, &'static str), size: usize) -> Arc<Semaphore> {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(share) = shares.get(&key).and_then(Weak::upgrade) {
            return share;
        }
        // Turns keep their share alive: unused shares are dropped.
        shares.retain(|_, share| share.strong_count() > 0);
        let share = Arc::new(Semaphore::new(size));
        shares.insert(key, Arc::downgrade(&share));
        share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(user: &str, is_administrator: bool, service: &'static str) -> CommandOwner {
        CommandOwner {
            user: user.to_owned(),
            is_administrator,
            service,
        }
    }

    async fn turns(admission: &CommandAdmission, user: &str, count: usize) -> Vec<Turn> {
        let mut turns = Vec::new();
        for _ in 0..count {
            let turn = admission.turn(&owner(user, false, "api")).await;
            turns.push(turn.expect("there is room"));
        }
        turns
    }

    #[tokio::test]
    async fn each_user_has_a_share_at_each_service() {
        let admission = CommandAdmission::new(Duration::from_millis(1));
        let mut running = turns(&admission, "eve", USERS.user).await;
        let eve = owner("eve", false, "api");

        let more = admission.turn(&eve).await.err();

        let reason = Reason::failure("too many commands of this user");
        assert_eq!(more, Some(reason));
        assert!(
            admission
                .turn(&owner("eve", false, "rest-api"))
                .await
                .is_ok()
        );
        assert!(admission.turn(&owner("joe", false, "api")).await.is_ok());
        running.pop();
        assert!(admission.turn(&eve).await.is_ok());
        drop(running);
        turns(&admission, "joe", 1).await;
        assert_eq!(admission.shares.lock().expect("no panic").len(), 1);
    }

    #[tokio::test]
    async fn streams_are_bounded_per_user() {
        let admission = CommandAdmission::new(Duration::from_millis(1));
        let (eve, joe) = (owner("eve", false, "web"), owner("joe", false, "web"));
        let mut running = Vec::new();
        for _ in 0..MAX_STREAMS {
            running.push(admission.stream(&eve).await.expect("there is room"));
        }

        assert!(admission.stream(&eve).await.is_err());
        assert!(admission.stream(&joe).await.is_ok());
        running.pop();
        assert!(admission.stream(&eve).await.is_ok());
    }

    #[tokio::test]
    async fn administrators_get_in_when_users_have_taken_everything() {
        let admission = CommandAdmission::new(Duration::from_millis(1));
        let mut running = Vec::new();
        for user in 0..USERS.all / USERS.user {
            running.extend(turns(&admission, &format!("user{user}"), USERS.user).await);
        }
        running.extend(turns(&admission, "last", USERS.all % USERS.user).await);

        assert!(admission.turn(&owner("joe", false, "api")).await.is_err());
        assert!(admission.turn(&owner("admin", true, "api")).await.is_ok());
        const { assert!(USERS.all + ADMINISTRATORS.all < THREADS) };
    }

    #[tokio::test]
    async fn listeners_are_bounded_and_so_is_what_they_remember() {
        let admission = CommandAdmission::new(Duration::from_millis(1));
        let eve = owner("eve", false, "api");
        let listen = || admission.listener(&eve);
        let mut listeners: Vec<_> = (0..MAX_LISTENERS).filter_map(|_| listen().ok()).collect();
        assert_eq!(listeners.len(), MAX_LISTENERS);

        assert!(listen().is_err());
        assert!(admission.listener(&owner("joe", false, "api")).is_ok());
        assert_eq!(listeners[0].remember(MAX_REMEMBERED_ROWS), Ok(()));
        assert_eq!(listeners[1].remember(1), Err(Reason::Limit("rows")));
        assert_eq!(listeners[0].remember(MAX_REMEMBERED_ROWS - 1), Ok(()));
        assert_eq!(listeners[1].remember(1), Ok(()));
        let turns = [
            listeners[0].turn(&admission, &eve).await,
            listeners[1].turn(&admission, &eve).await,
        ];
        assert_eq!(listeners[2].turns.available_permits(), 0);
        drop(turns);
    }
}
