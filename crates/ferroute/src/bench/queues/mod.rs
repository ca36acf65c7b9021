//! `ferroute bench queues`: measures rate and latency under a limit of 20 Mbit/s for each queue kind, and the burst
//! that a token bucket passes.
//!
//! ```text
//!   client ── ether2 [ router: a simple queue for the client ] ether1 ── server
//!      load above the limit, and a probe every few milliseconds   records arrival times
//! ```

pub(super) mod plot;
mod stream;

use std::fs;
use std::path::Path;

use lab::{Holding, Lab, Life, Options, layout};

use self::plot::{Plot, Series};
use self::stream::{Course, Load};
use super::process::Router;
use crate::cli::output;
use crate::cli::{QueueKind, Queues};

/// The limit in Mbit/s of frames.
const LIMIT: f64 = 20.0;
/// Load of the client in Mbit/s of frames.
const OFFERED: f64 = 30.0;
/// Compared bucket sizes, in seconds of the limit.
const BUCKETS: [&str; 3] = ["0.01", "0.1", "1"];

/// Measures, prints a line for each result, and draws the plots.
///
/// # Errors
/// The machine does not permit it, or a write fails.
pub(super) fn run(asked: &Queues) -> Result<(), String> {
    if let Some(folder) = &asked.plot {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let kinds = match asked.kinds.is_empty() {
        true => QueueKind::ALL.to_vec(),
        false => asked.kinds.clone(),
    };
    let world = World::new()?;
    output::line("queue      Mbit/s  probe idle, ms  probe under load, ms: median    p99")?;
    let (mut rates, mut delays) = (Vec::new(), Vec::new());
    for kind in kinds {
        let course = world.course(asked.seconds, &commands(kind))?;
        output::line(describe(kind.name(), &course))?;
        rates.push(series(kind.name(), course.rates()));
        delays.push(series(kind.name(), course.delays()));
    }
    let mut bursts = Vec::new();
    for bucket in BUCKETS {
        let course = world.course(asked.seconds, &simple("default", bucket))?;
        let (first, later) = course.seconds_of_load();
        output::line(format_args!(
            "bucket-size={bucket}: {first:.1} Mbit in the first second, {later:.1} in the next"
        ))?;
        bursts.push(series(&format!("bucket-size={bucket}"), course.rates()));
    }
    world.end()?;
    match &asked.plot {
        Some(folder) => draw(folder, rates, delays, bursts),
        None => Ok(()),
    }
}

/// Writes the three plots.
fn draw(
    folder: &Path,
    rates: Vec<Series>,
    delays: Vec<Series>,
    bursts: Vec<Series>,
) -> Result<(), String> {
    let limit = vec![(LIMIT, String::from("max-limit"))];
    let plots = [
        (
            "rate",
            "Rate through a queue with max-limit=20M",
            "Mbit/s",
            rates,
            limit.clone(),
        ),
        (
            "latency",
            "Latency of a small flow beside 30 Mbit/s that share 20",
            "ms",
            delays,
            Vec::new(),
        ),
        (
            "bucket",
            "Why is it 22 Mbit/s if the queue says 20?",
            "Mbit/s",
            bursts,
            limit,
        ),
    ];
    for (name, title, unit, series, lines) in plots {
        let plot = Plot {
            title,
            unit,
            series,
            lines,
            moments: Vec::new(),
        };
        let path = folder.join(name).with_extension("svg");
        fs::write(&path, plot.to_svg()).map_err(|error| format!("{}: {error}", path.display()))?;
        output::line(path.display())?;
    }
    Ok(())
}

fn series(name: &str, points: Vec<(f64, f64)>) -> Series {
    let name = name.to_owned();
    Series { name, points }
}

fn describe(name: &str, course: &Course) -> String {
    let [idle, median, p99] = course.latency();
    format!(
        "{name:10} {:6.1} {idle:15.2} {median:29.2} {p99:6.2}",
        course.rate_under_load()
    )
}

/// Returns the router's commands that limit the client.
fn simple(kind: &str, bucket: &str) -> String {
    format!(
        "/queue simple add name=client target=192.168.88.0/24 max-limit=20M/20M queue={kind}/{kind} \
         bucket-size={bucket}/{bucket}"
    )
}

fn commands(kind: QueueKind) -> String {
    let classifier = match kind {
        QueueKind::Pcq => " pcq-classifier=src-port",
        _ => "",
    };
    let name = kind.name();
    format!(
        "/queue type add name=measured kind={name}{classifier}\n{}",
        simple("measured", "0.1")
    )
}

/// Client, router and server.
struct World {
    lab: Lab,
}

impl World {
    fn new() -> Result<Self, String> {
        let options = Options {
            name: Some(format!("queues-{}", std::process::id())),
            life: Life::Owned,
            holding: Some(Holding::Named),
            belongings: Vec::new(),
        };
        let layout = layout("plain").ok_or("there is no lab called plain")?;
        let lab = Lab::up(layout, &options).map_err(|error| error.to_string())?;
        Ok(Self { lab })
    }

    /// Returns the datagrams that arrive within `seconds` through a router after these commands.
    fn course(&self, seconds: u16, commands: &str) -> Result<Course, String> {
        let layout = self.lab.layout().ok_or("the lab has no layout")?;
        let ports: Vec<_> = { layout.ports().into_iter() }
            .map(|port| format!("{port}={port}"))
            .collect();
        let config = format!("{}\n{commands}", layout.config);
        let router = Router::start(&self.lab, &config, &ports)?;
        let load = Load {
            seconds: seconds.into(),
            megabits: OFFERED,
        };
        let course = stream::run(&self.lab, &load);
        drop(router);
        course
    }

    fn end(self) -> Result<(), String> {
        self.lab.down().map_err(|error| error.to_string())
    }
}
