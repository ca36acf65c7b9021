//! What limited the rate of a bandwidth test: queues at their limits, workers without idle time, the ends of the test,
//! TCP windows, or the requested speed.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use btest::Test;
use btest::wire::Protocol;
use menu::{Live, Menu, Row, RowFilter, Store, Value, stream_rows};

use super::cells::is_busy;
use super::progress::{BandwidthProgress, PathState};

/// Maximum number of queues of each menu that are examined.
const MAX_QUEUES: usize = 1_024;
const QUEUE_MENUS: [&str; 2] = ["/queue/simple", "/queue/tree"];
/// Maximum number of queues that are named.
const MAX_NAMED: usize = 4;
/// Share of its time that a busy worker works, in percent.
const BUSY_PERCENT: u64 = 90;
/// A measured rate above this share of the requested speed reaches it, in percent.
const REQUESTED_PERCENT: u128 = 90;
/// Share of the rate that the windows allow, above which the windows bound a measurement, in percent.
const WINDOW_BOUND_PERCENT: u128 = 80;
/// Name of the idle time in the clocks of workers.
const IDLE: &str = "idle";

/// State of the router at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sample {
    /// Clock cycles of each worker by activity.
    workers: Vec<Vec<(&'static str, u64)>>,
    queues: Vec<Queue>,
}

/// Counters of a queue, of all directions together.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Queue {
    name: String,
    dropped: u64,
    waiting: u64,
}

impl Sample {
    /// Reads the queues of the router; `workers` are the clock cycles of each worker by activity.
    pub(super) fn read(
        store: &Store,
        live: &dyn Live,
        workers: Vec<Vec<(&'static str, u64)>>,
    ) -> Self {
        let menus = QUEUE_MENUS.iter().filter_map(|path| store.menu(path));
        Self {
            workers,
            queues: menus.flat_map(|menu| queues(store, live, menu)).collect(),
        }
    }
}

/// Reads the queues of a menu.
fn queues(store: &Store, live: &dyn Live, menu: &'static Menu) -> Vec<Queue> {
    let mut queues = Vec::new();
    let mut add = |row: Row| {
        queues.push(Queue {
            name: row.get("name").map(Value::to_string).unwrap_or_default(),
            dropped: total(&row, ["dropped", "total-dropped"]),
            waiting: total(&row, ["queued-packets", "total-queued-packets"]),
        });
        match queues.len() < MAX_QUEUES {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    };
    // A break only says that there are more queues.
    let _ = stream_rows(store, live, menu, &RowFilter::default(), &mut add);
    queues
}

/// Adds the numbers of cells, each a number or one for each direction.
fn total(row: &Row, names: [&str; 2]) -> u64 {
    fn number(value: &Value) -> u64 {
        match value {
            Value::Number(number) => u64::try_from(*number).unwrap_or(0),
            Value::Tuple(_, parts) => parts.iter().map(number).sum(),
            _ => 0,
        }
    }
    names
        .iter()
        .filter_map(|name| row.get(name))
        .map(number)
        .sum()
}

/// Returns in words what limited the rate between the samples; never empty.
pub(super) fn bounds(
    test: &Test,
    progress: &BandwidthProgress,
    before: &Sample,
    now: &Sample,
) -> String {
    let mut all = at_limit(before, now);
    all.extend(busy_workers(before, now));
    all.extend(ends(progress));
    all.extend(window(test, progress));
    all.extend(requested(test, progress));
    match all.is_empty() {
        true => String::from("nothing in this router: the path or the other end"),
        false => all.join(", "),
    }
}

/// Queues that dropped packets since the first sample, or in which packets wait; at most [`MAX_NAMED`] by name.
fn at_limit(before: &Sample, now: &Sample) -> Vec<String> {
    let earlier = before.queues.iter();
    let earlier: BTreeMap<&str, u64> = earlier
        .map(|own| (own.name.as_str(), own.dropped))
        .collect();
    let is_at_limit = |queue: &&Queue| {
        let dropped = earlier.get(queue.name.as_str()).copied().unwrap_or(0);
        queue.waiting > 0 || queue.dropped > dropped
    };
    let all: Vec<_> = now.queues.iter().filter(is_at_limit).collect();
    let named = all.iter().take(MAX_NAMED);
    let mut words: Vec<_> = named
        .map(|queue| format!("queue {} at its limit", queue.name))
        .collect();
    if let Some(more) = all.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
        words.push(format!("{more} more queues at their limits"));
    }
    words
}

/// Workers that were idle for less than a tenth of the time, with their largest activity.
fn busy_workers(before: &Sample, now: &Sample) -> Vec<String> {
    let mut busy = Vec::new();
    for (number, clocks) in now.workers.iter().enumerate() {
        let earlier = before
            .workers
            .get(number)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let spent = clocks.iter().map(|(name, clocks)| {
            let then = earlier.iter().find(|(own, _)| own == name);
            (
                *name,
                clocks.saturating_sub(then.map_or(0, |(_, then)| *then)),
            )
        });
        let spent: Vec<_> = spent.collect();
        let all: u64 = spent.iter().map(|(_, clocks)| clocks).sum();
        let work = || spent.iter().filter(|(name, _)| *name != IDLE);
        let worked: u64 = work().map(|(_, clocks)| clocks).sum();
        let share = |clocks: u64| clocks.saturating_mul(100).checked_div(all).unwrap_or(0);
        if let Some((name, most)) = work().max_by_key(|(_, clocks)| *clocks)
            && share(worked) >= BUSY_PERCENT
        {
            let (worked, most) = (share(worked), share(*most));
            busy.push(format!(
                "worker {number} busy for {worked}% of the time, {name} {most}%"
            ));
        }
    }
    busy
}

/// Busy ends of the test.
fn ends(progress: &BandwidthProgress) -> Vec<String> {
    let mut busy = Vec::new();
    let own = progress.test_cpu_percent;
    if own >= BUSY_PERCENT {
        busy.push(format!("generating and receiving here, {own}% of a core"));
    }
    let figures = &progress.figures;
    if is_busy(figures.local_cpu_percent) {
        busy.push(format!("processors here, {}%", figures.local_cpu_percent));
    }
    if let Some(remote) = figures
        .remote_cpu_percent
        .filter(|percent| is_busy(*percent))
    {
        busy.push(format!("processors of the other end, {remote}%"));
    }
    busy
}

impl PathState {
    /// Returns true if a rate in bit/s is about that of the windows of these connections per round-trip time (RFC 6349,
    /// 3.3.1).
    pub(crate) fn is_filled(self, rate_bps: u64, connections: u64) -> bool {
        let windows = u128::from(self.window_bytes) * u128::from(connections) * 8_000_000_000;
        let most_bps = windows.checked_div(self.rtt.as_nanos());
        most_bps.is_some_and(|most| u128::from(rate_bps) * 100 >= most * WINDOW_BOUND_PERCENT)
    }
}

/// The windows of the TCP connections, if the rate is near what they allow.
fn window(test: &Test, progress: &BandwidthProgress) -> Option<String> {
    let path = progress.path.filter(|_| test.protocol == Protocol::Tcp)?;
    let (connections, window) = (test.connections, path.window_bytes);
    let is_filled = path.is_filled(measured(progress), connections.into());
    is_filled.then(|| {
        let micros = path.rtt.as_micros();
        format!("TCP window: {connections} connections of {window} bytes per {micros} us")
    })
}

/// The requested speed, if the rate reaches it.
fn requested(test: &Test, progress: &BandwidthProgress) -> Option<String> {
    let figures = &progress.figures;
    let reaches = |limit: u64, bps: u64| {
        limit > 0 && u128::from(bps) * 100 >= u128::from(limit) * REQUESTED_PERCENT
    };
    let sends = reaches(test.local_speed_bps, figures.tx.total_average_bps);
    let receives = reaches(test.remote_speed_bps, figures.rx.total_average_bps);
    (sends || receives).then(|| String::from("the requested speed"))
}

/// Returns the higher rate of both directions in bit/s.
fn measured(progress: &BandwidthProgress) -> u64 {
    let figures = &progress.figures;
    let (tx, rx) = (figures.tx.total_average_bps, figures.rx.total_average_bps);
    tx.max(rx)
}

#[cfg(test)]
mod tests {
    use super::*;
    use btest::{Figures, Rates, Status};
    use std::time::Duration;

    fn progress(mbps: u64) -> BandwidthProgress {
        BandwidthProgress {
            status: Status::Running,
            reason: None,
            figures: Figures {
                rx: Rates {
                    total_average_bps: mbps * 1_000_000,
                    ..Rates::default()
                },
                ..Figures::default()
            },
            test_cpu_percent: 30,
            path: Some(PathState {
                rtt: Duration::from_millis(10),
                window_bytes: 125_000,
                retransmitted: 0,
            }),
        }
    }

    fn test() -> Test {
        Test {
            server: std::net::Ipv4Addr::LOCALHOST.into(),
            protocol: Protocol::Tcp,
            direction: btest::wire::Direction::Receive,
            fill: btest::wire::Fill::Random,
            local_size: 0,
            remote_size: 0,
            local_speed_bps: 0,
            remote_speed_bps: 0,
            connections: 2,
            user: String::new(),
            password: btest::Password::from(""),
            duration: None,
        }
    }

    fn sample(idle: u64, encrypting: u64, dropped: u64, waiting: u64) -> Sample {
        Sample {
            workers: vec![vec![
                ("idle", idle),
                ("encrypting", encrypting),
                ("queuing", 1),
            ]],
            queues: vec![Queue {
                name: String::from("anna"),
                dropped,
                waiting,
            }],
        }
    }

    #[test]
    fn each_cause_is_named_and_only_while_it_holds() {
        let quiet = sample(1_000, 0, 7, 0);
        let said =
            |progress: &BandwidthProgress, now: &Sample| bounds(&test(), progress, &quiet, now);
        let unknown = "nothing in this router: the path or the other end";
        assert_eq!(said(&progress(100), &sample(2_000, 50, 7, 0)), unknown);

        assert_eq!(
            said(&progress(100), &sample(2_000, 50, 8, 0)),
            "queue anna at its limit"
        );
        assert_eq!(
            said(&progress(100), &sample(2_000, 50, 7, 1)),
            "queue anna at its limit"
        );
        assert_eq!(
            said(&progress(100), &sample(1_050, 950, 7, 0)),
            "worker 0 busy for 95% of the time, encrypting 95%"
        );
        // Two windows of 125,000 bytes in 10 ms are 200 Mbit/s.
        assert_eq!(
            said(&progress(185), &quiet),
            "TCP window: 2 connections of 125000 bytes per 10000 us"
        );
        let mut busy = progress(100);
        (busy.test_cpu_percent, busy.figures.remote_cpu_percent) = (97, Some(91));
        assert_eq!(
            said(&busy, &quiet),
            "generating and receiving here, 97% of a core, processors of the other end, 91%"
        );
        let mut limited = test();
        limited.remote_speed_bps = 100_000_000;
        assert_eq!(
            bounds(&limited, &progress(95), &quiet, &quiet),
            "the requested speed"
        );
    }

    #[test]
    fn counters_of_both_directions_and_of_the_total_are_added() {
        let mut row = Row::default();
        row.set(
            "dropped",
            Value::Tuple("/", vec![Value::Number(2), Value::Number(3)].into()),
        );
        row.set("total-dropped", Value::Number(4));
        assert_eq!(total(&row, ["dropped", "total-dropped"]), 9);
    }
}
