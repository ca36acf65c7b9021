//! Known losses, orders, copies, delays and rates are measured exactly.

use std::sync::Arc;

use machine::Instant;
use proptest::prelude::*;

use crate::*;

fn template() -> Arc<Template> {
    let stack = Stack {
        layers: vec![Layer::Mac, Layer::Ip, Layer::Udp],
        ..Stack::default()
    };
    let (header, layout, fields) = stack.build().expect("a valid stack");
    let built = Template::new(&header, &layout, fields, Fill::Byte(0), true, Some(42));
    Arc::new(built.expect("a valid template"))
}

fn stream(id: u8, rate: Rate, count: Option<u64>) -> Stream {
    Stream {
        id,
        bytes: (60, 60),
        rate,
        count,
        template: template(),
    }
}

/// Frames of one stream, with their send times.
fn frames(count: u64, rate: Rate) -> (Vec<(Instant, Vec<u8>)>, Arc<Counters>) {
    let counters = Arc::new(Counters::new(1, &[4], 10, 1_000));
    let streams = vec![stream(4, rate, Some(count))];
    let mut sender = Sender::new(streams, Arc::clone(&counters), 0, 1);
    let (mut sent, mut now) = (Vec::new(), Instant::ZERO);
    while !sender.is_done() {
        match sender.due(now) {
            Some(due) => {
                let mut frame = vec![0; due.bytes];
                sender.write(due, now, &mut frame);
                sent.push((now, frame));
            }
            None => now = sender.deadline().expect("frames are left"),
        }
    }
    (sent, counters)
}

fn measure(counters: &Arc<Counters>, received: &[(Instant, &[u8])]) -> Figures {
    let mut receiver = Receiver::new(Arc::clone(counters), &[(4, 42)], true);
    for (at, frame) in received {
        assert_eq!(receiver.receive(frame, *at), Verdict::Counted);
    }
    Sample::read([&**counters]).total()
}

const THOUSAND: Rate = Rate { pps: 1_000, bps: 0 };

#[test]
fn a_stream_of_a_rate_sends_its_frames_at_equal_distances() {
    let (sent, _) = frames(1_001, THOUSAND);
    assert_eq!(sent[1_000].0, Instant::from_nanos(1_000_000_000));
    // 10 Mbit/s of 60 bytes: one frame in 48 microseconds.
    let (sent, _) = frames(
        101,
        Rate {
            pps: 0,
            bps: 10_000_000,
        },
    );
    assert_eq!(sent[100].0, Instant::from_nanos(4_800_000));
}

#[test]
fn every_fiftieth_frame_lost_is_a_loss_of_two_percent() {
    let (sent, counters) = frames(10_000, THOUSAND);
    let kept = sent.iter().enumerate().filter(|(at, _)| at % 50 != 7);
    let received: Vec<_> = kept.map(|(_, (at, frame))| (*at, &**frame)).collect();
    let figures = measure(&counters, &received);
    assert_eq!(
        (figures.sent, figures.missing(), figures.gaps()),
        (10_000, 200, 200)
    );
    assert_eq!((figures.late, figures.duplicates), (0, 0));
}

#[test]
fn five_milliseconds_of_delay_are_measured_exactly() {
    let (sent, counters) = frames(100, THOUSAND);
    let delay = |at: &Instant| Instant::from_nanos(at.as_nanos() + 5_000_000);
    let received: Vec<_> = sent
        .iter()
        .map(|(at, frame)| (delay(at), &**frame))
        .collect();
    let figures = measure(&counters, &received);
    assert_eq!(figures.latency_min, Some(5_000_000));
    assert_eq!(
        (figures.latency_mean(), figures.latency_max),
        (Some(5_000_000), 5_000_000)
    );
    assert_eq!(figures.jitter(), Some(0));
    // Beyond the last bucket of 10 times a microsecond.
    assert_eq!(
        (figures.distribution[10], figures.quantile(0.5)),
        (100, None)
    );
}

#[test]
fn a_late_driver_catches_up_a_bounded_burst_only() {
    let mut pace = Pace::new(THOUSAND, 3_000_000);
    assert!(pace.is_due(Instant::ZERO));
    let late = Instant::from_secs(10);
    let mut burst = 0;
    while pace.is_due(late) {
        pace.sent(60);
        burst += 1;
    }
    assert_eq!(burst, 4);
}

#[test]
fn streams_take_turns() {
    let counters = Arc::new(Counters::new(1, &[1, 2], 1, 1_000));
    let streams = vec![
        stream(1, Rate::default(), None),
        stream(2, Rate::default(), None),
    ];
    let mut sender = Sender::new(streams, counters, 0, 1);
    let turns: Vec<_> = (0..4)
        .map(|_| sender.due(Instant::ZERO).map(|due| due.stream))
        .collect();
    assert_eq!(turns, [Some(0), Some(1), Some(0), Some(1)]);
}

#[test]
fn frames_of_other_tests_are_foreign_and_unknown_streams_are_counted_apart() {
    let (sent, _) = frames(1, THOUSAND);
    let other = Arc::new(Counters::new(2, &[4], 1, 1));
    let mut receiver = Receiver::new(other, &[], true);
    assert_eq!(
        receiver.receive(&sent[0].1, Instant::ZERO),
        Verdict::Foreign
    );
    let unknown = Arc::new(Counters::new(1, &[5], 1, 1));
    let mut receiver = Receiver::new(Arc::clone(&unknown), &[], true);
    assert_eq!(
        receiver.receive(&sent[0].1, Instant::ZERO),
        Verdict::Counted
    );
    assert_eq!(Sample::read([&*unknown]).unknown, 1);
}

#[test]
fn a_changed_payload_is_a_bad_checksum() {
    let (mut sent, counters) = frames(2, THOUSAND);
    let byte = sent[1].1.len() - 8;
    sent[1].1[byte] ^= 0x10;
    let received: Vec<_> = sent.iter().map(|(at, frame)| (*at, &**frame)).collect();
    assert_eq!(measure(&counters, &received).bad_checksum, 1);
}

proptest! {
    /// Against a set of all received numbers.
    #[test]
    fn order_and_copies_are_those_of_a_plain_list(order in prop::collection::vec(0_usize..200, 1..400)) {
        let (sent, counters) = frames(200, THOUSAND);
        let received: Vec<_> = order.iter().map(|at| (Instant::from_secs(1), &*sent[*at].1)).collect();
        let figures = measure(&counters, &received);
        let (mut late, mut copies, mut end) = (0, 0, 0);
        let mut known = std::collections::BTreeSet::new();
        for at in &order {
            match (known.insert(*at), *at >= end) {
                (false, _) => copies += 1,
                (true, true) => end = at + 1,
                (true, false) => late += 1,
            }
        }
        prop_assert_eq!(figures.late, late);
        prop_assert_eq!(figures.duplicates, copies);
        prop_assert_eq!(figures.unique(), known.len() as u64);
        prop_assert_eq!(figures.gaps(), (end - known.len()) as u64);
        prop_assert_eq!(figures.missing(), 200 - known.len() as u64);
    }

    #[test]
    fn any_received_bytes_are_handled(bytes in prop::collection::vec(any::<u8>(), 0..100), tail: bool) {
        let (sent, counters) = frames(1, THOUSAND);
        let mut frame = bytes;
        if tail {
            frame.extend_from_slice(&sent[0].1[42..]);
        }
        let mut receiver = Receiver::new(counters, &[(4, 42)], true);
        let verdict = receiver.receive(&frame, Instant::ZERO);
        prop_assert_eq!(verdict == Verdict::Counted, tail);
    }
}
