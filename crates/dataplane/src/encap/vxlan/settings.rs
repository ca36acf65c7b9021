//! Settings of networks of VXLAN.

use core::net::IpAddr;
use std::sync::Arc;

use frame::InterfaceId;

/// A network of VXLAN (RFC 7348).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vxlan {
    /// Its interface, by which its hosts are known.
    pub id: InterfaceId,
    /// The number of the network, 24 bits.
    pub vni: u32,
    /// The UDP port of both ends.
    pub port: u16,
    /// The address that its packets come from, of the family of all its ends. The unspecified one: that of the
    /// interface that they leave by.
    pub local: IpAddr,
    /// The lifetime of its packets; none is 64 to a peer, and 1 to a group.
    pub ttl: Option<u8>,
    /// Whether its packets over IPv4 have a UDP checksum. Those over IPv6 always do (RFC 8200, 8.1).
    pub checksum: bool,
    /// Whether its packets over IPv4 may be fragmented.
    pub dont_fragment: DontFragment,
    /// Whether it learns behind which peer stations are.
    pub learning: bool,
    /// How many stations it learns at most.
    pub hosts_max: u32,
    /// Whether its packets go past the firewall where that looks at nothing (RouterOS: `allow-fast-path`).
    pub fast: bool,
    /// The group that frames for all are sent to, and the interface that it is joined on.
    pub group: Option<(IpAddr, InterfaceId)>,
    /// The peers that are configured: frames for all go to each.
    pub peers: Arc<[Peer]>,
}

/// Another end of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its address.
    pub address: IpAddr,
    /// Its UDP port.
    pub port: u16,
}

/// Whether packets around frames say that they may not be fragmented.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DontFragment {
    /// They may be.
    #[default]
    Never,
    /// They may not.
    Always,
    /// As the packet of IPv4 in the frame says; others may be.
    Inherit,
}
