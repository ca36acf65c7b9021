//! A cache of 32 next hops, valid for one vector: the shared table is read once for each.

use frame::InterfaceId;

use super::Context;
use super::packet::ETHERNET;
use crate::rule::Class;
use crate::snapshot::Snapshot;
use crate::table::{Adjacency, Kind, NextHopId};

/// The next hops that this vector has met, so that the shared table is read once for each.
pub(super) struct Near {
    places: [Next; Self::PLACES],
    /// How many were read since the last vector began.
    reads: usize,
}

/// One of them, on a cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Next {
    pub(super) adjacency: Adjacency,
    id: NextHopId,
    /// That of [`crate::table::Fib::generation`].
    pub(super) generation: u32,
    /// Packets for it are forwarded behind an Ethernet header, tags or none: only their lifetime and size are
    /// left to decide about, and whether somebody is owed a redirect.
    pub(super) simple: bool,
    /// Whoever sends through here what leaves as it came is owed a redirect.
    redirects: bool,
    /// The class of its interface.
    pub(super) class: Class,
}

impl Near {
    const PLACES: usize = 32;

    pub(super) fn new() -> Self {
        let none = Next {
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

    /// Whether the vector before met so many next hops that those of this one are worth to be asked for ahead.
    #[inline(always)]
    pub(super) const fn was_crowded(&self) -> bool {
        self.reads > 2 * Self::PLACES
    }

    /// Control may have changed them since the last vector.
    pub(super) fn forget(&mut self) {
        self.reads = 0;
        for (place, next) in self.places.iter_mut().enumerate() {
            // An id that belongs to another place is never found.
            next.id = NextHopId(place as u32 ^ 1);
        }
    }

    #[inline(always)]
    pub(super) fn get(&mut self, cx: &Context<'_>, hop: NextHopId) -> &Next {
        let next = &mut self.places[hop.0 as usize % Self::PLACES];
        if next.id != hop {
            self.reads += 1;
            next.read(cx, hop);
        }
        next
    }
}

impl Next {
    #[inline(never)]
    fn read(&mut self, cx: &Context<'_>, hop: NextHopId) {
        self.id = hop;
        self.generation = cx.fib.generation(hop);
        self.adjacency = cx.fib.adjacencies.read(hop);
        self.class = match self.adjacency.kind {
            // They have something else in the place of an interface.
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

    /// Whether only lifetime and size are left to decide about for a packet that came in here: nobody is owed a
    /// redirect.
    #[inline(always)]
    pub(super) fn is_straight(&self, ingress: InterfaceId) -> bool {
        self.simple & ((self.adjacency.egress != ingress) | !self.redirects)
    }
}
