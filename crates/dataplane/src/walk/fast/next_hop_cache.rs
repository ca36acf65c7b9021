//! A per-worker cache of 32 next hops, valid for one vector, so that the shared table is read once
//! per next hop.

use frame::InterfaceId;

use crate::rule::Class;
use crate::snapshot::Snapshot;
use crate::table::{Adjacency, Kind, NextHopId};
use crate::walk::Context;
use crate::walk::packet::ETHERNET;

/// The cached next hops, and the number of cache misses.
pub(in crate::walk) struct NextHopCache {
    places: [CachedNextHop; Self::PLACES],
    /// Reads of the shared table since the last vector began.
    reads: usize,
}

/// A cached next hop, on its own cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(in crate::walk) struct CachedNextHop {
    pub(in crate::walk) adjacency: Adjacency,
    id: NextHopId,
    /// Generation of the next hop, from [`crate::table::Fib::generation`].
    pub(in crate::walk) generation: u32,
    /// Packets are forwarded behind an Ethernet header, tagged or not, and forwarding is enabled:
    /// only TTL, MTU and redirects remain to be checked.
    pub(in crate::walk) simple: bool,
    /// This router sends redirects for packets that leave by their ingress interface.
    redirects: bool,
    /// Class of the egress interface.
    pub(in crate::walk) class: Class,
}

impl NextHopCache {
    const PLACES: usize = 32;

    pub(in crate::walk) fn new() -> Self {
        let none = CachedNextHop {
            adjacency: Adjacency::NONE,
            id: NextHopId::NO_ROUTE,
            generation: 0,
            simple: false,
            redirects: false,
            class: Class::NONE,
        };
        Self {
            places: [none; Self::PLACES],
            reads: 0,
        }
    }

    /// Returns true if the last vector had enough next hops that prefetching those of this vector is worthwhile.
    #[inline(always)]
    pub(in crate::walk) const fn was_crowded(&self) -> bool {
        self.reads > 2 * Self::PLACES
    }

    /// Empties the cache, because control may have changed next hops since the last vector.
    pub(in crate::walk) fn forget(&mut self) {
        self.reads = 0;
        for (place, next) in self.places.iter_mut().enumerate() {
            // An id that belongs to another slot never matches.
            next.id = NextHopId(place as u32 ^ 1);
        }
    }

    #[inline(always)]
    pub(in crate::walk) fn get(&mut self, cx: &Context<'_>, hop: NextHopId) -> &CachedNextHop {
        let next = &mut self.places[hop.0 as usize % Self::PLACES];
        if next.id != hop {
            self.reads += 1;
            next.read(cx, hop);
        }
        next
    }
}

impl CachedNextHop {
    #[inline(never)]
    fn read(&mut self, cx: &Context<'_>, hop: NextHopId) {
        self.id = hop;
        self.generation = cx.fib.generation(hop);
        self.adjacency = cx.fib.adjacencies.read(hop);
        self.class = match self.adjacency.kind {
            // Groups and tables store something else in `egress`.
            Kind::Group | Kind::Table => Class::NONE,
            _ => cx.class(self.adjacency.egress),
        };
        let Snapshot {
            ipv4,
            ipv6,
            send_redirects,
            ..
        } = cx.snapshot;
        self.redirects = *send_redirects;
        self.simple = self.adjacency.kind == Kind::Forward
            && self.adjacency.header_len >= ETHERNET
            && ipv4.forward
            && ipv6.forward;
    }

    /// Returns true if only TTL and MTU remain to be checked for a packet from this ingress
    /// interface: no redirect is owed.
    #[inline(always)]
    pub(in crate::walk) fn is_straight(&self, ingress: InterfaceId) -> bool {
        self.simple & ((self.adjacency.egress != ingress) | !self.redirects)
    }
}
