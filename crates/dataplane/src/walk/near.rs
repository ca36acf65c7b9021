//! The next hops that a vector goes to.

use frame::InterfaceId;

use super::Context;
use super::depart::ETHERNET;
use crate::snapshot::Snapshot;
use crate::table::{Adjacency, Kind, NextHopId};

/// The next hops that this vector has met, so that the shared table is read once for each.
pub(super) struct Near([Next; Self::PLACES]);

/// One of them, on a cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Next {
    pub(super) adjacency: Adjacency,
    id: NextHopId,
    /// That of [`crate::table::Fib::generation`].
    pub(super) generation: u32,
    /// Packets for it are forwarded in an Ethernet header.
    simple: bool,
    /// They are, and nobody is owed a redirect: only their lifetime and size are left to decide about.
    pub(super) straight: bool,
}

impl Near {
    const PLACES: usize = 32;

    pub(super) fn new() -> Self {
        let none = Next {
            adjacency: Adjacency::NONE,
            id: NextHopId::NO_ROUTE,
            generation: 0,
            simple: false,
            straight: false,
        };
        Self([none; Self::PLACES])
    }

    /// Control may have changed them since the last vector.
    pub(super) fn forget(&mut self) {
        for (place, next) in self.0.iter_mut().enumerate() {
            // An id that belongs to another place is never found.
            next.id = NextHopId(place as u16 ^ 1);
        }
    }

    #[inline(always)]
    pub(super) fn get(&mut self, cx: &Context<'_>, hop: NextHopId, ingress: InterfaceId) -> &Next {
        let next = &mut self.0[usize::from(hop.0) % Self::PLACES];
        if next.id != hop {
            next.read(cx, hop, ingress);
        }
        next
    }
}

impl Next {
    #[inline(never)]
    fn read(&mut self, cx: &Context<'_>, hop: NextHopId, ingress: InterfaceId) {
        self.id = hop;
        self.generation = cx.fib.generation(hop);
        self.adjacency = cx.fib.adjacencies.read(hop);
        let Snapshot {
            ipv4,
            ipv6,
            send_redirects,
            ..
        } = cx.snapshot;
        let back = self.adjacency.egress == ingress && *send_redirects;
        self.simple = self.adjacency.kind == Kind::Forward
            && self.adjacency.header_len == ETHERNET
            && ipv4.forward
            && ipv6.forward;
        self.straight = self.simple && !back;
    }

    /// The same as `straight` of packets that may be translated: about those no redirect is owed.
    #[inline(always)]
    pub(super) fn is_straight(&self, translated: bool) -> bool {
        self.straight | (self.simple & translated)
    }
}
