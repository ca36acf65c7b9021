//! The packets that most are: of a connection that both ends know of, in the midst of it.
//!
//! A datagram is counted with three stores to its direction's line and needs no other. A segment's
//! numbers lie in the shared line.

use super::follow::{count_in, last_in, touch_in};
use super::id::Way;
use super::layout::{FLAGS_SHIFT, Layout, Line, flag, load};
use super::limits::Limits;
use super::part::Part;
use super::settings::Tick;
use super::state::{NatState, State, TcpState, Track};
use super::tcp::{self, Segment, Step};
use super::tracker::{Tracker, of_family};
use crate::packet::Fields;

/// What such a packet finds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// How its connection is translated.
    pub nat: NatState,
    /// Its connection's mark.
    pub mark: u32,
}

impl Passed {
    /// What the packet is to its connection.
    pub fn track(self, way: Way) -> Track {
        Track {
            state: State::Established,
            way: Some(way),
            nat: self.nat,
            ..Track::default()
        }
    }
}

impl Tracker {
    /// Counts a whole datagram of `len` bytes in the midst of its connection, as [`Tracker::track`] would.
    /// None, and nothing changed, where more is to be decided, and of a connection with FastTrack.
    #[inline(always)]
    pub fn pass<const IPV6: bool>(&self, way: Way, len: u32, now: Tick) -> Option<Passed> {
        of_family!(ref self, IPV6, part => part.pass(way, part.line(way), len, now))
    }

    /// The same of a whole segment, whose packet this is. By itself, so that datagrams do not pay for what
    /// it needs.
    #[inline(never)]
    pub fn pass_segment(
        &mut self,
        way: Way,
        fields: &Fields,
        packet: &[u8],
        now: Tick,
    ) -> Option<Passed> {
        let limits = &self.limits;
        of_family!(mut self, way.slot().is_ipv6(), part => {
            part.pass_segment(way, fields, packet, now, limits)
        })
    }

    /// Asks for the lines of a way that [`Tracker::pass`] reads behind its first.
    #[inline(always)]
    pub fn prefetch_shared(&self, way: Way) {
        of_family!(ref self, way.slot().is_ipv6(), part => {
            let entry = part.entry(way);
            if entry.flags(way.reply()) & flag::FASTTRACK == 0 {
                kernels::prefetch(entry.shared(0));
            }
        });
    }
}

impl<F: Layout> Part<F> {
    #[inline(always)]
    pub(super) fn pass(&self, way: Way, line: &Line, len: u32, now: Tick) -> Option<Passed> {
        let passed = self.known(way, line)?;
        if last_in::<F>(line).second() != now.second() {
            self.entry(way).turn_rate(way.reply(), now);
        }
        touch_in::<F>(line, now);
        count_in::<F>(line, u64::from(len));
        Some(passed)
    }

    /// What is known of a connection; none if both ends do not know of it, or if more is to be decided.
    #[inline(always)]
    fn known(&self, way: Way, line: &Line) -> Option<Passed> {
        const KNOWN: u8 = flag::SEEN_REPLY | flag::ASSURED;
        let flags = (load(&line[F::META]) >> FLAGS_SHIFT) as u8;
        if flags & (KNOWN | flag::FASTTRACK) != KNOWN {
            return None;
        }
        let mark = match flags & flag::NOTED {
            0 => 0,
            _ => self.noted(way)?,
        };
        Some(Passed {
            nat: NatState(flags >> flag::NAT_SHIFT & 0xf),
            mark,
        })
    }

    /// The mark of a connection of which the shared line says more; none where that is a helper.
    #[cold]
    #[inline(never)]
    fn noted(&self, way: Way) -> Option<u32> {
        let entry = self.entry(way);
        (!entry.is_helped()).then(|| entry.mark())
    }

    fn pass_segment(
        &mut self,
        way: Way,
        fields: &Fields,
        packet: &[u8],
        now: Tick,
        limits: &Limits,
    ) -> Option<Passed> {
        let entry = self.entry(way);
        let passed = self.known(way, entry.line(way.reply()))?;
        let segment = Segment::read(fields, packet)?;
        let talk = entry.talk(way.reply());
        if !tcp::goes_on(&talk, entry.tcp_state(), &segment) {
            return None;
        }
        let step = Step::Advance(TcpState::Established);
        self.commit_segment(way, (step, &segment, &talk), fields, now, limits);
        Some(passed)
    }
}
