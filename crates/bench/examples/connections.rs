//! Measures connection tracking: time stamp counter cycles per tracked packet by number of
//! connections, cycles per new connection, and memory for the requested number of entries.
//!
//! `cargo run --release -p bench --example connections -- [ENTRIES]`

#![expect(clippy::disallowed_methods, reason = "it measures real time")]

use std::sync::Arc;

use dataplane::connection::{BatchLookup, Settings, Setup, TOGETHER, Table, Tick, Tracker};
use dataplane::packet::{Fields, Tuple, protocol};
use machine::{Instant, Rng};

const VECTOR: usize = 256;
const ROUNDS: usize = 4_000;

fn tuple(number: u32, protocol: u8, ipv6: bool) -> Tuple {
    let high = if ipv6 { 0xfd00 << 112 } else { 0 };
    Tuple {
        source: high | u128::from(0x0a00_0000 + number / 50_000),
        destination: high | 0xc000_0201,
        source_port: 1_024 + (number % 50_000) as u16,
        destination_port: 443,
        protocol,
        ipv6,
    }
}

/// Returns an IP packet of at least 46 bytes; for TCP an ACK of a connection whose SYN has sequence
/// number 0.
fn packet(tuple: &Tuple, flags: u8) -> Vec<u8> {
    let mut packet = vec![0; if tuple.ipv6 { 40 } else { 20 }];
    let upper = if tuple.protocol == protocol::TCP {
        26
    } else {
        20_u8
    };
    if tuple.ipv6 {
        (packet[0], packet[5], packet[6], packet[7]) = (0x60, upper, tuple.protocol, 64);
        packet[8..24].copy_from_slice(&tuple.source.to_be_bytes());
        packet[24..40].copy_from_slice(&tuple.destination.to_be_bytes());
    } else {
        (packet[0], packet[3], packet[8], packet[9]) = (0x45, 20 + upper, 64, tuple.protocol);
        packet[12..16].copy_from_slice(&(tuple.source as u32).to_be_bytes());
        packet[16..20].copy_from_slice(&(tuple.destination as u32).to_be_bytes());
    }
    packet.extend(tuple.source_port.to_be_bytes());
    packet.extend(tuple.destination_port.to_be_bytes());
    if tuple.protocol == protocol::TCP {
        let first = u8::from(flags & 2 == 0);
        packet.extend([
            0, 0, 0, first, 0, 0, 0, 1, 0x50, flags, 0xff, 0xff, 0, 0, 0, 0,
        ]);
        packet.resize(packet.len() + 6, 0);
    } else {
        packet.extend([0, upper]);
        packet.resize(packet.len() + 14, 0);
    }
    packet
}

fn tracker(entries_max: u32) -> (Arc<Table>, Tracker) {
    let settings = Settings {
        entries_max,
        ..Settings::default()
    };
    let table = Table::new(1, entries_max).expect("address space");
    let setup = Setup {
        table: Arc::clone(&table),
        worker: 0,
        tuple_claims: None,
        settings: &settings,
    };
    let tracker = Tracker::new(setup, &mut Rng::seeded(1), Tick(64));
    (table, tracker)
}

/// Tracks one packet; a new connection enters the table.
fn show(tracker: &mut Tracker, packet: &[u8], now: Tick) {
    let fields = Fields::of(packet);
    let found = tracker.lookup(&fields.tuple);
    let track = tracker.track(found, &fields, packet, now);
    if track.way.is_none() {
        let draft = tracker.draft(&fields, packet);
        let _ = std::hint::black_box(tracker.confirm(&draft, now));
    }
}

fn establish(tracker: &mut Tracker, tuple: &Tuple) {
    let answer = tuple.reversed();
    for (tuple, flags) in [(tuple, 2), (&answer, 0x12), (tuple, 0x10)] {
        show(tracker, &packet(tuple, flags), Tick(64));
    }
}

/// Returns the cycles per packet of a vector: hash, both prefetches, lookup, classification, state
/// change.
fn vector<const IPV6: bool>(
    tracker: &mut Tracker,
    packets: &[Vec<u8>],
    fields: &[Fields],
    now: Tick,
) -> u64 {
    let start = kernels::tsc();
    for (fields, packets) in fields.chunks(TOGETHER).zip(packets.chunks(TOGETHER)) {
        let (mut ways, all) = (BatchLookup::default(), 0..fields.len());
        tracker.ask::<IPV6>(&mut ways, all.clone(), |at| fields[at].tuple);
        tracker.candidates::<_, IPV6>(kernels::Baseline, &mut ways, all.clone());
        tracker.verify::<IPV6>(&mut ways, all, |at| fields[at].tuple);
        for (at, (fields, packet)) in fields.iter().zip(packets).enumerate() {
            let way = ways.get(at);
            let found = way.or_else(|| tracker.find(tracker.hash(&fields.tuple), &fields.tuple));
            std::hint::black_box(tracker.track(found, fields, packet, now));
        }
    }
    kernels::tsc() - start
}

fn established(count: u32, protocol: u8, ipv6: bool) -> (u64, u64) {
    let (_table, mut tracker) = tracker(1 << 21);
    for number in 0..count {
        establish(&mut tracker, &tuple(number, protocol, ipv6));
    }
    let mut rng = Rng::seeded(7);
    let mut clocks: Vec<u64> = (0..ROUNDS)
        .map(|round| {
            let tuples = core::array::from_fn::<_, VECTOR, _>(|_| {
                let tuple = tuple(rng.below(count.into()) as u32, protocol, ipv6);
                if rng.percent(50) {
                    tuple.reversed()
                } else {
                    tuple
                }
            });
            let packets: Vec<_> = tuples.iter().map(|tuple| packet(tuple, 0x10)).collect();
            let fields: Vec<_> = packets.iter().map(|packet| Fields::of(packet)).collect();
            // A vector of 256 packets takes about ten microseconds.
            let now = Tick::of(Instant::from_nanos(1_000_000_000 + round as u64 * 10_000));
            match ipv6 {
                true => vector::<true>(&mut tracker, &packets, &fields, now),
                false => vector::<false>(&mut tracker, &packets, &fields, now),
            }
        })
        .collect();
    clocks.sort_unstable();
    let per_packet = |clocks: u64| clocks / VECTOR as u64;
    (
        per_packet(clocks[ROUNDS / 2]),
        per_packet(clocks[ROUNDS / 10]),
    )
}

/// Returns the cycles for a connection's first packet, from its hash until the connection is in the
/// table, including expiry and parsing.
fn fresh(protocol: u8, ipv6: bool) -> u64 {
    let (_table, mut tracker) = tracker(1 << 20);
    let packets: Vec<_> = (0..500_000)
        .map(|number| packet(&tuple(number, protocol, ipv6), 2))
        .collect();
    let start = kernels::tsc();
    for vector in packets.chunks(VECTOR) {
        for packet in vector {
            let tuple = Fields::of(packet).tuple;
            tracker.prefetch(tracker.hash(&tuple), tuple.ipv6);
        }
        vector
            .iter()
            .for_each(|packet| show(&mut tracker, packet, Tick(64)));
        tracker.tick(Tick(64), 64);
    }
    (kernels::tsc() - start) / packets.len() as u64
}

fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages = statm
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok());
    pages.expect("a number of pages") * 4_096
}

fn memory(entries: u32) {
    let before = resident_bytes();
    let (table, mut tracker) = tracker(entries);
    for number in 0..entries {
        show(
            &mut tracker,
            &packet(&tuple(number, protocol::UDP, false), 0),
            Tick(64),
        );
    }
    let bytes = resident_bytes() - before;
    println!(
        "{} IPv4 entries: {} MB, {} bytes each; {} of them in the index",
        table.totals().0,
        bytes >> 20,
        bytes / u64::from(entries),
        tracker.index_bytes() as u64 / u64::from(entries),
    );
    // The lookup of a trace.
    let absent = tuple(entries, protocol::UDP, false);
    let start = std::time::Instant::now();
    assert!(table.known(&absent).is_none());
    println!(
        "none between two ends: {:.1} µs",
        start.elapsed().as_secs_f64() * 1e6
    );
}

fn main() {
    if let Some(entries) = std::env::args().nth(1).and_then(|word| word.parse().ok()) {
        return memory(entries);
    }
    println!("clocks per packet, median (tenth percentile)");
    for count in [1, 1_000, 64_000, 1_000_000] {
        for (name, protocol, ipv6) in [
            ("udp ipv4", protocol::UDP, false),
            ("tcp ipv4", protocol::TCP, false),
            ("udp ipv6", protocol::UDP, true),
            ("tcp ipv6", protocol::TCP, true),
        ] {
            let (median, best) = established(count, protocol, ipv6);
            println!("{count:>8} {name} {median:>5} ({best})");
        }
    }
    println!("new udp ipv4 {}", fresh(protocol::UDP, false));
    println!("new tcp ipv4 {}", fresh(protocol::TCP, false));
}
