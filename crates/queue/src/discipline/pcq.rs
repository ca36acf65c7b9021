//! PCQ (per-connection queuing): a queue for each stream, for example for each subscriber's address, with
//! equal shares or a rate each.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use machine::Instant;
use packet::Tuple;

use super::Losing;
use crate::burst::Burst;
use crate::gate::{Gate, instant, ticks};
use crate::kind::{Classify, Lost, Pcq};
use crate::packet::Packet;

/// Quantum of a stream, in bytes.
const QUANTUM: i64 = 1_514;
/// Depth of the token bucket of a stream, in milliseconds of its rate.
const DEPTH_MILLIS: u64 = 50;

/// Key of a stream.
type Key = (bool, u128, u128, u16, u16);

/// Condition for which a stream waits: a packet, its rate, or its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WaitsFor {
    /// Its turn in the round robin.
    Turn,
    /// Tokens of its rate.
    Rate,
    /// Packets; the stream is removed when its token bucket is full.
    Packets,
}

#[derive(Debug)]
struct Stream<T> {
    key: Key,
    line: VecDeque<Packet<T>>,
    bytes: u64,
    credit: i64,
    waits_for: WaitsFor,
    gate: Gate,
    burst: Option<Box<Burst>>,
}

/// The PCQ discipline.
#[derive(Debug)]
pub struct PcqLines<T> {
    settings: Pcq,
    numbers: HashMap<Key, u32>,
    streams: Vec<Option<Stream<T>>>,
    free: Vec<u32>,
    turns: VecDeque<u32>,
    /// Times when streams that wait for tokens may continue, and when streams without packets are removed.
    rates: BinaryHeap<Reverse<(u64, u32)>>,
    idle: BinaryHeap<Reverse<(u64, u32)>>,
    packets: u32,
    bytes: u64,
}

/// Clears the address bits beyond the configured length.
fn masked(address: u128, ipv6: bool, bits: (u8, u8)) -> u128 {
    let (all, bits) = if ipv6 { (128, bits.1) } else { (32, bits.0) };
    match all - u32::from(bits).min(all) {
        128 => 0,
        rest => address >> rest << rest,
    }
}

fn key(classify: &Classify, tuple: &Tuple) -> Key {
    let address = |counts: bool, address, bits| match counts {
        true => masked(address, tuple.ipv6, bits),
        false => 0,
    };
    let port = |counts: bool, port| if counts { port } else { 0 };
    (
        tuple.ipv6 && (classify.source || classify.destination),
        address(classify.source, tuple.source, classify.source_bits),
        address(
            classify.destination,
            tuple.destination,
            classify.destination_bits,
        ),
        port(classify.source_port, tuple.source_port),
        port(classify.destination_port, tuple.destination_port),
    )
}

impl<T> PcqLines<T> {
    pub(super) fn new(settings: Pcq) -> Self {
        Self {
            settings,
            numbers: HashMap::new(),
            streams: Vec::new(),
            free: Vec::new(),
            turns: VecDeque::new(),
            rates: BinaryHeap::new(),
            idle: BinaryHeap::new(),
            packets: 0,
            bytes: 0,
        }
    }

    pub(super) fn enqueue(&mut self, packet: Packet<T>, now: Instant, lose: Losing<'_, T>) {
        let bytes = u64::from(packet.bytes);
        if self.bytes + bytes > self.settings.total_bytes {
            return lose(packet, Lost::Full);
        }
        let number = self.number(key(&self.settings.classify, &packet.tuple));
        let limit = self.settings.limit_bytes;
        let Some(stream) = self
            .streams
            .get_mut(number as usize)
            .and_then(Option::as_mut)
        else {
            return lose(packet, Lost::Full);
        };
        if stream.bytes + bytes > limit {
            // Removes a new stream whose first packet was dropped.
            if stream.line.is_empty() {
                self.idle.push(Reverse((0, number)));
            }
            return lose(packet, Lost::Full);
        }
        stream.bytes += bytes;
        stream.line.push_back(packet);
        (self.packets, self.bytes) = (self.packets + 1, self.bytes + bytes);
        if stream.waits_for == WaitsFor::Packets {
            self.reschedule(number, now);
        }
    }

    /// Returns the stream with this key, creating it if necessary.
    fn number(&mut self, key: Key) -> u32 {
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        let number = self.free.pop().unwrap_or_else(|| {
            self.streams.push(None);
            self.streams.len() as u32 - 1
        });
        let settings = &self.settings;
        let gate = Gate::default();
        gate.set(settings.rate, DEPTH_MILLIS);
        let bursts = settings.rate > 0 && settings.burst_rate > 0;
        let burst = bursts.then(|| {
            let burst = Box::<Burst>::default();
            let time = ticks(Instant::ZERO + settings.burst_time);
            burst.set(
                settings.burst_rate.max(settings.rate),
                settings.burst_threshold,
                time,
            );
            burst
        });
        self.streams[number as usize] = Some(Stream {
            key,
            line: VecDeque::new(),
            bytes: 0,
            credit: QUANTUM,
            waits_for: WaitsFor::Packets,
            gate,
            burst,
        });
        self.numbers.insert(key, number);
        number
    }

    /// Updates the wait condition of a stream, and queues the stream accordingly.
    fn reschedule(&mut self, number: u32, now: Instant) {
        let Some(stream) = self.streams[number as usize].as_mut() else {
            return;
        };
        let opens = stream.gate.opens_at();
        let now = ticks(now);
        stream.waits_for = match (stream.line.is_empty(), opens > now) {
            (true, _) => WaitsFor::Packets,
            (false, true) => WaitsFor::Rate,
            (false, false) => WaitsFor::Turn,
        };
        match stream.waits_for {
            WaitsFor::Turn => self.turns.push_back(number),
            WaitsFor::Rate => self.rates.push(Reverse((opens, number))),
            WaitsFor::Packets => {
                let full = ticks(Instant::from_millis(DEPTH_MILLIS));
                let burst = stream.burst.as_ref().map(|_| self.settings.burst_time);
                let burst = burst.map_or(0, |time| ticks(Instant::ZERO + time));
                self.idle
                    .push(Reverse((opens.max(now) + full.max(burst), number)));
            }
        }
    }

    /// Processes the timers of streams that have expired.
    fn expire(&mut self, now: Instant) {
        let until = ticks(now);
        while let Some(Reverse((at, number))) = self.rates.peek().copied()
            && at <= until
        {
            self.rates.pop();
            self.reschedule(number, now);
        }
        while let Some(Reverse((at, number))) = self.idle.peek().copied()
            && at <= until
        {
            self.idle.pop();
            let place = &mut self.streams[number as usize];
            let is_over = |stream: &Stream<T>| {
                stream.waits_for == WaitsFor::Packets
                    && stream.line.is_empty()
                    && stream.gate.opens_at() <= until
            };
            if let Some(stream) = place.take_if(|stream| is_over(stream)) {
                self.numbers.remove(&stream.key);
                self.free.push(number);
            }
        }
    }

    pub(super) fn dequeue(&mut self, now: Instant) -> Option<Packet<T>> {
        self.expire(now);
        loop {
            let number = *self.turns.front()?;
            let stream = self.streams[number as usize].as_mut()?;
            if stream.credit <= 0 {
                stream.credit += QUANTUM;
                self.turns.rotate_left(1);
                continue;
            }
            self.turns.pop_front();
            let packet = stream.line.pop_front()?;
            let bytes = packet.bytes;
            stream.bytes -= u64::from(bytes);
            stream.credit -= i64::from(bytes);
            let time = ticks(now);
            let cost = stream.burst.as_ref().and_then(|burst| burst.cost(time));
            stream.gate.charge(bytes.into(), time, cost, false);
            if let Some(burst) = &stream.burst {
                burst.count(bytes.into(), time);
            }
            (self.packets, self.bytes) = (self.packets - 1, self.bytes - u64::from(bytes));
            let goes_on =
                !stream.line.is_empty() && stream.credit > 0 && stream.gate.opens_at() <= time;
            match goes_on {
                true => self.turns.push_front(number),
                false => self.reschedule(number, now),
            }
            return Some(packet);
        }
    }

    /// Removes a packet from any stream, independently of rates.
    pub(super) fn pop(&mut self) -> Option<Packet<T>> {
        let streams = self.streams.iter_mut().flatten();
        let packet = { streams }.find_map(|stream| {
            let packet = stream.line.pop_front()?;
            stream.bytes -= u64::from(packet.bytes);
            Some(packet)
        })?;
        (self.packets, self.bytes) = (self.packets - 1, self.bytes - u64::from(packet.bytes));
        Some(packet)
    }

    pub(super) fn ready(&self, now: Instant) -> Option<Instant> {
        match self.turns.is_empty() {
            false => Some(now),
            true => self.rates.peek().map(|Reverse((at, _))| instant(*at)),
        }
    }

    pub(super) fn packets(&self) -> u32 {
        self.packets
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn streams(&self) -> u32 {
        self.numbers.len() as u32
    }
}
