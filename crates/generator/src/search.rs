//! Search of the throughput of a device (RFC 2544, 26.1) by the method of MLRsearch (draft-ietf-bmwg-mlrsearch).
//!
//! Each [`Goal`] has a loss ratio. Trials at one load count together: a load is a lower bound of a goal once enough
//! trial time has passed with at most that loss ratio in most of the time, and an upper bound once this cannot happen
//! any more. The search bisects between the bounds until they are closer than the goal's width. The *conditional
//! throughput* is the forwarding rate at the lower bound: its load times one minus the loss ratio of its trials.

/// A goal of the search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// Largest loss ratio, from 0 to 1.
    pub loss_ratio: f64,
    /// Part of the trial time that may exceed the loss ratio.
    pub exceed_ratio: f64,
    /// Trial time that decides about a load, in seconds.
    pub duration_sum: f64,
    /// Relative distance of the bounds at which the search ends.
    pub width: f64,
}

/// Result of a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// Load in frames per second that was asked for.
    pub load: f64,
    /// Duration in seconds.
    pub seconds: f64,
    /// Lost frames divided by the frames that had to be sent.
    pub loss_ratio: f64,
}

/// Result of a goal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Highest load that reaches the goal, in frames per second; `None` if even the minimum does not.
    pub lower: Option<f64>,
    /// Lowest load that misses the goal; `None` if even the maximum reaches it.
    pub upper: Option<f64>,
    /// Conditional throughput in frames per second.
    pub throughput: f64,
}

/// A search.
#[derive(Clone, Debug)]
pub struct Search {
    goals: Vec<Goal>,
    min_load: f64,
    max_load: f64,
    trials: Vec<Trial>,
}

/// Verdict about a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Lower,
    Upper,
    Undecided,
}

/// Maximum number of trials, which ends a search on a device with changing results.
const MAX_TRIALS: usize = 200;

impl Search {
    /// Creates a search between two loads in frames per second.
    pub fn new(goals: Vec<Goal>, min_load: f64, max_load: f64) -> Self {
        Self {
            goals,
            min_load: min_load.min(max_load),
            max_load,
            trials: Vec::new(),
        }
    }

    /// Trials so far.
    pub fn trials(&self) -> &[Trial] {
        &self.trials
    }

    /// Records a trial.
    pub fn record(&mut self, trial: Trial) {
        self.trials.push(trial);
    }

    /// Returns the load of the next trial; `None` when all goals are reached.
    pub fn next_load(&self) -> Option<f64> {
        if self.trials.len() >= MAX_TRIALS {
            return None;
        }
        self.goals.iter().find_map(|goal| self.next_of(goal))
    }

    fn next_of(&self, goal: &Goal) -> Option<f64> {
        let undecided = |load: &f64| self.class(goal, *load) == Class::Undecided;
        let (lower, upper) = self.limits(goal);
        // A load between the bounds whose trials do not suffice is measured again.
        let between = |load: &f64| {
            lower.is_none_or(|lower| *load > lower) && upper.is_none_or(|upper| *load < upper)
        };
        let mut loads = self.trials.iter().map(|trial| trial.load);
        if let Some(load) = loads.find(|load| between(load) && undecided(load)) {
            return Some(load);
        }
        match (lower, upper) {
            (None, None) => Some(self.max_load),
            (Some(lower), None) if lower < self.max_load => Some(self.max_load),
            (Some(_), None) => None,
            (None, Some(upper)) if upper <= self.min_load => None,
            (None, Some(upper)) => Some(self.first_guess(goal, upper)),
            (Some(lower), Some(upper)) if upper - lower <= goal.width * upper => None,
            (Some(lower), Some(upper)) => Some(f64::midpoint(lower, upper)),
        }
    }

    /// Load of the first trial below an upper bound: the rate that passed there, or a quarter.
    fn first_guess(&self, goal: &Goal, upper: f64) -> f64 {
        let at = self.trials.iter().filter(|trial| trial.load == upper);
        let passed = at.map(|trial| trial.load * (1.0 - trial.loss_ratio));
        let passed = passed.fold(0.0, f64::max) * (1.0 - goal.width);
        let guess = match passed < upper * (1.0 - goal.width) && passed > upper / 100.0 {
            true => passed,
            false => upper / 4.0,
        };
        guess.max(self.min_load)
    }

    /// Highest lower bound below the lowest upper bound, and that upper bound.
    fn limits(&self, goal: &Goal) -> (Option<f64>, Option<f64>) {
        let of = |class: Class| {
            let loads = self.trials.iter().map(|trial| trial.load);
            loads.filter(move |load| self.class(goal, *load) == class)
        };
        let upper = of(Class::Upper).fold(None, |least: Option<f64>, load| {
            Some(least.map_or(load, |least| least.min(load)))
        });
        let below = of(Class::Lower).filter(|load| upper.is_none_or(|upper| *load < upper));
        let lower = below.fold(None, |most: Option<f64>, load| {
            Some(most.map_or(load, |most| most.max(load)))
        });
        (lower, upper)
    }

    fn class(&self, goal: &Goal, load: f64) -> Class {
        let (mut good, mut bad) = (0.0, 0.0);
        for trial in self.trials.iter().filter(|trial| trial.load == load) {
            match trial.loss_ratio <= goal.loss_ratio {
                true => good += trial.seconds,
                false => bad += trial.seconds,
            }
        }
        let allowed = goal.duration_sum * goal.exceed_ratio;
        // Trials that ended a little early count as whole ones.
        let needed = (goal.duration_sum - allowed) * 0.999;
        if bad > allowed {
            Class::Upper
        } else if good >= needed {
            Class::Lower
        } else {
            Class::Undecided
        }
    }

    /// Result of a goal by the trials so far.
    pub fn bounds(&self, goal: &Goal) -> Bounds {
        let (lower, upper) = self.limits(goal);
        let at = |load: f64| {
            let trials = self.trials.iter().filter(|trial| trial.load == load);
            let good = trials.filter(|trial| trial.loss_ratio <= goal.loss_ratio);
            good.map(|trial| trial.loss_ratio).fold(0.0, f64::max)
        };
        Bounds {
            lower,
            upper,
            throughput: lower.map_or(0.0, |load| load * (1.0 - at(load))),
        }
    }

    /// Mean loss ratio by load, ascending: the frame loss rate (RFC 2544, 26.3).
    pub fn loss_curve(&self) -> Vec<(f64, f64)> {
        let mut trials = self.trials.clone();
        trials.sort_by(|a, b| a.load.total_cmp(&b.load));
        let groups = trials.chunk_by(|a, b| a.load == b.load);
        let mean = |group: &[Trial]| {
            let seconds: f64 = group.iter().map(|trial| trial.seconds).sum();
            let lost: f64 = group
                .iter()
                .map(|trial| trial.loss_ratio * trial.seconds)
                .sum();
            (group[0].load, lost / seconds.max(f64::MIN_POSITIVE))
        };
        groups.map(mean).collect()
    }
}
