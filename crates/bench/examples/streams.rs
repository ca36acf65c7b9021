//! Measures stream matchers: cycles per packet of 1,400 bytes through 50 `layer7-protocol` rules,
//! through 50 `tls-host` rules, and for the first packet of QUIC; and the time to compile these
//! rules. `cargo run --release -p bench --example streams`.

#![expect(clippy::disallowed_methods, reason = "it measures real time")]

use std::cell::Cell;
use std::sync::Arc;

use dataplane::packet::{Fields, Tuple, protocol};
use dataplane::rule::{
    Action, AddressTypes, Carrier, Chain, ChainId, Class, CompileMode, Facts, Glob, Helper,
    Hotspot, Layer7, List, Match, Matcher, Nothing, Rule, RuleCounters, StreamPatterns,
    StreamState, Subject, Table, Watch, Worker, run,
};
use kernels::tsc;

const COUNT: u32 = 50;
const ROUNDS: usize = 501;

/// An established connection.
struct Known {
    kept: Cell<StreamState>,
    sought: StreamPatterns,
}

impl Facts for Known {
    fn carrier(&self) -> Carrier {
        Carrier::Known {
            kept: self.kept.get(),
            reply: false,
        }
    }

    fn keep(&self, kept: StreamState) {
        self.kept.set(kept);
    }

    fn sought(&self) -> Option<&StreamPatterns> {
        Some(&self.sought)
    }

    fn bytes(&self) -> Option<u64> {
        Nothing.bytes()
    }

    fn rate_bps(&self) -> Option<u64> {
        Nothing.rate_bps()
    }

    fn helper(&self) -> Option<Helper> {
        Nothing.helper()
    }

    fn original(&self) -> Option<Tuple> {
        Nothing.original()
    }

    fn address_types(&self, address: u128, ipv6: bool) -> AddressTypes {
        Nothing.address_types(address, ipv6)
    }

    fn realm(&self) -> Option<u32> {
        Nothing.realm()
    }

    fn is_mapped(&self, _tuple: &Tuple) -> bool {
        false
    }

    fn hotspot(&self) -> Hotspot {
        Nothing.hotspot()
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

fn main() {
    let anchored = |n| format!("^(get|post|hello) .*service{n}[0-9]*\\.example");
    let loose = |n| format!("service{n}[0-9]*\\.example");
    let both = |n| format!("{n}x.+(service{n}).*$");
    let pattern = |text: String| Layer7::new("x", &text).map(Match::Layer7);
    let text = b"GET /a/path/that/goes/on HTTP/1.1\r\nHost: www.service.example\r\n".repeat(30);
    let http = packet(protocol::TCP, &text[..1400]);
    for (name, make) in [
        ("layer7, anchored", &anchored as &dyn Fn(u32) -> String),
        ("layer7, anywhere", &loose),
        ("layer7, with gaps", &both),
    ] {
        row(
            name,
            (0..COUNT).filter_map(|n| pattern(make(n)).ok()),
            &http,
        );
    }
    let globs = [
        ("tls-host, below names", "*.site"),
        ("tls-host, anywhere", "*site"),
    ];
    for (name, front) in globs {
        let glob = |n| format!("{front}{n}.example{}", &front[..front.len() - 5]);
        let globs = (0..COUNT).map(|n| Match::TlsHost(Glob::new(&glob(n))));
        row(name, globs, &packet(protocol::TCP, &hello()));
    }
    let globs = (0..COUNT).map(|n| Match::TlsHost(Glob::new(&format!("*.site{n}.example"))));
    row("tls-host, QUIC", globs, &packet(protocol::UDP, &wrong()));
}

/// Measures a packet as the first of its connection, and on a connection whose stream has been
/// classified.
fn row(name: &str, matchers: impl Iterator<Item = Match>, packet: &[u8]) {
    let rules = matchers
        .zip(0..)
        .map(|(what, id)| Arc::new(Rule::new(id, vec![what.into()], Action::Drop)));
    let table = Table::compile(None, vec![(Arc::from("forward"), rules.collect())]);
    let start = std::time::Instant::now();
    let sought = StreamPatterns::default().follow([&table].into_iter(), CompileMode::Joined);
    let compiled = start.elapsed();
    let mut worker = Worker::new(Arc::new(RuleCounters::default()), 1);
    let fields = Fields::of(packet);
    let mut clocks = [Vec::new(), Vec::new()];
    for round in 0..ROUNDS {
        worker.clock.now = machine::Instant::from_secs(1 + round as u64);
        let known = Known {
            kept: Cell::default(),
            sought: sought.clone(),
        };
        let mut ask = || {
            let mut subject = Subject::new(&fields, packet, Class(1));
            let start = tsc();
            run(
                &table,
                ChainId(0),
                &mut subject,
                &known,
                &mut worker,
                &mut Quiet,
            );
            tsc() - start
        };
        clocks[0].push(ask());
        for _ in 0..12 {
            ask();
        }
        clocks[1].push(ask());
    }
    let [first, later] = clocks.map(|mut clocks| {
        clocks.sort_unstable();
        clocks[clocks.len() / 2]
    });
    println!("{name:>22}: first {first:>7}, later {later:>6} clocks; compiled in {compiled:.1?}");
}

fn packet(number: u8, payload: &[u8]) -> Vec<u8> {
    let upper: usize = if number == protocol::TCP { 20 } else { 8 };
    let len = (20 + upper + payload.len()) as u16;
    let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, number, 0, 0];
    packet[2..4].copy_from_slice(&len.to_be_bytes());
    packet.extend([10, 0, 0, 1, 192, 0, 2, 9, 0x13, 0x88, 0x01, 0xbb]);
    packet.resize(20 + upper, 0);
    if number == protocol::TCP {
        (packet[32], packet[33]) = (0x50, 0x10);
    }
    packet.extend(payload);
    packet
}

/// Returns a ClientHello for `www.site.example` of about 1,400 bytes.
fn hello() -> Vec<u8> {
    let long = |bytes: &[u8]| [&(bytes.len() as u16).to_be_bytes(), bytes].concat();
    let name = long(&[&[0], long(b"www.site.example").as_slice()].concat());
    let share = vec![7; 1250];
    let extensions = [&[0, 51][..], &long(&share), &[0, 0], &long(&name)].concat();
    let body = [
        &[3, 3][..],
        &[9; 32],
        &[0, 0, 2, 0x13, 1, 1, 0],
        &long(&extensions),
    ]
    .concat();
    let len = (body.len() as u32).to_be_bytes();
    let handshake = [&[1], &len[1..], &body].concat();
    [&[22, 3, 1], long(&handshake).as_slice()].concat()
}

/// Returns an Initial packet that fails to decrypt: it costs as much as a correct one, except for
/// the host name.
fn wrong() -> Vec<u8> {
    [
        &[0xc0, 0, 0, 0, 1, 8],
        &[7; 8][..],
        &[0, 0, 0x44, 0x9e],
        &[9; 1182],
    ]
    .concat()
}
