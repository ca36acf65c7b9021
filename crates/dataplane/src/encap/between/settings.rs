//! Settings of tunnels between two addresses.

use core::net::IpAddr;
use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use frame::InterfaceId;

/// A tunnel between two addresses of one family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Between {
    /// Its interface.
    pub id: InterfaceId,
    /// What its packets carry.
    pub carries: Carries,
    /// This router's end. The unspecified one: the address of the interface that packets leave by.
    pub local: IpAddr,
    /// The other end.
    pub remote: IpAddr,
    /// The lifetime of its packets.
    pub ttl: u8,
    /// The DSCP of its packets, 0 to 63; none takes the type of service of the packets in them.
    pub dscp: Option<u8>,
    /// Whether its packets over IPv4 may not be fragmented where those in them may not.
    pub inherits_dont_fragment: bool,
    /// Whether its packets go past the firewall where that looks at nothing (RouterOS: `allow-fast-path`).
    pub fast: bool,
    /// The layer-3 MTU to which the segment size of TCP connections is lowered that come out of it; none leaves it.
    pub clamp: Option<u32>,
    /// Where packets are counted by which the other end says that it is there.
    pub heard: Heard,
}

/// What packets of a tunnel carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carries {
    /// Packets of IPv4 and IPv6 (RFC 2003, RFC 4213, RFC 2473).
    Packets,
    /// The same behind a header of GRE (RFC 2784, RFC 7676).
    Gre,
    /// Frames of Ethernet behind a header of EoIP, with the number of the tunnel: 16 bits over IPv4, 12 bits over
    /// IPv6.
    Frames(u16),
}

/// A counter that control reads and workers add to.
#[derive(Clone, Debug, Default)]
pub struct Heard(Arc<AtomicU64>);

impl Heard {
    /// One more packet.
    pub(super) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl PartialEq for Heard {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Heard {}
