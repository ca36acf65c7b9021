//! The packets that most are: of a connection that both ends know of, in the midst of it.
//!
//! A datagram is counted with three stores to its direction's line and needs no other. A segment's
//! numbers lie in the shared line.

use super::id::Way;
use super::layout::{FLAGS_SHIFT, Layout, flag, load};
use super::limits::Limits;
use super::part::Part;
use super::settings::Tick;
use super::state::{NatState, State, TcpState, Track};
use super::tcp::{self, Segment, Step};
use super::tracker::{Tracker, of_family};
use crate::packet::{Fields, protocol};

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
    /// Counts a whole segment or datagram in the midst of its connection, as [`Tracker::track`] would.
    /// None, and nothing changed, where more is to be decided, and of a connection with FastTrack.
    #[inline(always)]
    pub fn pass(&mut self, way: Way, fields: &Fields, packet: &[u8], now: Tick) -> Option<Passed> {
        let limits = &self.limits;
        of_family!(mut self, way.slot.is_ipv6(), part => part.pass(way, fields, packet, now, limits))
    }

    /// Asks for the lines of a way that [`Tracker::pass`] reads behind its first.
    #[inline(always)]
    pub fn prefetch_shared(&self, way: Way) {
        of_family!(ref self, way.slot.is_ipv6(), part => {
            let entry = part.entry(way);
            if entry.flags(way.reply) & flag::FASTTRACK == 0 {
                kernels::prefetch(entry.shared(0));
            }
        });
    }
}

impl<F: Layout> Part<F> {
    #[inline(always)]
    fn pass(
        &mut self,
        way: Way,
        fields: &Fields,
        packet: &[u8],
        now: Tick,
        limits: &Limits,
    ) -> Option<Passed> {
        const KNOWN: u8 = flag::SEEN_REPLY | flag::ASSURED;
        let entry = self.entry(way);
        let line = entry.line(way.reply);
        let flags = (load(&line[F::META]) >> FLAGS_SHIFT) as u8;
        if flags & (KNOWN | flag::FASTTRACK) != KNOWN {
            return None;
        }
        let mark = match flags & flag::NOTED {
            0 => 0,
            _ if entry.is_helped() => return None,
            _ => entry.mark(),
        };
        if fields.tuple.protocol == protocol::TCP {
            self.pass_segment(way, fields, packet, now, limits)?;
        } else {
            entry.touch(way.reply, now);
            entry.count(way.reply, u64::from(fields.len));
        }
        Some(Passed {
            nat: NatState(flags >> flag::NAT_SHIFT & 0xf),
            mark,
        })
    }

    /// The same for TCP's state. By itself, so that datagrams do not pay for what it needs.
    #[inline(never)]
    fn pass_segment(
        &mut self,
        way: Way,
        fields: &Fields,
        packet: &[u8],
        now: Tick,
        limits: &Limits,
    ) -> Option<()> {
        let entry = self.entry(way);
        let segment = Segment::read(fields, packet)?;
        let talk = entry.talk(way.reply);
        if !tcp::goes_on(&talk, entry.tcp_state(), &segment) {
            return None;
        }
        let step = Step::Advance(TcpState::Established);
        self.commit_segment(way, (step, &segment, &talk), fields, now, limits);
        Some(())
    }
}
