//! `ferroute bench pppoe`: brings up PPPoE sessions from discovery to IPCP and IPv6CP, pings over each, and measures
//! rate, memory and the return after a kill of the router.
//!
//! ```text
//!   clients: all subscribers on one device ── ether1 [ router: /interface/pppoe-server/server ]
//! ```
//! This process simulates the subscribers; the router runs in a second process on the same cores. The report uses the
//! terms of BNG Blaster: setup rate, first and last session, retries.

mod codec;
mod population;
mod subscriber;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use lab::{End, Holding, Host, Lab, Layout, Life, Link, Offloads, Options};
use rustix::process::Signal;
use serde_json::json;

use self::population::{BuildUp, Pace, Population};
use super::process::{Router, Start};
use super::queues::plot::{Plot, Series};
use crate::cli::{Pppoe, output};

/// Bound of the build-up with local secrets, and of the return after a kill.
const BUILD_UP: Duration = Duration::from_secs(10);
const RETURN: Duration = Duration::from_secs(30);
/// Timeout of each step.
const PATIENCE: Duration = Duration::from_secs(300);
/// Time after the last session, in which the router settles before its memory is read.
const SETTLE: Duration = Duration::from_secs(2);
/// Frames of discovery that a session without retries sends: PADI and PADR.
const DISCOVERY: u64 = 2;

const LAYOUT: Layout = Layout {
    name: "pppoe",
    summary: "a PPPoE server and its subscribers",
    hosts: &[host("clients"), host("router")],
    links: &[Link {
        mtu: 1500,
        queues: 1,
        offloads: Offloads::Off,
        ends: [
            End {
                host: "clients",
                device: "eth0",
                addresses: &[],
            },
            End {
                host: "router",
                device: "ether1",
                addresses: &[],
            },
        ],
    }],
    config: "",
};

const fn host(name: &'static str) -> Host {
    Host {
        name,
        forwards: false,
        loopback: &[],
        routes: &[],
    }
}

/// Results.
struct Report {
    sessions: u32,
    build_up: BuildUp,
    /// Answers to the pings of each family.
    answered: [u64; 2],
    /// Frames of discovery beyond those of sessions without retries.
    retries: u64,
    /// Memory of the router per session, in bytes.
    bytes_per_session: u64,
    /// Build-up of all sessions after the kill.
    restored: Option<BuildUp>,
}

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

fn measure(asked: &Pppoe) -> Result<Report, String> {
    let text = |error: lab::Error| error.to_string();
    let options = Options {
        name: Some(format!("pppoe-{}", std::process::id())),
        life: Life::Owned,
        holding: Some(Holding::Named),
        belongings: Vec::new(),
    };
    let lab = Lab::up(&LAYOUT, &options).map_err(text)?;
    let state = Folder::new();
    let mut router = start(&lab, Some(&configuration(asked.sessions)), &state.0)?;
    router.wait(PATIENCE)?;
    let memory = router.resident_kib();
    lab.enter("clients").map_err(text)?;
    let mut clients = Population::open("eth0", asked.sessions, u64::from(asked.sessions))?;
    let pace = Pace {
        start_rate: asked.start_rate,
        outstanding_max: asked.outstanding,
    };
    let build_up = clients.build_up(pace, PATIENCE);
    clients.run_for(SETTLE);
    let growth = router.resident_kib().saturating_sub(memory) * 1024;
    let retries = clients.counts.discovery;
    let answered = [false, true].map(|ipv6| clients.ping(ipv6));
    let restored = match asked.kill {
        true => Some(restore(&lab, router, &state.0, &mut clients)?),
        false => None,
    };
    clients.hang_up();
    lab.down().map_err(text)?;
    Ok(Report {
        sessions: asked.sessions,
        retries: retries.saturating_sub(u64::from(asked.sessions) * DISCOVERY),
        bytes_per_session: growth / u64::from(asked.sessions),
        build_up,
        answered,
        restored,
    })
}

/// Kills the router, starts it with the stored state, and waits until all sessions are up again.
fn restore(
    lab: &Lab,
    router: Router,
    state: &Path,
    clients: &mut Population,
) -> Result<BuildUp, String> {
    let begin = Instant::now();
    router.end(Signal::KILL)?;
    let mut next = start(lab, None, state)?;
    next.wait(PATIENCE)?;
    // Sessions of the killed router end when the new one answers their packets with PADT.
    let waited = begin.elapsed();
    while clients.up() == clients.subscribers() && begin.elapsed() < PATIENCE {
        clients.run_for(Duration::from_millis(20));
    }
    let mut course = clients.recover(PATIENCE);
    let shift = begin.elapsed().saturating_sub(course.last);
    for point in &mut course.course {
        point.0 += shift.as_secs_f64();
    }
    course.first = waited;
    course.last += shift;
    next.end(Signal::TERM)?;
    Ok(course)
}

fn start(lab: &Lab, config: Option<&str>, state: &Path) -> Result<Router, String> {
    let start = Start {
        config,
        ports: &[String::from("ether1=packet:ether1")],
        state: Some(state),
        host_plane: false,
    };
    Router::begin(lab, &start)
}

/// Returns the router's configuration: a server, and a secret for each subscriber.
fn configuration(sessions: u32) -> String {
    let mut text = String::from(
        "/ip pool add name=subscribers ranges=10.64.0.2-10.79.255.254\n\
         /ppp profile add name=subscriber local-address=10.255.0.1 remote-address=subscribers \
         use-ipv6=yes change-tcp-mss=no\n\
         /interface pppoe-server server add service-name=bench interface=ether1 disabled=no \
         default-profile=subscriber authentication=chap one-session-per-host=yes\n",
    );
    for number in 0..sessions {
        let _ = writeln!(
            text,
            "/ppp secret add name=u{number} password=p{number} service=pppoe profile=subscriber"
        );
    }
    text
}

impl Report {
    fn holds(&self) -> bool {
        let all = self.sessions as usize;
        let pings = u64::from(self.sessions);
        let is_restored = { self.restored.as_ref() }
            .is_none_or(|restored| restored.up == all && restored.last <= RETURN);
        self.build_up.up == all
            && self.build_up.last <= BUILD_UP
            && self.answered == [pings, pings]
            && is_restored
    }

    /// Returns the setup rate in sessions per second.
    fn rate(&self) -> f64 {
        self.build_up.up as f64 / self.build_up.last.as_secs_f64()
    }

    fn to_json(&self) -> String {
        let mut value = json!({
            "sessions": self.sessions,
            "sessions_up": self.build_up.up,
            "seconds": self.build_up.last.as_secs_f64(),
            "seconds_first": self.build_up.first.as_secs_f64(),
            "setup_rate": self.rate(),
            "retries": self.retries,
            "answered_ipv4": self.answered[0],
            "answered_ipv6": self.answered[1],
            "bytes_per_session": self.bytes_per_session,
            "holds": self.holds(),
        });
        if let Some(restored) = &self.restored {
            value["seconds_after_kill"] = restored.last.as_secs_f64().into();
            value["sessions_after_kill"] = restored.up.into();
        }
        value.to_string()
    }

    fn to_text(&self) -> String {
        let build_up = &self.build_up;
        let mut text = format!(
            "Sessions PPPoE: {} of {}\n\
             Setup Time: {:.2} s (first session after {:.2} s), at most {BUILD_UP:?}\n\
             Setup Rate: {:.0} CPS\n\
             Retries: {} frames of discovery\n\
             Pings answered: {} IPv4, {} IPv6\n\
             Memory of the router: {} bytes per session",
            build_up.up,
            self.sessions,
            build_up.last.as_secs_f64(),
            build_up.first.as_secs_f64(),
            self.rate(),
            self.retries,
            self.answered[0],
            self.answered[1],
            self.bytes_per_session,
        );
        if let Some(restored) = &self.restored {
            let seconds = restored.last.as_secs_f64();
            let _ = write!(
                text,
                "\nAfter a kill: {} sessions after {seconds:.2} s, at most {RETURN:?}",
                restored.up
            );
        }
        text
    }

    /// Draws sessions over time: `sessions.svg`, and `restored.svg` after a kill.
    fn draw(&self, folder: &Path) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        fs::create_dir_all(folder).map_err(failed)?;
        let courses = [
            ("sessions", "PPPoE sessions up", Some(&self.build_up)),
            (
                "restored",
                "PPPoE sessions up after a kill",
                self.restored.as_ref(),
            ),
        ];
        for (name, title, course) in courses {
            let Some(course) = course else {
                continue;
            };
            let plot = Plot {
                title,
                unit: "sessions",
                series: vec![Series {
                    name: String::from("up"),
                    points: course.course.clone(),
                }],
                lines: vec![(f64::from(self.sessions), String::from("all"))],
            };
            let path = folder.join(name).with_extension("svg");
            fs::write(&path, plot.to_svg()).map_err(failed)?;
            output::line(path.display())?;
        }
        Ok(())
    }
}

/// State folder, removed with the value.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new() -> Self {
        let name = format!("ferroute-pppoe-{}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
        let _ = fs::remove_file(self.0.with_extension("key"));
    }
}
