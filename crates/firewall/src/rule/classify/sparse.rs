//! Finds the first candidate of large blocks whose rules match distinct values: each range of a field lists
//! the few rules that accept it, and a rule is listed only in its most selective field. The lists of a
//! packet's ranges are short, usually empty, and contain all candidates.
//!
//! Which lists are empty is unpredictable. Therefore 16 packets are processed together without branches, as
//! if each had at most one rule in all of its lists; the few packets with more are processed one by one.

use kernels::Lanes;

use super::dimension::TOGETHER;

/// Maximum number of fields.
pub(super) const PARTS: usize = 8;
/// Maximum number of rules per list, and of unlisted rules.
const LIST_LEN_MAX: usize = 8;
/// A rule that accepts more ranges than this in every field is not listed.
const RANGES_MAX: usize = 64;
/// Maximum number of combinations of one run per field that a rule may have.
const RUNS: usize = 16;
/// Stands for no rule.
const NO_RULE: u32 = u32::MAX;

/// The ranges of packets, by field.
pub(super) type SpansOf = [[u32; TOGETHER]; PARTS];

/// The ranges that a rule accepts in a field, as runs (first, last); `None` if it accepts all.
pub(super) type Runs = Option<Vec<(u16, u16)>>;

/// One combination of a rule: one run of ranges per field.
#[derive(Clone, Copy, Debug)]
struct Combination {
    first: [u16; PARTS],
    last: [u16; PARTS],
    /// The rule's index in the block.
    place: u32,
}

/// A list: its start in the low half and its length in the high half. The sum over a packet's lists equals
/// its only non-empty list if there is just one.
type List = u32;

/// Returns the number of rules in a sum of lists.
const fn rules(lists: u32) -> u32 {
    lists >> 16
}

/// The rule lists of a block.
#[derive(Debug)]
pub(super) struct Sparse {
    /// The lists, by field and range.
    lists: Box<[Box<[List]>]>,
    /// For each field: the accepted run of each listed combination, first range in the low half, last in the
    /// high half. Index 0 is no rule and accepts no existing range.
    bounds: Box<[Box<[u32]>]>,
    /// The rule index of each listed combination, in ascending order within each list.
    places: Box<[u32]>,
    /// List of the remaining rules.
    others: List,
}

impl Sparse {
    /// Builds the lists. `runs` has the accepted ranges by field and rule, `spans` the number of ranges of
    /// each field. Returns `None` if lists would be too long.
    pub(super) fn new(runs: &[Vec<Runs>], spans: &[usize], rules: usize) -> Option<Self> {
        let parts = runs.len();
        if !(1..=PARTS).contains(&parts) || spans.iter().any(|spans| *spans > LAST) {
            return None;
        }
        let mut lists: Vec<Vec<Vec<Combination>>> = Vec::new();
        lists.extend(spans.iter().map(|spans| vec![Vec::new(); *spans]));
        let mut others = Vec::new();
        for rule in 0..rules {
            for asked in all(runs, rule)? {
                let run =
                    |part: usize| usize::from(asked.first[part])..=usize::from(asked.last[part]);
                let asks = (0..parts).filter(|part| runs[*part][rule].is_some());
                // Prefers fields whose lists stay at one rule.
                let cost = |part: &usize| {
                    let lists = &lists[*part][run(*part)];
                    (lists.len(), lists.iter().map(Vec::len).max())
                };
                match asks.min_by_key(cost) {
                    Some(home) if run(home).count() <= RANGES_MAX => {
                        let lists = &mut lists[home][run(home)];
                        lists.iter_mut().for_each(|list| list.push(asked));
                    }
                    _ => others.push(asked),
                }
            }
        }
        let mut sparse = Self {
            lists: Box::default(),
            bounds: Box::default(),
            places: Box::default(),
            others: 0,
        };
        let nobody = Combination {
            first: [u16::MAX; PARTS],
            last: [0; PARTS],
            place: NO_RULE,
        };
        let mut asked = vec![nobody];
        let mut place = |list: &Vec<Combination>| {
            let (start, len) = (asked.len(), list.len());
            asked.extend(list);
            match len {
                0 => Some(0),
                1..=LIST_LEN_MAX if start <= LAST => Some((len << 16 | start) as u32),
                _ => None,
            }
        };
        sparse.others = place(&others)?;
        let lists = lists.iter();
        let lists = lists.map(|lists| lists.iter().map(&mut place).collect());
        sparse.lists = lists.collect::<Option<_>>()?;
        let bounds = |part| {
            let bounds = asked.iter();
            let both =
                |one: &Combination| u32::from(one.last[part]) << 16 | u32::from(one.first[part]);
            bounds.map(both).collect()
        };
        sparse.bounds = (0..parts).map(bounds).collect();
        sparse.places = asked.iter().map(|one| one.place).collect();
        Some(sparse)
    }

    /// Finds the first candidate of each of the first `count` packets, as index in the chain from `start` on,
    /// or the greatest number if there is none. Returns a bit for each packet that can match no other rule of
    /// the block.
    #[inline(always)]
    pub(super) fn firsts<L: Lanes>(
        &self,
        lanes: L,
        spans: &SpansOf,
        count: usize,
        start: u32,
        firsts: &mut [u32; TOGETHER],
    ) -> u64 {
        let mut alone = u64::MAX;
        let (firsts, _) = firsts.as_chunks_mut::<16>();
        for (group, firsts) in firsts.iter_mut().enumerate().take(count.div_ceil(16)) {
            let mut lists = [self.others; 16];
            for (own, spans) in self.lists.iter().zip(spans) {
                let list = lanes.gather(own, sixteen(spans, group));
                for (lists, list) in lists.iter_mut().zip(list) {
                    *lists += list;
                }
            }
            let (mut more, mut outside) = (false, [0; 16]);
            let mut at = [0; 16];
            for (at, lists) in at.iter_mut().zip(lists) {
                more |= rules(lists) > 1;
                *at = lists & 0xffff;
            }
            for (bounds, spans) in self.bounds.iter().zip(spans) {
                let bounds = lanes.gather(bounds, &at);
                let pairs = bounds.iter().zip(sixteen(spans, group));
                for (outside, (bounds, span)) in outside.iter_mut().zip(pairs) {
                    *outside |= u32::from((bounds & 0xffff > *span) | (bounds >> 16 < *span));
                }
            }
            let places = lanes.gather(&self.places, &at);
            for ((first, place), outside) in firsts.iter_mut().zip(places).zip(outside) {
                *first = place.wrapping_add(start) | outside.wrapping_neg();
            }
            if more {
                alone &= !self.find_several(spans, group, &lists, start, firsts);
            }
        }
        alone
    }

    /// Processes the packets of a group that have several rules in their lists; returns a bit for each of
    /// them.
    #[cold]
    #[inline(never)]
    fn find_several(
        &self,
        spans: &SpansOf,
        group: usize,
        lists: &[u32; 16],
        start: u32,
        firsts: &mut [u32; 16],
    ) -> u64 {
        let mut several = 0;
        for (at, (lists, first)) in lists.iter().zip(firsts).enumerate() {
            if rules(*lists) > 1 {
                let at = group * 16 + at;
                several |= 1 << at;
                let place = self.first(&core::array::from_fn(|part| spans[part][at]));
                *first = place.map_or(NO_RULE, |place| start + place);
            }
        }
        several
    }

    /// Returns the first rule that accepts the ranges of one packet.
    fn first(&self, spans: &[u32; PARTS]) -> Option<u32> {
        let lists = self.lists.iter().zip(spans);
        let lists = lists.map(|(lists, span)| lists[*span as usize]);
        let fits = |at: &usize| {
            let mut bounds = self.bounds.iter().zip(spans);
            bounds.all(|(bounds, span)| (bounds[*at] & 0xffff..=bounds[*at] >> 16).contains(span))
        };
        let firsts = lists.chain([self.others]).filter_map(|list| {
            let start = (list & 0xffff) as usize;
            let at = (start..start + rules(list) as usize).find(fits)?;
            Some(self.places[at])
        });
        firsts.min()
    }
}

/// The greatest range number and list position.
const LAST: usize = u16::MAX as usize - 1;

/// Returns the ranges of a group of 16 packets.
#[inline(always)]
fn sixteen(spans: &[u32; TOGETHER], group: usize) -> &[u32; 16] {
    &spans.as_chunks().0[group % (TOGETHER / 16)]
}

/// Returns all combinations of a rule's runs; `None` if there are too many.
fn all(runs: &[Vec<Runs>], rule: usize) -> Option<Vec<Combination>> {
    let mut all = vec![Combination {
        first: [0; PARTS],
        last: [u16::MAX; PARTS],
        place: rule as u32,
    }];
    for (part, runs) in runs.iter().enumerate() {
        let Some(runs) = &runs[rule] else {
            continue;
        };
        if all.len() * runs.len() > RUNS {
            return None;
        }
        let with = |asked: Combination| {
            runs.iter().map(move |(first, last)| {
                let mut asked = asked;
                (asked.first[part], asked.last[part]) = (*first, *last);
                asked
            })
        };
        all = all.into_iter().flat_map(with).collect();
    }
    Some(all)
}
