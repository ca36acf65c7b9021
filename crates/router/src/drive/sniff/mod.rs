//! Instruments that look at frames: `/tool/torch`, `/tool/sniffer`. Workers copy the frames of tapped interfaces; the
//! copies of all workers come together here (`copy.rs`).
//!
//! An interface is tapped while an instrument needs its frames. Copies are as long as the most demanding instrument
//! needs.

mod filter;
mod ports;
mod rows;
mod sniffer;

use std::collections::{BTreeMap, BTreeSet};

use dataplane::tap::{Direction, TapOrigin, Tapped};
use frame::InterfaceId;
use machine::Instant;
use menu::{Reason, Row, Value};
use sniff::{Filter, Head, Memory, ObservedFrame, Path, Torch};
use tool::{Sniffs, View};

use self::filter::CaptureInterfaces;
use self::sniffer::Sniffer;
use super::Control;
use super::generator::state::GeneratorTest;
use crate::profiles::RunningProfile;

/// Maximum number of open instruments, without the sniffer.
const MOST: usize = 32;
/// Bytes to copy for the headers of a frame.
const HEADERS: u32 = 192;
/// Bytes to copy for complete frames.
const WHOLE: u32 = 2_048;
/// Maximum number of flows that torch shows.
const FLOWS: usize = 200;
/// Bytes of queued packets for a view.
const WAITING: usize = 1 << 20;

/// All open instruments and their taps.
#[derive(Debug, Default)]
pub(crate) struct Instruments {
    last: u64,
    open: BTreeMap<u64, Open>,
    pub(super) sniffer: Sniffer,
    /// The traffic generator's running or last test.
    pub(super) generator: GeneratorTest,
    tapped: BTreeSet<InterfaceId>,
    /// The running profile of workers.
    pub(crate) profile: RunningProfile,
}

/// An open instrument.
#[derive(Debug)]
struct Open {
    places: CaptureInterfaces,
    filter: Filter,
    began: Instant,
    what: What,
}

#[derive(Debug)]
enum What {
    Torch {
        torch: Torch,
        looked: Instant,
    },
    /// Packets: lines per page, perhaps with the bytes of packets.
    Packets {
        memory: Memory,
        lines: usize,
        frame: bool,
    },
}

impl Open {
    fn see(&mut self, seen: &ObservedFrame, bytes: &[u8]) {
        match &mut self.what {
            What::Torch { torch, .. } => {
                // A flow covers both directions: its source is the host behind the interface.
                let seen = if seen.sent { seen.turned() } else { *seen };
                if self.filter.passes(&seen) {
                    torch.see(&seen);
                }
            }
            What::Packets { memory, .. } if self.filter.passes(seen) => {
                memory.see(seen, bytes);
            }
            What::Packets { .. } => {}
        }
    }

    fn snap(&self) -> u32 {
        match self.what {
            What::Packets { frame: true, .. } => WHOLE,
            _ => HEADERS,
        }
    }
}

impl Instruments {
    /// Returns when the sniffer writes its buffer.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.sniffer.deadline()
    }

    /// Whether the buffer is to be written.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.deadline().is_some_and(|at| at <= now)
    }

    /// Whether the sniffer runs.
    pub(crate) fn is_sniffing(&self) -> bool {
        self.sniffer.is_running()
    }

    /// Returns why packets are missing in the sniffer's file or memory, in words; `None` if none are.
    pub(crate) fn sniffer_remark(&self) -> Option<String> {
        self.sniffer.remark()
    }
}

impl Control {
    /// Passes the copy of an interface's frame to all instruments on that interface.
    pub(super) fn see_copy(&mut self, tapped: &Tapped, cpu: u16) {
        let Tapped { frame, len, at, by } = tapped;
        let TapOrigin::Interface { id, direction, .. } = *by else {
            return;
        };
        let sent = direction == Direction::Transmitted;
        let path = match (sent, frame.fasttracked) {
            (false, _) => Path::Ingress,
            (true, true) => Path::FastTrack,
            (true, false) if frame.ingress == InterfaceId::NONE => Path::Output,
            (true, false) => Path::Forward,
        };
        let seen = ObservedFrame {
            at: *at,
            interface: id,
            sent,
            path,
            cpu,
            len: *len,
            head: Head::of(frame.bytes()),
        };
        let name = self.layout.name(id);
        let open = self.instruments.open.values_mut();
        for open in open.filter(|open| open.places.have(name)) {
            open.see(&seen, frame.bytes());
        }
        if self.instruments.sniffer.wants(name, &seen) {
            self.sniff(&seen, frame.bytes());
        }
    }

    /// Taps exactly those interfaces that an instrument needs.
    pub(super) fn retap(&mut self) {
        let ids = { self.layout.interfaces.keys() }.chain(&self.instruments.tapped);
        let ids: BTreeSet<_> = ids.copied().collect();
        self.retap_changed(&ids);
    }

    /// Taps or releases these interfaces, as the instruments need.
    pub(super) fn retap_changed(&mut self, ids: &BTreeSet<InterfaceId>) {
        let looks = &self.instruments;
        let places = looks.open.values().map(|open| &open.places);
        let places: Vec<_> = places.chain(looks.sniffer.places()).collect();
        if places.is_empty() && looks.tapped.is_empty() {
            return;
        }
        let is_wanted = |id: &InterfaceId| {
            let laid = self.layout.interfaces.get(id);
            laid.is_some_and(|laid| places.iter().any(|places| places.have(&laid.name)))
        };
        let wanted: BTreeSet<_> = ids.iter().copied().filter(is_wanted).collect();
        let snaps = looks.open.values().map(Open::snap);
        let snap = snaps.chain(looks.sniffer.snap()).max();
        self.published.table().set_snap(snap.unwrap_or(HEADERS));
        let mut is_other = false;
        for id in ids {
            let is_tapped = wanted.contains(id);
            let tapped = &mut self.instruments.tapped;
            let changed = match is_tapped {
                true => tapped.insert(*id),
                false => tapped.remove(id),
            };
            if changed {
                self.published.table().set_tap(*id, is_tapped);
                is_other = true;
            }
        }
        if is_other {
            // Removes the shortcuts of devices: tapped interfaces create none, so that all frames are seen.
            self.fib.forget_shortcuts();
        }
    }

    fn open_look(
        &mut self,
        view: View,
        arguments: &[(&'static str, Value)],
    ) -> Result<u64, Reason> {
        if self.instruments.open.len() >= MOST {
            return Err(Reason::failure("too many tools capture packets"));
        }
        let said = |name: &str| {
            let found = arguments.iter().find(|(own, _)| *own == name);
            found.map(|(_, value)| value.clone())
        };
        let (now, interface) = (self.now, said("interface"));
        let (places, filter, what) = match view {
            View::Torch => {
                let interface = interface.ok_or(Reason::Missing(vec!["interface"]))?;
                let (columns, filter) = filter::lit(&said)?;
                let (torch, looked) = (Torch::new(columns), now);
                let what = What::Torch { torch, looked };
                (filter::places(Some(&interface)), filter, what)
            }
            View::Packets { lines, frame } => {
                let memory = Memory::new(WAITING, true);
                let what = What::Packets {
                    memory,
                    lines,
                    frame,
                };
                (
                    filter::places(interface.as_ref()),
                    filter::sniffed(&said)?,
                    what,
                )
            }
        };
        if let CaptureInterfaces::Named(names) = &places
            && names.iter().any(|name| self.layout.named(name).is_none())
        {
            return Err(Reason::no_match("interface"));
        }
        self.instruments.last += 1;
        let ticket = self.instruments.last;
        let open = Open {
            places,
            filter,
            began: now,
            what,
        };
        self.instruments.open.insert(ticket, open);
        self.retap();
        Ok(ticket)
    }
}

impl Sniffs for Control {
    fn open(&mut self, view: View, arguments: &[(&'static str, Value)]) -> Result<u64, Reason> {
        self.open_look(view, arguments)
    }

    fn look(&mut self, ticket: u64) -> Option<(Vec<Row>, u64)> {
        let (now, layout) = (self.now, &self.layout);
        let open = self.instruments.open.get_mut(&ticket)?;
        match &mut open.what {
            What::Torch { torch, looked } => {
                let seconds = now.saturating_since(*looked).as_secs_f64().max(0.001);
                *looked = now;
                Some((flows(torch, now, seconds), 0))
            }
            What::Packets {
                memory,
                lines,
                frame,
            } => {
                let (packets, left_out) = memory.take();
                let beyond = packets.len().saturating_sub(*lines);
                let name = |id| layout.name(id).to_owned();
                let shown = packets[beyond..].iter();
                let rows = shown.map(|kept| rows::packet(kept, open.began, &name, *frame));
                Some((rows.collect(), left_out + beyond as u64))
            }
        }
    }

    fn close(&mut self, ticket: u64) {
        self.instruments.open.remove(&ticket);
        self.retap();
    }
}

/// Returns rows of the biggest flows, of the sum of the others, and of the total.
fn flows(torch: &mut Torch, now: Instant, seconds: f64) -> Vec<Row> {
    let (flows, rest, total) = torch.take(now, FLOWS);
    let mut all: Vec<_> = flows.iter().map(|flow| rows::flow(flow, seconds)).collect();
    if let Some(rest) = rest {
        let mut row = Row::default();
        row.set("src-address", Value::text("others"));
        rows::traffic(&mut row, &rest, seconds);
        all.push(row);
    }
    let mut row = Row::default();
    rows::traffic(&mut row, &total, seconds);
    all.push(row);
    all
}

impl CaptureInterfaces {
    /// Whether the set contains an interface.
    fn have(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Named(names) => names.iter().any(|own| **own == *name),
        }
    }
}
