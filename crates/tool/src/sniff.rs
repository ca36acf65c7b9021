//! `/tool/torch` and `/tool/sniffer/quick`: live view of the traffic of interfaces.

use std::time::Duration;

use menu::{Reason, Row, Value};

use crate::ping::nothing;
use crate::{Align, Column, Form, Invocation, Look, Next, RunningTool, Tool, Turn};

/// Display interval of packets.
const PACKETS: Duration = Duration::from_millis(250);
/// RouterOS: `quick-rows`.
const LINES: usize = 20;
/// Maximum number of packet rows per update.
const MOST_LINES: usize = 1_000;
/// Number of frame bytes per output line.
const BYTES: usize = 16;

/// Kind of view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Flows with their rates.
    Torch,
    /// Packets.
    Packets {
        /// Maximum number of packets per update.
        lines: usize,
        /// Show the bytes of each frame.
        frame: bool,
    },
}

/// Capture of frames by the router.
pub trait Sniffs {
    /// Starts a capture with the command's arguments; returns its ticket.
    ///
    /// # Errors
    /// Fails if an argument is invalid or too many captures are running.
    fn open(&mut self, view: View, arguments: &[(&'static str, Value)]) -> Result<u64, Reason>;

    /// Returns the rows since the last call and the number of frames left out; `None` for an unknown ticket.
    fn look(&mut self, ticket: u64) -> Option<(Vec<Row>, u64)>;

    /// Ends a capture.
    fn close(&mut self, ticket: u64);
}

/// Torch or quick sniffer.
pub(crate) struct SniffTool {
    form: Form,
    /// True for packets, false for flows.
    packets: bool,
}

impl SniffTool {
    pub(crate) const TORCH: Self = Self {
        form: Form::Table(&FLOWS),
        packets: false,
    };
    pub(crate) const QUICK: Self = Self {
        form: Form::Lines(&LINE),
        packets: true,
    };
}

static FLOWS: [Column; 12] = [
    Column::new("mac-protocol", "MAC-PROTOCOL").optional(),
    Column::new("vlan-id", "VLAN-ID").optional(),
    Column::new("ip-protocol", "IP-PROTOCOL").optional(),
    Column::new("src-address", "SRC-ADDRESS").optional(),
    Column::new("src-port", "SRC-PORT").optional(),
    Column::new("dst-address", "DST-ADDRESS").optional(),
    Column::new("dst-port", "DST-PORT").optional(),
    Column::new("dscp", "DSCP").optional(),
    Column::new("tx", "TX"),
    Column::new("rx", "RX"),
    Column::new("tx-packets", "TX-PACKETS"),
    Column::new("rx-packets", "RX-PACKETS"),
];

static LINE: [Column; 10] = [
    Column::new("interface", "INTERFACE").at(10, Align::Left),
    Column::new("time", "TIME")
        .at(9, Align::Right)
        .showing(time),
    Column::new("num", "NUM").at(6, Align::Right),
    Column::new("direction", "DIR").at(3, Align::Left),
    Column::new("path", "PATH").at(9, Align::Left),
    Column::new("src-address", "SRC")
        .at(26, Align::Left)
        .showing(|row| end(row, "src")),
    Column::new("dst-address", "DST")
        .at(26, Align::Left)
        .showing(|row| end(row, "dst")),
    Column::new("protocol", "PROTOCOL")
        .at(11, Align::Left)
        .showing(carried),
    Column::new("size", "SIZE").at(5, Align::Right),
    Column::new("cpu", "CPU")
        .at(3, Align::Right)
        .showing(cpu_and_bytes),
];

/// Time since the start in seconds, with three decimals.
fn time(row: &Row) -> String {
    match row.get("time") {
        Some(Value::Thousandths(millis)) => format!("{}.{:03}", millis / 1_000, millis % 1_000),
        other => other.map(ToString::to_string).unwrap_or_default(),
    }
}

/// IP address of an end, or its MAC address.
fn end(row: &Row, which: &str) -> String {
    let cell = row.get(&format!("{which}-address"));
    let cell = cell.or_else(|| row.get(&format!("{which}-mac")));
    cell.map(ToString::to_string).unwrap_or_default()
}

/// Worker number, followed by lines of frame bytes if requested.
fn cpu_and_bytes(row: &Row) -> String {
    let cell = |name| row.get(name).map(ToString::to_string).unwrap_or_default();
    let mut text = format!("{:>3}", cell("cpu"));
    for (at, line) in cell("data").as_bytes().chunks(2 * BYTES).enumerate() {
        let pairs = line.chunks(2).map(String::from_utf8_lossy);
        let pairs: Vec<_> = pairs.collect();
        text.push_str(&format!("\n    {:04x}  {}", at * BYTES, pairs.join(" ")));
    }
    text
}

/// IP protocol, or else the EtherType.
fn carried(row: &Row) -> String {
    let cell = row.get("ip-protocol").or_else(|| row.get("protocol"));
    cell.map(ToString::to_string).unwrap_or_default()
}

/// View of packets, by the arguments or else by the settings.
fn packets(given: &mut Invocation<'_>) -> Result<View, Reason> {
    let (rows, frame) = given.ask(|store, _| {
        let settings = store.settings("/tool/sniffer");
        let rows = settings.and_then(|item| item.get("quick-rows")?.as_number());
        let frame = settings.is_some_and(|item| item.is("quick-show-frame"));
        Ok((rows.and_then(|rows| usize::try_from(rows).ok()), frame))
    })?;
    let lines = given.number("rows").or(rows).unwrap_or(LINES);
    Ok(View::Packets {
        lines: lines.clamp(1, MOST_LINES),
        frame: given
            .value("show-frame")
            .map_or(frame, |said| said.as_bool() == Some(true)),
    })
}

struct Looking {
    view: View,
    arguments: Vec<(&'static str, Value)>,
    interval: Duration,
    ticket: Option<u64>,
    left_out: u64,
}

impl Tool for SniffTool {
    fn form(&self) -> Form {
        self.form
    }

    fn start(&self, given: &mut Invocation<'_>) -> Result<Box<dyn RunningTool>, Reason> {
        let (view, interval) = match self.packets {
            true => (packets(given)?, PACKETS),
            false => (View::Torch, given.interval),
        };
        Ok(Box::new(Looking {
            view,
            arguments: std::mem::take(&mut given.arguments),
            interval,
            ticket: None,
            left_out: 0,
        }))
    }
}

impl RunningTool for Looking {
    fn look(&mut self, turn: &mut Turn<'_>) -> Result<Look, Reason> {
        let missing = || Reason::failure("a capture needs a running router");
        let sniffs = turn.router.sniffs().ok_or_else(missing)?;
        let next = Next::At(turn.now.saturating_add(self.interval));
        let Some(ticket) = self.ticket else {
            self.ticket = Some(sniffs.open(self.view, &self.arguments)?);
            return Ok(nothing(next));
        };
        let Some((rows, left_out)) = sniffs.look(ticket) else {
            return Ok(nothing(Next::Over));
        };
        self.left_out += left_out;
        // Packet rows are appended, so an update without packets has no rows.
        let is_new = self.view == View::Torch || !rows.is_empty();
        Ok(Look {
            rows: is_new.then_some(rows),
            next,
        })
    }

    fn summary(&self) -> String {
        match self.left_out {
            0 => String::new(),
            left_out => format!("{left_out} captured packets are not shown\n"),
        }
    }

    fn stop(&mut self, turn: &mut Turn<'_>) {
        if let (Some(ticket), Some(sniffs)) = (self.ticket.take(), turn.router.sniffs()) {
            sniffs.close(ticket);
        }
    }
}
