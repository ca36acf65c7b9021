use btest::{Figures, Rates, Reason as End};
use menu::{Store, Value};

use super::*;
use crate::{Ends, Router, Site};

/// A router whose tests have this progress.
struct World {
    progress: BandwidthProgress,
    begun: Vec<Test>,
    forgotten: usize,
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
}

impl BandwidthTests for World {
    fn cores(&self) -> u64 {
        2
    }

    fn begin_test(&mut self, test: Test, _: &Waker) -> Result<u64, Reason> {
        self.begun.push(test);
        Ok(7)
    }

    fn test_progress(&mut self, ticket: u64) -> Option<BandwidthProgress> {
        (ticket == 7).then(|| self.progress.clone())
    }

    fn forget_test(&mut self, _: u64) {
        self.forgotten += 1;
    }
}

/// Resolves addresses only.
struct NoNames;

impl Site for NoNames {
    fn resolve(&mut self, name: &str, _: &[bool]) -> Result<std::net::IpAddr, Reason> {
        name.parse().map_err(|_| Reason::failure("no name server"))
    }

    fn lend(&mut self, _: &mut dyn FnMut(&Store, &mut dyn Router)) -> Result<(), Reason> {
        Err(Reason::Interrupted)
    }
}

fn start(arguments: &[(&'static str, Value)], ends: Ends) -> Result<Box<dyn RunningTool>, Reason> {
    let store = schema::store();
    let mut site = NoNames;
    let mut given = Invocation {
        menu: store.menu("/tool").expect("a menu"),
        command: "bandwidth-test",
        items: Vec::new(),
        arguments: arguments.to_vec(),
        interval: INTERVAL,
        ends,
        site: &mut site,
    };
    BandwidthTestTool.start(&mut given)
}

fn refused(arguments: &[(&'static str, Value)]) -> String {
    let address = ("address", Value::text("192.0.2.1"));
    let all = [&[address], arguments].concat();
    let started = start(&all, Ends::default());
    started.err().expect("refused").to_string()
}

fn world(status: Status, reason: Option<End>, seconds: u64) -> World {
    let rates = Rates {
        current_bps: 93_000_000,
        ten_second_average_bps: 92_000_000,
        total_average_bps: 91_000_000,
        total_bytes: 9,
    };
    World {
        progress: BandwidthProgress {
            status,
            reason,
            figures: Figures {
                duration: Duration::from_secs(seconds),
                rx: rates,
                local_cpu_percent: 12,
                remote_cpu_percent: Some(95),
                ..Figures::default()
            },
            test_cpu_percent: 30,
            path: None,
        },
        begun: Vec::new(),
        forgotten: 0,
    }
}

fn look(run: &mut dyn RunningTool, world: &mut World) -> Look {
    let mut turn = Turn {
        store: &schema::store(),
        router: world,
        now: Duration::from_secs(100),
        news: Waker::noop(),
    };
    run.look(&mut turn).expect("an update")
}

#[test]
fn values_are_those_of_routeros_with_the_remark_of_a_busy_processor() {
    let address = ("address", Value::text("192.0.2.1"));
    let mut run = start(&[address], Ends::default()).expect("a test");
    let mut world = world(Status::Running, None, 5);

    let look = look(&mut *run, &mut world);

    let page = crate::page(&look.rows.expect("a row"));
    let expected = "                        \
        ;;; results can be limited by cpu, note that traffic generation/termination\n                            \
        performance might not be representative of forwarding performance\n                \
        status: running\n              duration: 5s\n            rx-current: 93.0Mbps\n";
    let start: String = page
        .lines()
        .take(5)
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(start.replace(' ', ""), expected.replace(' ', ""), "{page}");
    assert!(page.contains("remote-cpu-load: 95%"), "{page}");
    assert!(page.contains("test-cpu-share: 30%"), "{page}");
    assert_eq!(world.begun[0].connections, 20);
    assert_eq!(look.next, Next::At(Duration::from_secs(101)));
}

#[test]
fn a_single_update_of_a_test_with_a_duration_is_its_result() {
    let address = ("address", Value::text("192.0.2.1"));
    let ends = Ends {
        is_single: true,
        duration: Some(Duration::from_secs(5)),
    };
    let mut run = start(&[address], ends).expect("a test");
    let mut running = world(Status::Running, None, 3);
    let mut done = world(Status::Done, Some(End::Duration), 5);

    let first = look(&mut *run, &mut running);
    let last = look(&mut *run, &mut done);

    assert!(first.rows.is_none() && first.next == Next::News(Duration::from_secs(101)));
    let rows = last.rows.expect("the result");
    assert_eq!(rows[0].get("status"), Some(&Value::Word("done testing")));
    assert_eq!((last.next, done.forgotten), (Next::Over, 1));
}

#[test]
fn arguments_that_the_protocol_cannot_carry_are_refused_by_name() {
    let number = Value::Number;
    assert_eq!(
        refused(&[("remote-tx-speed", Value::Rate(5_000_000_000))]),
        "failure: remote-tx-speed: the protocol carries at most 4294967295 bit/s"
    );
    assert_eq!(
        refused(&[("connection-count", number(256))]),
        "failure: connection-count: 1 to 255"
    );
    assert_eq!(
        refused(&[("local-udp-tx-size", Value::text("100-200"))]),
        "failure: local-udp-tx-size: a range of sizes is not supported here"
    );
    assert_eq!(
        refused(&[("remote-udp-tx-size", Value::text("28"))]),
        "failure: remote-udp-tx-size: at least 32, for headers and number"
    );
}

#[test]
fn tests_with_several_numbers_of_connections_stand_beside_each_other() {
    let address = ("address", Value::text("192.0.2.1"));
    let counts = Value::List([1, 2, 4].map(Value::Number).into());
    let ends = Ends {
        is_single: false,
        duration: Some(Duration::from_secs(6)),
    };
    let mut run = start(&[address, ("connection-counts", counts)], ends).expect("a test");
    let mut world = world(Status::Done, Some(End::Duration), 2);

    let looks = [0, 1, 2].map(|_| look(&mut *run, &mut world));

    let [.., last] = looks;
    let rows = last.rows.expect("the results");
    let shown = rows.iter().map(|row| row.get("connection-count").cloned());
    let counts = [1, 2, 4].map(|count| Some(Value::Number(count)));
    assert_eq!(shown.collect::<Vec<_>>(), counts);
    assert_eq!(last.next, Next::Over);
    let begun = world.begun.iter();
    let begun: Vec<_> = begun
        .map(|test| (test.connections, test.duration))
        .collect();
    let two = Some(Duration::from_secs(2));
    assert_eq!(begun, [(1, two), (2, two), (4, two)]);
    assert_eq!(
        refused(&[("connection-counts", Value::List(vec![Value::Number(300)]))]),
        "failure: connection-counts: at most 8 numbers"
    );
}
