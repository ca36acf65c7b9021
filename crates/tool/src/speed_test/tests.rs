use std::collections::BTreeMap;
use std::net::IpAddr;
use std::task::Waker;

use btest::{Figures, Rates};
use menu::{Store, Value};

use super::*;
use crate::{BandwidthTests, Echoes, Ends, Ping, Pong, Responder, Router, Site};

/// A router that answers echo requests at once, and whose tests have the talk's results.
#[derive(Default)]
struct World {
    now: Duration,
    last: u64,
    tests: BTreeMap<u64, (Test, Duration)>,
    local_cpu_percent: u8,
}

impl menu::Live for World {
    fn clock(&self) -> menu::Clock {
        menu::Clock::utc(0)
    }
}

impl Router for World {
    fn bandwidth_tests(&mut self) -> Option<&mut dyn BandwidthTests> {
        Some(self)
    }

    fn echoes(&mut self) -> Option<&mut dyn Echoes> {
        Some(self)
    }
}

impl Echoes for World {
    fn send(&mut self, _: &Ping, _: &Waker) -> Result<u64, Reason> {
        self.last += 1;
        Ok(self.last)
    }

    fn take(&mut self, ticket: u64) -> Option<Pong> {
        Some(Pong {
            answered: true,
            from: Some(Responder::Address(IpAddr::from([192, 168, 88, 1]))),
            bytes: 56,
            ttl: 64,
            took: Duration::from_micros(541 + ticket % 3 * 68),
            status: None,
        })
    }
}

impl BandwidthTests for World {
    fn cores(&self) -> u64 {
        32
    }

    fn begin_test(&mut self, test: Test, _: &Waker) -> Result<u64, Reason> {
        self.last += 1;
        self.tests.insert(self.last, (test, self.now));
        Ok(self.last)
    }

    fn test_progress(&mut self, ticket: u64) -> Option<BandwidthProgress> {
        let (test, began) = self.tests.get(&ticket)?;
        let duration = self.now - *began;
        let is_done = test.duration.is_some_and(|limit| duration >= limit);
        let rates = Rates {
            current_bps: 921_000_000,
            ten_second_average_bps: 921_000_000,
            total_average_bps: 921_000_000,
            total_bytes: 1,
        };
        let sends = test.direction.client_sends();
        Some(BandwidthProgress {
            status: if is_done {
                Status::Done
            } else {
                Status::Running
            },
            reason: None,
            figures: Figures {
                duration,
                tx: if sends { rates } else { Rates::default() },
                rx: if sends { Rates::default() } else { rates },
                lost_packets: 0,
                local_cpu_percent: self.local_cpu_percent,
                remote_cpu_percent: sends.then_some(25),
            },
            test_cpu_percent: 15,
            path: None,
        })
    }

    fn forget_test(&mut self, ticket: u64) {
        self.tests.remove(&ticket);
    }
}

struct NoNames;

impl Site for NoNames {
    fn resolve(&mut self, name: &str, _: &[bool]) -> Result<IpAddr, Reason> {
        name.parse().map_err(|_| Reason::failure("no name server"))
    }

    fn lend(&mut self, _: &mut dyn FnMut(&Store, &mut dyn Router)) -> Result<(), Reason> {
        Err(Reason::Interrupted)
    }
}

/// Runs a test to its end; returns its last page, and how long it took.
fn last_page(world: &mut World) -> (String, Duration) {
    let store = schema::store();
    let mut site = NoNames;
    let mut given = Invocation {
        menu: store.menu("/tool").expect("a menu"),
        command: "speed-test",
        items: Vec::new(),
        arguments: vec![("address", Value::text("192.168.88.1"))],
        interval: INTERVAL,
        ends: Ends::default(),
        site: &mut site,
    };
    let mut run = SpeedTestTool.start(&mut given).expect("a test");
    let mut page = String::new();
    loop {
        let mut turn = Turn {
            store: &store,
            now: world.now,
            router: &mut *world,
            news: Waker::noop(),
        };
        let look = run.look(&mut turn).expect("an update");
        if let Some(rows) = look.rows {
            page = crate::page(&rows);
        }
        match look.next {
            Next::At(then) => world.now = then,
            Next::News(_) => panic!("the test waits for nothing else"),
            Next::Over => return (page, world.now),
        }
    }
}

#[test]
fn the_page_has_the_lines_of_routeros_and_how_the_rates_were_made() {
    let mut world = World {
        local_cpu_percent: 30,
        ..World::default()
    };

    let (page, took) = last_page(&mut world);

    let lines: Vec<_> = page.lines().map(str::trim).collect();
    assert_eq!(
        lines[..9],
        [
            "status: done",
            "time-remaining: 0s",
            "ping-min-avg-max: 541us / 609us / 677us",
            "jitter-min-avg-max: 68us / 90us / 136us",
            "loss: 0% (0/100)",
            "tcp-download: 921Mbps local-cpu-load:30%",
            "tcp-upload: 921Mbps local-cpu-load:30% remote-cpu-load:25%",
            "udp-download: 921Mbps local-cpu-load:30%",
            "udp-upload: 921Mbps local-cpu-load:30% remote-cpu-load:25%",
        ],
        "{page}"
    );
    assert!(
        page.contains("tcp-download-bound: path (32 connections, 15% of a core here)"),
        "{page}"
    );
    assert!(
        page.contains("tcp-upload-speedtest-net: 921Mbps (4 threads)"),
        "{page}"
    );
    assert!(page.contains("udp-upload-latency: avg 6"), "{page}");
    assert!(
        took >= Duration::from_secs(53) && took <= Duration::from_secs(56),
        "{took:?}"
    );
    assert!(world.tests.is_empty(), "all tests are forgotten");
}

#[test]
fn a_busy_processor_is_remarked_word_by_word() {
    let mut world = World {
        local_cpu_percent: 100,
        ..World::default()
    };

    let (page, _) = last_page(&mut world);

    let remark: Vec<_> = page.lines().take(2).map(str::trim).collect();
    assert_eq!(
        remark,
        [
            ";;; results can be limited by cpu, note that traffic generation/termination",
            "performance might not be representative of forwarding performance",
        ]
    );
    assert!(page.contains("tcp-download-bound: cpu"), "{page}");
}
