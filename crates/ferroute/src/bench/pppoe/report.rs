//! Report of the measurement: text, JSON and plots.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::super::queues::plot::{Plot, Series};
use super::monitor::{Phase, Sample};
use super::population::{BuildUp, Load};
use crate::cli::{Pppoe, output};

/// Bound of the build-up with local secrets, and of the return after a kill.
const BUILD_UP: Duration = Duration::from_secs(10);
const RETURN: Duration = Duration::from_secs(30);
/// Bound of memory with all sessions up after many came and went, in percent of the memory before.
const MEMORY_AFTER: u64 = 110;

/// Sessions that came and went.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Churn {
    pub(super) sessions: u64,
    pub(super) time: Duration,
    /// Resident memory of the router with all sessions up, in KiB.
    pub(super) memory_before: u64,
    pub(super) memory_after: u64,
}

/// Results.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) sessions: u32,
    /// A RADIUS server has the accounts: the build-up has no bound.
    pub(super) radius: bool,
    pub(super) build_up: BuildUp,
    /// Sessions over which a ping was answered: IPv4, IPv6.
    pub(super) answered: [u64; 2],
    /// Frames of discovery beyond those of sessions without retries.
    pub(super) retries: u64,
    /// Memory of the router per session, in bytes.
    pub(super) bytes_per_session: u64,
    pub(super) load: Option<Load>,
    /// Time until the router had ended all sessions.
    pub(super) collapsed: Option<Duration>,
    /// Build-up after the collapse.
    pub(super) rebuilt: Option<BuildUp>,
    pub(super) churn: Option<Churn>,
    /// Build-up of all sessions after the kill.
    pub(super) restored: Option<BuildUp>,
    pub(super) samples: Vec<Sample>,
    pub(super) phases: Vec<Phase>,
}

impl Report {
    pub(super) fn new(asked: &Pppoe) -> Self {
        Self {
            sessions: asked.sessions,
            radius: asked.radius,
            ..Self::default()
        }
    }

    /// Whether all bounds hold.
    pub(super) fn holds(&self) -> bool {
        let pings = u64::from(self.sessions);
        let is_complete = |of: &BuildUp| of.up == self.sessions as usize;
        let is_fast = self.radius || self.build_up.last <= BUILD_UP;
        let is_restored = { self.restored.as_ref() }
            .is_none_or(|restored| is_complete(restored) && restored.last <= RETURN);
        let is_bounded = self
            .churn
            .is_none_or(|churn| churn.memory_after * 100 <= churn.memory_before * MEMORY_AFTER);
        is_complete(&self.build_up)
            && is_fast
            && self.answered == [pings, pings]
            && self.rebuilt.as_ref().is_none_or(is_complete)
            && is_restored
            && is_bounded
    }

    pub(super) fn to_json(&self) -> String {
        let mut value = json!({
            "sessions": self.sessions,
            "radius": self.radius,
            "sessions_up": self.build_up.up,
            "seconds": self.build_up.last.as_secs_f64(),
            "seconds_first": self.build_up.first.as_secs_f64(),
            "setup_rate": rate(&self.build_up),
            "retries": self.retries,
            "answered_ipv4": self.answered[0],
            "answered_ipv6": self.answered[1],
            "bytes_per_session": self.bytes_per_session,
            "holds": self.holds(),
        });
        let mut add = |name: &str, of: Option<Value>| {
            if let Some(of) = of {
                value[name] = of;
            }
        };
        add("load_packets", self.load.map(|load| load.received.into()));
        add("load_lost", self.load.map(|load| load.lost().into()));
        add("load_rate", self.load.map(|load| load.rate().into()));
        let seconds = |time: Duration| time.as_secs_f64().into();
        add("seconds_collapse", self.collapsed.map(seconds));
        add(
            "seconds_rebuild",
            self.rebuilt.as_ref().map(|of| seconds(of.last)),
        );
        add("churned", self.churn.map(|churn| churn.sessions.into()));
        add(
            "churn_memory_kib",
            self.churn
                .map(|churn| json!([churn.memory_before, churn.memory_after])),
        );
        add(
            "seconds_after_kill",
            self.restored.as_ref().map(|of| seconds(of.last)),
        );
        add(
            "sessions_after_kill",
            self.restored.as_ref().map(|of| of.up.into()),
        );
        value.to_string()
    }

    pub(super) fn to_text(&self) -> String {
        let build_up = &self.build_up;
        let mut text = format!("Sessions PPPoE: {} of {}\n", build_up.up, self.sessions);
        let _ = write!(
            text,
            "Setup Time: {:.2} s (first session after {:.2} s)",
            build_up.last.as_secs_f64(),
            build_up.first.as_secs_f64(),
        );
        text.push_str(&match self.radius {
            true => ", accounts in FreeRADIUS".to_owned(),
            false => format!(", at most {BUILD_UP:?}"),
        });
        let _ = write!(
            text,
            "\nSetup Rate: {:.0} CPS\n\
             Retries: {} frames of discovery\n\
             Sessions with an answer to a ping: {} IPv4, {} IPv6\n\
             Memory of the router: {} bytes per session",
            rate(build_up),
            self.retries,
            self.answered[0],
            self.answered[1],
            self.bytes_per_session,
        );
        self.write_phases(&mut text);
        text
    }

    /// Writes a line for each phase that an option asked for.
    fn write_phases(&self, text: &mut String) {
        if let Some(load) = &self.load {
            let _ = write!(
                text,
                "\nLoad over all sessions: {:.0} packets/s, {} of {} lost",
                load.rate(),
                load.lost(),
                load.sent
            );
        }
        if let Some(time) = self.collapsed {
            let _ = write!(
                text,
                "\nAll sessions ended: after {:.2} s",
                time.as_secs_f64()
            );
        }
        if let Some(rebuilt) = &self.rebuilt {
            let seconds = rebuilt.last.as_secs_f64();
            let _ = write!(
                text,
                "\nRebuilt: {} sessions after {seconds:.2} s",
                rebuilt.up
            );
        }
        if let Some(churn) = &self.churn {
            let _ = write!(
                text,
                "\nCame and went: {} sessions in {:.0} s; memory {} KiB before, {} KiB after, at most {MEMORY_AFTER} %",
                churn.sessions,
                churn.time.as_secs_f64(),
                churn.memory_before,
                churn.memory_after
            );
        }
        if let Some(restored) = &self.restored {
            let seconds = restored.last.as_secs_f64();
            let _ = write!(
                text,
                "\nAfter a kill: {} sessions after {seconds:.2} s, at most {RETURN:?}",
                restored.up
            );
        }
    }

    /// Draws sessions, setup rate, processor time and memory over time.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub(super) fn draw(&self, folder: &Path) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        fs::create_dir_all(folder).map_err(failed)?;
        let points = |value: fn(&Sample) -> f64| {
            let points = self.samples.iter().map(|sample| (sample.at, value(sample)));
            points.collect::<Vec<_>>()
        };
        let sessions = points(|sample| sample.sessions);
        let plots = [
            (
                "rate",
                "Sessions that come up",
                "sessions/s",
                growth(&sessions),
            ),
            ("sessions", "PPPoE sessions up", "sessions", sessions),
            (
                "cpu",
                "Processor time of the router",
                "% of a core",
                points(|sample| sample.cpu),
            ),
            (
                "memory",
                "Resident memory of the router",
                "MiB",
                points(|sample| sample.memory),
            ),
        ];
        for (name, title, unit, points) in plots {
            let plot = Plot {
                title,
                unit,
                series: vec![Series {
                    name: name.to_owned(),
                    points,
                }],
                lines: Vec::new(),
                moments: self.moments(),
            };
            let path = folder.join(name).with_extension("svg");
            fs::write(&path, plot.to_svg()).map_err(failed)?;
            output::line(path.display())?;
        }
        Ok(())
    }

    /// Returns where phases begin; equal phases in a row are one.
    fn moments(&self) -> Vec<(f64, String)> {
        let mut phases = self.phases.clone();
        phases.dedup_by_key(|phase| phase.name);
        let moments = phases.iter().map(|phase| (phase.at, phase.name.to_owned()));
        moments.collect()
    }
}

impl Load {
    const fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.received)
    }

    /// Returns the received packets per second.
    fn rate(&self) -> f64 {
        self.received as f64 / self.seconds
    }
}

/// Returns the setup rate in sessions per second.
fn rate(of: &BuildUp) -> f64 {
    of.up as f64 / of.last.as_secs_f64()
}

/// Returns the growth per second between points.
fn growth(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let pairs = points.windows(2).map(|pair| {
        let [from, to] = [pair[0], pair[1]];
        (to.0, ((to.1 - from.1) / (to.0 - from.0)).max(0.0))
    });
    pairs.collect()
}
