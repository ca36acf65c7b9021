//! The packets that most are: of a connection that both ends know of, in the midst of it.
//!
//! A datagram is counted with three stores to its direction's line and needs no other. A segment's
//! numbers lie in the shared line.

use super::entry::{set_state_in, set_talk_in, talk_in};
use super::follow::{count_in, is_established, last_in, touch_in};
use super::id::Way;
use super::layout::{FLAGS_SHIFT, Layout, Line, flag, load, shared};
use super::limits::Limits;
use super::part::Part;
use super::settings::Tick;
use super::state::{NatState, State, TcpState, Track};
use super::tcp::{self, Segment};
use super::tracker::{Tracker, of_family};

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
    #[inline]
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

    /// The same of a whole segment behind a network header without options: `packet` begins with that.
    #[inline(always)]
    pub fn pass_segment<const IPV6: bool>(
        &mut self,
        way: Way,
        packet: &[u8],
        len: u32,
        now: Tick,
    ) -> Option<Passed> {
        let limits = &self.limits;
        of_family!(mut self, IPV6, part => {
            let number = part.number(way);
            part.pass_segment((way, number), packet, len, now, limits)
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
        self.count_in_time(way, line, len, now);
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

    /// The way's line has this number.
    #[inline(always)]
    pub(super) fn pass_segment(
        &mut self,
        (way, number): (Way, u32),
        packet: &[u8],
        len: u32,
        now: Tick,
        limits: &Limits,
    ) -> Option<Passed> {
        let (line, reply) = (self.lines().line(number), way.reply());
        let shared = self.lines().shared(number, reply);
        let passed = self.known(way, line)?;
        let segment = Segment::at(F::HEADER, len, packet)?;
        let mut talk = talk_in(shared, reply);
        let state = &shared[shared::STATE];
        if !(is_established(state) && tcp::goes_on(&talk, &segment)) {
            return None;
        }
        self.count_in_time(way, line, len, now);
        talk.note(&segment, TcpState::Established);
        set_talk_in(shared, &talk, reply);
        // Both ends have spoken.
        let timeout_secs = limits.tcp(TcpState::Established, &talk, true);
        if set_state_in(state, TcpState::Established as u8, timeout_secs) {
            self.hasten(way.slot().place());
        }
        Some(passed)
    }

    /// Counts a packet that comes now; the rate of a second that is over is made before that.
    #[inline(always)]
    fn count_in_time(&self, way: Way, line: &Line, len: u32, now: Tick) {
        if last_in::<F>(line).second() != now.second() {
            self.entry(way).turn_rate(way.reply(), now);
        }
        touch_in::<F>(line, now);
        count_in::<F>(line, u64::from(len));
    }
}
