//! Finds the ends that belong together: by keys, then by addresses.

pub(super) mod ipsec;
pub(super) mod ppp;
pub(super) mod tunnel;
pub(super) mod wireguard;

use std::collections::HashMap;

use super::end::{Aim, Alone, End, Pair, Pairs};

/// Description of ends without a counterpart: property that names the other router, and what happens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unpaired {
    pub(super) property: &'static str,
    pub(super) cause: &'static str,
}

/// Pairs ends of two routers: first ends with matching keys whose addresses permit the tunnel, then ends whose remote
/// address belongs to the peer router, in item order.
pub(super) fn pair<'a>(first: Vec<End<'a>>, second: Vec<End<'a>>, unpaired: Unpaired) -> Pairs<'a> {
    let mut pairs = Pairs::default();
    let mut by_key: HashMap<(String, String), Vec<usize>> = HashMap::new();
    for (at, end) in second.iter().enumerate().rev() {
        let [own, expected] = &end.keys;
        by_key
            .entry((own.clone(), expected.clone()))
            .or_default()
            .push(at);
    }
    let mut second: Vec<_> = second.into_iter().map(Some).collect();
    let mut left = Vec::new();
    for end in first {
        let [own, expected] = end.keys.clone();
        let alike = by_key.get_mut(&(expected.clone(), own.clone()));
        let is_keyed = !own.is_empty() || !expected.is_empty();
        let fitting = alike.filter(|_| is_keyed).and_then(|alike| {
            let fits = |at: &usize| second[*at].as_ref().is_some_and(|far| may_join(&end, far));
            let place = alike.iter().rposition(fits)?;
            Some(alike.remove(place))
        });
        match fitting.and_then(|at| second[at].take()) {
            Some(far) => pairs.joined.push(Pair::new(end, far)),
            None => left.push(end),
        }
    }
    pair_by_address(
        left,
        second.into_iter().flatten().collect(),
        unpaired,
        &mut pairs,
    );
    pairs
}

/// Returns true unless the addresses of two ends with matching keys lead elsewhere.
fn may_join(end: &End<'_>, far: &End<'_>) -> bool {
    let aims = [end.aim, far.aim];
    aims.contains(&Aim::Hit) || aims == [Aim::Possible; 2]
}

/// Pairs the ends that aim at the other router, in order. A wrong address is accepted from a single candidate only.
fn pair_by_address<'a>(
    first: Vec<End<'a>>,
    second: Vec<End<'a>>,
    unpaired: Unpaired,
    pairs: &mut Pairs<'a>,
) {
    let sort = |ends: Vec<End<'a>>| {
        let mut by_aim = [Vec::new(), Vec::new(), Vec::new()];
        for end in ends.into_iter().rev() {
            by_aim[end.aim as usize].push(end);
        }
        by_aim
    };
    let (
        [mut own, mut own_possible, mut own_missing],
        [mut far, mut far_possible, mut far_missing],
    ) = (sort(first), sort(second));
    let only = |ends: &mut Vec<End<'a>>| (ends.len() == 1).then(|| ends.pop())?;
    while let Some(end) = own.pop() {
        let other = far.pop().or_else(|| far_possible.pop());
        match other.or_else(|| only(&mut far_missing)) {
            Some(other) => pairs.joined.push(Pair::new(end, other)),
            None => pairs.alone.push(alone(end, unpaired)),
        }
    }
    while let Some(other) = far.pop() {
        let end = own_possible.pop();
        match end.or_else(|| only(&mut own_missing)) {
            Some(end) => pairs.joined.push(Pair::new(end, other)),
            None => pairs.alone.push(alone(other, unpaired)),
        }
    }
    // A responder for every address, and the only end that may call it.
    if let ([end], [other]) = (&own_possible[..], &far_possible[..])
        && (waits(end) || waits(other))
    {
        pairs.joined.push(Pair::new(end.clone(), other.clone()));
    }
}

/// Returns true for an end that waits for callers with any address.
fn waits(end: &End<'_>) -> bool {
    matches!(end.remote.as_str(), "0.0.0.0/0" | "::/0")
}

fn alone(end: End<'_>, unpaired: Unpaired) -> Alone<'_> {
    Alone {
        end,
        property: unpaired.property,
        cause: unpaired.cause,
    }
}
