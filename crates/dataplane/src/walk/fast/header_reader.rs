//! Parses the packets of a chunk: pass 1 has stored most headers in columns, the rest are parsed
//! one by one.

use core::ops::Range;

use frame::Frame;
use kernels::{Lanes, Work};

use super::chunk_lookups::ChunkLookups;
use super::enter::HeaderConsumer;
use super::fasttrack;
use super::pass1_results::HeaderClass;
use crate::connection::Tracker;
use crate::packet::{Fields, SLOW_FLAGS, protocol};
use crate::walk::decide::CHUNK;
use crate::walk::headers;
use crate::walk::headers::{Headers, column};

/// Parses all packets and starts their connection lookups. One loop per family keeps its values in
/// registers.
pub(in crate::walk) struct HeaderReader<'a> {
    pub(in crate::walk) frames: &'a [Frame],
    pub(in crate::walk) classes: &'a [HeaderClass],
    pub(in crate::walk) lookups: &'a mut ChunkLookups,
    pub(in crate::walk) tracker: &'a Tracker,
    /// Families (IPv4, IPv6) with connection tracking.
    pub(in crate::walk) tracks: [bool; 2],
    /// Families (IPv4, IPv6) whose rules match fields without a column.
    pub(in crate::walk) reads: [bool; 2],
}

impl Work for HeaderReader<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(mut self, _lanes: L) {
        self.lookups.sets.enter(self.classes);
        let (mut at, count) = (0, self.frames.len().min(CHUNK));
        while at < count {
            let (ipv6, end) = self.lookups.sets.unread(&mut at, count);
            match ipv6 {
                true => self.read_family::<true>(at..end),
                false => self.read_family::<false>(at..end),
            }
            at = end;
        }
        if self.lookups.sets.odd != 0 {
            self.odd();
        }
    }
}

impl HeaderReader<'_> {
    #[inline(always)]
    fn read_family<const IPV6: bool>(&mut self, places: Range<usize>) {
        let family = usize::from(IPV6);
        // Fields are stored only if a rule matches them.
        match self.reads[family] {
            true => self.read::<IPV6, true>(places.clone()),
            false => self.read::<IPV6, false>(places.clone()),
        }
        if self.tracks[family] {
            self.lookups.start_lookups::<IPV6>(places, self.tracker);
        }
    }

    #[inline(always)]
    fn read<const IPV6: bool, const FIELDS: bool>(&mut self, places: Range<usize>) {
        let lookups = &mut *self.lookups;
        let mut sets = lookups.sets;
        for (behind, frame) in self.frames[places.clone()].iter().enumerate() {
            let at = (places.start + behind) % CHUNK;
            let mut fields = Fields::default();
            let Some(midst) = fields.read_usual::<IPV6>(fasttrack::packet(frame)) else {
                sets.odd |= 1 << at;
                continue;
            };
            let tcp = fields.tuple.protocol == protocol::TCP;
            sets.plain |= u64::from(midst) << at;
            sets.tcp |= u64::from(tcp) << at;
            let columns = &mut lookups.batch.columns;
            columns.put::<IPV6>(at, &fields.tuple, frame.ingress);
            lookups.lens[at] = fields.len;
            if FIELDS {
                lookups.fields[at] = fields;
                sets.fields |= 1 << at;
            }
        }
        sets.odd &= !sets.exit;
        sets.plain &= !sets.exit;
        lookups.sets = sets;
    }

    /// Parses the packets that are not whole TCP segments or UDP datagrams.
    #[cold]
    #[inline(never)]
    fn odd(&mut self) {
        let mut odd = self.lookups.sets.odd;
        while odd != 0 {
            let at = odd.trailing_zeros() as usize;
            odd &= odd - 1;
            let Some(frame) = self.frames.get(at) else {
                return;
            };
            let tuple = self.lookups.fields(at, frame).tuple;
            let (ways, this) = (&mut self.lookups.ways, at..at + 1);
            match (self.tracks[usize::from(tuple.ipv6)], tuple.ipv6) {
                (true, true) => self.tracker.ask::<true>(ways, this, |_| tuple),
                (true, false) => self.tracker.ask::<false>(ways, this, |_| tuple),
                (false, _) => {}
            }
        }
    }
}

/// Stores the headers that pass 1 parses together, so that [`HeaderReader`] can skip these packets.
pub(in crate::walk) struct ColumnWriter<'a> {
    pub(in crate::walk) lookups: &'a mut ChunkLookups,
    pub(in crate::walk) tracker: &'a Tracker,
    /// Families (IPv4, IPv6) with connection tracking.
    pub(in crate::walk) tracks: [bool; 2],
    pub(in crate::walk) reads: [bool; 2],
}

impl HeaderConsumer for ColumnWriter<'_> {
    #[inline(always)]
    fn consume<L: Lanes, H: Headers>(
        &mut self,
        lanes: L,
        place: usize,
        frames: &[Frame; headers::TOGETHER],
        headers: &H,
    ) {
        let at = place % CHUNK;
        let family = usize::from(H::IPV6);
        let mut all = frames.iter();
        let usual = all.all(|frame| frame.offload.is_finished() & (frame.mark == 0));
        if self.reads[family] | !usual | (at > CHUNK - headers::TOGETHER) {
            return;
        }
        let tracked = self.tracks[family];
        let Some(usual) = DatagramSets::of(lanes, frames, headers, tracked) else {
            return;
        };
        let (lookups, to) = (&mut *self.lookups, at..at + headers::TOGETHER);
        lookups.sets.read |= 0xffff << at;
        lookups.sets.plain |= u64::from(usual.midst) << at;
        lookups.sets.tcp |= u64::from(usual.tcp) << at;
        lookups.lens[to.clone()].copy_from_slice(&headers.totals());
        let columns = &mut lookups.batch.columns;
        columns.put_together(at, frames, headers);
        match (self.tracks[family], H::IPV6) {
            (true, true) => lookups.start_lookups::<true>(to, self.tracker),
            (true, false) => lookups.start_lookups::<false>(to, self.tracker),
            (false, _) => {}
        }
    }
}

/// Bit sets over packets parsed together, all of them whole TCP segments or UDP datagrams.
struct DatagramSets {
    /// The packets that are TCP segments; the others are UDP datagrams.
    tcp: u32,
    midst: u32,
}

impl DatagramSets {
    #[inline(always)]
    fn of<L: Lanes, H: Headers>(
        lanes: L,
        frames: &[Frame; headers::TOGETHER],
        headers: &H,
        tracked: bool,
    ) -> Option<Self> {
        let (protocols, fragments) = (headers.protocols(), headers.fragments());
        let (lifetimes, rest) = (headers.lifetimes(), headers.rest());
        let tcp = column(|at| protocols[at] ^ u32::from(protocol::TCP));
        let odd = column(|at| {
            let other = (tcp[at] != 0) & (protocols[at] != u32::from(protocol::UDP));
            fragments[at] | u32::from(other | (rest[at] < H::DATAGRAM))
        });
        if lanes.zeros(&odd) != 0xffff {
            return None;
        }
        let segments = lanes.zeros(&tcp);
        // Flags are not read without tracked TCP segments: they matter only to connections.
        let flags = match tracked && segments != 0 {
            true => headers.flags(frames),
            false => [0; headers::TOGETHER],
        };
        let slow = column(|at| {
            let ends = (flags[at] & u32::from(SLOW_FLAGS) != 0) | (rest[at] < H::SEGMENT);
            u32::from((lifetimes[at] <= 1) | (tcp[at] == 0) & ends)
        });
        Some(Self {
            tcp: segments,
            midst: lanes.zeros(&slow),
        })
    }
}
