//! Fast path for packets in the middle of an established connection.
//!
//! A datagram costs three stores to its direction's line and reads no other line. TCP sequence state is in
//! the shared line.

use super::entry::{set_state_in, set_talk_in, talk_in};
use super::follow::{count_in, is_established, last_in, touch_in};
use super::id::FlowId;
use super::layout::{FLAGS_SHIFT, Layout, Line, flag, load, shared};
use super::limits::Limits;
use super::part::Part;
use super::settings::Tick;
use super::state::{NatState, State, TcpState, Track};
use super::tcp::{self, Segment};
use super::tracker::{Tracker, of_family};

/// The connection's data that a fast-path packet needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Kinds of address translation.
    pub nat: NatState,
    /// The connection mark.
    pub mark: u32,
}

impl Passed {
    /// Returns the packet's classification.
    #[inline]
    pub fn track(self, way: FlowId) -> Track {
        Track {
            state: State::Established,
            way: Some(way),
            nat: self.nat,
            ..Track::default()
        }
    }
}

impl Tracker {
    /// Counts a whole datagram of `len` bytes in the middle of a connection, as [`Tracker::track`] would.
    /// Returns `None`, without changes, if the slow path has to decide or if the connection is FastTracked.
    #[inline(always)]
    pub fn pass<const IPV6: bool>(&self, way: FlowId, len: u32, now: Tick) -> Option<Passed> {
        of_family!(ref self, IPV6, part => part.pass(way, part.line(way), len, now))
    }

    /// Processes a whole TCP segment in the middle of a connection. `packet` begins with a network header
    /// without options.
    #[inline(always)]
    pub fn pass_segment<const IPV6: bool>(
        &mut self,
        way: FlowId,
        packet: &[u8],
        len: u32,
        now: Tick,
    ) -> Option<Passed> {
        let limits = &self.limits;
        of_family!(mut self, IPV6, part => {
            let number = part.number(way);
            part.pass_segment(way, number, packet, len, now, limits)
        })
    }

    /// Prefetches the shared line, which [`Tracker::pass`] reads after the direction's line.
    #[inline(always)]
    pub fn prefetch_shared(&self, way: FlowId) {
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
    pub(super) fn pass(&self, way: FlowId, line: &Line, len: u32, now: Tick) -> Option<Passed> {
        let passed = self.known(way, line)?;
        self.count_in_time(way, line, len, now);
        Some(passed)
    }

    /// Returns a connection's data; `None` if it is not assured or if the slow path has to decide.
    #[inline(always)]
    fn known(&self, way: FlowId, line: &Line) -> Option<Passed> {
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

    /// Returns the mark of a connection with data in the shared line; `None` if a helper reads it.
    #[cold]
    #[inline(never)]
    fn noted(&self, way: FlowId) -> Option<u32> {
        let entry = self.entry(way);
        (!entry.is_helped()).then(|| entry.mark())
    }

    /// `number` is the line number of the direction.
    #[inline(always)]
    pub(super) fn pass_segment(
        &mut self,
        way: FlowId,
        number: u32,
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
        // Both sides have sent packets.
        let timeout_secs = limits.tcp(TcpState::Established, &talk, true);
        if set_state_in(state, TcpState::Established as u8, timeout_secs) {
            self.hasten(way.slot().place());
        }
        Some(passed)
    }

    /// Counts a packet; the first packet of a second first closes the rate of the last second.
    #[inline(always)]
    fn count_in_time(&self, way: FlowId, line: &Line, len: u32, now: Tick) {
        if last_in::<F>(line).second() != now.second() {
            self.entry(way).turn_rate(way.reply(), now);
        }
        touch_in::<F>(line, now);
        count_in::<F>(line, u64::from(len));
    }
}
