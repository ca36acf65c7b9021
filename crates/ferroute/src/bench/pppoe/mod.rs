//! `ferroute bench pppoe`: brings up PPPoE sessions from discovery to IPCP and IPv6CP, pings over each, and measures
//! rate, memory and the return after a kill of the router.
//!
//! ```text
//!   clients: all subscribers on one device ── ether1 [ router: /interface/pppoe-server/server ] ether2 ── radius
//! ```
//! This process simulates the subscribers; the router runs in a second process on the same cores. The report uses the
//! terms of BNG Blaster: setup rate, first and last session, retries.

mod codec;
mod monitor;
mod population;
mod radius;
mod report;
mod subscriber;
mod world;

use std::time::{Duration, Instant};

use lab::{Holding, Lab, Life, Options};
use rustix::process::Signal;

use self::monitor::Monitor;
use self::population::{BuildUp, Pace, Population};
use self::radius::Radius;
use self::report::{Churn, Report};
use self::world::Folder;
use crate::cli::{Pppoe, output};

/// Timeout of each step.
const PATIENCE: Duration = Duration::from_secs(300);
/// Time after the last session, in which the router settles before its memory is read.
const SETTLE: Duration = Duration::from_secs(2);
/// Frames of discovery that a session without retries sends: PADI and PADR.
const DISCOVERY: u64 = 2;

/// Runs the measurement, and prints the report. Returns 1 if a bound does not hold.
///
/// # Errors
/// The machine does not permit it, or the router does not start.
pub(super) fn run(asked: &Pppoe) -> Result<u8, String> {
    let report = measure(asked)?;
    output::line(match asked.json {
        true => report.to_json(),
        false => report.to_text(),
    })?;
    if let Some(folder) = &asked.plot {
        report.draw(folder)?;
    }
    Ok(u8::from(!report.holds()))
}

/// Runs all phases that the options ask for.
fn measure(asked: &Pppoe) -> Result<Report, String> {
    let text = |error: lab::Error| error.to_string();
    let options = Options {
        name: Some(format!("pppoe-{}", std::process::id())),
        life: Life::Owned,
        holding: Some(Holding::Named),
        belongings: Vec::new(),
    };
    let lab = Lab::up(&world::LAYOUT, &options).map_err(text)?;
    let radius = match asked.radius {
        true => Some(Radius::start(&lab, asked.sessions)?),
        false => None,
    };
    let state = Folder::new();
    let mut router = world::start(&lab, Some(&world::configuration(asked)), &state)?;
    router.wait(PATIENCE)?;
    let memory = router.resident_kib();
    lab.enter(world::CLIENTS).map_err(text)?;
    let monitor = Monitor::new(router);
    let mut clients = Population::open(world::DEVICE, asked.sessions, monitor)?;
    let mut report = Report::new(asked);
    report.build_up = build_up(&mut clients, asked, "build-up");
    report.retries =
        { clients.counts.discovery }.saturating_sub(u64::from(asked.sessions) * DISCOVERY);
    hold(&mut clients, memory, &mut report)?;
    if asked.load > 0 {
        clients.monitor.begin("load");
        let time = Duration::from_secs(asked.load.into());
        report.load = Some(clients.load(time));
    }
    if asked.rebuild {
        collapse(&mut clients, asked, &mut report)?;
        report.rebuilt = Some(build_up(&mut clients, asked, "rebuild"));
    }
    if let Some(sessions) = asked.churn {
        report.churn = Some(churn(&mut clients, asked, sessions)?);
    }
    if asked.kill {
        report.restored = Some(restore(&lab, &state, &mut clients)?);
    }
    clients.monitor.begin("end");
    clients.hang_up(asked.stop_rate, PATIENCE)?;
    report.samples = core::mem::take(&mut clients.monitor.samples);
    report.phases = core::mem::take(&mut clients.monitor.phases);
    drop((clients, radius));
    lab.down().map_err(text)?;
    Ok(report)
}

fn build_up(clients: &mut Population, asked: &Pppoe, phase: &'static str) -> BuildUp {
    let pace = Pace {
        start_rate: asked.start_rate,
        outstanding_max: asked.outstanding,
    };
    clients.monitor.begin(phase);
    clients.build_up(pace, PATIENCE)
}

/// Holds the sessions, reads the router's memory, and pings over each session.
fn hold(clients: &mut Population, before: u64, report: &mut Report) -> Result<(), String> {
    clients.monitor.begin("hold");
    clients.run_for(SETTLE);
    let memory = clients.monitor.router()?.resident_kib();
    let growth = memory.saturating_sub(before) * 1024;
    report.bytes_per_session = growth / u64::from(report.sessions);
    report.answered = [false, true].map(|ipv6| clients.ping(ipv6));
    Ok(())
}

/// Ends all sessions.
fn collapse(clients: &mut Population, asked: &Pppoe, report: &mut Report) -> Result<(), String> {
    clients.monitor.begin("collapse");
    let begin = Instant::now();
    let is_empty = clients.hang_up(asked.stop_rate, PATIENCE)?;
    report.collapsed = is_empty.then(|| begin.elapsed());
    Ok(())
}

/// Ends and builds up all sessions until this many have come and gone.
fn churn(clients: &mut Population, asked: &Pppoe, sessions: u32) -> Result<Churn, String> {
    clients.monitor.begin("churn");
    let begin = Instant::now();
    let mut churn = Churn {
        memory_before: clients.monitor.router()?.resident_kib(),
        ..Churn::default()
    };
    while churn.sessions < u64::from(sessions) {
        let up = clients.up() as u64;
        if !clients.hang_up(asked.stop_rate, PATIENCE)? || up == 0 {
            return Err(format!(
                "sessions remain after {} came and went",
                churn.sessions
            ));
        }
        churn.sessions += up;
        build_up(clients, asked, "churn");
    }
    clients.run_for(SETTLE);
    churn.time = begin.elapsed();
    churn.memory_after = clients.monitor.router()?.resident_kib();
    Ok(churn)
}

/// Kills the router, starts it with the stored state, and waits until all sessions are up again.
fn restore(lab: &Lab, state: &Folder, clients: &mut Population) -> Result<BuildUp, String> {
    clients.monitor.begin("kill");
    let begin = Instant::now();
    if let Some(router) = clients.monitor.take() {
        router.end(Signal::KILL)?;
    }
    let mut next = world::start(lab, None, state)?;
    next.wait(PATIENCE)?;
    let first = begin.elapsed();
    clients.monitor.follow(next);
    // Sessions of the killed router end when the new one answers their packets with PADT.
    while clients.up() == clients.subscribers() && begin.elapsed() < PATIENCE {
        clients.run_for(Duration::from_millis(20));
    }
    clients.recover(PATIENCE);
    Ok(BuildUp {
        first,
        last: begin.elapsed(),
        up: clients.up(),
    })
}
