//! Prints how many frames of the traffic generator one core builds and measures in memory per second:
//! `cargo run --release -p bench --example generator`.

#![expect(clippy::disallowed_methods, reason = "it measures real time")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant as Clock;

use generator::{Counters, Fill, Layer, Rate, Receiver, Sample, Sender, Stack, Stream, Template};
use machine::Instant;

const FRAMES: u64 = 4_000_000;
const BATCH: usize = 256;

fn main() {
    for bytes in [60, 508, 1_514] {
        let stack = Stack {
            layers: vec![Layer::Mac, Layer::Ip, Layer::Udp],
            values: vec![("ip-dst", vec![(0x0a00_0000, 0x0a00_ffff)])],
            raw: Vec::new(),
        };
        let Ok((header, layout, fields)) = stack.build() else {
            return;
        };
        let Ok(template) = Template::new(&header, &layout, fields, Fill::Byte(0), true, None)
        else {
            return;
        };
        let stream = Stream {
            id: 1,
            bytes: (bytes, bytes),
            rate: Rate::default(),
            count: None,
            template: Arc::new(template),
        };
        let counters = Arc::new(Counters::new(1, &[1], 100, 1_000));
        let mut sender = Sender::new(vec![stream], Arc::clone(&counters), 0, 1);
        let mut receiver = Receiver::new(Arc::clone(&counters), &[], true);
        let mut frames = vec![vec![0; bytes]; BATCH];
        let begin = Clock::now();
        for batch in 0..FRAMES / BATCH as u64 {
            let now = Instant::from_nanos(batch * 1_000);
            for frame in &mut frames {
                if let Some(due) = sender.due(now) {
                    sender.write(due, now, black_box(frame));
                }
            }
        }
        let built = begin.elapsed();
        // The same frames again are duplicates, which cost the same.
        for batch in 0..FRAMES / BATCH as u64 {
            for frame in &frames {
                black_box(receiver.receive(black_box(frame), Instant::from_nanos(batch * 1_000)));
            }
        }
        let measured = begin.elapsed() - built;
        let total = Sample::read([&*counters]).total();
        let mpps = |seconds: f64, count: u64| count as f64 / seconds / 1e6;
        println!(
            "{:>4} bytes with FCS: builds {:.1} Mpps, measures {:.1} Mpps",
            bytes + 4,
            mpps(built.as_secs_f64(), total.sent),
            mpps(measured.as_secs_f64(), total.received),
        );
    }
}
