//! CoDel (RFC 8289): drops or marks packets while the delay of all packets is too long for too long.

use std::collections::VecDeque;

use machine::{Duration, Instant};

use super::Losing;
use crate::kind::{Codel, Delay, Lost};
use crate::packet::{Packet, Payload};

/// Length of the longest packet; CoDel does not drop from a queue with fewer bytes (RFC 8289, 5.4).
const FRAME_MAX: u64 = 1_514;

/// A packet and its arrival time.
#[derive(Debug)]
pub(super) struct QueuedPacket<T> {
    pub(super) packet: Packet<T>,
    pub(super) at: Instant,
}

/// A queue with CoDel state; FQ-CoDel uses many.
#[derive(Debug)]
pub(super) struct Line<T> {
    pub(super) line: VecDeque<QueuedPacket<T>>,
    pub(super) bytes: u64,
    /// End of the interval after which the excessive delay leads to drops.
    first_above: Option<Instant>,
    dropping: bool,
    next_drop: Instant,
    count: u32,
    last_count: u32,
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        Self {
            line: VecDeque::new(),
            bytes: 0,
            first_above: None,
            dropping: false,
            next_drop: Instant::ZERO,
            count: 0,
            last_count: 0,
        }
    }
}

/// Returns the time of the next drop; the more drops, the shorter the distance (control law, RFC 8289, 5.3).
fn later(from: Instant, interval: Duration, count: u32) -> Instant {
    let nanos = interval.as_nanos() as f64 / f64::from(count.max(1)).sqrt();
    from + Duration::from_nanos(nanos as u64)
}

impl<T: Payload> Line<T> {
    pub(super) fn push(&mut self, packet: Packet<T>, now: Instant) {
        self.bytes += u64::from(packet.bytes);
        self.line.push_back(QueuedPacket { packet, at: now });
    }

    pub(super) fn pop(&mut self) -> Option<QueuedPacket<T>> {
        let came = self.line.pop_front()?;
        self.bytes -= u64::from(came.packet.bytes);
        Some(came)
    }

    /// Removes the next packet. The flag is true if the delay justifies a drop.
    fn remove_next(&mut self, delay: &Delay, now: Instant) -> Option<(QueuedPacket<T>, bool)> {
        let Some(came) = self.pop() else {
            self.first_above = None;
            return None;
        };
        let waited = now.saturating_since(came.at);
        if waited < delay.target || self.bytes <= FRAME_MAX {
            self.first_above = None;
            return Some((came, false));
        }
        let until = *self.first_above.get_or_insert(now + delay.interval);
        Some((came, now >= until))
    }

    /// Returns the next packet by the CoDel algorithm (RFC 8289, 5.5).
    pub(super) fn dequeue(
        &mut self,
        delay: &Delay,
        now: Instant,
        lose: Losing<'_, T>,
    ) -> Option<Packet<T>> {
        let (mut came, mut is_late) = self.remove_next(delay, now)?;
        if self.dropping {
            if !is_late {
                self.dropping = false;
            }
            while self.dropping && now >= self.next_drop {
                self.count += 1;
                if marks(delay, &mut came.packet) {
                    self.next_drop = later(self.next_drop, delay.interval, self.count);
                    break;
                }
                lose(came.packet, Lost::Early);
                let next = self.remove_next(delay, now);
                let Some(next) = next else {
                    self.dropping = false;
                    return None;
                };
                (came, is_late) = next;
                match is_late {
                    true => self.next_drop = later(self.next_drop, delay.interval, self.count),
                    false => self.dropping = false,
                }
            }
        } else if is_late {
            if !marks(delay, &mut came.packet) {
                lose(came.packet, Lost::Early);
                let next = self.remove_next(delay, now);
                self.begin(delay, now);
                came = next?.0;
            } else {
                self.begin(delay, now);
            }
        }
        let waited = now.saturating_since(came.at);
        if delay
            .ce_threshold
            .is_some_and(|threshold| waited > threshold)
        {
            came.packet.carries.mark_congestion();
        }
        Some(came.packet)
    }

    /// Begins to drop. Soon after the last drop phase, the drop rate continues near the last one (RFC 8289,
    /// 5.5).
    fn begin(&mut self, delay: &Delay, now: Instant) {
        self.dropping = true;
        let recent = now.saturating_since(self.next_drop) < delay.interval * 16;
        let delta = self.count.saturating_sub(self.last_count);
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.next_drop = later(now, delay.interval, self.count);
        self.last_count = self.count;
    }
}

/// Marks congestion instead of a drop if this is enabled and the packet supports ECN.
fn marks<T: Payload>(delay: &Delay, packet: &mut Packet<T>) -> bool {
    delay.ecn && packet.carries.mark_congestion()
}

/// The CoDel discipline: one queue with CoDel.
#[derive(Debug)]
pub struct CodelLine<T> {
    settings: Codel,
    line: Line<T>,
}

impl<T: Payload> CodelLine<T> {
    pub(super) fn new(settings: Codel) -> Self {
        Self {
            settings,
            line: Line::default(),
        }
    }

    pub(super) fn enqueue(&mut self, packet: Packet<T>, now: Instant, lose: Losing<'_, T>) {
        match self.line.line.len() >= self.settings.limit as usize {
            true => lose(packet, Lost::Full),
            false => self.line.push(packet, now),
        }
    }

    pub(super) fn dequeue(&mut self, now: Instant, lose: Losing<'_, T>) -> Option<Packet<T>> {
        self.line.dequeue(&self.settings.delay, now, lose)
    }

    pub(super) fn pop(&mut self) -> Option<Packet<T>> {
        self.line.pop().map(|came| came.packet)
    }

    pub(super) fn packets(&self) -> u32 {
        self.line.line.len() as u32
    }

    pub(super) fn bytes(&self) -> u64 {
        self.line.bytes
    }
}
