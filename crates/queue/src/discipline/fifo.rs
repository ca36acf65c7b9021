//! FIFO: one queue with a length limit; packets that exceed the limit are dropped on arrival.

use std::collections::VecDeque;

use super::Losing;
use crate::kind::{Fifo, Lost};
use crate::packet::Packet;

/// The FIFO discipline.
#[derive(Debug)]
pub struct FifoLine<T> {
    limits: Fifo,
    line: VecDeque<Packet<T>>,
    bytes: u64,
}

impl<T> FifoLine<T> {
    pub(super) fn new(limits: Fifo) -> Self {
        Self {
            limits,
            line: VecDeque::new(),
            bytes: 0,
        }
    }

    pub(super) fn enqueue(&mut self, packet: Packet<T>, lose: Losing<'_, T>) {
        let bytes = self.bytes + u64::from(packet.bytes);
        if self.line.len() >= self.limits.packets as usize || bytes > self.limits.bytes {
            return lose(packet, Lost::Full);
        }
        self.bytes = bytes;
        self.line.push_back(packet);
    }

    pub(super) fn dequeue(&mut self) -> Option<Packet<T>> {
        let packet = self.line.pop_front()?;
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }

    pub(super) fn packets(&self) -> u32 {
        self.line.len() as u32
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}
