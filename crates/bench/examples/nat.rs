//! Measures the cycles per packet of a translation: `cargo run --release -p bench --example nat`.
//!
//! A vector of packets is rewritten in both directions within the first-level cache, so the result
//! is the cost of the arithmetic, without cache misses.

use dataplane::nat::{Action, Context, PacketLayout, Rewrite, Side, Target, Unique, choose};
use dataplane::packet::{Fields, Tuple, protocol};

const VECTOR: usize = 64;
const ROUNDS: usize = 2000;
const RUNS: usize = 31;

fn main() {
    for (name, number) in [
        ("tcp", protocol::TCP),
        ("udp", protocol::UDP),
        ("icmp", protocol::ICMP),
    ] {
        family::<4>("ipv4", name, number);
        family::<16>("ipv6", name, number);
    }
    choice();
}

/// A table in which every other port is taken.
struct Half;

impl Unique for Half {
    fn taken(&self, reply: &Tuple) -> bool {
        reply.destination_port & 1 == 0
    }
}

/// Measures the choice of a port without lookups in the connection table.
fn choice() {
    let target = Target {
        side: Side::Source,
        action: Action::Own,
        addresses: None,
        ports: None,
        randomise: false,
    };
    let context = Context {
        own: Some(0xc633_6401),
        ..Context::default()
    };
    for (name, port) in [("kept", 5001), ("another", 5000)] {
        let tuple = tuple(protocol::TCP, false, port);
        let mut packets = [[0; 64]; VECTOR];
        let chosen = clocks(&mut packets, |_, _| {
            choose(core::hint::black_box(&target), &tuple, &context, &Half).is_ok()
        });
        println!("ipv4 port {name:7} {chosen:5.1}");
    }
}

fn family<const BYTES: usize>(family: &str, name: &str, number: u8) {
    let before = tuple(number, BYTES == 16, 5000);
    let after = Tuple {
        source: before.source ^ 0x0505_0505,
        source_port: 6000,
        ..before
    };
    let there = core::hint::black_box(Rewrite::<BYTES>::of(&before, &after));
    let back = core::hint::black_box(Rewrite::<BYTES>::of(&after, &before));
    let mut packets: Vec<[u8; 64]> = (0..VECTOR).map(|_| packet(&before)).collect();
    let shape = PacketLayout::of(&Fields::of(&packets[0]), &frame::Offload::FINISHED, 0);
    let apply = clocks(&mut packets, |packet, turn| {
        let rewrite = if turn % 2 == 0 { &there } else { &back };
        rewrite.apply(packet, shape).is_ok()
    });
    println!("{family} {name:4} apply   {apply:5.1}");
    let of = clocks(&mut packets, |_, _| {
        let rewrite = Rewrite::<BYTES>::of(core::hint::black_box(&before), &after);
        !core::hint::black_box(rewrite).is_identity()
    });
    println!("{family} {name:4} of      {of:5.1}");
    if number == protocol::ICMP || number == protocol::ICMPV6 {
        return;
    }
    let forward = clocks(&mut packets, |packet, turn| {
        let rewrite = if turn % 2 == 0 { &there } else { &back };
        rewrite.forward(packet, false).is_ok()
    });
    println!("{family} {name:4} forward {forward:5.1}");
}

/// Returns the median cycles per packet over the runs.
fn clocks(packets: &mut [[u8; 64]], mut work: impl FnMut(&mut [u8], usize) -> bool) -> f64 {
    let mut runs: Vec<u64> = (0..RUNS)
        .map(|_| {
            let start = kernels::tsc();
            for turn in 0..ROUNDS {
                for packet in packets.iter_mut() {
                    assert!(work(core::hint::black_box(packet), turn));
                }
            }
            kernels::tsc().wrapping_sub(start)
        })
        .collect();
    runs.sort_unstable();
    runs[RUNS / 2] as f64 / (ROUNDS * packets.len()) as f64
}

fn tuple(number: u8, ipv6: bool, source_port: u16) -> Tuple {
    let icmp = number == protocol::ICMP;
    let echo = if ipv6 { 0x8000 } else { 0x0800 };
    Tuple {
        source: 0x0a00_0002,
        destination: 0xc000_0209,
        source_port,
        destination_port: if icmp { echo } else { 443 },
        protocol: if icmp && ipv6 {
            protocol::ICMPV6
        } else {
            number
        },
        ipv6,
    }
}

/// Returns a packet of 64 bytes with arbitrary checksums, which cost as much as correct ones.
fn packet(tuple: &Tuple) -> [u8; 64] {
    let mut packet = [7; 64];
    let upper = if tuple.ipv6 {
        packet[..8].copy_from_slice(&[0x60, 0, 0, 0, 0, 24, tuple.protocol, 64]);
        packet[8..24].copy_from_slice(&tuple.source.to_be_bytes());
        packet[24..40].copy_from_slice(&tuple.destination.to_be_bytes());
        40
    } else {
        packet[..10].copy_from_slice(&[0x45, 0, 0, 64, 0, 0, 0, 0, 64, tuple.protocol]);
        packet[12..16].copy_from_slice(&(tuple.source as u32).to_be_bytes());
        packet[16..20].copy_from_slice(&(tuple.destination as u32).to_be_bytes());
        20
    };
    let (source, destination) = (tuple.source_port, tuple.destination_port);
    let ends = match tuple.protocol {
        protocol::ICMP | protocol::ICMPV6 => [destination, 0],
        _ => [source, destination],
    };
    packet[upper..upper + 2].copy_from_slice(&ends[0].to_be_bytes());
    packet[upper + 2..upper + 4].copy_from_slice(&ends[1].to_be_bytes());
    packet
}
