//! SFQ (stochastic fairness queueing; McKenney, 1990): queues per flow with round robin.

use std::collections::VecDeque;

use machine::Instant;

use super::Losing;
use super::flows::{Flows, hash, mix};
use crate::kind::{Lost, Sfq};
use crate::packet::Packet;

/// Number of queues, and maximum packets in all of them (RouterOS).
const LINES: u32 = 1_024;
const PACKETS: u32 = 128;

/// Queue of a flow.
#[derive(Debug)]
struct Line<T> {
    line: VecDeque<Packet<T>>,
    bytes: u64,
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        Self {
            line: VecDeque::new(),
            bytes: 0,
        }
    }
}

impl<T> Line<T> {
    fn pop(&mut self) -> Option<Packet<T>> {
        let packet = self.line.pop_front()?;
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }
}

/// The SFQ discipline.
#[derive(Debug)]
pub struct SfqLines<T> {
    settings: Sfq,
    flows: Flows<Line<T>>,
    packets: u32,
    bytes: u64,
    /// Hash key of the flows, and the time when the key was chosen.
    key: u64,
    since: Instant,
}

impl<T> SfqLines<T> {
    pub(super) fn new(settings: Sfq) -> Self {
        Self {
            settings,
            flows: Flows::new(settings.allot),
            packets: 0,
            bytes: 0,
            key: 0,
            since: Instant::ZERO,
        }
    }

    pub(super) fn enqueue(&mut self, packet: Packet<T>, now: Instant, lose: Losing<'_, T>) {
        // The key changes only when no packet waits, so that a flow is never in two queues.
        let perturb = self.settings.perturb;
        if !perturb.is_zero() && self.packets == 0 && now.saturating_since(self.since) >= perturb {
            (self.key, self.since) = (mix(self.key ^ now.as_nanos()), now);
        }
        let number = hash(&packet.tuple, self.key) % LINES;
        (self.packets, self.bytes) = (self.packets + 1, self.bytes + u64::from(packet.bytes));
        let line = self.flows.line(number);
        line.bytes += u64::from(packet.bytes);
        line.line.push_back(packet);
        if self.packets > PACKETS {
            let longest = self.flows.lines().max_by_key(|(_, line)| line.line.len());
            let number = longest.map(|(number, _)| number);
            let last = number.and_then(|number| {
                let line = self.flows.get(number)?;
                let packet = line.line.pop_back()?;
                line.bytes -= u64::from(packet.bytes);
                Some(packet)
            });
            if let Some(packet) = last {
                (self.packets, self.bytes) =
                    (self.packets - 1, self.bytes - u64::from(packet.bytes));
                lose(packet, Lost::Full);
            }
        }
    }

    pub(super) fn dequeue(&mut self) -> Option<Packet<T>> {
        let next = self.flows.next(|line| {
            let packet = line.pop()?;
            let bytes = packet.bytes;
            Some((packet, bytes))
        })?;
        (self.packets, self.bytes) = (self.packets - 1, self.bytes - u64::from(next.bytes));
        Some(next)
    }

    pub(super) fn packets(&self) -> u32 {
        self.packets
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}
