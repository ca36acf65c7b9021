//! The route tables against an ordered map that is searched length by length.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::grace::Grace;
use super::{Address, Network, NextHopId, Routes};

/// The obviously right table.
#[derive(Debug)]
struct Model<A>(BTreeMap<Network<A>, NextHopId>);

impl<A: Address> Model<A> {
    fn longest(&self, destination: A) -> Option<(NextHopId, u8)> {
        (0..=A::BITS).rev().find_map(|len| {
            let id = self.0.get(&Network::new(destination, len))?;
            Some((*id, len))
        })
    }

    fn put(&mut self, network: Network<A>, id: NextHopId) -> Option<NextHopId> {
        if id == NextHopId::NO_ROUTE {
            self.0.remove(&network)
        } else {
            self.0.insert(network, id)
        }
    }
}

fn empty<A: Address>() -> (Routes<A>, Model<A>) {
    let routes = Routes::new(Arc::new(Grace::default())).expect("address space");
    (routes, Model(BTreeMap::new()))
}

/// Both tables answer alike: at the edges of every network, and just outside.
fn agree<A: Address + Edges>(routes: &Routes<A>, model: &Model<A>, also: &[A]) {
    let edges = model.0.keys().flat_map(|network| A::edges(*network));
    let mut destinations: Vec<A> = edges.chain(also.iter().copied()).collect();
    destinations.extend([A::default(), A::from_random(u128::MAX)]);
    let mut vector = vec![NextHopId(0xeeee); destinations.len()];
    routes.fib().lookup_vector(&destinations, &mut vector);
    for (destination, id) in destinations.iter().zip(vector) {
        let right = model.longest(*destination);
        let right_id = right.map_or(NextHopId::NO_ROUTE, |(id, _)| id);
        assert_eq!(id, right_id, "vector, {destination:x?}");
        assert_eq!(
            routes.fib().lookup(*destination),
            right_id,
            "{destination:x?}"
        );
        assert_eq!(
            routes.fib().lookup_longest(*destination),
            right,
            "{destination:x?}"
        );
    }
    assert_eq!(routes.len(), model.0.len());
    let mut all = BTreeMap::new();
    routes.for_each(|network, id| assert!(all.insert(network, id).is_none()));
    assert_eq!(all, model.0);
}

trait Edges: Address {
    fn edges(network: Network<Self>) -> [Self; 4];
    fn from_random(bits: u128) -> Self;
}

impl Edges for u32 {
    fn edges(network: Network<Self>) -> [Self; 4] {
        let first = network.bits();
        let last = first | Self::MAX.checked_shr(network.len().into()).unwrap_or(0);
        [first, last, first.wrapping_sub(1), last.wrapping_add(1)]
    }

    fn from_random(bits: u128) -> Self {
        bits as Self
    }
}

impl Edges for u128 {
    fn edges(network: Network<Self>) -> [Self; 4] {
        let first = network.bits();
        let last = first | Self::MAX.checked_shr(network.len().into()).unwrap_or(0);
        [first, last, first.wrapping_sub(1), last.wrapping_add(1)]
    }

    fn from_random(bits: u128) -> Self {
        bits
    }
}

/// Networks that crowd together: bits are drawn from few, lengths from all.
fn crowded<A: Edges>() -> impl Strategy<Value = Network<A>> {
    let tops = prop::sample::select(vec![
        0_u128,
        0x2001_0db8 << 96,
        (0x2001_0db8 << 96) | (0x77 << 64),
        0xfe80 << 112,
        0x3fff << 112,
    ]);
    let low = prop_oneof![0_u128..20, any::<u64>().prop_map(u128::from), any::<u128>()];
    let shift = prop::sample::select(vec![0_u32, 0, 8, 16, 64, 72, 96, 104, 112]);
    let len = prop_oneof![Just(A::BITS), 0..=A::BITS];
    (tops, low, shift, len).prop_map(|(top, low, shift, len)| {
        let bits = top | low.checked_shl(shift).unwrap_or(0);
        // IPv4 takes the top or the bottom of it.
        let bits = if A::BITS == 32 && bits >> 96 != 0 {
            bits >> 96
        } else {
            bits
        };
        Network::new(A::from_random(bits), len)
    })
}

fn random_changes<A: Edges>(changes: Vec<(Network<A>, u16)>, also: &[A]) {
    let (mut routes, mut model) = empty();
    let half = changes.len() / 2;
    for (network, id) in &changes[..half] {
        // Every other change removes something that is there.
        let (network, id) = match model.0.keys().nth(usize::from(*id)) {
            Some(network) if id % 2 == 1 => (*network, NextHopId::NO_ROUTE),
            _ => (*network, NextHopId(*id % 7)),
        };
        assert_eq!(routes.get(network), model.0.get(&network).copied());
        assert_eq!(routes.insert(network, id), Ok(model.put(network, id)));
    }
    agree(&routes, &model, also);

    let many = changes[half..]
        .iter()
        .map(|(network, id)| (*network, NextHopId(id % 5)));
    routes.change(many.clone()).expect("room");
    for (network, id) in many {
        model.put(network, id);
    }
    agree(&routes, &model, also);

    for (network, id) in &model.0 {
        assert_eq!(routes.remove(*network), Ok(Some(*id)));
    }
    model.0.clear();
    agree(&routes, &model, also);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn ipv4_agrees_with_the_model(
        changes in prop::collection::vec((crowded::<u32>(), any::<u16>().prop_map(|n| n % 300)), 1..400),
        also in prop::collection::vec(any::<u32>(), 20),
    ) {
        random_changes(changes, &also);
    }

    #[test]
    fn ipv6_agrees_with_the_model(
        changes in prop::collection::vec((crowded::<u128>(), any::<u16>().prop_map(|n| n % 300)), 1..400),
        also in prop::collection::vec(any::<u128>(), 20),
    ) {
        random_changes(changes, &also);
    }
}
