//! Who may run a command now: each user has a share at each service, and administrators have room of
//! their own.
//!
//! A command of a program takes a thread for as long as it runs, and one that listens runs for as long
//! as the program wants. What waits for its share waits as a task. All shares together are fewer than
//! the threads that there are, so that a login always finds one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use menu::Reason;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::access::Entered;

/// Threads for what waits: commands, and logins beside them.
pub(crate) const THREADS: usize = 1_024;

/// How many commands run at the same time.
#[derive(Clone, Copy)]
struct Shares {
    /// Of one user at one service.
    user: usize,
    /// Of all users of the kind.
    all: usize,
}

const USERS: Shares = Shares { user: 48, all: 256 };

const ADMINISTRATORS: Shares = Shares {
    user: 128,
    all: 512,
};

/// Commands of one user that listen. They have threads for their turns alone.
const LISTENING: usize = 512;

/// Turns of one user's listening commands at the same time.
const TURNS: usize = 2;

/// Rows that one user's listening commands remember together.
const ROWS: usize = 1_000_000;

/// How long a command may wait until others have ended.
const PATIENCE: Duration = Duration::from_secs(5);

/// The commands of programs.
pub(crate) struct Desk {
    /// The shares in use, by user and service.
    shares: Mutex<BTreeMap<(String, &'static str), Weak<Semaphore>>>,
    users: Arc<Semaphore>,
    administrators: Arc<Semaphore>,
    patience: Duration,
}

/// Whose command it is.
#[derive(Clone)]
pub(crate) struct Asker {
    user: String,
    is_administrator: bool,
    service: &'static str,
}

impl Asker {
    /// Somebody who has logged in at a service. It does not hold the session.
    pub(crate) fn new(entered: &Entered, service: &'static str) -> Self {
        Self {
            user: entered.user().to_owned(),
            is_administrator: entered.is_administrator(),
            service,
        }
    }
}

/// The right to listen, until this is dropped.
pub(crate) struct Listener {
    _place: OwnedSemaphorePermit,
    turns: Arc<Semaphore>,
    rows: Arc<Semaphore>,
    remembered: Option<OwnedSemaphorePermit>,
}

impl Listener {
    /// Waits until it may have a turn at the desk, however long that is: nobody waits for it.
    pub(crate) async fn turn(&self, desk: &Desk, asker: &Asker) -> (OwnedSemaphorePermit, Turn) {
        loop {
            let turn = Arc::clone(&self.turns).acquire_owned().await;
            if let (Ok(turn), Ok(thread)) = (turn, desk.turn(asker).await) {
                return (turn, thread);
            }
        }
    }

    /// Hears how many rows the command remembers.
    ///
    /// # Errors
    /// With them the user's commands remember too many.
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

/// The right to run one command, until this is dropped.
pub(crate) struct Turn {
    _share: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

impl Default for Desk {
    fn default() -> Self {
        Self::new(PATIENCE)
    }
}

impl Desk {
    fn new(patience: Duration) -> Self {
        Self {
            shares: Mutex::default(),
            users: Arc::new(Semaphore::new(USERS.all)),
            administrators: Arc::new(Semaphore::new(ADMINISTRATORS.all)),
            patience,
        }
    }

    /// Waits until a command of this user may run at that service.
    ///
    /// # Errors
    /// Others ran for too long.
    pub(crate) async fn turn(&self, asker: &Asker) -> Result<Turn, Reason> {
        let (shares, all) = match asker.is_administrator {
            true => (ADMINISTRATORS, &self.administrators),
            false => (USERS, &self.users),
        };
        let share = self.share((asker.user.clone(), asker.service), shares.user);
        let all = Arc::clone(all);
        let turn = async {
            // In this order: who waits for others of the same user takes no room of others.
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

    /// Takes in a command that listens.
    ///
    /// # Errors
    /// The user has too many.
    pub(crate) fn listener(&self, asker: &Asker) -> Result<Listener, Reason> {
        let share = |what, size| self.share((asker.user.clone(), what), size);
        let place = share("listening", LISTENING).try_acquire_owned();
        let full = |_| Reason::failure("too many commands of this user");
        Ok(Listener {
            _place: place.map_err(full)?,
            turns: share("turns", TURNS),
            rows: share("rows", ROWS),
            remembered: None,
        })
    }

    fn share(&self, key: (String, &'static str), size: usize) -> Arc<Semaphore> {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(share) = shares.get(&key).and_then(Weak::upgrade) {
            return share;
        }
        // Whoever holds a turn holds its share: those without are of users who run nothing.
        shares.retain(|_, share| share.strong_count() > 0);
        let share = Arc::new(Semaphore::new(size));
        shares.insert(key, Arc::downgrade(&share));
        share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asker(user: &str, is_administrator: bool, service: &'static str) -> Asker {
        Asker {
            user: user.to_owned(),
            is_administrator,
            service,
        }
    }

    async fn turns(desk: &Desk, user: &str, count: usize) -> Vec<Turn> {
        let mut turns = Vec::new();
        for _ in 0..count {
            let turn = desk.turn(&asker(user, false, "api")).await;
            turns.push(turn.expect("there is room"));
        }
        turns
    }

    #[tokio::test]
    async fn each_user_has_a_share_at_each_service() {
        let desk = Desk::new(Duration::from_millis(1));
        let mut running = turns(&desk, "eve", USERS.user).await;
        let eve = asker("eve", false, "api");

        let more = desk.turn(&eve).await.err();

        let reason = Reason::failure("too many commands of this user");
        assert_eq!(more, Some(reason));
        assert!(desk.turn(&asker("eve", false, "rest-api")).await.is_ok());
        assert!(desk.turn(&asker("joe", false, "api")).await.is_ok());
        running.pop();
        assert!(desk.turn(&eve).await.is_ok());
        drop(running);
        turns(&desk, "joe", 1).await;
        assert_eq!(desk.shares.lock().expect("no panic").len(), 1);
    }

    #[tokio::test]
    async fn administrators_get_in_when_users_have_taken_everything() {
        let desk = Desk::new(Duration::from_millis(1));
        let mut running = Vec::new();
        for user in 0..USERS.all / USERS.user {
            running.extend(turns(&desk, &format!("user{user}"), USERS.user).await);
        }
        running.extend(turns(&desk, "last", USERS.all % USERS.user).await);

        assert!(desk.turn(&asker("joe", false, "api")).await.is_err());
        assert!(desk.turn(&asker("admin", true, "api")).await.is_ok());
        const { assert!(USERS.all + ADMINISTRATORS.all < THREADS) };
    }

    #[tokio::test]
    async fn listeners_are_bounded_and_so_is_what_they_remember() {
        let desk = Desk::new(Duration::from_millis(1));
        let eve = asker("eve", false, "api");
        let listen = || desk.listener(&eve);
        let mut listeners: Vec<_> = (0..LISTENING).filter_map(|_| listen().ok()).collect();
        assert_eq!(listeners.len(), LISTENING);

        assert!(listen().is_err());
        assert!(desk.listener(&asker("joe", false, "api")).is_ok());
        assert_eq!(listeners[0].remember(ROWS), Ok(()));
        assert_eq!(listeners[1].remember(1), Err(Reason::Limit("rows")));
        assert_eq!(listeners[0].remember(ROWS - 1), Ok(()));
        assert_eq!(listeners[1].remember(1), Ok(()));
        let turns = [
            listeners[0].turn(&desk, &eve).await,
            listeners[1].turn(&desk, &eve).await,
        ];
        assert_eq!(listeners[2].turns.available_permits(), 0);
        drop(turns);
    }
}
