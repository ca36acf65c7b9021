//! Settings of VXLAN networks.

use core::net::IpAddr;
use std::sync::Arc;

use frame::InterfaceId;

/// A VXLAN network (RFC 7348).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vxlan {
    /// The network's interface, also the key of its learned hosts.
    pub id: InterfaceId,
    /// VNI, 24 bits.
    pub vni: u32,
    /// UDP destination port of both ends.
    pub port: u16,
    /// Local address, of the family of all peers; unspecified takes the address of the egress interface.
    pub local: IpAddr,
    /// TTL of outer packets; `None` means 64 to a peer and 1 to a multicast group.
    pub ttl: Option<u8>,
    /// True if outer IPv4 packets have a UDP checksum. IPv6 packets always have one (RFC 8200,
    /// 8.1).
    pub checksum: bool,
    /// Don't-fragment flag of outer IPv4 packets.
    pub dont_fragment: DontFragment,
    /// True if hosts are learned.
    pub learning: bool,
    /// Maximum number of learned hosts.
    pub hosts_max: u32,
    /// True if outer packets may take the fast path (RouterOS: `allow-fast-path`).
    pub fast: bool,
    /// Multicast group for flooded frames, and the interface that joins it.
    pub group: Option<(IpAddr, InterfaceId)>,
    /// Configured peers, which receive flooded frames.
    pub peers: Arc<[Peer]>,
}

/// Remote end of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its address.
    pub address: IpAddr,
    /// Its UDP port.
    pub port: u16,
}

/// Don't-fragment flag of outer packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DontFragment {
    /// Clear.
    #[default]
    Never,
    /// Set.
    Always,
    /// Copied from an inner IPv4 packet; clear for other frames.
    Inherit,
}
