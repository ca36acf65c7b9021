//! Ethernet frames that machines send, and the IPv6 packets in them.

use core::net::Ipv6Addr;

use wire::ndp::{HOP_LIMIT, Message};
use wire::{EtherType, Mac, Protocol, ipv6};

/// All-nodes multicast address (RFC 4291, 2.7.1).
pub(crate) const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);

/// Frame to send. The sender adds the source address of the egress interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Destination MAC address.
    pub dst: Mac,
    /// EtherType of the payload.
    pub ether_type: EtherType,
    /// Payload, from the network header on.
    pub payload: Vec<u8>,
}

impl Frame {
    /// Builds a frame with an ICMPv6 neighbour discovery message: hop limit 255, checksum filled in.
    pub(crate) fn discovery(mac: Mac, src: Ipv6Addr, dst: Ipv6Addr, message: &Message<'_>) -> Self {
        let mut upper = Vec::new();
        message.emit(src, dst, &mut upper);
        let header = ipv6::Repr {
            hop_limit: HOP_LIMIT,
            ..ipv6::Repr::new(Protocol::ICMPV6, src, dst)
        };
        let mut payload = header.to_bytes(upper.len()).to_vec();
        payload.append(&mut upper);
        Self {
            dst: mac,
            ether_type: EtherType::IPV6,
            payload,
        }
    }
}
