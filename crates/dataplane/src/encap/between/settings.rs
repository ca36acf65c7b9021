//! Settings of tunnels between two addresses.

use core::net::IpAddr;
use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use frame::InterfaceId;

/// A tunnel between two addresses of one family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Between {
    /// The tunnel's interface.
    pub id: InterfaceId,
    /// Payload type.
    pub carries: Carries,
    /// Local address; unspecified takes the address of the egress interface.
    pub local: IpAddr,
    /// Remote address.
    pub remote: IpAddr,
    /// TTL of outer packets, 1 to 255.
    pub ttl: u8,
    /// DSCP of outer packets, 0 to 63; `None` copies the type of service of the inner packet.
    pub dscp: Option<u8>,
    /// True if outer IPv4 packets inherit the don't-fragment flag.
    pub inherits_dont_fragment: bool,
    /// True if outer packets may take the fast path (RouterOS: `allow-fast-path`).
    pub fast: bool,
    /// Layer-3 MTU in bytes that the segment size of decapsulated TCP connections is clamped to;
    /// `None` leaves it.
    pub clamp: Option<u32>,
    /// Counter of received keepalives.
    pub heard: KeepaliveCounter,
}

/// Payload of a tunnel's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carries {
    /// Packets of IPv4 and IPv6 (RFC 2003, RFC 4213, RFC 2473).
    Packets,
    /// Packets of IPv4 and IPv6 behind a GRE header (RFC 2784, RFC 7676).
    Gre,
    /// Ethernet frames behind an EoIP header with the tunnel id: 16 bits over IPv4, 12 bits over IPv6.
    Frames(u16),
}

/// A packet counter that workers increment and control reads.
#[derive(Clone, Debug, Default)]
pub struct KeepaliveCounter(Arc<AtomicU64>);

impl KeepaliveCounter {
    /// Counts a packet.
    pub(super) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of packets.
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl PartialEq for KeepaliveCounter {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for KeepaliveCounter {}
