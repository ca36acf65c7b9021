//! How many jobs there may be, whose, and how much they may keep in memory. What a user without
//! `policy` does leaves room for administrators, and a script that starts itself again and again
//! comes to an end.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use menu::{Clock, Policies, Reason};

/// The most jobs at a time.
const JOBS: usize = 100;
/// The most of one user who has `policy`, and of one who has not.
const OF_MANAGER: usize = 64;
const OF_USER: usize = 16;
/// The most of all users without `policy`: the rest is left to administrators.
const OF_USERS: usize = 64;

/// Jobs that may come of one, by `:execute` in each other, at once; one more each second.
const FAMILY: u32 = 256;

/// Bytes that the jobs of one user with `policy` keep, of one without, of all without, and of all.
const BYTES_OF_MANAGER: usize = 256 << 20;
const BYTES_OF_USER: usize = 64 << 20;
const BYTES_OF_USERS: usize = 256 << 20;
const BYTES: usize = 512 << 20;
/// Bytes that a job takes of what there is at a time.
const PIECE: usize = 256 << 10;

/// Whose a job is, as far as bounds go.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Class {
    /// Whether the user manages users.
    manager: bool,
    user: String,
}

impl Class {
    /// The class of a user with these policies.
    pub(crate) fn new(user: &str, policies: Policies) -> Self {
        Self {
            manager: policies.contains(Policies::POLICY),
            user: user.to_owned(),
        }
    }

    /// Whether one more may run beside those of these classes.
    pub(crate) fn admit<'a>(&self, others: impl Iterator<Item = &'a Self>) -> Result<(), Reason> {
        let (mut all, mut users, mut own) = (0, 0, 0);
        for other in others {
            all += 1;
            users += usize::from(!other.manager);
            own += usize::from(other == self);
        }
        let full = match self.manager {
            true => own >= OF_MANAGER,
            false => own >= OF_USER || users >= OF_USERS,
        };
        match full || all >= JOBS {
            true => Err(Reason::Limit("jobs")),
            false => Ok(()),
        }
    }
}

/// The jobs that come of one, in each other.
#[derive(Debug, Default)]
pub(crate) struct Family(Mutex<Births>);

/// How many there were lately.
#[derive(Debug, Default)]
struct Births {
    lately: u32,
    at: i64,
}

impl Family {
    /// One more comes of it.
    pub(crate) fn grow(&self, now: Clock) -> Result<(), Reason> {
        let mut births = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = now.unix_seconds.saturating_sub(births.at);
        let passed = u32::try_from(passed.max(0)).unwrap_or(u32::MAX);
        births.lately = births.lately.saturating_sub(passed);
        births.at = now.unix_seconds;
        if births.lately >= FAMILY {
            return Err(Reason::Limit("jobs of one another"));
        }
        births.lately += 1;
        Ok(())
    }
}

/// Bytes that some may keep together.
#[derive(Debug)]
pub(crate) struct Budget {
    most: usize,
    used: AtomicUsize,
    /// What it is a part of.
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

/// The budgets of all jobs.
#[derive(Debug)]
pub(crate) struct Budgets {
    all: Arc<Budget>,
    users: Arc<Budget>,
    each: BTreeMap<Class, Weak<Budget>>,
}

impl Default for Budgets {
    fn default() -> Self {
        let all = Budget::new(BYTES, None);
        Self {
            users: Budget::new(BYTES_OF_USERS, Some(Arc::clone(&all))),
            all,
            each: BTreeMap::new(),
        }
    }
}

impl Budgets {
    /// The budget of the jobs of a user.
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

/// What a run has taken of its budget, until it ends.
#[derive(Debug, Default)]
pub(crate) struct Share {
    /// None where nobody counts but the run itself.
    budget: Option<Arc<Budget>>,
    taken: usize,
}

impl Share {
    /// Nothing yet of a budget.
    pub(crate) const fn of(budget: Option<Arc<Budget>>) -> Self {
        Self { budget, taken: 0 }
    }

    /// Whether so many bytes may be kept.
    pub(crate) fn covers(&mut self, bytes: usize) -> bool {
        let Some(budget) = self.budget.as_ref().filter(|_| bytes > self.taken) else {
            return true;
        };
        let more = (bytes - self.taken).next_multiple_of(PIECE);
        let taken = budget.take(more);
        if taken {
            self.taken += more;
        }
        taken
    }

    /// Whether so many are little beside what was taken: it need not be looked at again soon.
    pub(crate) fn is_ample_for(&self, bytes: usize) -> bool {
        self.budget.is_none() || bytes <= self.taken / 2
    }
}

impl Drop for Share {
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
    fn users_leave_room_for_administrators_in_number_and_memory() {
        let user = |name: u8| Class::new(&name.to_string(), Policies::READ);
        let manager = Class::new("admin", Policies::ALL);
        let mut all: Vec<Class> = Vec::new();
        for name in 0..8 {
            for _ in 0..JOBS {
                if user(name).admit(all.iter()).is_ok() {
                    all.push(user(name));
                }
            }
        }
        assert_eq!(all.len(), OF_USERS);
        assert_eq!(
            all.iter().filter(|class| **class == user(0)).count(),
            OF_USER
        );
        assert_eq!(manager.admit(all.iter()), Ok(()));

        let mut budgets = Budgets::default();
        let mut shares: Vec<_> = (0..8)
            .map(|name| Share::of(Some(budgets.of(&user(name)))))
            .collect();
        let covered = shares.iter_mut().filter_map(|share| {
            let all = share.covers(BYTES_OF_USER);
            all.then_some(())
        });
        assert_eq!(covered.count(), BYTES_OF_USERS / BYTES_OF_USER);
        assert!(!shares[0].covers(BYTES_OF_USER + 1));
        let mut own = Share::of(Some(budgets.of(&manager)));
        assert!(own.covers(BYTES_OF_MANAGER));
        shares.clear();
        let mut again = Share::of(Some(budgets.of(&user(7))));
        assert!(again.covers(BYTES_OF_USER), "what was kept is free again");
    }
}
