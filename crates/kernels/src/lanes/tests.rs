//! Checks that all levels give equal results.

use super::*;
use crate::{Level, Work};
use proptest::prelude::*;

/// Runs the work at every level that this machine supports, the baseline first.
fn at_every_level<W: Work>(work: impl Fn() -> W) -> Vec<W::Output> {
    let mut all = vec![work().run(Baseline)];
    #[cfg(target_arch = "x86_64")]
    {
        if Level::here() >= Level::V3 {
            // SAFETY: the processor has the features of level V3.
            all.push(work().run(unsafe { V3::detected() }));
        }
        if Level::here() >= Level::V4 {
            // SAFETY: the processor has the features of level V4.
            all.push(work().run(unsafe { V4::detected() }));
        }
    }
    all
}

/// Returns true if every level gives the result `right`.
fn all_are<W: Work>(work: impl Fn() -> W, right: &W::Output) -> bool
where
    W::Output: PartialEq,
{
    at_every_level(work).iter().all(|one| one == right)
}

struct Compare<'a>(&'a Line, u32, u32);

struct Value<'a>(&'a Line, u32);

impl Work for Value<'_> {
    type Output = (u16, u32);

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> (u16, u32) {
        (lanes.value(self.0, self.1), lanes.count(0x3ff, self.1 / 2))
    }
}

impl Work for Compare<'_> {
    type Output = [u32; 3];

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> [u32; 3] {
        let Self(line, at, key) = self;
        masked(
            at,
            [
                lanes.at_most_u8(line, at, key as u8),
                lanes.at_most_u16(line, at, key as u16),
                lanes.at_most_u32(line, at & 2, key),
            ],
        )
    }
}

struct Alike<'a>(&'a [AtomicU64; 8], u64);

impl Work for Alike<'_> {
    type Output = u32;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> u32 {
        lanes.alike::<31>(self.0, self.1)
    }
}

#[test]
fn words_are_compared_above_their_low_bits() {
    let words = [5, 7, 5, 0, 5, 1 << 32, 6, 5].map(|high: u64| high << 31 | 9);
    let words = words.map(AtomicU64::new);

    for work in [Alike(&words, 5), Alike(&words, 1 << 32), Alike(&words, 4)] {
        let right = match work.1 {
            5 => 0b1001_0101,
            4 => 0,
            _ => 0b0010_0000,
        };
        assert!(all_are(|| Alike(&words, work.1), &right));
    }
}

struct AlikeWide<'a>(&'a Line, u128);

impl Work for AlikeWide<'_> {
    type Output = u32;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> u32 {
        lanes.alike_wide(self.0, self.1)
    }
}

#[test]
fn quarter_vectors_are_compared_in_all_words() {
    let quarters = [[1, 2, 3, 4], [1, 2, 0, 4], [1, 2, 3, 4], [0, 2, 3, 4]];
    let words: [u32; 16] = core::array::from_fn(|at| quarters[at / 4][at % 4]);
    let line = words.map(AtomicU32::new);
    let key = |[a, b, c, d]: [u128; 4]| d << 96 | c << 64 | b << 32 | a;

    for (quarter, right) in [
        ([1, 2, 3, 4], 0b0101),
        ([1, 2, 0, 4], 0b0010),
        ([0, 2, 3, 4], 0b1000),
        ([1, 2, 3, 5], 0),
        ([1, 0, 3, 4], 0),
    ] {
        assert!(all_are(|| AlikeWide(&line, key(quarter)), &right));
    }
}

struct Rank<'a>(&'a [u32; 16], &'a [u64; 8], u64);

impl Work for Rank<'_> {
    type Output = (u32, u32);

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> (u32, u32) {
        (
            lanes.rank(self.0, self.2 as u32),
            lanes.rank_u64(self.1, self.2),
        )
    }
}

proptest! {
    #[test]
    fn every_level_ranks_numbers_without_sign(
        narrow: [u32; 16],
        wide: [u64; 8],
        key: u64,
        lane in 0..8_usize,
    ) {
        for key in [key, wide[lane], u64::from(narrow[lane]), u64::MAX, 0] {
            let right = (
                narrow.iter().filter(|one| **one <= key as u32).count() as u32,
                wide.iter().filter(|one| **one <= key).count() as u32,
            );
            prop_assert!(all_are(|| Rank(&narrow, &wide, key), &right));
        }
    }
}

struct Pick<'a>(&'a [u64; 32], &'a [u32; 16]);

impl Work for Pick<'_> {
    type Output = [u64; 16];

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> [u64; 16] {
        lanes.pick(self.0, self.1)
    }
}

struct PlacesOf(u32);

impl Work for PlacesOf {
    type Output = Vec<u8>;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Vec<u8> {
        let count = (self.0 & 0xffff).count_ones() as usize;
        lanes.places(self.0)[..count].to_vec()
    }
}

struct Marked<'a>(u32, &'a [u32; 16]);

impl Work for Marked<'_> {
    type Output = u32;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> u32 {
        lanes.marked(self.0, self.1)
    }
}

proptest! {
    #[test]
    fn every_level_picks_what_is_at_places(
        table: [u64; 32],
        places in proptest::array::uniform16(0..32_u32),
    ) {
        let right = places.map(|place| table[place as usize]);
        prop_assert!(all_are(|| Pick(&table, &places), &right));
    }

    #[test]
    fn every_level_tells_the_places_of_bits(bits: u32) {
        let right: Vec<u8> = (0..16).filter(|place| bits >> place & 1 == 1).collect();
        prop_assert!(all_are(|| PlacesOf(bits), &right));
    }

    #[test]
    fn every_level_finds_the_marks_of_places(
        marks: u32,
        places in proptest::array::uniform16(0..32_u32),
    ) {
        let bits = places.iter().enumerate();
        let right = bits.fold(0, |bits, (at, place)| bits | (marks >> place & 1) << at);
        prop_assert!(all_are(|| Marked(marks, &places), &right));
        prop_assert!(all_are(|| Marked(u32::MAX, &places), &0xffff));
    }
}

struct Ranks<'a>(&'a [u32], &'a Every, &'a [u32; 16]);

impl Work for Ranks<'_> {
    type Output = [u32; 16];

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> [u32; 16] {
        lanes.ranks(self.0, self.1, self.2)
    }
}

struct RanksU64<'a>(&'a [u64], &'a [u64; 32], &'a [u64; 16]);

impl Work for RanksU64<'_> {
    type Output = [u32; 16];

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> [u32; 16] {
        lanes.ranks_u64(self.0, self.1, self.2)
    }
}

struct FewRanks<'a>(&'a [u64; 32], &'a [u64; 16]);

impl Work for FewRanks<'_> {
    type Output = [[u32; 16]; 2];

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> [[u32; 16]; 2] {
        let narrow = |number: u64| (number >> 32) as u32;
        let (numbers, keys) = (self.0.map(narrow), self.1.map(narrow));
        [
            lanes.few_ranks_u64(self.0, self.1),
            lanes.few_ranks(&numbers, &keys),
        ]
    }
}

struct Wide<'a>(&'a [[[u8; 16]; 3]; 16], usize);

impl Work for Wide<'_> {
    type Output = ([u128; 16], [u64; 16], [u32; 16]);

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Self::Output {
        let numbers = lanes.wide(&self.0.each_ref(), self.1);
        (numbers, lanes.highs(&numbers), lanes.tops(&numbers))
    }
}

struct Gather<'a>(&'a [u32], &'a [AtomicU32], &'a [u32; 16]);

impl Work for Gather<'_> {
    type Output = [[u32; 16]; 2];

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> [[u32; 16]; 2] {
        let Self(table, shared, places) = self;
        [
            lanes.gather(table, places),
            lanes.gather_shared(shared, places),
        ]
    }
}

proptest! {
    #[test]
    fn every_level_ranks_many_keys_among_many_numbers(
        mut narrow in proptest::collection::vec(any::<u32>(), 1..5_000),
        mut long in proptest::collection::vec(any::<u64>(), 1..1_200),
        mut keys: [u32; 16],
        mut long_keys: [u64; 16],
    ) {
        narrow.sort_unstable();
        long.sort_unstable();
        (keys[1], keys[3]) = (0, u32::MAX);
        (long_keys[1], long_keys[3]) = (0, u64::MAX);
        let (narrow_right, long_right) = (ranks(&narrow, &mut keys), ranks(&long, &mut long_keys));
        let least = |ranks: Vec<[u32; 16]>, count: usize| -> Vec<[u32; 16]> {
            let ranks = ranks.into_iter();
            ranks.map(|ranks| ranks.map(|rank| rank.min(count as u32))).collect()
        };

        let count = narrow.len();
        let (numbers, every) = parted(narrow, 16, u32::MAX);
        let every = Every::new(&numbers, every);
        for ranks in least(at_every_level(|| Ranks(&numbers, &every, &keys)), count) {
            prop_assert_eq!(ranks, narrow_right);
        }

        let count = long.len();
        let (numbers, every) = parted(long, 8, u64::MAX);
        for ranks in least(at_every_level(|| RanksU64(&numbers, &every, &long_keys)), count) {
            prop_assert_eq!(ranks, long_right);
        }
    }

    #[test]
    fn every_level_ranks_keys_among_a_few_numbers(
        mut numbers: [u64; 32],
        mut keys: [u64; 16],
        crowded: bool,
    ) {
        // The upper halves of many numbers are equal.
        for number in numbers.iter_mut().chain(&mut keys).filter(|_| crowded) {
            *number &= u64::MAX >> 29;
        }
        numbers.sort_unstable();
        for (key, number) in keys.iter_mut().step_by(2).zip(numbers.iter().step_by(4)) {
            *key = *number;
        }
        (keys[1], keys[3]) = (0, u64::MAX);
        let numbers_below = |key: u64, shift: u32| {
            let below = numbers[..31].iter().filter(|number| **number >> shift <= key >> shift);
            below.count() as u32
        };
        let right = [keys.map(|key| numbers_below(key, 0)), keys.map(|key| numbers_below(key, 32))];

        prop_assert!(all_are(|| FewRanks(&numbers, &keys), &right));
    }

    #[test]
    fn every_level_reads_the_same_wide_numbers(
        rows: [[[u8; 16]; 3]; 16],
        at in 0..50_usize,
    ) {
        let of = |row: &[[u8; 16]; 3]| {
            let bytes = row.as_flattened()[at.min(32)..].first_chunk();
            u128::from_be_bytes(*bytes.expect("a row has 48 bytes"))
        };
        let right = rows.each_ref().map(of);
        let halves = right.map(|number| (number >> 64) as u64);
        let tops = right.map(|number| (number >> 96) as u32);
        prop_assert!(all_are(|| Wide(&rows, at), &(right, halves, tops)));
    }

    #[test]
    fn every_level_gathers_what_is_there(
        table in proptest::collection::vec(any::<u32>(), 0..90),
        places in proptest::array::uniform16(0..100_u32),
    ) {
        let mut places = places;
        places[3] = u32::MAX;
        let last = table.len().saturating_sub(1);
        let right = |place: u32| table.get((place as usize).min(last)).copied();
        let right = places.map(|place| right(place).unwrap_or(0));
        let shared: Vec<AtomicU32> = table.iter().copied().map(AtomicU32::new).collect();
        prop_assert!(all_are(|| Gather(&table, &shared, &places), &[right; 2]));
    }
}

/// Returns the ranks of keys, some of which are set to existing numbers.
fn ranks<T: Copy + Ord>(numbers: &[T], keys: &mut [T; 16]) -> [u32; 16] {
    let some = numbers.iter().step_by(numbers.len().div_ceil(8));
    for (key, number) in keys.iter_mut().step_by(2).zip(some) {
        *key = *number;
    }
    keys.map(|key| numbers.partition_point(|number| *number <= key) as u32)
}

/// Masks the meaningful bits.
fn masked(at: u32, bits: [u32; 3]) -> [u32; 3] {
    let [eight, sixteen, thirty_two] = bits;
    let (eights, sixteens) = if at.is_multiple_of(2) {
        (u32::MAX, 0xffff)
    } else {
        (0xffff, 0xff)
    };
    let thirty_twos = if at < 2 { 0x3ff } else { 0xff };
    [eight & eights, sixteen & sixteens, thirty_two & thirty_twos]
}

proptest! {
    #[test]
    fn every_level_compares_every_lane_as_an_unsigned_number(
        words: [u32; 16],
        key: u32,
        at in 0..4_u32,
        lane in 0..16_usize,
    ) {
        let line: Line = words.map(AtomicU32::new);
        let equal = words[lane];
        let place = lane as u32 * 4 + key % 2 * 2;
        let value = Value(&line, place).run(Baseline);
        prop_assert!(all_are(|| Value(&line, place), &value));
        for key in [key, equal, equal.wrapping_sub(1)] {
            let right = masked(at, [
                portable::at_most_u8(&line, at, key as u8),
                portable::at_most_u16(&line, at, key as u16),
                portable::at_most_u32(&line, at & 2, key),
            ]);
            prop_assert!(all_are(|| Compare(&line, at, key), &right));
        }
    }
}

struct AtMost<'a>(&'a Line, u64);

impl Work for AtMost<'_> {
    type Output = u32;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> u32 {
        lanes.at_most_u64(self.0, self.1)
    }
}

proptest! {
    #[test]
    fn every_level_compares_numbers_of_64_bits(numbers: [u64; 8], key: u64, at in 0..16_usize) {
        let words: [u32; 16] = core::array::from_fn(|word| (numbers[word / 2] >> (word % 2 * 32)) as u32);
        let line = words.map(AtomicU32::new);
        let key = numbers.get(at).copied().unwrap_or(key);
        for key in [key, key.wrapping_sub(1), key ^ 1 << 63, 0, u64::MAX] {
            let bits = (0..8).map(|at| u32::from(numbers[at] <= key) << at);
            prop_assert!(all_are(|| AtMost(&line, key), &bits.sum()));
        }
    }
}

struct Columns<'a>(&'a [[[u8; 16]; 3]; 16]);

impl Work for Columns<'_> {
    type Output = ([[[u32; 16]; 4]; 3], u32);

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Self::Output {
        let columns = lanes.columns(&self.0.each_ref());
        (columns, lanes.zeros(&columns[2][3]))
    }
}

#[test]
fn every_level_reads_the_same_columns() {
    let part = |first: usize| core::array::from_fn(|at| (first + at) as u8);
    let mut rows: [[[u8; 16]; 3]; 16] =
        core::array::from_fn(|row| core::array::from_fn(|at| part(row * 48 + at * 16)));
    rows[3][2][12..].fill(0);
    rows[15][2][12..].fill(0);

    let (columns, zeros) = Columns(&rows).run(Baseline);

    assert!(all_are(|| Columns(&rows), &(columns, zeros)));
    assert_eq!(columns[0][0][0], 0x0001_0203);
    assert_eq!(columns[0][2][1], 0x3839_3a3b);
    assert_eq!(zeros, 1 << 3 | 1 << 15);
}

struct Squeezed<'a>(&'a [u128; 16], &'a Squeeze);

impl Work for Squeezed<'_> {
    type Output = [u32; 16];

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> [u32; 16] {
        lanes.squeeze(self.0, self.1)
    }
}

proptest! {
    #[test]
    fn squeezed_numbers_keep_their_order_among_boundaries(
        windows: [(u64, u8, u8); 2],
        distances in proptest::collection::vec((0_usize..2, 0_u64..1 << 31), 1..40),
        others: [u64; 8],
    ) {
        let boundary = |(window, distance): &(usize, u64)| {
            let (begin, shift, bits) = windows[*window];
            let distance = (distance % (1 << (bits % 31 + 1))) << (shift % 40);
            begin.saturating_add(distance)
        };
        let mut boundaries: Vec<u64> = distances.iter().map(boundary).collect();
        boundaries.sort_unstable();
        boundaries.dedup();
        let Some(squeeze) = Squeeze::of(&boundaries) else {
            return Ok(());
        };
        let near = boundaries.iter().flat_map(|one| [one.wrapping_sub(1), *one, one.wrapping_add(1)]);
        let all: Vec<u64> = near.chain(others).chain([0, u64::MAX]).collect();
        let short: Vec<u32> = boundaries.iter().map(|one| squeeze.number(*one)).collect();

        for some in all.chunks(16) {
            let numbers = core::array::from_fn(|at| {
                u128::from(some[at % some.len()]) << 64 | u128::from(others[at % 8])
            });
            let right = numbers.map(|number| squeeze.number((number >> 64) as u64));
            for (number, found) in numbers.iter().zip(right) {
                let high = (number >> 64) as u64;
                let rank = boundaries.partition_point(|one| *one <= high);
                prop_assert_eq!(short.partition_point(|one| *one <= found), rank);
            }
            prop_assert!(all_are(|| Squeezed(&numbers, &squeeze), &right));
        }
    }
}

#[test]
fn address_prefixes_are_compressed() {
    let fits = |boundaries: &[u64]| Squeeze::of(boundaries).is_some();

    // fc00::/7, fe80::/10 and ff00::/8 beside networks of one provider.
    let local = [0xfc00, 0xfe00, 0xfe80, 0xfec0, 0xff00].map(|first| first << 48);
    let provider = 0x2001_0db8_0000_0000;
    assert!(fits(
        &[&[provider, provider + 1, provider + 0x5_0000][..], &local].concat()
    ));
    assert!(fits(&[7]) && fits(&[0, u64::MAX]) && !fits(&[]));
    // Three clusters far from each other.
    assert!(!fits(&[
        1,
        2,
        1 << 40,
        (1 << 40) + 1,
        1 << 62,
        (1 << 62) + 1
    ]));
}
