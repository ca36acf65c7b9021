//! Sets of values as sorted ranges, and classes of packets: a set of values for each field.

/// A set of numbers: sorted, disjoint ranges with both ends included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranges(Vec<(u128, u128)>);

impl Ranges {
    /// Creates a set of ranges in any order; empty ranges are left out.
    pub fn new(ranges: impl IntoIterator<Item = (u128, u128)>) -> Self {
        let mut all: Vec<_> = ranges.into_iter().filter(|(from, to)| from <= to).collect();
        all.sort_unstable();
        let mut joined: Vec<(u128, u128)> = Vec::with_capacity(all.len());
        for (from, to) in all {
            match joined.last_mut() {
                Some((_, last)) if from <= last.saturating_add(1) => *last = to.max(*last),
                _ => joined.push((from, to)),
            }
        }
        Self(joined)
    }

    /// Creates the set of one number.
    pub fn single(value: u128) -> Self {
        Self(vec![(value, value)])
    }

    /// Returns the ranges.
    pub fn iter(&self) -> impl Iterator<Item = (u128, u128)> {
        self.0.iter().copied()
    }

    /// Returns true for the empty set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if the set has the number.
    pub fn contains(&self, value: u128) -> bool {
        self.0
            .iter()
            .any(|(from, to)| (*from..=*to).contains(&value))
    }

    /// Returns the numbers of both sets.
    pub fn intersect(&self, other: &Self) -> Self {
        let (mut at, mut from_other) = (0, 0);
        let mut both = Vec::new();
        while let (Some(own), Some(theirs)) = (self.0.get(at), other.0.get(from_other)) {
            let (from, to) = (own.0.max(theirs.0), own.1.min(theirs.1));
            if from <= to {
                both.push((from, to));
            }
            match own.1 < theirs.1 {
                true => at += 1,
                false => from_other += 1,
            }
        }
        Self(both)
    }

    /// Returns true if both sets have a number.
    fn meets(&self, other: &Self) -> bool {
        let (mut own, mut theirs) = (self.0.iter(), other.0.iter());
        let (mut left, mut right) = (own.next(), theirs.next());
        while let (Some(one), Some(another)) = (left, right) {
            if one.0.max(another.0) <= one.1.min(another.1) {
                return true;
            }
            match one.1 < another.1 {
                true => left = own.next(),
                false => right = theirs.next(),
            }
        }
        false
    }

    /// Returns the numbers of this set that the other one lacks.
    pub fn subtract(&self, other: &Self) -> Self {
        let mut rest = Vec::new();
        for (mut from, to) in self.iter() {
            let mut is_done = false;
            for (cut_from, cut_to) in other.iter() {
                if cut_to < from {
                    continue;
                }
                if cut_from > to {
                    break;
                }
                if cut_from > from {
                    rest.push((from, cut_from - 1));
                }
                if cut_to >= to {
                    is_done = true;
                    break;
                }
                from = cut_to + 1;
            }
            if !is_done {
                rest.push((from, to));
            }
        }
        Self::new(rest)
    }
}

/// Fields of packets that rules compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// Number of the ingress interface.
    Ingress,
    /// Number of the egress interface.
    Egress,
    /// Source address.
    Source,
    /// Destination address.
    Destination,
    /// IP protocol.
    Protocol,
    /// Source port.
    SourcePort,
    /// Destination port.
    DestinationPort,
    /// State of the connection, by its position in [`STATES`].
    State,
    /// 1 if destination NAT translated the packet, else 0.
    Translated,
}

/// Names of connection states.
pub const STATES: [&str; 5] = ["new", "established", "related", "invalid", "untracked"];
/// Number of fields.
const FIELDS: usize = 9;

/// Packets whose fields have values of these sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class([Ranges; FIELDS]);

impl Class {
    /// Creates the class of all packets of an address family with `interfaces` interfaces.
    pub fn all(is_ipv6: bool, interfaces: usize) -> Self {
        let up_to = |last: u128| Ranges::new([(0, last)]);
        let addresses = match is_ipv6 {
            true => u128::MAX,
            false => u128::from(u32::MAX),
        };
        let ports = u128::from(u16::MAX);
        let interfaces = interfaces.saturating_sub(1) as u128;
        Self([
            up_to(interfaces),
            up_to(interfaces),
            up_to(addresses),
            up_to(addresses),
            up_to(255),
            up_to(ports),
            up_to(ports),
            up_to(STATES.len() as u128 - 1),
            up_to(1),
        ])
    }

    /// Returns the values of a field.
    pub fn values(&self, field: Field) -> &Ranges {
        &self.0[field as usize]
    }

    /// Replaces the values of a field.
    pub fn with(mut self, field: Field, values: Ranges) -> Self {
        self.0[field as usize] = values;
        self
    }

    /// Limits a field to values.
    pub fn limited(mut self, field: Field, values: &Ranges) -> Self {
        let limited = self.0[field as usize].intersect(values);
        self.0[field as usize] = limited;
        self
    }

    /// Returns true if no packet is in the class.
    pub fn is_empty(&self) -> bool {
        self.0.iter().any(Ranges::is_empty)
    }

    /// Returns the packets of both classes; `None` if there are none.
    pub fn intersect(&self, other: &Self) -> Option<Self> {
        self.meets(other)
            .then(|| Self(std::array::from_fn(|at| self.0[at].intersect(&other.0[at]))))
    }

    /// Returns true if a packet is in both classes.
    fn meets(&self, other: &Self) -> bool {
        self.0
            .iter()
            .zip(&other.0)
            .all(|(own, other)| own.meets(other))
    }

    /// Returns disjoint classes of the packets that the other class lacks.
    pub fn subtract(&self, other: &Self) -> Vec<Self> {
        if !self.meets(other) {
            return vec![self.clone()];
        }
        let mut rest = Vec::new();
        let mut inside = self.clone();
        for at in 0..FIELDS {
            let outside = inside.0[at].subtract(&other.0[at]);
            if !outside.is_empty() {
                let mut piece = inside.clone();
                piece.0[at] = outside;
                rest.push(piece);
            }
            inside.0[at] = inside.0[at].intersect(&other.0[at]);
        }
        rest
    }
}

/// Returns the packets of `classes` without the packets of `others`; `None` beyond `limit` classes.
pub fn difference(classes: &[Class], others: &[Class], limit: usize) -> Option<Vec<Class>> {
    let mut rest = classes.to_vec();
    for other in others {
        if !rest.iter().any(|class| class.meets(other)) {
            continue;
        }
        rest = rest
            .iter()
            .flat_map(|class| class.subtract(other))
            .collect();
        if rest.len() > limit {
            return None;
        }
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pseudo-random generator for sets of small numbers.
    fn sets(seed: &mut u64) -> Ranges {
        let mut next = || {
            *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            u128::from(*seed >> 58)
        };
        let count = next() % 4;
        Ranges::new((0..count).map(|_| {
            let from = next();
            (from, from + next() % 9)
        }))
    }

    #[test]
    fn set_operations_are_those_of_each_number() {
        let mut seed = 7;
        for _ in 0..2000 {
            let (a, b) = (sets(&mut seed), sets(&mut seed));
            let (both, rest) = (a.intersect(&b), a.subtract(&b));
            for value in 0..80 {
                assert_eq!(a.meets(&b), !both.is_empty());
                assert_eq!(both.contains(value), a.contains(value) && b.contains(value));
                assert_eq!(
                    rest.contains(value),
                    a.contains(value) && !b.contains(value)
                );
            }
        }
    }

    #[test]
    fn the_rest_of_a_class_is_disjoint_and_complete() {
        let mut seed = 11;
        let all = Class::all(false, 2);
        for _ in 0..300 {
            let mut class = || {
                let fields = [Field::Source, Field::Destination, Field::DestinationPort];
                let class = all.clone();
                fields.iter().fold(class, |class, field| {
                    class.limited(*field, &sets(&mut seed))
                })
            };
            let (a, b) = (class(), class());
            let rest = a.subtract(&b);
            for point in 0..4096_u128 {
                let packet = [point & 15, point >> 4 & 15, point >> 8];
                let has = |class: &Class| {
                    let values =
                        [Field::Source, Field::Destination, Field::DestinationPort].into_iter();
                    values
                        .zip(packet)
                        .all(|(field, value)| class.values(field).contains(value))
                };
                let pieces = rest.iter().filter(|piece| has(piece)).count();
                assert_eq!(pieces, usize::from(has(&a) && !has(&b)));
            }
        }
    }
}
