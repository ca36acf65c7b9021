//! Packets of sessions whose carrier is a byte stream, such as a TLS connection. The program owns the connections; its
//! tasks encrypt and transmit. Packets pass in batches, by one bounded ring per direction and worker.
//!
//! ```text
//! worker ──▶ Batch: bytes of consecutive packets of one session, with their framing ──▶ task of the connection
//! worker ◀── Batch: packets of one session, each behind its length                  ◀── task of the connection
//! ```
//! A worker leaves its open batch at the end of a step, so that a batch waits for no timer. Nobody waits for a ring: a
//! batch that finds no room is lost, and its packets are counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crossbeam_queue::ArrayQueue;

/// Maximum number of batches in a ring.
const RING: usize = 1024;
/// Bytes from which on a batch takes no further packet: one TLS record of 16 KiB.
const BATCH_BYTES: usize = 14 * 1024;
/// Bytes of an empty buffer.
const BUFFER_BYTES: usize = 16 * 1024;
/// Empty buffers that a worker and its tasks keep.
const SPARES: usize = 64;
/// Bytes of the length in front of a received packet.
const LENGTH: usize = 2;

/// A session on a byte stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChannelId {
    /// Protocol of the session, as its feature numbers them; not 0.
    pub protocol: u16,
    /// Number within the protocol.
    pub number: u32,
}

impl ChannelId {
    /// Protocol number of SSTP.
    pub const SSTP: u16 = 1;
    /// Protocol number of OpenVPN.
    pub const OVPN: u16 = 2;

    /// Returns the worker, of this many, that receives all packets of the session.
    pub fn worker(self, workers: usize) -> usize {
        self.number as usize % workers.max(1)
    }

    /// Returns the number of batches that may wait for the connection of the session. More would only delay packets;
    /// batches of a protocol with a [`Window`] always find room.
    pub const fn max_waiting(self) -> usize {
        match self.protocol {
            Self::OVPN => Window::PACKETS as usize,
            _ => 32,
        }
    }
}

/// Packets of a session between its worker and its connection. The worker asks for admission before it numbers a
/// packet, for protocols whose other end takes a missing number for an attack.
#[derive(Debug, Default)]
pub struct Window(AtomicU32);

impl Window {
    /// Maximum number of packets.
    pub const PACKETS: u32 = 512;

    /// Admits a packet. Returns false, and admits nothing, if the connection is too slow. One thread calls it.
    pub(crate) fn admit(&self) -> bool {
        let is_open = self.0.load(Ordering::Relaxed) < Self::PACKETS;
        if is_open {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        is_open
    }

    /// Notes packets that were written, or lost.
    pub(crate) fn give_back(&self, packets: u32) {
        self.0.fetch_sub(packets, Ordering::Relaxed);
    }
}

/// Consecutive packets of one session.
#[derive(Debug)]
pub struct Batch {
    /// The session.
    pub channel: ChannelId,
    /// Number of packets.
    pub packets: u32,
    /// Towards a connection: bytes to transmit. Towards a worker: packets, each behind its length (16 bits).
    pub bytes: Vec<u8>,
    /// Window that admitted the packets, if the protocol has one.
    pub(crate) window: Option<Arc<Window>>,
}

impl Batch {
    /// Returns true if another packet would exceed a batch.
    pub const fn is_full(&self) -> bool {
        self.bytes.len() >= BATCH_BYTES
    }

    /// Adds a packet for a worker. Returns false, and adds nothing, if the packet is longer than 65,535 bytes.
    pub fn push(&mut self, packet: &[u8]) -> bool {
        let Ok(length) = u16::try_from(packet.len()) else {
            return false;
        };
        self.bytes.extend_from_slice(&length.to_be_bytes());
        self.bytes.extend_from_slice(packet);
        self.packets += 1;
        true
    }

    /// Adds a packet in parts, for the connection.
    pub(crate) fn add(&mut self, parts: &[&[u8]]) {
        for part in parts {
            self.bytes.extend_from_slice(part);
        }
        self.packets += 1;
    }

    /// Takes the next packet for a worker from the front of `bytes`.
    pub(crate) fn next<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
        let (length, rest) = bytes.split_first_chunk::<LENGTH>()?;
        let (packet, rest) = rest.split_at_checked(u16::from_be_bytes(*length).into())?;
        *bytes = rest;
        Some(packet)
    }
}

/// The rings between one worker and the tasks of connections.
#[derive(Debug)]
pub struct StreamRings {
    to_tasks: ArrayQueue<Batch>,
    to_worker: ArrayQueue<Batch>,
    spares: ArrayQueue<Vec<u8>>,
    /// Packets lost since the worker last counted them.
    lost: AtomicU64,
}

impl Default for StreamRings {
    fn default() -> Self {
        Self {
            to_tasks: ArrayQueue::new(RING),
            to_worker: ArrayQueue::new(RING),
            spares: ArrayQueue::new(SPARES),
            lost: AtomicU64::new(0),
        }
    }
}

impl StreamRings {
    /// Returns an empty batch of a session.
    pub fn batch(&self, channel: ChannelId) -> Batch {
        let bytes = self.spares.pop();
        Batch {
            channel,
            packets: 0,
            bytes: bytes.unwrap_or_else(|| Vec::with_capacity(BUFFER_BYTES)),
            window: None,
        }
    }

    /// Takes a batch that was written, or lost.
    pub fn recycle(&self, batch: Batch) {
        if let Some(window) = &batch.window {
            window.give_back(batch.packets);
        }
        let mut bytes = batch.bytes;
        bytes.clear();
        // Beyond the limit the memory is freed.
        let _ = self.spares.push(bytes);
    }

    /// Passes a batch to the worker, whom the caller wakes afterwards.
    pub fn pass_to_worker(&self, batch: Batch) {
        self.pass(&self.to_worker, batch);
    }

    /// Returns the next batch of the worker.
    pub fn take(&self) -> Option<Batch> {
        self.to_tasks.pop()
    }

    /// Counts packets that a connection did not take.
    pub fn count_lost(&self, packets: u32) {
        self.lost.fetch_add(packets.into(), Ordering::Relaxed);
    }

    fn pass(&self, ring: &ArrayQueue<Batch>, batch: Batch) {
        if let Err(batch) = ring.push(batch) {
            self.count_lost(batch.packets);
            self.recycle(batch);
        }
    }
}

/// A worker's end of its rings.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    rings: Arc<StreamRings>,
    open: Option<Batch>,
    /// Batches that tasks have not been woken for.
    passed: u32,
}

impl Streams {
    pub(crate) fn new(rings: Arc<StreamRings>) -> Self {
        Self {
            rings,
            ..Self::default()
        }
    }

    /// Returns the open batch for another packet of a session.
    pub(crate) fn open(&mut self, channel: ChannelId) -> &mut Batch {
        let fits = |batch: &Batch| batch.channel == channel && !batch.is_full();
        if !self.open.as_ref().is_some_and(fits) {
            self.close();
        }
        let rings = &self.rings;
        self.open.get_or_insert_with(|| rings.batch(channel))
    }

    /// Passes the open batch on.
    pub(crate) fn close(&mut self) {
        if let Some(batch) = self.open.take() {
            self.passed += 1;
            self.rings.pass(&self.rings.to_tasks, batch);
        }
    }

    /// Returns the next batch that tasks received.
    pub(crate) fn take_received(&self) -> Option<Batch> {
        self.rings.to_worker.pop()
    }

    /// Returns the buffer of a received batch.
    pub(crate) fn recycle(&self, batch: Batch) {
        self.rings.recycle(batch);
    }

    /// Returns the number of packets that were lost since the last call.
    pub(crate) fn take_lost(&self) -> u64 {
        match self.rings.lost.load(Ordering::Relaxed) {
            0 => 0,
            _ => self.rings.lost.swap(0, Ordering::Relaxed),
        }
    }

    /// Returns the number of batches that were passed on since the last call.
    pub(crate) fn take_passed(&mut self) -> u32 {
        self.close();
        core::mem::take(&mut self.passed)
    }
}
