//! Limits on the number of script jobs and on the memory that jobs keep, per user and in total. Users without
//! the `policy` right leave room for administrators, and a script that keeps starting itself is stopped.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use menu::{Clock, Policies, Reason};

/// Maximum number of jobs at a time.
const MAX_JOBS: usize = 100;
/// Maximum number of jobs of one user: with the `policy` right, and without.
const JOBS_OF_MANAGER: usize = 64;
const JOBS_OF_USER: usize = 16;
/// Maximum number of jobs of all users without the `policy` right. The rest is left to administrators.
const JOBS_OF_USERS: usize = 64;

/// Burst of jobs that one job may start through nested `:execute`; one more is allowed per second.
const FAMILY_JOBS: u32 = 256;

/// Maximum bytes that jobs keep: per user with the `policy` right, per user without it, of all users without
/// it, and in total.
const BYTES_OF_MANAGER: usize = 256 << 20;
const BYTES_OF_USER: usize = 64 << 20;
const BYTES_OF_USERS: usize = 256 << 20;
const MAX_BYTES: usize = 512 << 20;
/// Bytes that a job reserves from its budget at a time.
const RESERVATION_BYTES: usize = 256 << 10;

/// The user that a job counts against.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Class {
    /// True if the user has the `policy` right, which allows to manage users.
    manager: bool,
    user: String,
}

impl Class {
    /// Returns the class of a user with these policies.
    pub(crate) fn new(user: &str, policies: Policies) -> Self {
        Self {
            manager: policies.contains(Policies::POLICY),
            user: user.to_owned(),
        }
    }

    /// Checks whether one more job of this class may run beside the jobs of `others`.
    ///
    /// # Errors
    /// The user, all users without the `policy` right, or the router have reached their limit.
    pub(crate) fn admit<'a>(&self, others: impl Iterator<Item = &'a Self>) -> Result<(), Reason> {
        let (mut all, mut users, mut own) = (0, 0, 0);
        for other in others {
            all += 1;
            users += usize::from(!other.manager);
            own += usize::from(other == self);
        }
        let full = match self.manager {
            true => own >= JOBS_OF_MANAGER,
            false => own >= JOBS_OF_USER || users >= JOBS_OF_USERS,
        };
        match full || all >= MAX_JOBS {
            true => Err(Reason::Limit("jobs")),
            false => Ok(()),
        }
    }
}

/// A job and all jobs that it started, directly or indirectly.
#[derive(Debug, Default)]
pub(crate) struct JobFamily(Mutex<JobStarts>);

/// Leaky bucket of job starts: `lately` falls by one per second since `at` (Unix seconds).
#[derive(Debug, Default)]
struct JobStarts {
    lately: u32,
    at: i64,
}

impl JobFamily {
    /// Counts one more job start.
    ///
    /// # Errors
    /// The family started jobs too fast.
    pub(crate) fn grow(&self, now: Clock) -> Result<(), Reason> {
        let mut births = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = now.unix_seconds.saturating_sub(births.at);
        let passed = u32::try_from(passed.max(0)).unwrap_or(u32::MAX);
        births.lately = births.lately.saturating_sub(passed);
        births.at = now.unix_seconds;
        if births.lately >= FAMILY_JOBS {
            return Err(Reason::Limit("job starts"));
        }
        births.lately += 1;
        Ok(())
    }
}

/// A limit of bytes that several jobs share.
#[derive(Debug)]
pub(crate) struct Budget {
    most: usize,
    used: AtomicUsize,
    /// The larger budget that this budget is part of.
    within: Option<Arc<Self>>,
}

impl Budget {
    fn new(most: usize, within: Option<Arc<Self>>) -> Arc<Self> {
        Arc::new(Self {
            most,
            used: AtomicUsize::new(0),
            within,
        })
    }

    fn take(&self, bytes: usize) -> bool {
        let room = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= self.most);
        let order = Ordering::Relaxed;
        if self.used.fetch_update(order, order, room).is_err() {
            return false;
        }
        let taken = self.within.as_ref().is_none_or(|within| within.take(bytes));
        if !taken {
            self.used.fetch_sub(bytes, order);
        }
        taken
    }

    fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
        if let Some(within) = &self.within {
            within.give_back(bytes);
        }
    }
}

/// The memory budgets of all jobs.
#[derive(Debug)]
pub(crate) struct Budgets {
    all: Arc<Budget>,
    users: Arc<Budget>,
    each: BTreeMap<Class, Weak<Budget>>,
}

impl Default for Budgets {
    fn default() -> Self {
        let all = Budget::new(MAX_BYTES, None);
        Self {
            users: Budget::new(BYTES_OF_USERS, Some(Arc::clone(&all))),
            all,
            each: BTreeMap::new(),
        }
    }
}

impl Budgets {
    /// Returns the budget shared by all jobs of a user.
    pub(crate) fn of(&mut self, class: &Class) -> Arc<Budget> {
        if let Some(budget) = self.each.get(class).and_then(Weak::upgrade) {
            return budget;
        }
        self.each.retain(|_, budget| budget.strong_count() > 0);
        let (most, within) = match class.manager {
            true => (BYTES_OF_MANAGER, &self.all),
            false => (BYTES_OF_USER, &self.users),
        };
        let budget = Budget::new(most, Some(Arc::clone(within)));
        self.each.insert(class.clone(), Arc::downgrade(&budget));
        budget
    }
}

/// The bytes that a script run has reserved from its budget. Dropping the value releases them.
#[derive(Debug, Default)]
pub(crate) struct Reservation {
    /// `None` if only the limits of the run apply.
    budget: Option<Arc<Budget>>,
    taken: usize,
}

impl Reservation {
    /// Creates an empty reservation on a budget.
    pub(crate) const fn of(budget: Option<Arc<Budget>>) -> Self {
        Self { budget, taken: 0 }
    }

    /// Reserves up to `bytes` in total. Returns false if the budget is exhausted.
    pub(crate) fn covers(&mut self, bytes: usize) -> bool {
        let Some(budget) = self.budget.as_ref().filter(|_| bytes > self.taken) else {
            return true;
        };
        let more = (bytes - self.taken).next_multiple_of(RESERVATION_BYTES);
        let taken = budget.take(more);
        if taken {
            self.taken += more;
        }
        taken
    }

    /// True if `bytes` is at most half of the reservation, so that the caller may skip checks for a while.
    pub(crate) fn is_ample_for(&self, bytes: usize) -> bool {
        self.budget.is_none() || bytes <= self.taken / 2
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Some(budget) = &self.budget {
            budget.give_back(self.taken);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn job_limits_reserve_room_for_administrators() {
        let user = |name: u8| Class::new(&name.to_string(), Policies::READ);
        let manager = Class::new("admin", Policies::ALL);
        let mut all: Vec<Class> = Vec::new();
        for name in 0..8 {
            for _ in 0..MAX_JOBS {
                if user(name).admit(all.iter()).is_ok() {
                    all.push(user(name));
                }
            }
        }
        assert_eq!(all.len(), JOBS_OF_USERS);
        assert_eq!(
            all.iter().filter(|class| **class == user(0)).count(),
            JOBS_OF_USER
        );
        assert_eq!(manager.admit(all.iter()), Ok(()));

        let mut budgets = Budgets::default();
        let mut shares: Vec<_> = (0..8)
            .map(|name| Reservation::of(Some(budgets.of(&user(name)))))
            .collect();
        let covered = shares.iter_mut().filter_map(|share| {
            let all = share.covers(BYTES_OF_USER);
            all.then_some(())
        });
        assert_eq!(covered.count(), BYTES_OF_USERS / BYTES_OF_USER);
        assert!(!shares[0].covers(BYTES_OF_USER + 1));
        let mut own = Reservation::of(Some(budgets.of(&manager)));
        assert!(own.covers(BYTES_OF_MANAGER));
        shares.clear();
        let mut again = Reservation::of(Some(budgets.of(&user(7))));
        assert!(again.covers(BYTES_OF_USER), "what was kept is free again");
    }
}
