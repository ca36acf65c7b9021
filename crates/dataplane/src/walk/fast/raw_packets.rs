//! Packets on arrival: the columns by which the rules of `raw` are looked up.

use frame::Frame;

use super::columns::Columns;
use crate::connection::{NatState, State, Track};
use crate::packet::Fields;
use crate::rule::{Class, Ipsec, Marks, Of, Packets, TOGETHER};
use crate::walk::decide::CHUNK;

/// The packets of a chunk on arrival, as `raw` matches them before connection tracking.
pub(in crate::walk) struct RawPackets<'a> {
    pub(in crate::walk) frames: &'a [Frame],
    pub(in crate::walk) ipv6: bool,
    pub(in crate::walk) columns: &'a Columns,
    pub(in crate::walk) fields: &'a [Fields; CHUNK],
}

impl Packets for RawPackets<'_> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.frames.len()
    }

    #[inline(always)]
    fn fields(&self, at: usize) -> &Fields {
        &self.fields[at % CHUNK]
    }

    #[inline(always)]
    fn column(&self, of: Of) -> Option<&[u32; TOGETHER]> {
        self.columns.column(of, self.ipv6)
    }

    #[inline(always)]
    fn addresses(&self, of: Of) -> Option<&[u128; TOGETHER]> {
        self.columns.addresses(of, self.ipv6)
    }

    #[inline(always)]
    fn classes(&self, at: usize) -> (Class, Class) {
        (self.columns.class(at), Class::NONE)
    }

    #[inline(always)]
    fn state(&self, _at: usize) -> (State, NatState) {
        let track = Track::default();
        (track.state, track.nat)
    }

    #[inline(always)]
    fn ipsec(&self, at: usize) -> Ipsec {
        self.columns.ipsec(at)
    }

    #[inline(always)]
    fn marks(&self, _at: usize) -> Marks {
        Marks::default()
    }
}
