//! Measures rules: cycles per packet for 25 and 1,000 rules of six shapes, where half of the
//! packets hit a rule (spread over all of them) and half hit none; and the cost of changing one
//! rule among 10,000. `cargo run --release -p bench --example rules`.

#![expect(clippy::disallowed_methods, reason = "it measures real time")]

use std::sync::Arc;

use dataplane::packet::{Fields, Tuple, protocol};
use dataplane::rule::{
    Action, AddressRange, Ahead, Chain, ChainId, Class, First, Ipsec, List, Marks, Match, Matcher,
    NatState, Nothing, Packets, Rule, RuleCounters, State, Subject, Table, Watch, Worker, run,
};
use kernels::tsc;
use machine::Rng;

const BATCH: usize = 256;
const PACKETS: usize = 64 * BATCH;
const ROUNDS: usize = 41;

fn main() {
    println!("instructions: {}", kernels::Level::here().name());
    println!(
        "{:>6} {:>5} {:>8} {:>8} {:>8}",
        "rules", "ip", "batch", "ahead", "single"
    );
    for ipv6 in [false, true] {
        for count in [25, 100, 1000] {
            row(count, ipv6);
        }
    }
    change();
}

/// Returns the address with this network and host number.
fn address(ipv6: bool, net: u32, host: u32) -> u128 {
    match ipv6 {
        false => u128::from(0x0a00_0000 + (net << 8) + host),
        true => 0x2001_0db8 << 96 | u128::from(net) << 64 | u128::from(host),
    }
}

/// Returns the matchers of a rule: the six shapes in turn.
fn shape(at: u32, ipv6: bool) -> Vec<Matcher> {
    let (width, nets) = if ipv6 {
        (128, [64, 56])
    } else {
        (32, [24, 16])
    };
    let net = |net, len: usize| AddressRange::prefix(address(ipv6, net, 1), nets[len], width);
    let host = |net| {
        let one = address(ipv6, net, 1);
        AddressRange {
            first: one,
            last: one,
        }
    };
    let port = |port: u32| Match::DestinationPort([(port as u16, port as u16)].into());
    let all = match at % 6 {
        0 => vec![Match::Source(net(at, 0))],
        1 => vec![Match::Destination(host(at))],
        2 => vec![Match::Protocol(protocol::TCP), port(1000 + at)],
        3 => vec![
            Match::Source(net(at << 8, 1)),
            Match::Destination(net(at, 0)),
            Match::Protocol(protocol::UDP),
            port(1000 + at),
        ],
        4 => vec![Match::Destination(host(at)), Match::Protocol(protocol::UDP)],
        _ => vec![Match::Protocol(protocol::UDP), port(1000 + at)],
    };
    all.into_iter().map(Into::into).collect()
}

/// Returns a packet that the rule `at` and no earlier rule matches; for `None` a packet that no
/// rule matches.
fn packet(at: Option<u32>, random: u32, ipv6: bool) -> Fields {
    let far = 0x8000 + random % 4096;
    let mut tuple = Tuple {
        source: address(ipv6, far, random & 0xff),
        destination: address(ipv6, far + 4096, random >> 8 & 0xff),
        source_port: random as u16,
        destination_port: 40_000 + (random >> 16) as u16 % 20_000,
        protocol: if random & 1 == 0 {
            protocol::TCP
        } else {
            protocol::UDP
        },
        ipv6,
    };
    let Some(at) = at else {
        return fields(tuple);
    };
    if [2, 3, 5].contains(&(at % 6)) {
        tuple.destination_port = 1000 + at as u16;
    }
    match at % 6 {
        0 => tuple.source = address(ipv6, at, 9),
        1 => tuple.destination = address(ipv6, at, 1),
        2 => tuple.protocol = protocol::TCP,
        3 => {
            tuple.source = address(ipv6, at << 8 | 1, 9);
            tuple.destination = address(ipv6, at, 9);
            tuple.protocol = protocol::UDP;
        }
        4 => {
            tuple.destination = address(ipv6, at, 1);
            tuple.protocol = protocol::UDP;
        }
        _ => tuple.protocol = protocol::UDP,
    }
    fields(tuple)
}

fn fields(tuple: Tuple) -> Fields {
    Fields {
        tuple,
        len: 46,
        ttl: 64,
        upper: 20,
        ..Fields::default()
    }
}

struct Vector<'a>(&'a [Fields]);

impl Packets for Vector<'_> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn fields(&self, at: usize) -> &Fields {
        &self.0[at]
    }

    #[inline(always)]
    fn classes(&self, _at: usize) -> (Class, Class) {
        (Class(1), Class(2))
    }

    #[inline(always)]
    fn state(&self, _at: usize) -> (State, NatState) {
        (State::Untracked, NatState::default())
    }

    #[inline(always)]
    fn ipsec(&self, _at: usize) -> Ipsec {
        Ipsec::default()
    }

    #[inline(always)]
    fn marks(&self, _at: usize) -> Marks {
        Marks::default()
    }
}

struct Quiet;

impl Watch for Quiet {
    const COMMITS: bool = true;

    fn tried(&mut self, _: &Chain, _: &Rule, _: Option<&Matcher>, _: &Subject<'_>) {}

    fn log(&mut self, _: &Chain, _: &Rule, _: &Subject<'_>) {}

    fn sniff(&mut self, _: &Rule, _: &Subject<'_>) {}

    fn keep(&mut self, _: &List, _: u128, _: bool) {}
}

fn row(count: u32, ipv6: bool) {
    let rules = (0..count).map(|at| Arc::new(Rule::new(at, shape(at, ipv6), Action::Accept)));
    let table = Table::compile(None, vec![(Arc::from("forward"), rules.collect())]);
    let counters = Arc::new(RuleCounters::default());
    for id in 0..count {
        counters.make_room(id);
    }
    let mut worker = Worker::new(Arc::clone(&counters), 1);
    worker.clock.now = machine::Instant::from_secs(1);
    let mut rng = Rng::seeded(7);
    let packets: Vec<Fields> = (0..PACKETS)
        .map(|_| {
            let at = rng.below(u64::from(count)) as u32;
            let at = rng.percent(50).then_some(at);
            packet(at, rng.next_u32(), ipv6)
        })
        .collect();
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        times[0].push(batches(&table, &packets, &mut worker, true));
        times[1].push(batches(&table, &packets, &mut worker, false));
        times[2].push(singles(&table, &packets, &mut worker));
    }
    let hits: u64 = (0..count).map(|id| counters.get(id).0.packets).sum();
    let median = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        (times[times.len() / 2], times[times.len() / 10])
    });
    let share = hits as f64 / (2 * ROUNDS * PACKETS) as f64;
    let ip = if ipv6 { "v6" } else { "v4" };
    let [batch, ahead, single] = median;
    let [batch, ahead, single] =
        [batch, ahead, single].map(|(median, low)| format!("{median:.1} ({low:.1})"));
    println!("{count:>6} {ip:>5} {batch:>15} {ahead:>15} {single:>15}   hits {share:.2}");
}

/// Returns the cycles per packet in batches: the lookup of candidates and, with `whole`, the rest
/// of the evaluation. The fields of a batch are copied first, as if they had just been parsed.
fn batches(table: &Table, packets: &[Fields], worker: &mut Worker, whole: bool) -> f64 {
    let mut firsts = [First::NOBODY; BATCH];
    let (mut hot, mut clocks) = ([Fields::default(); BATCH], 0);
    for batch in packets.chunks_exact(BATCH) {
        hot.copy_from_slice(batch);
        let from = tsc();
        table.ahead(ChainId(0), &Vector(&hot), &mut firsts);
        if whole {
            for (fields, first) in hot.iter().zip(firsts) {
                if first == First::NOBODY {
                    continue;
                }
                let mut subject = Subject::new(fields, &[], Class(1));
                let ahead = Ahead::of(first);
                let quiet = &mut Quiet;
                ahead.run(table, ChainId(0), &mut subject, &Nothing, worker, quiet);
            }
        }
        clocks += tsc() - from;
        std::hint::black_box(&firsts);
    }
    clocks as f64 / packets.len() as f64
}

fn singles(table: &Table, packets: &[Fields], worker: &mut Worker) -> f64 {
    let (mut hot, mut clocks) = ([Fields::default(); BATCH], 0);
    for batch in packets.chunks_exact(BATCH) {
        hot.copy_from_slice(batch);
        let from = tsc();
        for fields in &hot {
            let mut subject = Subject::new(fields, &[], Class(1));
            let quiet = &mut Quiet;
            let verdict = run(table, ChainId(0), &mut subject, &Nothing, worker, quiet);
            std::hint::black_box(verdict);
        }
        clocks += tsc() - from;
    }
    clocks as f64 / packets.len() as f64
}

/// Measures compiling 10,000 rules, and changing one of them.
fn change() {
    let rule = |at: u32| Arc::new(Rule::new(at, shape(at % 1000, false), Action::Accept));
    let mut rules: Vec<_> = (0..10_000).map(rule).collect();
    let name: Arc<str> = Arc::from("forward");
    let from = std::time::Instant::now();
    let mut table = Table::compile(None, vec![(Arc::clone(&name), rules.clone())]);
    println!("10,000 rules: {:?}", from.elapsed());
    let mut times: Vec<_> = (0..101)
        .map(|round| {
            rules[(round * 97) % 10_000] = rule(round as u32 * 31 % 1000);
            let from = std::time::Instant::now();
            let chains = vec![(Arc::clone(&name), rules.clone())];
            table = Table::compile(Some(&table), chains);
            from.elapsed()
        })
        .collect();
    times.sort();
    println!(
        "one among them: {:?} (median), {:?} (most)",
        times[50], times[100]
    );
}
