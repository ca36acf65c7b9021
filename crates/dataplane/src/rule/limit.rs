//! Matchers that remember: how many packets, of whom, in what time.
//!
//! All are made of atomics and shared by the workers, so that a limit is one limit however many
//! workers there are.

use core::sync::atomic::{AtomicU32, AtomicU64};
use core::time::Duration;

use super::matcher::FlowKey;

/// What a rate counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Packets.
    Packets,
    /// Bits of packets from the network header on.
    Bits,
}

/// A rate with a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// How many in each span, 1 to 32,000,000,000.
    pub count: u64,
    /// The span.
    pub per: Duration,
    /// How many at once after a pause.
    pub burst: u64,
    /// Of what.
    pub unit: Unit,
}

/// `limit`: holds as long as the rate is kept.
#[derive(Debug)]
pub struct Limit {
    pub(super) rate: Rate,
    /// When the bucket will be full again, in ticks of 1/64 ns.
    pub(super) full_at: AtomicU64,
}

impl Limit {
    /// A full bucket.
    pub const fn new(rate: Rate) -> Self {
        Self {
            rate,
            full_at: AtomicU64::new(0),
        }
    }
}

/// `dst-limit`: the same for each flow.
#[derive(Debug)]
pub struct DstLimit {
    pub(super) rate: Rate,
    pub(super) key: FlowKey,
    /// A flow is forgotten when it was idle for so long.
    pub(super) expire: Duration,
}

impl DstLimit {
    /// Without a flow yet.
    ///
    /// # Errors
    /// What the kernel says when there is no address space for the flows.
    pub fn new(rate: Rate, key: FlowKey, expire: Duration) -> std::io::Result<Self> {
        Ok(Self { rate, key, expire })
    }
}

/// `nth`: one packet of each `every`.
#[derive(Debug)]
pub struct Nth {
    pub(super) every: u32,
    pub(super) packet: u32,
    pub(super) seen: AtomicU32,
}

impl Nth {
    /// The `packet`th of each `every`, both from 1 on.
    pub const fn new(every: u32, packet: u32) -> Self {
        Self {
            every,
            packet,
            seen: AtomicU32::new(0),
        }
    }
}

/// `connection-limit`: holds for who already has that many connections.
#[derive(Debug)]
pub struct ConnectionLimit {
    pub(super) count: u32,
    pub(super) len: u8,
}

impl ConnectionLimit {
    /// At least `count` connections of the block of `len` bits that the source lies in.
    ///
    /// # Errors
    /// What the kernel says when there is no address space for the census.
    pub fn new(count: u32, len: u8) -> std::io::Result<Self> {
        Ok(Self { count, len })
    }
}

/// `psd`: holds for who tried many ports in a short time.
#[derive(Debug)]
pub struct Psd {
    pub(super) threshold: u16,
    pub(super) delay: Duration,
    pub(super) low: u16,
    pub(super) high: u16,
}

impl Psd {
    /// A scan weighs `threshold`; ports count when they follow within `delay`; a port below 1024
    /// weighs `low`, another `high`.
    ///
    /// # Errors
    /// What the kernel says when there is no address space for the sources.
    pub fn new(threshold: u16, delay: Duration, low: u16, high: u16) -> std::io::Result<Self> {
        Ok(Self {
            threshold,
            delay,
            low,
            high,
        })
    }
}
