//! Commands that go on until they are stopped: `ping`, `traceroute`, monitors.
//!
//! Each is a [`Tool`]: it begins with typed arguments, is looked at again and again with the router borrowed for
//! each look alone, and says with each look what there is to see and when the next look is due. What all of them
//! have in common (`once`, `count`, `duration`, `proplist`, `as-value`, `do`, `file`, the end by a key) belongs to
//! whoever runs them, as does drawing: [`Form`] says how rows are shown.
//!
//! To add one: a file beside this one, and its line in [`TOOLS`].

mod calculate;
mod echo;
mod fetch;
mod flood_ping;
mod given;
mod ip_scan;
mod page;
mod ping;
mod ping_speed;
mod place;
mod profile;
mod router;
mod run;
mod sample;
mod sniff;
mod table;
mod traceroute;
mod traffic;

use menu::Menu;

pub use echo::{Echoes, Ping, Pong, Responder};
pub use fetch::{Fetch, Fetched, Fetches, Page};
pub use given::{Given, Site};
pub use page::page;
pub use place::{Place, Scheme};
pub use router::Router;
pub use run::{Form, Look, Next, Run, Tool, Turn};
pub use sniff::{Sniffs, View};
pub use table::{Align, Column, line, table};

/// The commands that run by a tool of their own, by menu and name.
static TOOLS: [(&str, &str, &dyn Tool); 11] = [
    ("/interface", "monitor-traffic", &traffic::MonitorTraffic),
    ("/tool", "calculate", &calculate::Calculate),
    ("/tool", "fetch", &fetch::FetchTool),
    ("/tool", "flood-ping", &flood_ping::FloodPing),
    ("/tool", "ip-scan", &ip_scan::IpScan),
    ("/tool", "ping", &ping::PingTool),
    ("/tool", "ping-speed", &ping_speed::PingSpeed),
    ("/tool", "profile", &profile::Profile),
    ("/tool", "torch", &sniff::SniffTool::TORCH),
    ("/tool", "traceroute", &traceroute::Traceroute),
    ("/tool/sniffer", "quick", &sniff::SniffTool::QUICK),
];

/// The tool of a menu's command. One without a tool of its own that is declared to go on is an action of the
/// router, done again and again; `None` where the command ends by itself.
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
