//! Profiles: the clocks of a worker by rule, queue, tunnel or interface.
//!
//! A profile samples about one step in [`STEPS_PER_SAMPLE`], chosen at random. In a sampled step the worker measures
//! spans: the clocks between the begin and the end of the work for rules, queues, tunnels or received frames. The
//! packets of a span share its clocks equally. Outside of sampled steps a span costs one comparison; without a profile
//! a step costs one load more.

use core::sync::atomic::{AtomicU64, Ordering};

use kernels::tsc;

use crate::count::Counter;

/// Average number of steps per sampled step; a power of two.
pub const STEPS_PER_SAMPLE: u32 = 16;
/// Maximum number of different keys of a profile and worker; the clocks of others are summed up.
pub const KEYS: usize = 1_024;
/// Maximum number of different keys, in a row, of one span; the packets of further keys are summed up.
const HITS: usize = 512;
/// Number of slots that are searched for a key.
const PROBES: usize = 16;
/// Squares of clocks are stored in units of 2^16, so that their sum lasts for days.
const SQUARE_SHIFT: u32 = 8;

/// What a profile divides the clocks by. The discriminant is published to workers; 0 means no profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Subject {
    /// Firewall rules; the key is the number of the rule's counter.
    Rule = 1,
    /// Queues; the key is the number of the queue's node.
    Queue = 2,
    /// Tunnels; the key is the slot of the tunnel's interface.
    Tunnel = 3,
    /// Ingress interfaces; the key is the slot of the interface.
    Interface = 4,
}

/// The sampled clocks of one worker, written by the worker alone.
#[derive(Debug)]
pub struct Profile {
    subject: Subject,
    /// Keys plus 1; 0 for a free slot.
    keys: Box<[AtomicU64]>,
    clocks: Box<[Counter]>,
    others: Counter,
    steps: Counter,
    busy: Counter,
    squares: Counter,
}

/// A reading of a [`Profile`], or the sum of several.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sampled {
    /// Clocks by key.
    pub keys: Vec<(u64, u64)>,
    /// Clocks of keys beyond [`KEYS`].
    pub others: u64,
    /// Number of sampled steps with work.
    pub steps: u64,
    /// Clocks of the sampled steps, without idle time.
    pub busy: u64,
    /// Sum of the squares of the clocks of the sampled steps, in units of 2^16.
    pub squares: u64,
}

impl Profile {
    /// Creates an empty profile.
    pub fn new(subject: Subject) -> Self {
        Self {
            subject,
            keys: (0..KEYS).map(|_| AtomicU64::new(0)).collect(),
            clocks: (0..KEYS).map(|_| Counter::default()).collect(),
            others: Counter::default(),
            steps: Counter::default(),
            busy: Counter::default(),
            squares: Counter::default(),
        }
    }

    /// Returns what the profile divides the clocks by.
    pub const fn subject(&self) -> Subject {
        self.subject
    }

    /// Adds clocks to a key. Only the worker calls it.
    fn charge(&self, key: u64, clocks: u64) {
        let start = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize;
        for at in (start..start + PROBES).map(|at| at % KEYS) {
            let own = self.keys[at].load(Ordering::Relaxed);
            if own == 0 {
                self.keys[at].store(key + 1, Ordering::Relaxed);
            }
            if own == 0 || own == key + 1 {
                return self.clocks[at].add(clocks);
            }
        }
        self.others.add(clocks);
    }

    /// Counts a sampled step with its clocks without idle time. Only the worker calls it.
    pub(crate) fn count_step(&self, busy: u64) {
        self.steps.add(1);
        self.busy.add(busy);
        let scaled = busy >> SQUARE_SHIFT;
        self.squares.add(scaled.saturating_mul(scaled));
    }

    /// Returns the clocks so far.
    pub fn read(&self) -> Sampled {
        let all = self.keys.iter().zip(&self.clocks);
        let keys = all.filter_map(|(key, clocks)| {
            let key = key.load(Ordering::Relaxed).checked_sub(1)?;
            Some((key, clocks.get()))
        });
        Sampled {
            keys: keys.collect(),
            others: self.others.get(),
            steps: self.steps.get(),
            busy: self.busy.get(),
            squares: self.squares.get(),
        }
    }
}

/// The sampling state of a worker.
#[derive(Debug)]
pub(crate) struct Sampler {
    /// Subject of the current step; 0 if the step is not sampled.
    subject: u8,
    random: u32,
    /// Counter value at the begin of the current span.
    since: u64,
    /// Clocks of the current span, once its clock is stopped.
    spent: Option<u64>,
    /// Keys of the current span with their packets.
    hits: Vec<(u64, u32)>,
    /// Packets of the keys beyond [`HITS`].
    others: u32,
    /// Packets of no key, whose share of the clocks is charged to nothing.
    missed: u32,
}

impl Sampler {
    pub(crate) fn new() -> Self {
        Self {
            subject: 0,
            random: 0x2545_f491,
            since: 0,
            spent: None,
            hits: Vec::with_capacity(HITS),
            others: 0,
            missed: 0,
        }
    }

    /// Begins a step: decides whether it is sampled. `subject` is the published one, 0 for none.
    #[inline(always)]
    pub(crate) fn begin_step(&mut self, subject: u8) {
        self.subject = match subject {
            0 => 0,
            subject if self.is_chosen() => subject,
            _ => 0,
        };
    }

    fn is_chosen(&mut self) -> bool {
        // Xorshift (Marsaglia, 2003).
        self.random ^= self.random << 13;
        self.random ^= self.random >> 17;
        self.random ^= self.random << 5;
        self.random.is_multiple_of(STEPS_PER_SAMPLE)
    }

    /// Returns true if the current step samples this subject.
    #[inline(always)]
    pub(crate) fn samples(&self, subject: Subject) -> bool {
        self.subject == subject as u8
    }

    /// Begins a span.
    #[cold]
    pub(crate) fn begin_span(&mut self) {
        self.hits.clear();
        (self.others, self.missed, self.spent) = (0, 0, None);
        self.since = tsc();
    }

    /// Adds packets of a key to the current span.
    #[cold]
    pub(crate) fn hit(&mut self, key: u64, packets: u32) {
        if let Some((last, count)) = self.hits.last_mut()
            && *last == key
        {
            *count = count.saturating_add(packets);
        } else if self.hits.len() < HITS {
            self.hits.push((key, packets));
        } else {
            self.others = self.others.saturating_add(packets);
        }
    }

    /// Adds packets that belong to no key.
    #[cold]
    pub(crate) fn miss(&mut self, packets: u32) {
        self.missed = self.missed.saturating_add(packets);
    }

    /// Stops the clock of the current span: what follows in the span finds its keys.
    #[cold]
    pub(crate) fn stop_clock(&mut self) {
        self.spent = Some(tsc().saturating_sub(self.since));
    }

    /// Ends a span: its packets share its clocks. A span without keys is charged to nothing.
    #[cold]
    pub(crate) fn end_span(&mut self, profile: Option<&Profile>) {
        let spent = self.spent.take();
        let spent = spent.unwrap_or_else(|| tsc().saturating_sub(self.since));
        let packets = self.hits.iter().map(|(_, packets)| *packets);
        let others = self.others.saturating_add(self.missed);
        let packets = u64::from(packets.fold(others, u32::saturating_add));
        if let Some(profile) = profile
            && packets > 0
        {
            for (key, count) in &self.hits {
                profile.charge(*key, spent * u64::from(*count) / packets);
            }
            profile.others.add(spent * u64::from(self.others) / packets);
        }
        self.hits.clear();
        self.others = 0;
    }

    /// Ends a step. Returns whether it was sampled.
    #[inline(always)]
    pub(crate) fn end_step(&mut self) -> bool {
        core::mem::take(&mut self.subject) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_of_a_span_share_its_clocks() {
        let profile = Profile::new(Subject::Rule);
        let mut sampler = Sampler::new();
        sampler.begin_span();
        sampler.hit(7, 3);
        sampler.hit(9, 1);
        sampler.hit(9, 4);
        sampler.miss(8);
        sampler.end_span(Some(&profile));
        let keys = profile.read().keys;
        let of = |key| keys.iter().find(|(own, _)| *own == key).map(|own| own.1);
        let (three, five) = (of(7).expect("a key"), of(9).expect("a key"));
        assert!(three > 0 && (three * 5).abs_diff(five * 3) <= 8, "{keys:?}");
    }

    #[test]
    fn a_profile_is_bounded_and_counts_the_clocks_of_further_keys() {
        let profile = Profile::new(Subject::Queue);
        (0..10 * KEYS as u64).for_each(|key| profile.charge(key, 1));
        let read = profile.read();
        assert!(read.keys.len() <= KEYS && read.keys.len() > KEYS / 2);
        let sum: u64 = read.keys.iter().map(|(_, clocks)| clocks).sum();
        assert_eq!(sum + read.others, 10 * KEYS as u64);

        let mut sampler = Sampler::new();
        sampler.begin_span();
        (0..2 * HITS as u64).for_each(|key| sampler.hit(key, 1));
        assert_eq!((sampler.hits.len(), sampler.others), (HITS, HITS as u32));
    }

    #[test]
    fn one_step_in_sixteen_is_sampled_and_none_without_a_profile() {
        let mut sampler = Sampler::new();
        let mut sampled = |subject| {
            let steps = (0..16_000).filter(|_| {
                sampler.begin_step(subject);
                sampler.samples(Subject::Tunnel)
            });
            steps.count()
        };
        assert_eq!(sampled(0), 0);
        assert_eq!(sampled(Subject::Rule as u8), 0);
        let of_tunnels = sampled(Subject::Tunnel as u8);
        assert!((800..1_200).contains(&of_tunnels), "{of_tunnels}");
    }
}
