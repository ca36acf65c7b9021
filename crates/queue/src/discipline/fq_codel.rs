//! FQ-CoDel (RFC 8290): queues per flow with round robin, each with CoDel.

use machine::Instant;

use super::Losing;
use super::codel::Line;
use super::flows::{Flows, hash};
use crate::kind::{FqCodel, Lost};
use crate::packet::{Packet, Payload};

/// Maximum packets dropped at once from the longest queue if the total limit is exceeded (RFC 8290, 4.1.3).
const DROPS_MAX: usize = 64;

/// The FQ-CoDel discipline.
#[derive(Debug)]
pub struct FqCodelLines<T> {
    settings: FqCodel,
    flows: Flows<Line<T>>,
    packets: u32,
    bytes: u64,
}

impl<T: Payload> FqCodelLines<T> {
    pub(super) fn new(settings: FqCodel) -> Self {
        Self {
            settings,
            flows: Flows::new(settings.quantum),
            packets: 0,
            bytes: 0,
        }
    }

    pub(super) fn enqueue(&mut self, packet: Packet<T>, now: Instant, lose: Losing<'_, T>) {
        let number = hash(&packet.tuple, 0) % self.settings.flows.max(1);
        (self.packets, self.bytes) = (self.packets + 1, self.bytes + u64::from(packet.bytes));
        self.flows.line(number).push(packet, now);
        if self.packets > self.settings.limit || self.bytes > self.settings.memory_bytes {
            self.shorten(lose);
        }
    }

    /// Drops up to half of the longest queue (in bytes).
    fn shorten(&mut self, lose: Losing<'_, T>) {
        let longest = self.flows.lines().max_by_key(|(_, line)| line.bytes);
        let Some((number, line)) = longest else {
            return;
        };
        let (half, mut gone) = (line.bytes / 2, 0);
        for _ in 0..DROPS_MAX {
            let came = self.flows.get(number).and_then(Line::pop);
            let Some(came) = came else { return };
            let bytes = u64::from(came.packet.bytes);
            (self.packets, self.bytes) = (self.packets - 1, self.bytes - bytes);
            lose(came.packet, Lost::Full);
            gone += bytes;
            if gone >= half {
                return;
            }
        }
    }

    pub(super) fn dequeue(&mut self, now: Instant, lose: Losing<'_, T>) -> Option<Packet<T>> {
        let delay = self.settings.delay;
        let (mut packets, mut bytes) = (0, 0);
        let next = self.flows.next(|line| {
            let before = (line.line.len(), line.bytes);
            let packet = line.dequeue(&delay, now, lose);
            packets += before.0 - line.line.len();
            bytes += before.1 - line.bytes;
            packet.map(|packet| {
                let length = packet.bytes;
                (packet, length)
            })
        });
        (self.packets, self.bytes) = (self.packets - packets as u32, self.bytes - bytes);
        next
    }

    pub(super) fn pop(&mut self) -> Option<Packet<T>> {
        let next = self
            .flows
            .next(|line| line.pop().map(|came| (came.packet, 0)))?;
        self.packets -= 1;
        self.bytes -= u64::from(next.bytes);
        Some(next)
    }

    pub(super) fn packets(&self) -> u32 {
        self.packets
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}
