//! `ferroute bench through`: measures a device between two ports of this machine.
//!
//! | test | source |
//! |---|---|
//! | throughput without loss and with 0.5 % | RFC 2544, 26.1; search by MLRsearch; RFC 8219, 7.1 for IPv6 |
//! | latency at the throughput | RFC 2544, 26.2 |
//! | loss by load | RFC 2544, 26.3, at the loads of the search |
//! | longest burst without loss | RFC 2544, 26.4 |
//!
//! The generator first measures its own limit over a veth pair without a device. The device's search stays below this
//! limit.

mod link;
mod picture;
mod report;
mod resolve;
mod trial;

use std::fs;
use std::process::Command;
use std::thread;

use generator::search::{Bounds, Goal, Search};

use self::link::{Ends, Path};
use self::report::{FrameResult, Latency, Report};
use self::trial::{Outcome, Ports, Test};
use crate::cli::Through;
use crate::cli::output;

/// Load of the first trial if no limit is given, in frames per second: above what any port here sends.
const UNLIMITED_PPS: f64 = 100e6;
/// Time of the generator's own measurement in seconds.
const OWN_SECONDS: f64 = 0.5;
/// Maximum number of attempts for a trial in which the generator was too slow.
const MAX_ATTEMPTS: u32 = 3;
/// Part of the maximum load at which the search ends.
const MIN_SHARE: f64 = 1e-4;
/// Devices of the generator's own measurement, in a network namespace made for it.
const LOOP: [&str; 2] = ["loop0", "loop1"];

/// Runs all tests, and prints the report.
pub(in crate::bench) fn run(through: &Through) -> Result<(), String> {
    if !(0.01..=3_600.0).contains(&through.seconds) {
        return Err(String::from("--seconds: 0.01 to 3600"));
    }
    if through
        .max_pps
        .is_some_and(|pps| !(1.0..=UNLIMITED_PPS).contains(&pps))
    {
        return Err(format!("--max-pps: 1 to {UNLIMITED_PPS:.0}"));
    }
    let own = own_limits(through);
    let mut ports = Ports::open(&through.from, &through.to)?;
    let ends = Ends::of(through)?;
    let path = resolve::find(&mut ports, &ends, through)?;
    let mut report = Report {
        from: through.from.clone(),
        to: through.to.clone(),
        drivers: ports.drivers(),
        path: path.name(),
        own: own.clone(),
        results: Vec::new(),
    };
    for (at, frame) in through.frames.iter().enumerate() {
        let limit = own.as_ref().ok().and_then(|own| own.get(at)).copied();
        report
            .results
            .push(measure(&mut ports, &path, through, *frame, limit)?);
    }
    match through.json {
        true => output::line(report.json())?,
        false => output::text(report.text())?,
    }
    if let Some(file) = &through.svg {
        let written = fs::write(file, picture::draw(&report));
        written.map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(())
}

/// Measures one frame length.
fn measure(
    ports: &mut Ports,
    path: &Path,
    through: &Through,
    frame: u32,
    own_limit: Option<f64>,
) -> Result<FrameResult, String> {
    let test = |load: f64, seconds: f64| Test {
        frame_bytes: frame as usize - 4,
        pps: load,
        count: ((load * seconds).round() as u64).max(1),
        settle: through.settle(),
    };
    // A load that the generator cannot send says nothing about the device.
    let max = through.max_pps.or(own_limit).unwrap_or(UNLIMITED_PPS);
    let goals = [0.0, 0.005].map(|loss_ratio| Goal {
        loss_ratio,
        exceed_ratio: 0.5,
        duration_sum: through.seconds,
        width: 0.005,
    });
    let mut search = Search::new(goals.to_vec(), max * MIN_SHARE, max);
    let mut late = 0;
    while let Some(load) = search.next_load() {
        let outcome = punctual(ports, path, &test(load, through.seconds))?;
        late += u32::from(outcome.is_late());
        search.record(outcome.trial(load, through.seconds));
    }
    let bounds: [Bounds; 2] = goals.map(|goal| search.bounds(&goal));
    let latency = match bounds[0].lower {
        Some(load) => Some(Latency::of(&ports.run(path, &test(load, through.seconds))?)),
        None => None,
    };
    Ok(FrameResult {
        frame,
        max,
        bounds,
        latency,
        burst: longest_burst(ports, path, through, frame, max)?,
        curve: search.loss_curve(),
        trials: search.trials().len(),
        late,
    })
}

/// Runs a trial; repeats it if the generator was too slow, as after a pause of its thread.
fn punctual(ports: &mut Ports, path: &Path, test: &Test) -> Result<Outcome, String> {
    let mut outcome = ports.run(path, test)?;
    for _ in 1..MAX_ATTEMPTS {
        if !outcome.is_late() {
            break;
        }
        outcome = ports.run(path, test)?;
    }
    Ok(outcome)
}

/// Longest burst at the highest load that passes without loss, by bisection (RFC 2544, 26.4).
fn longest_burst(
    ports: &mut Ports,
    path: &Path,
    through: &Through,
    frame: u32,
    max: f64,
) -> Result<u64, String> {
    let mut passes = |count: u64| {
        let outcome: Result<Outcome, String> = ports.run(
            path,
            &Test {
                frame_bytes: frame as usize - 4,
                pps: max,
                count,
                settle: through.settle(),
            },
        );
        outcome.map(|outcome| outcome.lost() == 0)
    };
    let (mut good, mut bad) = (0, (max * through.seconds).ceil() as u64 + 1);
    // Within half a percent, as the search.
    while bad - good > 1 + good / 200 {
        let count = good + (bad - good) / 2;
        match passes(count)? {
            true => good = count,
            false => bad = count,
        }
    }
    Ok(good)
}

/// Rate in frames per second that the generator itself sends and receives, by frame length.
///
/// # Errors
/// Returns why it cannot be measured: the veth pair needs privileges and `ip`.
fn own_limits(through: &Through) -> Result<Vec<f64>, String> {
    let frames = through.frames.clone();
    let (max, ipv6) = (through.max_pps.unwrap_or(UNLIMITED_PPS), through.ipv6);
    let measuring = thread::spawn(move || {
        netio::unshare_network().map_err(|error| error.to_string())?;
        let [from, to] = LOOP;
        ip(&format!("link add {from} type veth peer name {to}"))?;
        ip(&format!("link set {from} up"))?;
        ip(&format!("link set {to} up"))?;
        let mut ports = Ports::open(from, to)?;
        let path = Path::straight(&Ends::defaults(ipv6), ports.macs());
        let rate = |frame: &u32| {
            let outcome = ports.run(
                &path,
                &Test {
                    frame_bytes: *frame as usize - 4,
                    pps: max,
                    count: (max * OWN_SECONDS) as u64,
                    settle: trial::SETTLE,
                },
            )?;
            Ok(outcome.received_pps())
        };
        frames.iter().map(rate).collect()
    });
    measuring
        .join()
        .map_err(|_| String::from("the measurement failed"))?
}

/// Runs `ip` in the network namespace of this thread.
fn ip(arguments: &str) -> Result<(), String> {
    let done = Command::new("ip").args(arguments.split(' ')).output();
    let done = done.map_err(|error| format!("ip: {error}"))?;
    match done.status.success() {
        true => Ok(()),
        false => Err(format!(
            "ip {arguments}: {}",
            String::from_utf8_lossy(&done.stderr).trim()
        )),
    }
}
