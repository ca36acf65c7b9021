//! RED (random early detection; Floyd and Jacobson, 1993): the drop probability grows with the average
//! length.

use std::collections::VecDeque;

use machine::Instant;

use super::Losing;
use super::flows::mix;
use crate::kind::{Lost, Red};
use crate::packet::Packet;

/// Drop probability when the average is just below the upper threshold (default of Linux).
const DROP_MAX: f64 = 0.02;

/// The RED discipline.
#[derive(Debug)]
pub struct RedLine<T> {
    settings: Red,
    line: VecDeque<Packet<T>>,
    bytes: u64,
    /// The average number of packets, and the weight of a new sample.
    average: f64,
    weight: f64,
    /// Packets since the last drop.
    since: u32,
    /// Since when the queue is empty.
    idle: Option<Instant>,
    random: u64,
}

impl<T> RedLine<T> {
    pub(super) fn new(settings: Red) -> Self {
        // The weight lets a burst of this size pass (Floyd and Jacobson, 1993, 6), computed like `tc` of
        // Linux.
        let burst = f64::from(settings.burst.max(1));
        let least = f64::from(settings.least.max(1));
        let fits = |weight: &f64| {
            let kept = 1.0 - weight;
            burst + 1.0 - least >= (1.0 - kept.powf(burst)) / weight
        };
        let mut weights = (1..32).map(|power| 0.5_f64.powi(power));
        let weight = weights
            .find(|weight| fits(weight))
            .unwrap_or(0.5_f64.powi(9));
        Self {
            settings,
            line: VecDeque::new(),
            bytes: 0,
            average: 0.0,
            weight,
            since: 0,
            idle: None,
            random: 0,
        }
    }

    pub(super) fn enqueue(&mut self, packet: Packet<T>, now: Instant, lose: Losing<'_, T>) {
        if let Some(idle) = self.idle.take() {
            // For the idle time, assumes packets of average length at an unknown rate: one per millisecond,
            // as at 10 Mbit/s.
            let missed = now.saturating_since(idle).as_nanos() / 1_000_000;
            let missed = i32::try_from(missed).unwrap_or(i32::MAX);
            self.average *= (1.0 - self.weight).powi(missed);
        }
        self.average += self.weight * (self.line.len() as f64 - self.average);
        if self.line.len() >= self.settings.limit as usize {
            return lose(packet, Lost::Full);
        }
        let (least, most) = (
            f64::from(self.settings.least),
            f64::from(self.settings.most.max(self.settings.least + 1)),
        );
        if self.average >= most || self.average >= least && self.is_chosen(least, most) {
            self.since = 0;
            return lose(packet, Lost::Early);
        }
        self.since += 1;
        self.bytes += u64::from(packet.bytes);
        self.line.push_back(packet);
    }

    /// Returns true if this packet is to be dropped; the probability grows with the packets since the last drop.
    fn is_chosen(&mut self, least: f64, most: f64) -> bool {
        let share = DROP_MAX * (self.average - least) / (most - least);
        let rest = 1.0 - f64::from(self.since) * share;
        self.random = mix(self.random);
        let random = (self.random >> 11) as f64 / (1_u64 << 53) as f64;
        rest <= 0.0 || random < share / rest
    }

    pub(super) fn dequeue(&mut self, now: Instant) -> Option<Packet<T>> {
        let packet = self.line.pop_front()?;
        self.bytes -= u64::from(packet.bytes);
        if self.line.is_empty() {
            self.idle = Some(now);
        }
        Some(packet)
    }

    pub(super) fn packets(&self) -> u32 {
        self.line.len() as u32
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}
