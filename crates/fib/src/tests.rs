//! Compares the route tables with an ordered map that is searched prefix length by prefix length.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use kernels::Pages;
use machine::Rng;
use proptest::prelude::*;

use super::grace::Grace;
use super::{Address, Network, NextHopId, Routes};

/// A simple model of the table.
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
    let routes = Routes::new(Arc::new(Grace::default()), Pages::Small).expect("address space");
    (routes, Model(BTreeMap::new()))
}

/// Checks that both tables give equal results at the edges of every network and just outside.
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

/// Networks with few different bits but all prefix lengths, so that many overlap.
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
        // IPv4 uses the upper or the lower 32 bits.
        let bits = if A::BITS == 32 && bits >> 96 != 0 {
            bits >> 96
        } else {
            bits
        };
        Network::new(A::from_random(bits), len)
    })
}

/// Returns one of seven next hops, or none. Three of them need more than two bytes.
fn hop(number: u16) -> NextHopId {
    let number = u32::from(number % 7);
    NextHopId(if number > 3 {
        0xf_fff0 + number
    } else {
        number
    })
}

fn random_changes<A: Edges>(changes: Vec<(Network<A>, u16)>, also: &[A]) {
    let (mut routes, mut model) = empty();
    let half = changes.len() / 2;
    for (network, id) in &changes[..half] {
        // Every second change removes an existing route.
        let (network, id) = match model.0.keys().nth(usize::from(*id)) {
            Some(network) if id % 2 == 1 => (*network, NextHopId::NO_ROUTE),
            _ => (*network, hop(*id)),
        };
        assert_eq!(routes.get(network), model.0.get(&network).copied());
        assert_eq!(routes.insert(network, id), Ok(model.put(network, id)));
    }
    agree(&routes, &model, also);

    let many = changes[half..]
        .iter()
        .map(|(network, id)| (*network, hop(id % 5)));
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

/// For each of a few destinations the result alternates between two values while other routes change. Readers
/// must never see a third value.
fn readers_see_old_or_new<A: Edges>(wanted: Vec<(Network<A>, A)>, noise: Vec<Network<A>>) {
    const ROUNDS: usize = 3_000;
    let grace = Arc::new(Grace::default());
    let mut routes = Routes::new(Arc::clone(&grace), Pages::Small).expect("address space");
    let mut noise = noise;
    for (network, _) in &wanted {
        noise.retain(|other| other != network);
        routes.insert(*network, NextHopId(1)).expect("room");
    }
    let destinations: Vec<A> = wanted.iter().map(|(_, address)| *address).collect();
    let done = AtomicBool::new(false);
    let looked = AtomicU64::new(0);

    std::thread::scope(|scope| {
        for _ in 0..2 {
            let mut reader = grace.reader().expect("a free place");
            let (fib, destinations) = (Arc::clone(routes.fib()), &destinations);
            let (done, looked) = (&done, &looked);
            scope.spawn(move || {
                let mut out = vec![NextHopId::NO_ROUTE; destinations.len()];
                while !done.load(Ordering::Relaxed) {
                    reader.pass();
                    fib.lookup_vector(destinations, &mut out);
                    let strange = out.iter().position(|id| !matches!(id.0, 1 | 2));
                    assert_eq!(strange.map(|at| (destinations[at], out[at])), None);
                    looked.fetch_add(1, Ordering::Relaxed);
                    if looked.load(Ordering::Relaxed) % 64 == 0 {
                        reader.sleep();
                    }
                }
            });
        }
        let mut rng = Rng::seeded(9);
        // Runs all rounds, and continues until the readers have made enough lookups.
        let mut round = 0;
        while round < ROUNDS || (looked.load(Ordering::Relaxed) < 100 && round < 100 * ROUNDS) {
            round += 1;
            for _ in 0..8 {
                let other = noise[rng.below(noise.len() as u64) as usize];
                // Less specific than the tested routes or beside them, never more specific.
                let id = NextHopId([0, 1, 2][rng.below(3) as usize]);
                routes.insert(other, id).expect("room");
            }
            let (network, _) = wanted[round % wanted.len()];
            let id = NextHopId(1 + rng.below(2) as u32);
            routes.insert(network, id).expect("room");
        }
        done.store(true, Ordering::Relaxed);
    });
    // Freed memory was reused: the table did not grow with the number of changes.
    assert!(routes.bytes() < 4 << 20, "{} bytes", routes.bytes());
}

#[test]
fn ipv4_readers_see_the_old_or_the_new_answer() {
    let lan = 0xc0a8_0000_u32;
    let hosts = (0..200).map(|host| (Network::new(lan | (host * 7), 32), lan | (host * 7)));
    let nets = (0..50_u32).map(|net| {
        (
            Network::new(net << 26 | 0x123_4500, 24),
            net << 26 | 0x123_4567,
        )
    });
    let mut rng = Rng::seeded(4);
    let noise = (0..600).map(|_| match rng.below(4) {
        0 => Network::new(lan | (rng.next_u32() & 0xffff), 25 + rng.below(8) as u8),
        1 => Network::new(lan, rng.below(25) as u8),
        2 => Network::new(rng.next_u32(), rng.below(25) as u8),
        _ => Network::new(
            (rng.next_u32() << 26) | 0x123_0000,
            17 + rng.below(16) as u8,
        ),
    });

    readers_see_old_or_new(hosts.chain(nets).collect(), noise.collect());
}

#[test]
fn ipv6_readers_see_the_old_or_the_new_answer() {
    let lan = 0x2001_0db8_0000_0007_u128 << 64;
    let hosts = (0..200).map(|host| (Network::new(lan | (host * 7), 128), lan | (host * 7)));
    let link = (0..9_u128).map(|host| {
        let address = (0xfe80 << 112) | (host << 70);
        (Network::new(address, 64), address | 1)
    });
    let mut rng = Rng::seeded(6);
    let noise = (0..600).map(|_| match rng.below(4) {
        0 => Network::new(
            lan | u128::from(rng.below(3_000)),
            100 + rng.below(29) as u8,
        ),
        1 => Network::new(lan, rng.below(101) as u8),
        2 => Network::new(u128::from(rng.next_u64()) << 64, rng.below(49) as u8),
        _ => Network::new(0xfe80 << 112, rng.below(60) as u8),
    });

    readers_see_old_or_new(hosts.chain(link).collect(), noise.collect());
}

/// Many consecutive addresses with a distinct next hop each, as with PPP sessions; most next hops need more
/// than two bytes.
fn own_next_hops<A: Edges>(networks: impl Iterator<Item = Network<A>>) {
    let (mut routes, mut model) = empty();
    let networks: Vec<_> = networks.collect();
    for (network, id) in networks.iter().zip(0xfe00..) {
        let id = NextHopId(id);
        assert_eq!(routes.insert(*network, id), Ok(model.put(*network, id)));
    }
    agree(&routes, &model, &[]);
    let bytes = routes.bytes();

    for network in &networks {
        assert_eq!(routes.remove(*network), Ok(model.0.remove(network)));
    }
    agree(&routes, &model, &[]);
    for (network, id) in networks.iter().zip(0xfe00..) {
        routes.insert(*network, NextHopId(id)).expect("room");
    }
    assert!(routes.bytes() < bytes * 3 / 2, "{} {bytes}", routes.bytes());
}

#[test]
fn consecutive_ipv4_addresses_have_separate_next_hops() {
    let pool = (0..4_000).map(|host| Network::new(0x0a40_0000_u32 | host, 32));
    let links = (0..600).map(|link| Network::new(0x6440_0000_u32 | link << 8, 24));
    own_next_hops(pool.chain(links));
}

#[test]
fn consecutive_ipv6_networks_have_separate_next_hops() {
    let prefix = 0x2001_0db8_u128 << 96;
    let links = (0..3_000).map(|link| Network::new(prefix | link << 64, 64));
    let delegated = (0..600).map(|site| Network::new(prefix | 1 << 95 | site << 72, 56));
    let hosts = (0..600).map(|link| Network::new(prefix | link << 64 | 2, 128));
    own_next_hops(links.chain(delegated).chain(hosts));
}
