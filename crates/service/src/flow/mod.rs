//! Traffic flow export (`/ip/traffic-flow`): samples the connection table periodically, so that packets cost nothing
//! extra and FastTrack stays fast.
//!
//! ```text
//! sample: counters of each connection ─▶ difference to the last export ─▶ record ─▶ datagram ─▶ collectors
//! ```
//! A connection stays in its table for seconds after its last packet, longer than the sampling interval, so the last
//! packets are exported. The exporter reports a flow when it was idle for `inactive`, lasted for `active`, or ended.
//! Each direction of a connection is a flow.

#[cfg(test)]
mod tests;

use core::net::{IpAddr, SocketAddr};
use std::collections::BTreeMap;

use machine::{Duration, Instant};
use wire::netflow::{self, Moment, Record, Version};

/// Maximum number of datagrams per sample and collector.
const DATAGRAMS: usize = 2_048;

/// Collector (`/ip/traffic-flow/target`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Address and port.
    pub to: SocketAddr,
    /// Source address, if configured.
    pub source: Option<IpAddr>,
    /// Export format.
    pub version: Version,
    /// Number of datagrams after which templates are sent again.
    pub refresh: u32,
    /// Time after which templates are sent again.
    pub timeout: Duration,
}

/// Settings of the exporter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Collectors; without any the exporter is off.
    pub targets: Vec<Target>,
    /// Report interval of active flows.
    pub active: Duration,
    /// Idle time after which a flow is reported.
    pub inactive: Duration,
    /// Maximum number of tracked flows.
    pub entries: usize,
}

/// Counters of one direction of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowSample {
    /// Connection id; true for the reply direction.
    pub id: (u64, bool),
    /// Flow with its counters since the connection began.
    pub record: Record,
}

/// Statistics of the exporter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Tracked flows.
    pub active: u64,
    /// Finished flows.
    pub finished: u64,
    /// Packets of flows that exceeded the table.
    pub unmanaged_packets: u64,
    /// Bytes of flows that exceeded the table.
    pub unmanaged_bytes: u64,
}

/// Datagram for a collector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Destination.
    pub to: SocketAddr,
    /// Source address, if configured.
    pub source: Option<IpAddr>,
    /// Payload.
    pub bytes: Vec<u8>,
}

/// Traffic flow exporter.
#[derive(Debug, Default)]
pub struct Exporter {
    config: Option<Config>,
    flows: BTreeMap<(u64, bool), Flow>,
    targets: Vec<CollectorState>,
    totals: Totals,
    look: u64,
}

#[derive(Debug)]
struct Flow {
    /// Flow with its counters at the last sample.
    record: Record,
    told: (u64, u64),
    /// Begin of the unreported part, and time of the last packet.
    begin: Instant,
    last: Instant,
    look: u64,
}

/// Export state of a collector.
#[derive(Debug)]
struct CollectorState {
    target: Target,
    sequence: u32,
    datagrams: u32,
    templates: Option<Instant>,
}

/// Records to export, by address family.
#[derive(Debug, Default)]
struct PendingRecords {
    records: [Vec<Record>; 2],
}

impl PendingRecords {
    fn push(&mut self, record: Record) {
        self.records[usize::from(record.source.is_ipv6())].push(record);
    }
}

impl Exporter {
    /// Applies a configuration; `None` turns the exporter off.
    pub fn configure(&mut self, config: Option<Config>) {
        let config = config.filter(|config| !config.targets.is_empty());
        let targets = config.as_ref().map(|config| config.targets.as_slice());
        let mut before = core::mem::take(&mut self.targets);
        for target in targets.unwrap_or_default() {
            let at = before.iter().position(|told| told.target == *target);
            self.targets.push(match at {
                Some(at) => before.swap_remove(at),
                None => CollectorState {
                    target: *target,
                    sequence: 0,
                    datagrams: 0,
                    templates: None,
                },
            });
        }
        if config.is_none() {
            self.flows.clear();
        }
        self.config = config;
    }

    /// True if there are collectors.
    pub const fn is_on(&self) -> bool {
        self.config.is_some()
    }

    /// Returns the statistics.
    pub fn totals(&self) -> Totals {
        Totals {
            active: self.flows.len() as u64,
            ..self.totals
        }
    }

    /// Updates a flow with its current counters.
    pub fn see(&mut self, seen: FlowSample, now: Instant) {
        if self.config.is_some() {
            self.take(seen, now);
        }
    }

    /// Ends a sample: returns the datagrams to send. `moment` is `now` as sent to collectors.
    pub fn end(&mut self, moment: Moment, now: Instant) -> Vec<Outgoing> {
        let Some(config) = &self.config else {
            return Vec::new();
        };
        let (active, inactive) = (config.active, config.inactive);
        let mut due = PendingRecords::default();
        let up = |at: Instant| moment.up.saturating_sub(millis(now.saturating_since(at)));
        let look = self.look;
        let mut finished = 0;
        self.flows.retain(|_, flow| {
            let gone = flow.look != look;
            let silent = now.saturating_since(flow.last) >= inactive;
            let long = now.saturating_since(flow.begin) >= active;
            let new = flow.news();
            if (gone || silent || long) && new.0 > 0 {
                due.push(Record {
                    packets: new.0,
                    bytes: new.1,
                    first: up(flow.begin),
                    last: up(flow.last),
                    ..flow.record
                });
                flow.told = (flow.record.packets, flow.record.bytes);
                finished += u64::from(gone || silent);
            }
            if long {
                flow.begin = now;
            }
            !gone
        });
        self.look += 1;
        self.totals.finished += finished;
        let mut out = Vec::new();
        for told in &mut self.targets {
            told.send(&due, moment, now, &mut out);
        }
        out
    }

    fn take(&mut self, one: FlowSample, now: Instant) {
        let most = self.config.as_ref().map_or(0, |config| config.entries);
        let full = self.flows.len() >= most;
        match self.flows.get_mut(&one.id) {
            Some(flow) => {
                flow.look = self.look;
                if flow.news() == (0, 0) {
                    flow.begin = now;
                }
                if flow.record.packets != one.record.packets {
                    flow.last = now;
                }
                flow.record = one.record;
            }
            None if one.record.packets == 0 => {}
            None if full => {
                // Such a flow is tracked once there is room; packets counted until then are lost if it ends before.
                self.totals.unmanaged_packets += one.record.packets;
                self.totals.unmanaged_bytes += one.record.bytes;
            }
            None => {
                let flow = Flow {
                    record: one.record,
                    told: (0, 0),
                    begin: now,
                    last: now,
                    look: self.look,
                };
                self.flows.insert(one.id, flow);
            }
        }
    }
}

impl Flow {
    /// Unreported packets and bytes; a counter that was reset counts from zero.
    const fn news(&self) -> (u64, u64) {
        (
            self.record.packets.saturating_sub(self.told.0),
            self.record.bytes.saturating_sub(self.told.1),
        )
    }
}

impl CollectorState {
    fn send(
        &mut self,
        due: &PendingRecords,
        moment: Moment,
        now: Instant,
        out: &mut Vec<Outgoing>,
    ) {
        let version = self.target.version;
        let mut left = DATAGRAMS;
        for records in &due.records {
            let ipv6 = records
                .first()
                .is_some_and(|record| record.source.is_ipv6());
            if ipv6 && !version.has_ipv6() {
                continue;
            }
            for records in records.chunks(version.most()) {
                let Some(next) = left.checked_sub(1) else {
                    return;
                };
                left = next;
                self.send_templates(moment, now, out);
                let bytes = netflow::records(version, records, moment, self.sequence);
                self.sequence = self.sequence.wrapping_add(version.counts(records.len()));
                self.datagrams += 1;
                out.push(self.datagram(bytes));
            }
        }
    }

    fn send_templates(&mut self, moment: Moment, now: Instant, out: &mut Vec<Outgoing>) {
        let old = self
            .templates
            .is_none_or(|at| now - at >= self.target.timeout);
        let refresh = self.target.refresh > 0 && self.datagrams >= self.target.refresh;
        if !old && !refresh {
            return;
        }
        let version = self.target.version;
        if let Some(bytes) = netflow::templates(version, moment, self.sequence) {
            if version == Version::V9 {
                self.sequence = self.sequence.wrapping_add(1);
            }
            out.push(self.datagram(bytes));
        }
        (self.templates, self.datagrams) = (Some(now), 0);
    }

    const fn datagram(&self, bytes: Vec<u8>) -> Outgoing {
        Outgoing {
            to: self.target.to,
            source: self.target.source,
            bytes,
        }
    }
}

fn millis(span: Duration) -> u32 {
    u32::try_from(span.as_millis()).unwrap_or(u32::MAX)
}
