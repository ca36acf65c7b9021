//! Tests of the traffic generator in a worker.

use std::sync::Arc;

use generator::{Counters, Fill, Layer, Rate, Receiver, Sample, Sender, Stack, Stream, Template};
use machine::Instant;

use super::{forwarded4, rig};
use crate::drop::DropReason;
use crate::generator::Generation;
use crate::rings::Command;
use crate::testing::{ETHER1, ETHER2, Rig, Udp4};

const TEST: u8 = 9;
const STREAM: u8 = 4;

/// Begins a test of one stream on `ether2`.
fn begin(rig: &mut Rig, rate: Rate, count: Option<u64>) -> Arc<Counters> {
    let stack = Stack {
        layers: vec![Layer::Mac, Layer::Ip, Layer::Udp],
        ..Stack::default()
    };
    let (header, layout, fields) = stack.build().expect("a valid stack");
    let template = Template::new(&header, &layout, fields, Fill::Byte(0), true, None);
    let stream = Stream {
        id: STREAM,
        bytes: (60, 60),
        rate,
        count,
        template: Arc::new(template.expect("a valid template")),
    };
    let counters = Arc::new(Counters::new(TEST, &[STREAM], 10, 1_000));
    let generation = Generation {
        sender: Some(Sender::new(vec![stream], Arc::clone(&counters), 0, 1)),
        egress: vec![ETHER2],
        receiver: Receiver::new(Arc::clone(&counters), &[], true),
    };
    rig.command(Command::Generate(Some(Box::new(generation))));
    counters
}

#[test]
fn frames_leave_at_their_rate_and_returning_frames_are_measured_before_the_walk() {
    let mut rig = rig();
    let thousand = Rate { pps: 1_000, bps: 0 };
    let counters = begin(&mut rig, thousand, Some(3));
    let mut sent = Vec::new();
    for milli in 0..5 {
        rig.now = Instant::from_millis(milli);
        rig.settle();
        let due = rig.workers[0].deadline();
        assert_eq!(due, (milli < 2).then(|| Instant::from_millis(milli + 1)));
        sent.push(rig.sent(1));
    }
    assert_eq!(
        sent.iter().map(Vec::len).collect::<Vec<_>>(),
        [1, 1, 1, 0, 0]
    );
    assert_eq!(rig.traffic(ETHER2).tx.packets, 3);

    let (drops, received) = (rig.drops(), rig.traffic(ETHER1).rx.packets);
    for frame in [&sent[0][0], &sent[2][0], &sent[2][0]] {
        rig.arrive(frame.clone());
    }
    let foreign = Udp4::default();
    let left = rig.pass(foreign.frame());
    assert_eq!(
        left,
        [forwarded4(&foreign.packet())],
        "others are forwarded"
    );
    assert_eq!(rig.drops(), drops);
    assert_eq!(rig.traffic(ETHER1).rx.packets - received, 4);

    let total = Sample::read([&*counters]).total();
    assert_eq!((total.sent, total.unique(), total.duplicates), (3, 2, 1));
    assert_eq!((total.missing(), total.gaps()), (1, 1));
    assert_eq!(
        (total.latency_min, total.latency_max),
        (Some(2_000_000), 4_000_000)
    );
}

#[test]
fn a_stream_without_a_rate_leaves_time_and_slots_for_forwarding() {
    let mut rig = rig();
    let counters = begin(&mut rig, Rate::default(), None);
    let foreign = Udp4::default();
    let sent = |counters: &Counters| Sample::read([counters]).total().sent;
    for _ in 0..5 {
        let before = sent(&counters);
        rig.arrive(foreign.frame());
        let step = rig.workers[0].step(rig.now);
        assert!(step.waiting, "more is due at once");
        assert!(sent(&counters) - before <= 64);
        let left = rig.sent(1);
        assert!(left.contains(&forwarded4(&foreign.packet())));
    }
    rig.command(Command::Generate(None));
    rig.settle();
    let before = sent(&counters);
    rig.settle();
    assert_eq!(sent(&counters), before, "a stopped test sends nothing");
}

#[test]
fn frames_for_an_interface_that_is_down_are_drops_and_count_as_sent() {
    let mut rig = rig();
    rig.interface(ETHER2).running = false;
    rig.publish();
    let counters = begin(&mut rig, Rate::default(), Some(2));
    rig.settle();
    assert_eq!(Sample::read([&*counters]).total().missing(), 2);
    assert!(rig.drops().contains(&(DropReason::EgressDown, 2)));
}
