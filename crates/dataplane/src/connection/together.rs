//! The connections of many packets, looked for together: first what they most likely are, so that the
//! entries come while others are looked for.

use kernels::Lanes;

use super::hash::Hash;
use super::id::Way;
use super::layout::{Ipv4, Ipv6, Layout, flag};
use super::part::Part;
use super::pass::Passed;
use super::settings::Tick;
use super::table::flags_of;
use super::tracker::{Tracker, of_family};
use crate::packet::Tuple;

impl Tracker {
    /// The ways that tuples with these hashes most likely have, without a look at their entries, which are
    /// asked for. That there is none is certain only after [`Tracker::find`].
    #[inline(always)]
    pub fn candidates<L: Lanes, const IPV6: bool>(
        &self,
        lanes: L,
        hashes: &[Hash],
        ways: &mut [Option<Way>],
    ) {
        of_family!(ref self, IPV6, part => part.candidates(lanes, hashes, ways));
    }

    /// Keeps of such ways those that are of the tuples, by place, and says of each whether its connection
    /// is marked for FastTrack.
    #[inline(always)]
    pub fn verify<const IPV6: bool>(
        &self,
        ways: &mut [Option<Way>],
        tuple: impl Fn(usize) -> Tuple,
        found: impl FnMut(usize, Way, bool),
    ) {
        if IPV6 {
            self.ipv6.verify(ways, |at| Ipv6::key(&tuple(at)), found);
        } else {
            self.ipv4.verify(ways, |at| Ipv4::key(&tuple(at)), found);
        }
    }
}

impl Tracker {
    /// Passes the datagrams of these ways and lengths, in order, as [`Tracker::pass`] does, until one is not
    /// passed; how many were.
    #[inline(always)]
    pub fn pass_datagrams<const IPV6: bool>(
        &self,
        ways: &[Option<Way>],
        lens: &[u32],
        now: Tick,
        passed: impl FnMut(usize, Way, Passed),
    ) -> usize {
        of_family!(ref self, IPV6, part => part.pass_datagrams(ways, lens, now, passed))
    }
}

impl<F: Layout> Part<F> {
    #[inline(always)]
    fn pass_datagrams(
        &self,
        ways: &[Option<Way>],
        lens: &[u32],
        now: Tick,
        mut passed: impl FnMut(usize, Way, Passed),
    ) -> usize {
        let entries = &*self.entries;
        for (at, (way, len)) in ways.iter().zip(lens).enumerate() {
            let Some(way) = *way else {
                return at;
            };
            let line = entries.line(way.slot().place(), way.reply());
            match self.pass(way, line, *len, now) {
                Some(of_packet) => passed(at, way, of_packet),
                None => return at,
            }
        }
        ways.len().min(lens.len())
    }
}

impl<F: Layout> Part<F> {
    #[inline(always)]
    fn candidates<L: Lanes>(&self, lanes: L, hashes: &[Hash], ways: &mut [Option<Way>]) {
        let entries = &*self.entries;
        let rewrites = F::IPV6 && self.translates();
        for (way, hash) in ways.iter_mut().zip(hashes) {
            *way = self.candidate(lanes, *hash);
            let Some(way) = *way else {
                continue;
            };
            let (place, reply) = (way.slot().place(), way.reply());
            entries.prefetch_line(place, reply);
            // An IPv4 connection's lies in the same line.
            if rewrites {
                entries.prefetch_rewrite(place, reply);
            }
        }
    }

    #[inline(always)]
    fn verify(
        &self,
        ways: &mut [Option<Way>],
        key: impl Fn(usize) -> F::Key,
        mut found: impl FnMut(usize, Way, bool),
    ) {
        let entries = &*self.entries;
        for (at, place) in ways.iter_mut().enumerate() {
            let Some(way) = *place else {
                continue;
            };
            let line = entries.line(way.slot().place(), way.reply());
            match flags_of::<F>(line, &key(at)) {
                Some(flags) => found(at, way, flags & flag::FASTTRACK != 0),
                None => *place = None,
            }
        }
    }
}
