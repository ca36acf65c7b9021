//! Packets that are kept (RouterOS: `/tool/sniffer/packet`).

use std::collections::VecDeque;

use crate::Seen;

/// Bytes that a packet takes beside its own.
const OVERHEAD: usize = size_of::<Kept>();

/// A packet that is kept.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Its number, from 0 in the order in which they were seen.
    pub number: u64,
    /// When and where it was seen, and what its headers say.
    pub seen: Seen,
    /// What is kept of its bytes.
    pub bytes: Box<[u8]>,
}

/// See the module. It takes so much memory and no more.
#[derive(Debug, Default)]
pub struct Memory {
    packets: VecDeque<Kept>,
    /// Bytes that they take, and may take.
    bytes: usize,
    limit: usize,
    /// Whether old ones make room for new ones.
    scrolls: bool,
    next: u64,
    /// Packets for which there was no room.
    left_out: u64,
}

impl Memory {
    /// One of so many bytes. When it is full, old packets make room, or new ones are left out.
    pub fn new(limit: usize, scrolls: bool) -> Self {
        Self {
            limit,
            scrolls,
            ..Self::default()
        }
    }

    /// Keeps these bytes of a frame.
    pub fn see(&mut self, seen: &Seen, bytes: &[u8]) {
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
        self.packets.push_back(Kept {
            number,
            seen: *seen,
            bytes: bytes.into(),
        });
    }

    /// The packets, old ones first.
    pub fn packets(&self) -> impl Iterator<Item = &Kept> {
        self.packets.iter()
    }

    /// Takes the packets away; how many there was no room for since the last time.
    pub fn take(&mut self) -> (Vec<Kept>, u64) {
        self.bytes = 0;
        let packets = core::mem::take(&mut self.packets);
        (packets.into(), core::mem::take(&mut self.left_out))
    }

    /// How many packets were seen.
    pub fn seen(&self) -> u64 {
        self.next
    }
}
