//! The first of many rules, where each asks for something of its own: every span of a part lists the
//! few rules that ask for it, and a rule is listed only in the part where it asks for least. The
//! lists of a packet's spans are short, mostly empty, and say which rules are left to be compared.
//!
//! Which lists are empty cannot be guessed. So 16 packets go together and without branches, as if each
//! had one rule at most in all of its lists; the few that have more are looked at alone.

use kernels::Lanes;

use super::dimension::TOGETHER;

/// How many parts the rules of such a block ask about at most.
pub(super) const PARTS: usize = 8;
/// How many rules a list has at most, and how many are in none.
const LONGEST: usize = 8;
/// A rule that asks for more spans than this in every part is in no list.
const SPREAD: usize = 64;
/// Ways to take one span of each part that a rule may have, in runs.
const RUNS: usize = 16;
/// In place of a rule: none.
const NOWHERE: u32 = u32::MAX;

/// The spans of packets, by part.
pub(super) type SpansOf = [[u32; TOGETHER]; PARTS];

/// The spans that a rule asks for in a part, as runs, first and last; none where it does not ask.
pub(super) type Runs = Option<Vec<(u16, u16)>>;

/// What a rule asks for: one run of spans in each part.
#[derive(Clone, Copy, Debug)]
struct Asked {
    first: [u16; PARTS],
    last: [u16; PARTS],
    /// The rule's place in the block.
    place: u32,
}

/// A list: in the low half where it begins, in the high half how many rules it has. The sum of those
/// of a packet is that of the only one that is not empty, if there is but one.
type List = u32;

/// How many rules lists have, by the sum of the lists.
const fn rules(lists: u32) -> u32 {
    lists >> 16
}

/// See the module.
#[derive(Debug)]
pub(super) struct Sparse {
    /// By part, by span.
    lists: Box<[Box<[List]>]>,
    /// By part: of what is asked, list by list, the first span and in the high half the last. The first
    /// is no rule's, and asks for spans that there are not.
    bounds: Box<[Box<[u32]>]>,
    /// The same rules' places in the block, in order in each list.
    places: Box<[u32]>,
    /// The rules that are in no other list.
    others: List,
}

impl Sparse {
    /// `runs` has what each rule asks for, by part, by rule; `spans` how many spans each part has.
    /// None where lists would be long.
    pub(super) fn new(runs: &[Vec<Runs>], spans: &[usize], rules: usize) -> Option<Self> {
        let parts = runs.len();
        if !(1..=PARTS).contains(&parts) || spans.iter().any(|spans| *spans > LAST) {
            return None;
        }
        let mut lists: Vec<Vec<Vec<Asked>>> = Vec::new();
        lists.extend(spans.iter().map(|spans| vec![Vec::new(); *spans]));
        let mut others = Vec::new();
        for rule in 0..rules {
            for asked in all(runs, rule)? {
                let run =
                    |part: usize| usize::from(asked.first[part])..=usize::from(asked.last[part]);
                let asks = (0..parts).filter(|part| runs[*part][rule].is_some());
                // Lists of one rule are the best ones.
                let cost = |part: &usize| {
                    let lists = &lists[*part][run(*part)];
                    (lists.len(), lists.iter().map(Vec::len).max())
                };
                match asks.min_by_key(cost) {
                    Some(home) if run(home).count() <= SPREAD => {
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
        let nobody = Asked {
            first: [u16::MAX; PARTS],
            last: [0; PARTS],
            place: NOWHERE,
        };
        let mut asked = vec![nobody];
        let mut place = |list: &Vec<Asked>| {
            let (start, len) = (asked.len(), list.len());
            asked.extend(list);
            match len {
                0 => Some(0),
                1..=LONGEST if start <= LAST => Some((len << 16 | start) as u32),
                _ => None,
            }
        };
        sparse.others = place(&others)?;
        let lists = lists.iter();
        let lists = lists.map(|lists| lists.iter().map(&mut place).collect());
        sparse.lists = lists.collect::<Option<_>>()?;
        let bounds = |part| {
            let bounds = asked.iter();
            let both = |one: &Asked| u32::from(one.last[part]) << 16 | u32::from(one.first[part]);
            bounds.map(both).collect()
        };
        sparse.bounds = (0..parts).map(bounds).collect();
        sparse.places = asked.iter().map(|one| one.place).collect();
        Some(sparse)
    }

    /// The first rules that packets with these spans fit, for the first `count` of them, behind the
    /// block's `start` in its chain; the greatest number where there is none. A bit for each packet that
    /// can fit no other rule of the block.
    #[inline(always)]
    pub(super) fn firsts<L: Lanes>(
        &self,
        lanes: L,
        (spans, count): (&SpansOf, usize),
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
                alone &= !self.look_again(spans, group, &lists, start, firsts);
            }
        }
        alone
    }

    /// Looks at the packets of a group that have several rules in their lists, and says which those are.
    #[cold]
    #[inline(never)]
    fn look_again(
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
                *first = place.map_or(NOWHERE, |place| start + place);
            }
        }
        several
    }

    /// The first rule that one packet with these spans fits.
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

/// The greatest span, and the last place in all lists.
const LAST: usize = u16::MAX as usize - 1;

/// The spans of a group of packets.
#[inline(always)]
fn sixteen(spans: &[u32; TOGETHER], group: usize) -> &[u32; 16] {
    &spans.as_chunks().0[group % (TOGETHER / 16)]
}

/// What a rule asks for, in every combination of its runs; none where those are many.
fn all(runs: &[Vec<Runs>], rule: usize) -> Option<Vec<Asked>> {
    let mut all = vec![Asked {
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
        let with = |asked: Asked| {
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
