//! Tells collectors of flows (`/ip/traffic-flow`): from what the table of connections has counted, looked at now and
//! then, so that no packet is touched for it, and FastTrack is as fast as without.
//!
//! ```text
//! a look: each connection's counters ─▶ what is new since it was told ─▶ record ─▶ datagram ─▶ collectors
//! ```
//! A connection stays in its table for seconds after its last packet, longer than looks are apart; so its last packets
//! are told. What a connection has carried is told when it has been silent for `inactive`, when it has gone on for
//! `active`, and when it is gone. Each direction is a flow.

#[cfg(test)]
mod tests;

use core::net::{IpAddr, SocketAddr};
use std::collections::BTreeMap;

use machine::{Duration, Instant};
use wire::netflow::{self, Moment, Record, Version};

/// Datagrams of a look at most, for each collector.
const DATAGRAMS: usize = 2_048;

/// A collector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Where it listens.
    pub to: SocketAddr,
    /// The address that it is told from, if that is given.
    pub source: Option<IpAddr>,
    /// The format.
    pub version: Version,
    /// Datagrams after which the format is told again.
    pub refresh: u32,
    /// The time after which it is.
    pub timeout: Duration,
}

/// How flows are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The collectors; with none nothing is kept.
    pub targets: Vec<Target>,
    /// How often a flow that goes on is told.
    pub active: Duration,
    /// How long a flow may be silent.
    pub inactive: Duration,
    /// Flows that are kept at most.
    pub entries: usize,
}

/// What one direction of a connection is, and has counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The connection, and whether it is its answers.
    pub id: (u64, bool),
    /// It, with all that was counted since the connection began.
    pub record: Record,
}

/// What was told, and what was not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Flows that are kept.
    pub active: u64,
    /// Flows that ended.
    pub finished: u64,
    /// Packets of flows for which there was no room.
    pub unmanaged_packets: u64,
    /// Their bytes.
    pub unmanaged_bytes: u64,
}

/// A datagram for a collector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// To whom.
    pub to: SocketAddr,
    /// From which address, if that is given.
    pub source: Option<IpAddr>,
    /// What.
    pub bytes: Vec<u8>,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Exporter {
    config: Option<Config>,
    flows: BTreeMap<(u64, bool), Flow>,
    targets: Vec<Told>,
    totals: Totals,
    look: u64,
}

#[derive(Debug)]
struct Flow {
    /// With what was counted at the last look.
    record: Record,
    told: (u64, u64),
    /// When what has not been told began, and when the last packet was noticed.
    begin: Instant,
    last: Instant,
    look: u64,
}

/// What a collector was told.
#[derive(Debug)]
struct Told {
    target: Target,
    sequence: u32,
    datagrams: u32,
    templates: Option<Instant>,
}

/// Records that wait to be told.
#[derive(Debug, Default)]
struct Due {
    records: [Vec<Record>; 2],
}

impl Due {
    fn push(&mut self, record: Record) {
        self.records[usize::from(record.source.is_ipv6())].push(record);
    }
}

impl Exporter {
    /// Takes a configuration over; none ends it.
    pub fn configure(&mut self, config: Option<Config>) {
        let config = config.filter(|config| !config.targets.is_empty());
        let targets = config.as_ref().map(|config| config.targets.as_slice());
        let mut before = core::mem::take(&mut self.targets);
        for target in targets.unwrap_or_default() {
            let at = before.iter().position(|told| told.target == *target);
            self.targets.push(match at {
                Some(at) => before.swap_remove(at),
                None => Told {
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

    /// Whether anybody is told.
    pub const fn is_on(&self) -> bool {
        self.config.is_some()
    }

    /// What was told, and what was not.
    pub fn totals(&self) -> Totals {
        Totals {
            active: self.flows.len() as u64,
            ..self.totals
        }
    }

    /// Takes what one direction of a connection has counted by now.
    pub fn see(&mut self, seen: Seen, now: Instant) {
        if self.config.is_some() {
            self.take(seen, now);
        }
    }

    /// All connections were seen: gives the datagrams of what is due. `moment` is `now` for collectors.
    pub fn end(&mut self, moment: Moment, now: Instant) -> Vec<Outgoing> {
        let Some(config) = &self.config else {
            return Vec::new();
        };
        let (active, inactive) = (config.active, config.inactive);
        let mut due = Due::default();
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
            told.tell(&due, moment, now, &mut out);
        }
        out
    }

    fn take(&mut self, one: Seen, now: Instant) {
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
                // It is told once there is room; what it has carried until it is gone is lost.
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
    /// Packets and bytes that were not told. Counters that were reset begin anew.
    const fn news(&self) -> (u64, u64) {
        (
            self.record.packets.saturating_sub(self.told.0),
            self.record.bytes.saturating_sub(self.told.1),
        )
    }
}

impl Told {
    fn tell(&mut self, due: &Due, moment: Moment, now: Instant, out: &mut Vec<Outgoing>) {
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
                self.tell_templates(moment, now, out);
                let bytes = netflow::records(version, records, moment, self.sequence);
                self.sequence = self.sequence.wrapping_add(version.counts(records.len()));
                self.datagrams += 1;
                out.push(self.datagram(bytes));
            }
        }
    }

    fn tell_templates(&mut self, moment: Moment, now: Instant, out: &mut Vec<Outgoing>) {
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
