//! Measures the route tables: cycles per lookup, microseconds per change, bytes per table.
//!
//! `cargo run --release -p bench --example fib`. Cycles are those of the time stamp counter. On a
//! shared machine read the first column, and compare with the reference of the same run.

#![expect(clippy::disallowed_methods, reason = "it measures real time")]

use std::sync::Arc;
use std::time::Instant;

use bench::workload::{Family, destinations, networks};
use bench::{Options, updates};
use dataplane::table::grace::Grace;
use dataplane::table::{Lpm, Network, NextHopId, Routes};
use kernels::Pages;

const VECTOR: usize = 256;
const FLOWS: usize = 64_000;
const NEXT_HOPS: usize = 64;

fn main() {
    let hz = tsc_hz();
    println!("tsc {:.3} GHz; reference {}", hz / 1e9, reference());
    println!("\nlookup, clocks per address, vectors of {VECTOR}     p10 / median   (one by one)");
    alone("IPv4, a default route alone", Network::new(0_u32, 0));
    alone("IPv6, a default route alone", Network::new(0_u128, 0));
    for count in [4, 256, 4_096, 30_000] {
        neighbours("IPv4", Network::new(0x0a00_0000_u32, 16), count);
        neighbours("IPv6", Network::new(0x2001_0db8_u128 << 96, 64), count);
    }
    for count in [1, 1_000, 100_000, 1_000_000] {
        table::<u32>("IPv4", count, hz);
        table::<u128>("IPv6", count, hz);
    }
    if std::env::args().any(|arg| arg == "lookup") {
        return;
    }
    println!("\nchange, µs                        median    p99    max");
    let options = Options {
        routes: vec![1_000_000],
        waited: Some(waited),
        ..Options::default()
    };
    let result = updates(&options, &mut |row| {
        let (name, median) = (format!("{} {}", row.family, row.change), row.us.median);
        println!(
            "{name:<30} {median:>8.2} {:>6.2} {:>6.1}",
            row.us_p99, row.us_max
        );
    });
    result.expect("room");
    println!("\nreference {}", reference());
}

fn tsc_hz() -> f64 {
    let (clock, start) = (Instant::now(), kernels::tsc());
    while clock.elapsed().as_millis() < 100 {}
    (kernels::tsc() - start) as f64 / clock.elapsed().as_secs_f64()
}

/// Returns the cycles of 1,000 dependent multiplications and additions (4,000 cycles of the core).
fn reference() -> String {
    let samples = (0..2_000).map(|_| {
        let start = kernels::tsc();
        let factor = std::hint::black_box(0x9e37_79b9_7f4a_7c15);
        let mut number = 3_u64;
        for _ in 0..1_000 {
            number = number.wrapping_mul(factor) ^ 1;
        }
        std::hint::black_box(number);
        (kernels::tsc() - start) as f64
    });
    let (p10, median, ..) = quantiles(samples.collect());
    format!("{p10:.0} / {median:.0} clocks for 4,000 cycles")
}

fn quantiles(mut samples: Vec<f64>) -> (f64, f64, f64, f64) {
    samples.sort_by(f64::total_cmp);
    let at = |part: f64| samples[((samples.len() - 1) as f64 * part) as usize];
    (at(0.1), at(0.5), at(0.99), at(1.0))
}

fn load<A: Family>(networks: &[Network<A>]) -> Routes<A> {
    let mut routes = Routes::new(Arc::new(Grace::default()), Pages::Huge).expect("address space");
    let with_id = |(at, network): (usize, &Network<A>)| {
        let id = NextHopId(1 + (at * 7 % NEXT_HOPS) as u32);
        (*network, id)
    };
    routes
        .change(networks.iter().enumerate().map(with_id))
        .expect("room");
    routes
}

fn table<A: Family>(name: &str, count: usize, hz: f64) {
    let networks = networks::<A>(count, 1);
    let start = kernels::tsc();
    let routes = load(&networks);
    let loaded = (kernels::tsc() - start) as f64 / hz;
    let flows = destinations(&networks, FLOWS, 2);
    let fib = routes.fib();
    let (p10, median) = by_vector(fib, &flows);
    let (single, _) = one_by_one(fib, &flows);
    println!(
        "{name} {count:>9} routes  {:>6.2} MB  load {loaded:.2} s   {p10:>5.1} / {median:<5.1} ({single:.1})",
        routes.bytes() as f64 / 1e6,
    );
}

/// Returns the cycles per lookup of each section of the flows, in the fastest and the median round.
fn rounds<A: Family>(flows: &[A], mut lookup: impl FnMut(&[A])) -> (f64, f64) {
    let (mut quiet, mut usual, mut stretches) = (0.0, 0.0, 0.0);
    let parts: Vec<_> = flows.chunks_exact(16 * VECTOR).collect();
    let mut samples = vec![Vec::new(); parts.len()];
    for _ in 0..200 {
        for (part, samples) in parts.iter().zip(&mut samples) {
            let start = kernels::tsc();
            lookup(part);
            samples.push((kernels::tsc() - start) as f64 / part.len() as f64);
        }
    }
    for samples in samples {
        let (p10, median, ..) = quantiles(samples);
        quiet += p10;
        usual += median;
        stretches += 1.0;
    }
    (quiet / stretches, usual / stretches)
}

/// Measures traffic along the only route.
fn alone<A: Family>(name: &str, network: Network<A>) {
    let routes = load(&[network]);
    let mut rng = machine::Rng::seeded(3);
    let flows: Vec<A> = (0..FLOWS).map(|_| A::random(&mut rng)).collect();
    let (p10, median) = by_vector(routes.fib(), &flows);
    println!("{name:<48} {p10:>5.1} / {median:<5.1}");
}

/// Measures traffic to the neighbours of one link, each with a host route.
fn neighbours<A: Family>(name: &str, link: Network<A>, count: usize) {
    let mut rng = machine::Rng::seeded(5);
    let hosts: Vec<A> = (0..count).map(|_| A::random_in(link, &mut rng)).collect();
    let networks = hosts.iter().map(|host| Network::new(*host, A::BITS));
    let routes = load(
        &networks
            .chain([link, Network::default()])
            .collect::<Vec<_>>(),
    );
    let flows: Vec<A> = (0..FLOWS)
        .map(|_| hosts[rng.below(count as u64) as usize])
        .collect();
    let (p10, median) = by_vector(routes.fib(), &flows);
    let (name, mb) = (
        format!("{name} {count:>9} neighbours"),
        routes.bytes() as f64 / 1e6,
    );
    println!("{name:<25} {mb:>6.2} MB               {p10:>5.1} / {median:<5.1}");
}

fn by_vector<A: Family>(fib: &Lpm<A>, flows: &[A]) -> (f64, f64) {
    let mut out = [NextHopId::NO_ROUTE; VECTOR];
    rounds(flows, |part| {
        for vector in part.chunks(VECTOR) {
            fib.lookup_vector(vector, &mut out);
            std::hint::black_box(&out);
        }
    })
}

fn one_by_one<A: Family>(fib: &Lpm<A>, flows: &[A]) -> (f64, f64) {
    rounds(flows, |part| {
        for flow in part {
            std::hint::black_box(fib.lookup(*flow));
        }
    })
}

/// Returns how long this thread has waited for a processor; samples in which it waited are not
/// counted.
fn waited() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    stat.split_whitespace().nth(1)?.parse().ok()
}
