//! CAKE (common applications kept enhanced; Høiland-Jørgensen, Täht and Morton, 2018).
//!
//! Traffic is sorted into tins by class. In a tin the rate is shared by hosts and then by their flows, each
//! with CoDel. The total rate includes the overhead of the line.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use machine::{Duration, Instant};
use packet::Tuple;

use super::Losing;
use super::codel::Line;
use super::flows::{NumberHasher, hash, mix};
use crate::gate::{Gate, instant, ticks};
use crate::kind::{Cake, CakeFlows, CakeTins, Delay, Line as Adds, Lost};
use crate::packet::{Packet, Payload};

/// Number of queues of a tin.
const LINES: u32 = 1_024;
/// Quantum of a flow whose host has no other flow, in bytes.
const QUANTUM: i64 = 1_514;
/// Maximum waiting bytes if neither the settings nor the rate determine them.
const BYTES_DEFAULT: u64 = 4 << 20;
/// Length of a link header.
const LINK_HEADER: i64 = 14;

/// A flow of a tin.
#[derive(Debug)]
struct Flow<T> {
    line: Line<T>,
    credit: i64,
    hosts: [u32; 2],
}

/// The traffic of one class.
#[derive(Debug)]
struct Tin<T> {
    flows: HashMap<u32, Flow<T>, BuildHasherDefault<NumberHasher>>,
    /// Number of active flows per source and per destination.
    hosts: [HashMap<u32, u32, BuildHasherDefault<NumberHasher>>; 2],
    turns: std::collections::VecDeque<u32>,
    bytes: u64,
    /// Bytes that the tin may still send in this round, and bytes per round.
    credit: i64,
    share: i64,
}

/// The CAKE discipline.
#[derive(Debug)]
pub struct CakeTinsOf<T> {
    settings: Cake,
    delay: Delay,
    gate: Gate,
    tins: Vec<Tin<T>>,
    /// The tin that sends now.
    turn: usize,
    packets: u32,
    bytes: u64,
    most: u64,
}

/// Returns the tin number for a type of service (the CAKE paper, table 1; RFC 8325).
fn tin(tins: CakeTins, tos: u8) -> usize {
    let dscp = tos >> 2;
    let is_bulk = matches!(dscp, 1 | 8);
    match tins {
        CakeTins::BestEffort => 0,
        CakeTins::Precedence => usize::from(tos >> 5),
        CakeTins::Diffserv3 => match dscp {
            _ if is_bulk => 0,
            4 | 44 | 46 | 48 | 56 => 2,
            _ => 1,
        },
        CakeTins::Diffserv4 => match dscp {
            _ if is_bulk => 0,
            4 | 44 | 46 | 48 | 56 => 3,
            18 | 20 | 22 | 24 | 26 | 28 | 30 | 32 | 34 | 36 | 38 | 40 => 2,
            _ => 1,
        },
        CakeTins::Diffserv8 => match dscp {
            _ if is_bulk => 0,
            10 | 12 | 14 => 2,
            18 | 20 | 22 | 24 => 3,
            26 | 28 | 30 | 32 | 34 | 36 | 38 => 4,
            16 | 40 => 5,
            44 | 46 => 6,
            4 | 48 | 56 => 7,
            _ => 1,
        },
    }
}

/// Returns the weight of each tin, in sixteenths of the weight of best effort.
fn shares(tins: CakeTins) -> &'static [i64] {
    match tins {
        CakeTins::BestEffort => &[16],
        CakeTins::Precedence => &[16, 18, 20, 24, 28, 32, 40, 48],
        CakeTins::Diffserv3 => &[1, 16, 64],
        CakeTins::Diffserv4 => &[1, 16, 32, 64],
        CakeTins::Diffserv8 => &[1, 16, 18, 24, 32, 40, 48, 64],
    }
}

/// Returns the number of bytes that a packet takes on the line.
fn on_line(adds: &Adds, bytes: u32) -> u32 {
    let bytes = i64::from(bytes);
    let bytes = match adds.overhead {
        Some(overhead) => bytes - LINK_HEADER + i64::from(overhead),
        None => bytes,
    };
    let bytes = bytes.max(i64::from(adds.least)).max(1);
    let bytes = match (adds.atm, adds.ptm) {
        (true, _) => (bytes + 47) / 48 * 53,
        (_, true) => bytes + (bytes + 63) / 64,
        _ => bytes,
    };
    bytes as u32
}

impl<T: Payload> CakeTinsOf<T> {
    pub(super) fn new(settings: Cake) -> Self {
        let gate = Gate::default();
        gate.set(settings.bandwidth, 0);
        let shares = shares(settings.tins).iter();
        let tins = shares.map(|share| Tin {
            flows: HashMap::default(),
            hosts: [HashMap::default(), HashMap::default()],
            turns: std::collections::VecDeque::new(),
            bytes: 0,
            credit: 0,
            share: share * QUANTUM / 16,
        });
        let rtt = settings.rtt.max(Duration::from_micros(100));
        // The transmission time of one and a half packets on a slow line is not a reason to drop.
        let slowest = match settings.bandwidth {
            0 => 0,
            bits => 1_514 * 8 * 1_500_000_000 / bits,
        };
        let target = (rtt / 20).max(Duration::from_nanos(slowest));
        // Four round-trip times at the rate.
        let at_rate = settings.bandwidth / 8 * rtt.as_millis() as u64 / 1_000 * 4;
        let most = match (settings.memory_bytes, at_rate) {
            (0, 0) => BYTES_DEFAULT,
            (0, at_rate) => at_rate.clamp(BYTES_DEFAULT / 64, BYTES_DEFAULT * 8),
            (said, _) => said,
        };
        Self {
            delay: Delay {
                target,
                interval: rtt.max(target),
                ecn: true,
                ce_threshold: None,
            },
            gate,
            tins: tins.collect(),
            turn: 0,
            packets: 0,
            bytes: 0,
            most,
            settings,
        }
    }

    pub(super) fn enqueue(&mut self, mut packet: Packet<T>, now: Instant, lose: Losing<'_, T>) {
        let at = tin(self.settings.tins, packet.tos);
        if self.settings.wash {
            packet.carries.clear_class();
        }
        let (number, hosts) = self.place(&packet.tuple);
        let bytes = u64::from(packet.bytes);
        (self.packets, self.bytes) = (self.packets + 1, self.bytes + bytes);
        let filter = self.settings.ack_filter;
        let tin = &mut self.tins[at];
        if let Some(lost) = tin.push(packet, number, hosts, filter, now) {
            (self.packets, self.bytes) = (self.packets - 1, self.bytes - u64::from(lost.bytes));
            lose(lost, Lost::Needless);
        }
        while self.bytes > self.most {
            let fullest = self.tins.iter_mut().max_by_key(|tin| tin.bytes);
            let Some(packet) = fullest.and_then(Tin::shorten) else {
                return;
            };
            (self.packets, self.bytes) = (self.packets - 1, self.bytes - u64::from(packet.bytes));
            lose(packet, Lost::Full);
        }
    }

    /// Returns the flow number of a packet and the hashes of its hosts.
    fn place(&self, tuple: &Tuple) -> (u32, [u32; 2]) {
        let host = |address: u128| (mix(address as u64 ^ mix((address >> 64) as u64)) >> 32) as u32;
        let (source, destination) = (host(tuple.source), host(tuple.destination));
        let flow = match self.settings.flows {
            CakeFlows::Blind => 0,
            CakeFlows::SourceHost => source,
            CakeFlows::DestinationHost => destination,
            CakeFlows::Hosts => source.rotate_left(7) ^ destination,
            _ => hash(tuple, 0),
        };
        let hosts = match self.settings.flows {
            CakeFlows::DualSource => [source, 0],
            CakeFlows::DualDestination => [0, destination],
            CakeFlows::Triple => [source, destination],
            _ => [0, 0],
        };
        (flow % LINES, hosts)
    }

    pub(super) fn dequeue(&mut self, now: Instant, lose: Losing<'_, T>) -> Option<Packet<T>> {
        if self.packets == 0 || self.gate.opens_at() > ticks(now) {
            return None;
        }
        let tins = self.tins.len();
        loop {
            if self.tins.iter().all(|tin| tin.turns.is_empty()) {
                return None;
            }
            let tin = &mut self.tins[self.turn];
            if tin.turns.is_empty() || tin.credit <= 0 {
                if !tin.turns.is_empty() {
                    tin.credit += tin.share.max(1);
                }
                self.turn = (self.turn + 1) % tins;
                continue;
            }
            let (mut gone, mut bytes) = (0, 0);
            let mut lost = |packet: Packet<T>, why| {
                (gone, bytes) = (gone + 1, bytes + u64::from(packet.bytes));
                lose(packet, why);
            };
            let packet = tin.next(&self.delay, now, &mut lost);
            (self.packets, self.bytes) = (self.packets - gone, self.bytes - bytes);
            let Some(packet) = packet else { continue };
            (self.packets, self.bytes) = (self.packets - 1, self.bytes - u64::from(packet.bytes));
            tin.credit -= i64::from(packet.bytes);
            let bytes = on_line(&self.settings.line, packet.bytes);
            self.gate.charge(bytes.into(), ticks(now), None, false);
            return Some(packet);
        }
    }

    /// Removes a packet independently of the rate.
    pub(super) fn pop(&mut self) -> Option<Packet<T>> {
        let packet = self.tins.iter_mut().find_map(Tin::shorten)?;
        (self.packets, self.bytes) = (self.packets - 1, self.bytes - u64::from(packet.bytes));
        Some(packet)
    }

    pub(super) fn ready(&self, now: Instant) -> Option<Instant> {
        (self.packets > 0).then(|| instant(self.gate.opens_at()).max(now))
    }

    pub(super) fn packets(&self) -> u32 {
        self.packets
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl<T: Payload> Tin<T> {
    /// Appends a packet to its flow. Returns a waiting acknowledgement that the packet makes redundant.
    fn push(
        &mut self,
        packet: Packet<T>,
        number: u32,
        hosts: [u32; 2],
        filter: u8,
        now: Instant,
    ) -> Option<Packet<T>> {
        self.bytes += u64::from(packet.bytes);
        let is_ack = packet.is_ack;
        let (turns, counts) = (&mut self.turns, &mut self.hosts);
        let flow = self.flows.entry(number).or_insert_with(|| {
            turns.push_back(number);
            for (count, host) in counts.iter_mut().zip(hosts) {
                *count.entry(host).or_default() += 1;
            }
            Flow {
                line: Line::default(),
                credit: 0,
                hosts,
            }
        });
        // Two acknowledgements of one flow certainly acknowledge more than one. In conservative mode, the
        // filter keeps the last waiting one.
        let spared = match filter {
            0 => usize::MAX,
            1 => 1,
            _ => 0,
        };
        let mut acks = flow.line.line.iter().rev();
        let waiting = acks
            .by_ref()
            .take_while(|came| came.packet.is_ack && came.packet.tuple == packet.tuple);
        let needless = (is_ack && waiting.count() > spared).then(|| flow.line.take_back(spared));
        flow.line.push(packet, now);
        let needless = needless.flatten();
        self.bytes -= needless
            .as_ref()
            .map_or(0, |packet| u64::from(packet.bytes));
        needless
    }

    /// Returns the number of flows of the busier of the two hosts.
    fn load(&self, hosts: [u32; 2]) -> i64 {
        let counts = self.hosts.iter().zip(hosts);
        let counts = counts.filter(|(_, host)| *host != 0);
        let most = counts.filter_map(|(count, host)| count.get(&host)).max();
        most.copied().unwrap_or(1).max(1).into()
    }

    fn next(
        &mut self,
        delay: &Delay,
        now: Instant,
        lose: &mut dyn FnMut(Packet<T>, Lost),
    ) -> Option<Packet<T>> {
        loop {
            let number = *self.turns.front()?;
            let hosts = self.flows.get(&number)?.hosts;
            let load = self.load(hosts);
            let flow = self.flows.get_mut(&number)?;
            if flow.credit <= 0 {
                flow.credit += (QUANTUM / load).max(1);
                self.turns.rotate_left(1);
                continue;
            }
            let before = flow.line.bytes;
            let packet = flow.line.dequeue(delay, now, lose);
            self.bytes -= before - flow.line.bytes;
            match packet {
                Some(packet) => {
                    flow.credit -= i64::from(packet.bytes);
                    if flow.line.line.is_empty() {
                        self.end(number);
                    }
                    return Some(packet);
                }
                None => self.end(number),
            }
        }
    }

    /// Removes a packet from the longest flow.
    fn shorten(&mut self) -> Option<Packet<T>> {
        let longest = self.flows.iter().max_by_key(|(_, flow)| flow.line.bytes);
        let number = longest.map(|(number, _)| *number)?;
        let flow = self.flows.get_mut(&number)?;
        let packet = flow.line.pop()?.packet;
        self.bytes -= u64::from(packet.bytes);
        if flow.line.line.is_empty() {
            self.end(number);
        }
        Some(packet)
    }

    /// Removes a flow that has no packets.
    fn end(&mut self, number: u32) {
        let Some(flow) = self.flows.remove(&number) else {
            return;
        };
        self.turns.retain(|other| *other != number);
        for (counts, host) in self.hosts.iter_mut().zip(flow.hosts) {
            if let Some(count) = counts.get_mut(&host) {
                *count -= 1;
                if *count == 0 {
                    counts.remove(&host);
                }
            }
        }
    }
}

impl<T> Line<T> {
    /// Removes a packet, counted backwards from the last packet.
    fn take_back(&mut self, before_last: usize) -> Option<Packet<T>> {
        let at = self.line.len().checked_sub(before_last + 1)?;
        let came = self.line.remove(at)?;
        self.bytes -= u64::from(came.packet.bytes);
        Some(came.packet)
    }
}
