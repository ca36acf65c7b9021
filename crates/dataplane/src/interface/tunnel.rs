//! The ends of tunnels: the outer addresses of a tunnel, and the tunnel between two addresses.

use core::net::Ipv4Addr;
use std::sync::Arc;

use arc_swap::ArcSwap;
use frame::InterfaceId;

/// A tunnel between two addresses of IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tunnel {
    /// This router's end.
    pub local: Ipv4Addr,
    /// The other end.
    pub remote: Ipv4Addr,
    /// The lifetime of its packets.
    pub ttl: u8,
}

/// Lists that tunnels are spread over.
const LISTS: usize = 1024;

type List = Vec<((Ipv4Addr, Ipv4Addr), InterfaceId)>;

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

    fn list(&self, (local, remote): (Ipv4Addr, Ipv4Addr)) -> &ArcSwap<List> {
        let hash = local.to_bits().rotate_left(16) ^ remote.to_bits();
        &self.lists[hash.wrapping_mul(0x9e37_79b9) as usize >> 22 & (LISTS - 1)]
    }

    /// The interface of the tunnel between these ends.
    pub(super) fn get(&self, ends: (Ipv4Addr, Ipv4Addr)) -> Option<InterfaceId> {
        let list = self.list(ends).load();
        let found = list.iter().find(|(of, _)| *of == ends);
        found.map(|(_, interface)| *interface)
    }

    /// Names the tunnel between these ends; none takes it away. One list of a thousand is made anew.
    pub(super) fn set(&self, ends: (Ipv4Addr, Ipv4Addr), interface: Option<InterfaceId>) {
        let place = self.list(ends);
        let mut list = List::clone(&place.load());
        list.retain(|(of, _)| *of != ends);
        list.extend(interface.map(|interface| (ends, interface)));
        place.store(Arc::new(list));
    }
}
