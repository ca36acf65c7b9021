//! Commands that run until they are stopped: `ping`, `traceroute`, monitors.
//!
//! Each command is a [`Tool`]. It starts with typed arguments and is then called repeatedly with the router borrowed
//! for each call; each call returns rows and the time of the next call. The caller implements what all tools share
//! (`once`, `count`, `duration`, `proplist`, `as-value`, `do`, `file`, the stop key) and the output; [`Form`] selects
//! the layout.
//!
//! To add a tool, add a file beside this one and a line in [`TOOLS`].

mod bandwidth;
mod calculate;
mod echo;
mod fetch;
mod flood_ping;
mod invocation;
mod ip_scan;
mod page;
mod ping;
mod ping_speed;
mod profile;
mod router;
mod running;
mod sample;
mod sniff;
mod speed_test;
mod table;
mod traceroute;
mod traffic;
mod traffic_generator;
mod url;

use menu::Menu;

pub use bandwidth::{BandwidthProgress, BandwidthTests, PathState};
pub use echo::{Echoes, Ping, Pong, Responder};
pub use fetch::{Fetch, Fetched, Fetches, Page};
pub use invocation::{Ends, Invocation, Site};
pub use page::page;
pub use profile::{
    HostTime, ProfileReading, ProfileSubject, Profiles, SampledClocks, ThreadTime, WorkerClocks,
};
pub use router::Router;
pub use running::{Form, Look, Next, RunningTool, Tool, Turn};
pub use sniff::{Sniffs, View};
pub use table::{Align, Column, line, table};
pub use traffic_generator::{GeneratorProgress, TrafficGenerator, figure_cells};
pub use url::{Scheme, Url};

/// Commands with a tool of their own, by menu and name.
static TOOLS: [(&str, &str, &dyn Tool); 15] = [
    ("/interface", "monitor-traffic", &traffic::MonitorTraffic),
    ("/interface/pppoe-client", "scan", &sample::Services),
    ("/tool", "bandwidth-test", &bandwidth::BandwidthTestTool),
    ("/tool", "calculate", &calculate::Calculate),
    ("/tool", "fetch", &fetch::FetchTool),
    ("/tool", "flood-ping", &flood_ping::FloodPing),
    ("/tool", "ip-scan", &ip_scan::IpScan),
    ("/tool", "ping", &ping::PingTool),
    ("/tool", "ping-speed", &ping_speed::PingSpeed),
    ("/tool", "profile", &profile::Profile),
    ("/tool", "speed-test", &speed_test::SpeedTestTool),
    ("/tool", "torch", &sniff::SniffTool::TORCH),
    ("/tool", "traceroute", &traceroute::Traceroute),
    ("/tool/sniffer", "quick", &sniff::SniffTool::QUICK),
    (
        "/tool/traffic-generator",
        "quick",
        &traffic_generator::Quick,
    ),
];

/// Returns the tool of a command. A command that is declared as continuous but has no tool of its own repeats an
/// action of the router; `None` if the command ends by itself.
pub fn of(menu: &Menu, command: &str) -> Option<&'static dyn Tool> {
    let mut own = TOOLS.iter();
    let found = own.find(|(path, name, _)| *path == menu.path && *name == command);
    if let Some((_, _, tool)) = found {
        return Some(*tool);
    }
    let mut declared = menu.commands.iter();
    let repeats = declared.any(|own| own.name == command && own.repeats);
    repeats.then_some(&sample::Sample)
}
