//! Tunnels of interfaces: what their frames are wrapped into, and the tunnel that a packet for this router came by.

use core::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use arc_swap::ArcSwap;
use frame::InterfaceId;

use crate::flow::mix64;

/// What the frames of an interface are wrapped into, by kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tunnel {
    /// Packets in packets of IPv4, between two addresses.
    Ip4(Ip4Tunnel),
}

impl Tunnel {
    /// What tells its packets from those of others.
    pub fn ends(&self) -> Ends {
        match self {
            Self::Ip4(tunnel) => tunnel.ends(),
        }
    }
}

/// A tunnel of IPv4 and IPv6 between two addresses of IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ip4Tunnel {
    /// This router's end.
    pub local: Ipv4Addr,
    /// The other end.
    pub remote: Ipv4Addr,
    /// The lifetime of its packets.
    pub ttl: u8,
}

impl Ip4Tunnel {
    /// What tells its packets from those of others.
    pub fn ends(&self) -> Ends {
        Ends::Ip4 {
            local: self.local,
            remote: self.remote,
        }
    }
}

/// What tells the packets of a tunnel, for this router, from those of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// Packets of IP in IPv4.
    Ip4 {
        /// This router's address.
        local: Ipv4Addr,
        /// The other one.
        remote: Ipv4Addr,
    },
    /// Datagrams with frames of a network (RFC 7348).
    Vxlan {
        /// The UDP port that they are sent to.
        port: u16,
        /// This router's address; the unspecified one of a family is any.
        local: IpAddr,
        /// The network.
        vni: u32,
    },
}

impl Ends {
    fn hash(&self) -> usize {
        let of = |address: IpAddr| match address {
            IpAddr::V4(address) => u64::from(address.to_bits()),
            IpAddr::V6(address) => {
                let bits = address.to_bits();
                mix64(bits as u64) ^ (bits >> 64) as u64
            }
        };
        let number = match *self {
            Self::Ip4 { local, remote } => {
                u64::from(local.to_bits()) << 32 | u64::from(remote.to_bits())
            }
            Self::Vxlan { port, local, vni } => {
                mix64(of(local)) ^ u64::from(port) << 32 ^ u64::from(vni)
            }
        };
        mix64(number) as usize % LISTS
    }
}

/// Lists that tunnels are spread over.
const LISTS: usize = 1024;

type List = Vec<(Ends, InterfaceId)>;

/// The interfaces of tunnels by their ends.
#[derive(Debug)]
pub(super) struct Tunnels {
    lists: Box<[ArcSwap<List>]>,
}

impl Tunnels {
    pub(super) fn new() -> Self {
        let lists = (0..LISTS).map(|_| ArcSwap::default());
        Self {
            lists: lists.collect(),
        }
    }

    /// The interface of the tunnel between these ends.
    pub(super) fn get(&self, ends: &Ends) -> Option<InterfaceId> {
        let list = self.lists[ends.hash()].load();
        let found = list.iter().find(|(of, _)| of == ends);
        found.map(|(_, interface)| *interface)
    }

    /// Names the tunnel between these ends; none takes it away. One list of a thousand is made anew.
    pub(super) fn set(&self, ends: Ends, interface: Option<InterfaceId>) {
        let place = &self.lists[ends.hash()];
        let mut list = List::clone(&place.load());
        list.retain(|(of, _)| *of != ends);
        list.extend(interface.map(|interface| (ends, interface)));
        place.store(Arc::new(list));
    }
}
