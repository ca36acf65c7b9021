//! Captured packets in memory (RouterOS: `/tool/sniffer/packet`).

use std::collections::VecDeque;

use crate::ObservedFrame;

/// Bytes per packet in addition to the packet's own bytes.
const OVERHEAD: usize = size_of::<CapturedPacket>();

/// A captured packet.
#[derive(Clone, Debug)]
pub struct CapturedPacket {
    /// Number of the packet, from 0 in order of capture.
    pub number: u64,
    /// Time, interface and headers of the packet.
    pub seen: ObservedFrame,
    /// Captured bytes of the packet.
    pub bytes: Box<[u8]>,
}

/// A packet buffer with a memory limit.
#[derive(Debug, Default)]
pub struct Memory {
    packets: VecDeque<CapturedPacket>,
    /// Used bytes, and the maximum.
    bytes: usize,
    limit: usize,
    /// Whether new packets replace old packets.
    scrolls: bool,
    next: u64,
    /// Packets omitted because the memory was full.
    left_out: u64,
}

impl Memory {
    /// Creates a buffer of `limit` bytes. When the buffer is full, old packets are removed if `scrolls` is
    /// set; otherwise new packets are omitted.
    pub fn new(limit: usize, scrolls: bool) -> Self {
        Self {
            limit,
            scrolls,
            ..Self::default()
        }
    }

    /// Adds captured bytes of a frame.
    pub fn see(&mut self, seen: &ObservedFrame, bytes: &[u8]) {
        let number = self.next;
        self.next += 1;
        let needs = bytes.len() + OVERHEAD;
        while self.scrolls && self.bytes + needs > self.limit {
            let Some(oldest) = self.packets.pop_front() else {
                break;
            };
            self.bytes -= oldest.bytes.len() + OVERHEAD;
            self.left_out += 1;
        }
        if self.bytes + needs > self.limit {
            self.left_out += 1;
            return;
        }
        self.bytes += needs;
        self.packets.push_back(CapturedPacket {
            number,
            seen: *seen,
            bytes: bytes.into(),
        });
    }

    /// Returns the packets, oldest first.
    pub fn packets(&self) -> impl Iterator<Item = &CapturedPacket> {
        self.packets.iter()
    }

    /// True if packets were left out because the limit is reached.
    pub const fn is_full(&self) -> bool {
        !self.scrolls && self.left_out > 0
    }

    /// Removes and returns the packets, with the number of packets omitted since the last call.
    pub fn take(&mut self) -> (Vec<CapturedPacket>, u64) {
        self.bytes = 0;
        let packets = core::mem::take(&mut self.packets);
        (packets.into(), core::mem::take(&mut self.left_out))
    }

    /// Returns the number of observed packets.
    pub fn seen(&self) -> u64 {
        self.next
    }
}
