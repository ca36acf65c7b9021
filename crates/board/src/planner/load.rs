//! Loads of a board's ports, lanes, chips, processor and engine.

use std::collections::{BTreeMap, BTreeSet};

use super::flow::Flow;
use super::setup::Setup;
use crate::hardware::{Connection, Hardware, Purpose};
use crate::model::Board;
use crate::rates::{
    FRAME_LENGTHS, Forwarding, PACKET_LENGTHS, PUBLISHED_RULES, Suite, Tunnels, packet_time,
};

/// A part of a board that traffic loads.
#[derive(Clone, Debug, PartialEq)]
pub struct Resource {
    /// Kind of the part.
    pub kind: ResourceKind,
    /// Name: of a port, or `lane 0`, `switch1`, `processor`, `IPsec`.
    pub name: String,
    /// Ports that use it.
    pub ports: Vec<String>,
    /// Capacity in Mbps in each direction, where it is a rate; `None` if unknown or not a rate.
    pub mbps: Option<f64>,
    /// Load towards the processor in bit/s; of a chip, the switched traffic.
    pub up_bps: f64,
    /// Load from the processor in bit/s.
    pub down_bps: f64,
    /// Load as a share of the capacity; `None` if unknown.
    pub share: Option<f64>,
}

/// Kind of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceKind {
    /// A port.
    Port,
    /// A lane between ports and processor.
    Lane,
    /// A switch chip.
    Chip,
    /// The processor.
    Processor,
    /// Encryption.
    Encryption,
}

/// Loads of a board by traffic.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evaluation {
    /// Parts that traffic uses.
    pub resources: Vec<Resource>,
    /// Facts that are unknown but decide whether the traffic is carried.
    pub unknown: BTreeSet<String>,
    /// Assumptions of the calculation.
    pub notes: BTreeSet<String>,
}

impl Evaluation {
    /// Returns the part with the highest known share.
    pub fn busiest(&self) -> Option<&Resource> {
        let known = self.resources.iter().filter(|part| part.share.is_some());
        known.max_by(|one, other| {
            let share = |part: &Resource| part.share.unwrap_or(0.0);
            share(one).total_cmp(&share(other))
        })
    }

    /// Returns true if all facts are known, and no part is overloaded.
    pub fn carries(&self) -> bool {
        let fits = |part: &Resource| part.share.is_some_and(|share| share <= 1.0);
        self.unknown.is_empty() && self.resources.iter().all(fits)
    }

    /// Returns true if a part is overloaded.
    pub fn is_overloaded(&self) -> bool {
        let over = |part: &Resource| part.share.is_some_and(|share| share > 1.0);
        self.resources.iter().any(over)
    }

    /// Returns the share of the processor.
    pub fn processor(&self) -> Option<f64> {
        let mut parts = self.resources.iter();
        parts
            .find(|part| part.kind == ResourceKind::Processor)?
            .share
    }
}

/// Load in bit/s in both directions.
#[derive(Clone, Copy, Debug, Default)]
struct Load {
    up: f64,
    down: f64,
}

impl Load {
    fn add(&mut self, up: f64, down: f64) {
        self.up += up;
        self.down += down;
    }

    fn share(self, mbps: f64) -> f64 {
        self.up.max(self.down) / (mbps * 1e6)
    }
}

/// Sums while flows are added.
struct Sums<'a> {
    board: &'a Board,
    hardware: &'a Hardware<'a>,
    setup: &'a Setup,
    switched: BTreeSet<&'a str>,
    many_tunnels: bool,
    ports: BTreeMap<&'a str, Load>,
    lanes: BTreeMap<usize, Load>,
    chips: BTreeMap<usize, f64>,
    /// Seconds of the whole processor in each second; `None` without processed packets.
    processor: Option<f64>,
    encryption: Option<f64>,
    /// False if the time of a packet is unknown.
    has_all_rates: bool,
    out: Evaluation,
}

/// Computes the loads. All ports of the flows must exist on the board.
pub fn evaluate(
    board: &Board,
    hardware: &Hardware<'_>,
    flows: &[Flow],
    setup: &Setup,
) -> Evaluation {
    let encrypted = flows.iter().filter(|flow| flow.suite.is_some());
    let mut sums = Sums {
        board,
        hardware,
        setup,
        switched: setup.switched.iter().map(String::as_str).collect(),
        many_tunnels: encrypted.count() > 1,
        ports: BTreeMap::new(),
        lanes: BTreeMap::new(),
        chips: BTreeMap::new(),
        processor: None,
        encryption: None,
        has_all_rates: true,
        out: Evaluation::default(),
    };
    for flow in flows {
        sums.add(flow);
    }
    sums.finish()
}

impl<'a> Sums<'a> {
    fn add(&mut self, flow: &'a Flow) {
        let grown = flow.growth();
        let ends = [
            (&*flow.from, flow.bps, flow.back_bps),
            (&*flow.to, flow.back_bps * grown, flow.bps * grown),
        ];
        for (port, up, down) in ends {
            self.ports.entry(port).or_default().add(up, down);
            let group = self.hardware.group_of(port);
            if group.is_none_or(|group| group.mbps.is_none()) {
                self.out.unknown.insert(format!("the speed of {port}"));
            }
            if group.is_some_and(|group| group.purpose == Purpose::Management) {
                self.out.notes.insert(format!(
                    "{port} is for management or emergency bypass: a slow controller without FastPath"
                ));
            }
        }
        let chip = self.board.chip_of(&flow.from);
        let switches = |port: &str| self.switched.contains(port);
        let one_chip = chip.filter(|chip| self.board.chip_of(&flow.to) == Some(*chip));
        if let Some(chip) = one_chip
            && flow.suite.is_none()
            && switches(&flow.from)
            && switches(&flow.to)
            && self.setup.bridged(&flow.from, &flow.to)
        {
            *self.chips.entry(chip).or_default() += flow.bps + flow.back_bps;
            return;
        }
        for (port, up, down) in ends {
            self.connect(port, up, down);
        }
        self.process(flow);
    }

    /// Adds traffic to the connection of a port to the processor.
    fn connect(&mut self, port: &'a str, up: f64, down: f64) {
        if let Some(lane) = self.board.lane_of(port, &self.switched) {
            self.lanes.entry(lane).or_default().add(up, down);
            return;
        }
        match self.hardware.group_of(port).map(|group| group.connection) {
            // The connection has the rate of the port.
            Some(Connection::Direct) => {}
            _ => {
                let fact = format!("the connection of {port} to the processor");
                self.out.unknown.insert(fact);
            }
        }
    }

    /// Adds the packets of a flow to the processor and to the encryption.
    fn process(&mut self, flow: &Flow) {
        let packets = flow.packets_per_second();
        let forwarded = self.forwarding_time(flow);
        let encrypted = flow.suite.map(|suite| self.encryption_time(flow, suite));
        let processor = self.processor.get_or_insert(0.0);
        match (encrypted, forwarded) {
            // IPsec tests include the forwarding on the fast path.
            (Some(Some(seconds)), Some((_, more))) => {
                *processor += packets * (seconds + more);
                *self.encryption.get_or_insert(0.0) += packets * seconds;
            }
            (None, Some((fast, more))) => *processor += packets * (fast + more),
            _ => self.has_all_rates = false,
        }
    }

    /// Returns the seconds of a packet on the fast path, and the additional seconds of rules and queues.
    fn forwarding_time(&mut self, flow: &Flow) -> Option<(f64, f64)> {
        let Some(rates) = self.hardware.forwarding else {
            self.out
                .unknown
                .insert(String::from("the forwarding rates"));
            return None;
        };
        // Packets of IPsec are routed.
        let bridged = flow.suite.is_none() && self.setup.bridged(&flow.from, &flow.to);
        let base = match bridged {
            true => &rates.bridging,
            false => &rates.routing,
        };
        let Some((fast, interpolated)) = packet_time(base, &FRAME_LENGTHS, flow.frame) else {
            let fact = format!("the forwarding rate of frames of {} bytes", flow.frame);
            self.out.unknown.insert(fact);
            return None;
        };
        if interpolated {
            let between = match flow.frame > FRAME_LENGTHS[1] {
                true => "512 and 1518",
                false => "64 and 512",
            };
            self.out.notes.insert(format!(
                "rates of frames of {} bytes are interpolated between {between} bytes",
                flow.frame
            ));
        }
        let more = self.additions(rates, bridged);
        let more = { more.into_iter() }
            .map(|(row, base, count)| self.additional_time(row, base, count, flow.frame));
        Some((fast, more.sum()))
    }

    /// Returns the rows of published tests that apply beside the fast path: the row, its row without rules, and the
    /// number of rules.
    fn additions<'b>(
        &self,
        rates: &'b Forwarding,
        bridged: bool,
    ) -> Vec<(&'b [f64; 3], &'b [f64; 3], u32)> {
        let setup = self.setup;
        let mut rows = Vec::new();
        if bridged {
            rows.push((&rates.bridge_filter, &rates.bridging, setup.bridge_rules));
        }
        if !bridged || setup.use_ip_firewall {
            rows.push((&rates.filter, &rates.routing, setup.rules));
            rows.push((&rates.queues, &rates.routing, setup.queues));
        }
        rows.retain(|(_, _, count)| *count > 0);
        rows
    }

    /// Returns the additional seconds of a packet by rules. Fewer than 25 rules cost as much as the published 25 rules;
    /// the cost of more rules grows in proportion.
    fn additional_time(&mut self, row: &[f64; 3], base: &[f64; 3], count: u32, frame: u32) -> f64 {
        let time = |row| packet_time(row, &FRAME_LENGTHS, frame).map_or(0.0, |(time, _)| time);
        let note = match count > PUBLISHED_RULES {
            true => format!("{count} rules or queues are extrapolated from the test with 25"),
            false => format!("{count} rules or queues are taken for the 25 of the published test"),
        };
        self.out.notes.insert(note);
        if self.setup.fasttrack {
            let note = "no rate with FastTrack is published: connections count as without it";
            self.out.notes.insert(String::from(note));
        }
        let factor = f64::from(count.max(PUBLISHED_RULES)) / f64::from(PUBLISHED_RULES);
        (time(row) - time(base)).max(0.0) * factor
    }

    /// Returns the seconds of an encrypted packet.
    fn encryption_time(&mut self, flow: &Flow, suite: Suite) -> Option<f64> {
        let packet = flow.frame.saturating_sub(18).max(PACKET_LENGTHS[2]);
        // A longer packet counts as one of the longest published length, and one of the rest.
        let rest = packet.saturating_sub(PACKET_LENGTHS[0]);
        let first = packet.min(PACKET_LENGTHS[0]);
        let tables = self.hardware.encryption.rates.iter();
        let tables: Vec<_> = tables
            .filter(|table| match table.tunnels {
                Tunnels::Many => table.suite == suite,
                // The only published rate of a single tunnel bounds all suites.
                Tunnels::One => !self.many_tunnels,
            })
            .collect();
        if !tables.iter().any(|table| table.suite == suite) {
            let why = match self.hardware.encryption.engine {
                Some(false) => "the board has no engine",
                Some(true) => "the engine's rate is not published",
                None => "whether it has an engine is unknown",
            };
            self.out
                .unknown
                .insert(format!("the rate of IPsec with {suite}: {why}"));
            return None;
        }
        if rest > 0 {
            let note = "IPsec packets above 1400 bytes count as two packets";
            self.out.notes.insert(String::from(note));
        }
        let time = |kpps: &[f64; 3], length| {
            packet_time(kpps, &PACKET_LENGTHS, length).map_or(0.0, |(time, _)| time)
        };
        let whole = tables.iter().map(|table| {
            let more = match rest {
                0 => 0.0,
                rest => time(&table.kpps, rest.max(PACKET_LENGTHS[2])),
            };
            time(&table.kpps, first) + more
        });
        whole.max_by(f64::total_cmp)
    }

    fn finish(mut self) -> Evaluation {
        let mut parts = Vec::new();
        for (port, load) in &self.ports {
            parts.push(self.port(port, *load));
        }
        let lanes = std::mem::take(&mut self.lanes);
        for (lane, load) in lanes {
            parts.push(self.lane(lane, load));
        }
        for (chip, bps) in &self.chips {
            parts.push(self.chip(*chip, *bps));
        }
        let whole = |kind, name: &str, share| Resource {
            kind,
            name: name.to_owned(),
            ports: Vec::new(),
            mbps: None,
            up_bps: 0.0,
            down_bps: 0.0,
            share,
        };
        if let Some(share) = self.processor {
            // Without rates the sum is too small.
            let share = Some(share).filter(|_| self.has_all_rates);
            parts.push(whole(ResourceKind::Processor, "processor", share));
        }
        if let Some(share) = self.encryption {
            parts.push(whole(ResourceKind::Encryption, "IPsec", Some(share)));
        }
        self.out.resources = parts;
        self.out
    }

    fn port(&self, port: &str, load: Load) -> Resource {
        let group = self.hardware.group_of(port);
        let mbps = group.and_then(|group| group.mbps).map(f64::from);
        let load_share = |mbps: f64| match group.map(|group| group.purpose) {
            // Both directions of a radio share the air.
            Some(Purpose::Radio) => (load.up + load.down) / (mbps * 1e6),
            _ => load.share(mbps),
        };
        Resource {
            kind: ResourceKind::Port,
            name: port.to_owned(),
            ports: vec![port.to_owned()],
            mbps,
            up_bps: load.up,
            down_bps: load.down,
            share: mbps.map(load_share),
        }
    }

    fn lane(&mut self, lane: usize, load: Load) -> Resource {
        let excluded = { self.hardware.exclusions.iter() }
            .find(|exclusion| exclusion.lane == lane && self.ports.contains_key(exclusion.port));
        let shared = self.board.shared(&self.switched);
        let shared = shared.iter().find(|shared| shared.lane == lane);
        let own = shared.and_then(|shared| shared.mbps);
        let mbps = excluded.map(|exclusion| exclusion.mbps).or(own);
        if let Some(exclusion) = excluded {
            let (port, rate) = (exclusion.port, exclusion.mbps);
            self.out
                .notes
                .insert(format!("a module in {port} leaves lane {lane} {rate} Mbps"));
        }
        if mbps.is_none() {
            self.out.unknown.insert(format!("the rate of lane {lane}"));
        }
        let links = self.board.lanes.get(lane).and_then(|lane| lane.link_mbps);
        if let Some(link) = links.filter(|link| load.share(f64::from(*link)) > 1.0) {
            let fact = format!("which ports of lane {lane} share one of its links of {link} Mbps");
            self.out.unknown.insert(fact);
        }
        let ports = shared.map_or(&[][..], |shared| &shared.ports);
        Resource {
            kind: ResourceKind::Lane,
            name: format!("lane {lane}"),
            ports: ports.iter().map(|port| (*port).to_owned()).collect(),
            mbps: mbps.map(f64::from),
            up_bps: load.up,
            down_bps: load.down,
            share: mbps.map(|mbps| load.share(f64::from(mbps))),
        }
    }

    /// A switch chip forwards at the rate of all its ports (talk of 2019: "at wire speed").
    fn chip(&self, chip: usize, bps: f64) -> Resource {
        let on = self.board.chips.get(chip);
        let ports = on.and_then(|on| on.ports).unwrap_or(&[]);
        let rate = |port: &&str| self.hardware.group_of(port).and_then(|group| group.mbps);
        let mbps: f64 = ports.iter().filter_map(rate).map(f64::from).sum();
        Resource {
            kind: ResourceKind::Chip,
            name: crate::names::switch_name(chip),
            ports: ports.iter().map(|port| (*port).to_owned()).collect(),
            mbps: Some(mbps),
            up_bps: bps,
            down_bps: 0.0,
            share: (mbps > 0.0).then(|| bps / (mbps * 1e6)),
        }
    }
}
