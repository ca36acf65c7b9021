//! The first of many rules, where each asks for something of its own: every span of a part lists the
//! few rules that ask for it, and a rule is listed only in the part where it asks for least. The
//! lists of a packet's spans are short, mostly empty, and say which rules are left to be compared.

/// How many parts the rules of such a block ask about at most.
const PARTS: usize = 8;
/// How many rules a list has at most, and how many are in none.
const LONGEST: usize = 8;
/// A rule that asks for more spans than this in every part is in no list.
const SPREAD: usize = 64;
/// Ways to take one span of each part that a rule may have, in runs.
const RUNS: usize = 16;

/// A packet's spans, by part.
pub(super) type SpansOf = [u16; PARTS];

/// The spans that a rule asks for in a part, as runs, first and last; none where it does not ask.
pub(super) type Runs = Option<Vec<(u16, u16)>>;

/// What a rule asks for: one run of spans in each part.
#[derive(Clone, Copy, Debug)]
struct Asked {
    first: SpansOf,
    last: SpansOf,
    /// The rule's place in the block.
    place: u32,
}

/// Where a list begins in [`Sparse::asked`], and how long it is.
type List = (u32, u32);

/// See the module.
#[derive(Debug)]
pub(super) struct Sparse {
    /// By part, by span.
    lists: Box<[Box<[List]>]>,
    /// List by list, each in the order of its rules.
    asked: Box<[Asked]>,
    /// Of rules that are in no list, in order.
    others: Box<[Asked]>,
}

impl Sparse {
    /// `runs` has what each rule asks for, by part, by rule; `spans` how many spans each part has.
    /// None where lists would be long.
    pub(super) fn new(runs: &[Vec<Runs>], spans: &[usize], rules: usize) -> Option<Self> {
        if runs.len() > PARTS || spans.iter().any(|spans| *spans > usize::from(u16::MAX)) {
            return None;
        }
        let mut lists: Vec<Vec<Vec<Asked>>> = Vec::new();
        lists.extend(spans.iter().map(|spans| vec![Vec::new(); *spans]));
        let mut others = Vec::new();
        for rule in 0..rules {
            for asked in all(runs, rule)? {
                let width = |part: usize| usize::from(asked.last[part] - asked.first[part]);
                let asks = (0..runs.len()).filter(|part| runs[*part][rule].is_some());
                match asks.min_by_key(|part| width(*part)) {
                    Some(home) if width(home) < SPREAD => {
                        let span = |of: &SpansOf| usize::from(of[home]);
                        for list in &mut lists[home][span(&asked.first)..=span(&asked.last)] {
                            list.push(asked);
                        }
                    }
                    _ => others.push(asked),
                }
            }
        }
        let long = |list: &Vec<Asked>| list.len() > LONGEST;
        if long(&others) || lists.iter().flatten().any(long) {
            return None;
        }
        let mut asked = Vec::new();
        let lists = lists.into_iter().map(|lists| {
            let place = |list: Vec<Asked>| {
                let start = asked.len() as u32;
                asked.extend(list);
                (start, asked.len() as u32 - start)
            };
            lists.into_iter().map(place).collect()
        });
        Some(Self {
            lists: lists.collect(),
            asked: asked.into(),
            others: others.into(),
        })
    }

    /// The first rule that a packet with these spans fits.
    #[inline(always)]
    pub(super) fn first(&self, spans: &SpansOf) -> Option<u32> {
        let mut best = u32::MAX;
        for (lists, span) in self.lists.iter().zip(spans) {
            let (start, len) = lists[usize::from(*span)];
            if len != 0 {
                let list = self.asked.get(start as usize..(start + len) as usize);
                best = best.min(first(list.unwrap_or_default(), spans));
            }
        }
        best = best.min(first(&self.others, spans));
        (best != u32::MAX).then_some(best)
    }
}

/// The first rule of a list that a packet fits.
#[inline(always)]
fn first(list: &[Asked], spans: &SpansOf) -> u32 {
    let fits = |asked: &&Asked| {
        let bounds = asked.first.iter().zip(&asked.last);
        // Without branches: eight compares are one.
        let within = |both, ((first, last), span): ((&u16, &u16), &u16)| {
            both & (*first <= *span) & (*span <= *last)
        };
        bounds.zip(spans).fold(true, within)
    };
    list.iter().find(fits).map_or(u32::MAX, |asked| asked.place)
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
