//! Tests common to all disciplines, and of the properties of each.

use std::collections::{BTreeMap, VecDeque};

use machine::{Duration, Instant};
use packet::Tuple;
use proptest::prelude::*;

use super::Discipline;
use crate::kind::*;
use crate::packet::{Packet, Payload};

/// The flow of a packet, its number in the flow, and its ECN state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Of {
    flow: u16,
    number: u32,
    marked: bool,
    understands: bool,
}

impl Payload for Of {
    fn mark_congestion(&mut self) -> bool {
        self.marked |= self.understands;
        self.understands
    }

    fn clear_class(&mut self) {}
}

fn packet(flow: u16, number: u32, bytes: u32) -> Packet<Of> {
    Packet {
        carries: Of {
            flow,
            number,
            marked: false,
            understands: false,
        },
        bytes,
        tuple: Tuple {
            source: 0x0a00_0000 + u128::from(flow),
            destination: 0x0b00_0001,
            source_port: flow,
            destination_port: 80,
            protocol: 6,
            ipv6: false,
        },
        tos: 0,
        is_ack: false,
    }
}

fn fifo(packets: u32) -> Kind {
    Kind::Fifo(Fifo {
        packets,
        bytes: u64::MAX,
    })
}

const DELAY: Delay = Delay {
    target: Duration::from_millis(5),
    interval: Duration::from_millis(100),
    ecn: false,
    ce_threshold: None,
};

fn fq_codel() -> Kind {
    Kind::FqCodel(FqCodel {
        limit: 10_240,
        flows: 1_024,
        quantum: 1_514,
        memory_bytes: 32 << 20,
        delay: DELAY,
    })
}

fn pcq(rate: u64) -> Pcq {
    Pcq {
        classify: Classify {
            source: true,
            source_bits: (32, 128),
            ..Classify::default()
        },
        rate,
        limit_bytes: 50 << 10,
        total_bytes: 2_000 << 10,
        burst_rate: 0,
        burst_threshold: 0,
        burst_time: Duration::from_secs(10),
    }
}

fn cake(bandwidth: u64) -> Cake {
    Cake {
        bandwidth,
        tins: CakeTins::Diffserv3,
        flows: CakeFlows::Triple,
        rtt: Duration::from_millis(100),
        wash: false,
        ack_filter: 0,
        line: Line::default(),
        memory_bytes: 0,
    }
}

fn kinds() -> Vec<Kind> {
    vec![
        fifo(50),
        Kind::Red(Red {
            limit: 60,
            least: 10,
            most: 50,
            burst: 20,
            packet_bytes: 1_000,
        }),
        Kind::Sfq(Sfq {
            perturb: Duration::from_secs(5),
            allot: 1_514,
        }),
        Kind::Pcq(pcq(0)),
        Kind::Pcq(pcq(1_000_000)),
        Kind::Codel(Codel {
            limit: 100,
            delay: DELAY,
        }),
        fq_codel(),
        Kind::Cake(cake(0)),
        Kind::Cake(cake(5_000_000)),
    ]
}

proptest! {
    /// After any sequence of operations every packet was sent, was dropped or waits, and each flow kept its
    /// order.
    #[test]
    fn all_drops_are_reported_and_flows_keep_their_order(
        at in 0..kinds().len(),
        steps in proptest::collection::vec((0_u16..5, 60_u32..1_514, any::<bool>(), 0_u64..20), 1..400),
    ) {
        let mut line = Discipline::new(&kinds()[at]);
        let mut now = Instant::from_secs(1);
        let (mut came, mut left) = ((0_u32, 0_u64), (0_u32, 0_u64));
        let mut last = BTreeMap::new();
        for (flow, bytes, takes, millis) in steps {
            now += Duration::from_millis(millis);
            let lose = &mut |packet: Packet<Of>, _| left = (left.0 + 1, left.1 + u64::from(packet.bytes));
            line.enqueue(packet(flow, came.0, bytes), now, lose);
            came = (came.0 + 1, came.1 + u64::from(bytes));
            let next = if takes { line.dequeue(now, lose) } else { None };
            if let Some(next) = next {
                left = (left.0 + 1, left.1 + u64::from(next.bytes));
                let before = last.insert(next.carries.flow, next.carries.number);
                prop_assert!(before < Some(next.carries.number));
            }
            let waits = (line.packets(), line.bytes());
            prop_assert_eq!((left.0 + waits.0, left.1 + waits.1), came);
            prop_assert_eq!(line.ready(now).is_some(), waits.0 > 0);
        }
        // After some time all packets leave.
        let mut tries = 0;
        while let Some(ready) = line.ready(now) {
            now = now.max(ready) + Duration::from_micros(10);
            let lose = &mut |packet: Packet<Of>, _| left = (left.0 + 1, left.1 + u64::from(packet.bytes));
            if let Some(next) = line.dequeue(now, lose) {
                left = (left.0 + 1, left.1 + u64::from(next.bytes));
            }
            tries += 1;
            prop_assert!(tries < 10_000);
        }
        prop_assert_eq!(left, came);
    }
}

/// The example in MikroTik's manual ("Queue size"): 1,610 packets in 25 steps, and 100 leave per step.
#[test]
fn the_size_of_a_queue_trades_losses_for_delay() {
    const STEPS: [u32; 25] = [
        40, 20, 70, 130, 100, 150, 50, 60, 20, 80, 100, 90, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    ];
    for size in [0, 10, 50, u32::MAX] {
        let mut line = Discipline::new(&fifo(size));
        let (mut lost, mut delayed) = (0, 0);
        let (mut model, mut model_lost) = (0_u32, 0_u32);
        for coming in STEPS {
            let mut room = 100_u32;
            // Waiting packets leave first; then arriving packets pass while there is room, and the others
            // wait.
            let waiting = line.packets().min(room);
            (0..waiting).for_each(|_| _ = line.dequeue(Instant::ZERO, &mut |_, _| {}));
            (room, delayed) = (room - waiting, delayed + waiting);
            for number in 0..coming {
                match room {
                    0 => line.enqueue(packet(0, number, 1_000), Instant::ZERO, &mut |_, _| {
                        lost += 1
                    }),
                    _ => room -= 1,
                }
            }
            let kept = model.saturating_sub(100) + coming.saturating_sub(100 - model.min(100));
            model_lost += kept.saturating_sub(size);
            model = kept.min(size);
            assert_eq!(line.packets(), model);
        }
        assert_eq!(lost, model_lost, "{size}");
        assert!(size != 0 || delayed == 0);
        assert!(size != u32::MAX || lost == 0);
    }
}

/// Returns the bytes per flow on a line with this rate, if the given number of packets of each flow always
/// waits.
fn shares(kind: &Kind, flows: &[(u16, u32)], bits: u64, millis: u64) -> Vec<u64> {
    let mut line = Discipline::new(kind);
    let mut now = Instant::from_secs(10);
    let end = now + Duration::from_millis(millis);
    let mut got = vec![0; flows.len()];
    let mut numbers = 0;
    let mut waiting = VecDeque::from(vec![0_u32; flows.len()]);
    while now < end {
        for (at, (flow, bytes)) in flows.iter().enumerate() {
            while waiting[at] < 8 {
                numbers += 1;
                waiting[at] += 1;
                let lost = &mut waiting;
                line.enqueue(packet(*flow, numbers, *bytes), now, &mut |packet, _| {
                    let of = flows
                        .iter()
                        .position(|(flow, _)| *flow == packet.carries.flow);
                    lost[of.expect("a flow")] -= 1;
                });
            }
        }
        let lost = &mut waiting;
        let next = line.dequeue(now, &mut |packet, _| {
            let of = flows
                .iter()
                .position(|(flow, _)| *flow == packet.carries.flow);
            lost[of.expect("a flow")] -= 1;
        });
        let Some(next) = next else {
            now = line
                .ready(now)
                .map_or(end, |ready| ready.max(now + Duration::from_micros(10)));
            continue;
        };
        let of = flows
            .iter()
            .position(|(flow, _)| *flow == next.carries.flow);
        let of = of.expect("a flow");
        (got[of], waiting[of]) = (got[of] + u64::from(next.bytes), waiting[of] - 1);
        now += Duration::from_nanos(u64::from(next.bytes) * 8_000_000_000 / bits);
    }
    got
}

/// Jain's fairness index.
fn jain(shares: &[u64]) -> f64 {
    let sum: f64 = shares.iter().map(|share| *share as f64).sum();
    let squares: f64 = shares.iter().map(|share| (*share as f64).powi(2)).sum();
    sum * sum / (shares.len() as f64 * squares)
}

#[test]
fn flows_share_equally_whatever_the_length_of_their_packets() {
    let flows: Vec<_> = (0..12)
        .map(|flow| (flow, 100 + u32::from(flow) * 110))
        .collect();
    for kind in [
        fq_codel(),
        Kind::Pcq(pcq(0)),
        Kind::Cake(cake(0)),
        kinds()[2].clone(),
    ] {
        let shares = shares(&kind, &flows, 10_000_000, 20_000);
        // Two SFQ flows have the same hash and share a queue.
        let least = if matches!(kind, Kind::Sfq(_)) {
            0.94
        } else {
            0.99
        };
        assert!(
            jain(&shares) > least,
            "{kind:?}: {} of {shares:?}",
            jain(&shares)
        );
    }
}

#[test]
fn each_pcq_subqueue_has_its_rate() {
    let flows: Vec<_> = (0..20).map(|flow| (flow, 1_000)).collect();
    let shares = shares(&Kind::Pcq(pcq(1_000_000)), &flows, 1_000_000_000, 10_000);
    for share in shares {
        // The token bucket of a twentieth of a second is added to the rate.
        let wanted = 1_250_000 + 6_250;
        assert!(share.abs_diff(wanted) < wanted / 100, "{share}");
    }
}

#[test]
fn ten_thousand_pcq_subqueues_are_separated_and_expire() {
    let mut settings = pcq(1_000_000);
    settings.total_bytes = u64::MAX;
    let mut line = Discipline::new(&Kind::Pcq(settings));
    let mut now = Instant::from_secs(1);
    for flow in 0..10_000 {
        line.enqueue(packet(flow, 0, 1_000), now, &mut |_, _| unreachable!());
    }
    assert_eq!((line.streams(), line.packets()), (10_000, 10_000));
    while line.dequeue(now, &mut |_, _| unreachable!()).is_some() {}
    assert_eq!(line.packets(), 0);
    now += Duration::from_secs(2);
    assert!(line.dequeue(now, &mut |_, _| unreachable!()).is_none());
    assert_eq!(line.streams(), 0);
}

#[test]
fn codel_keeps_a_standing_delay_at_its_target() {
    for kind in [kinds()[5].clone(), fq_codel()] {
        let mut line = Discipline::new(&kind);
        let mut now = Instant::from_secs(1);
        // A sender with a window that is halved after a loss and grows by one per round trip, over 10 Mbit/s.
        let (mut window, mut flying, mut number) = (20_f64, 0_u32, 0);
        let (mut acked, mut late, mut all) = (VecDeque::new(), 0_u32, 0_u32);
        let mut cut = Instant::ZERO;
        let mut came = BTreeMap::new();
        while now < Instant::from_secs(21) {
            while acked.front().is_some_and(|at| *at <= now) {
                acked.pop_front();
                flying -= 1;
                window += 1.0 / window;
            }
            let mut losses = 0;
            while f64::from(flying) < window {
                (number, flying) = (number + 1, flying + 1);
                came.insert(number, now);
                line.enqueue(packet(1, number, 1_250), now, &mut |_, _| losses += 1);
            }
            if let Some(next) = line.dequeue(now, &mut |_, _| losses += 1) {
                acked.push_back(now + Duration::from_millis(20));
                let waited = now.saturating_since(came[&next.carries.number]);
                if now > Instant::from_secs(6) {
                    (late, all) = (
                        late + u32::from(waited > Duration::from_millis(25)),
                        all + 1,
                    );
                }
            }
            flying -= losses;
            if losses > 0 && now > cut {
                window = (window / 2.0).max(2.0);
                cut = now + Duration::from_millis(30);
            }
            now += Duration::from_millis(1);
        }
        assert!(all > 13_000, "{kind:?}: the line was used: {all}");
        assert!(late * 20 < all, "{kind:?}: {late} of {all} waited long");
    }
}

#[test]
fn ecn_capable_packets_are_marked_instead_of_dropped() {
    let mut line = Discipline::new(&Kind::Codel(Codel {
        limit: 1_000,
        delay: Delay { ecn: true, ..DELAY },
    }));
    let mut now = Instant::from_secs(1);
    let mut marked = 0;
    for number in 0..2_000 {
        let mut packet = packet(1, number, 1_000);
        packet.carries.understands = true;
        line.enqueue(packet, now, &mut |_, why| assert_eq!(why, Lost::Full));
        if number % 2 == 0 {
            let next = line.dequeue(now, &mut |_, why| assert_eq!(why, Lost::Full));
            marked += u32::from(next.is_some_and(|next| next.carries.marked));
        }
        now += Duration::from_millis(1);
    }
    assert!(marked > 10, "{marked}");
}

#[test]
fn red_drops_more_with_a_longer_average_queue() {
    let mut dropped = Vec::new();
    for waiting in [5, 20, 40, 58] {
        let mut line = Discipline::new(&kinds()[1]);
        let now = Instant::from_secs(1);
        let mut lost = 0;
        for number in 0..20_000 {
            line.enqueue(packet(1, number, 1_000), now, &mut |_, why| {
                lost += u32::from(why == Lost::Early)
            });
            while line.packets() > waiting {
                line.dequeue(now, &mut |_, _| {});
            }
        }
        dropped.push(lost);
    }
    assert_eq!(dropped[0], 0, "below the lower threshold: {dropped:?}");
    assert!(dropped.is_sorted() && dropped[1] > 0, "{dropped:?}");
}

#[test]
fn cake_is_fair_among_hosts_before_flows() {
    let mut line = Discipline::new(&Kind::Cake(cake(0)));
    let now = Instant::from_secs(1);
    let mut got = [0_u64; 2];
    let mut number = 0;
    // One host has ten flows, the other has one.
    let mut fill = |line: &mut Discipline<Of>, host: u16, flow: u16| {
        number += 1;
        let mut packet = packet(host, number, 1_000);
        packet.tuple.source_port = flow;
        packet.tuple.destination = 0x0b00_0000 + u128::from(flow) * 7;
        line.enqueue(packet, now, &mut |_, _| {});
    };
    for _ in 0..20 {
        (0..10).for_each(|flow| fill(&mut line, 1, flow));
        fill(&mut line, 2, 100);
    }
    for round in 0..2_000_u32 {
        let next = line
            .dequeue(now, &mut |_, _| unreachable!())
            .expect("they wait");
        got[usize::from(next.carries.flow - 1)] += 1;
        match next.carries.flow {
            1 => fill(&mut line, 1, (round % 10) as u16),
            _ => fill(&mut line, 2, 100),
        }
    }
    assert!(got[1] > 800, "{got:?}: half of it is the second host's");
}

#[test]
fn cake_shapes_by_the_lines_overhead() {
    for (line, on_line) in [
        (Line::default(), 1_000),
        // 1,000 bytes without 14 bytes of Ethernet, with 44 bytes of the line, in cells of 53 bytes with 48
        // bytes of payload: 22 cells.
        (
            Line {
                overhead: Some(44),
                atm: true,
                ..Line::default()
            },
            22 * 53,
        ),
    ] {
        let kind = Kind::Cake(Cake {
            line,
            ..cake(10_000_000)
        });
        let shares = shares(&kind, &[(1, 1_000)], 1_000_000_000, 10_000);
        let wanted = 12_500_000 * 1_000 / on_line;
        assert!(
            shares[0].abs_diff(wanted) < wanted / 100,
            "{shares:?} of {wanted}"
        );
    }
}

#[test]
fn the_ack_filter_drops_redundant_acknowledgements() {
    let kind = Kind::Cake(Cake {
        ack_filter: 2,
        ..cake(0)
    });
    let mut line = Discipline::new(&kind);
    let mut needless = 0;
    for number in 0..10 {
        let mut packet = packet(1, number, 60);
        packet.is_ack = true;
        line.enqueue(packet, Instant::from_secs(1), &mut |_, why| {
            assert_eq!(why, Lost::Needless);
            needless += 1;
        });
    }
    assert_eq!((needless, line.packets()), (9, 1));
    let last = line
        .dequeue(Instant::from_secs(1), &mut |_, _| {})
        .expect("the last");
    assert_eq!(last.carries.number, 9);
}
