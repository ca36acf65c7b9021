//! A packet of a connection that is in the table: what it is (`judge`, which changes nothing) and
//! what it does to the connection (`commit`).
//!
//! A datagram of a stream costs three stores to its direction's line: packets, bytes, time. TCP's
//! numbers are in the shared line beside it; a second begun in the direction turns its rate.

use super::id::Way;
use super::layout::{Layout, flag, half_of, load, pair, shared, store};
use super::limits::Limits;
use super::part::Part;
use super::rate::Rate;
use super::settings::Tick;
use super::state::{NatState, State, TcpState, Track};
use super::table::Entry;
use super::tcp::{self, Judgement, Segment, Step, Talk};
use crate::packet::{Fields, protocol};

impl<F: Layout> Part<F> {
    /// What a packet that was found in this direction is to its connection.
    #[inline(always)]
    pub(super) fn judge(
        &self,
        way: Way,
        fields: &Fields,
        packet: &[u8],
        limits: &Limits,
    ) -> (Track, Sight) {
        let entry = self.entry(way);
        let flags = entry.flags(way.reply);
        let track = of(flags, way);
        if fields.tuple.protocol != protocol::TCP {
            return (track, Sight::default());
        }
        let Some(sight) = self.sight(way, fields, packet) else {
            return (INVALID, Sight::default());
        };
        let tcp_state = entry.tcp_state();
        let Sight { segment, talk } = &sight;
        let judgement = if track.fasttrack {
            tcp::judge_fast(tcp_state, segment, way.reply)
        } else {
            tcp::judge(talk, tcp_state, segment, way.reply, limits.liberal)
        };
        let track = match judgement {
            Judgement::Step(step) => Track { step, ..track },
            Judgement::Invalid => INVALID,
            Judgement::Reopen => NEW,
        };
        (track, sight)
    }

    /// A segment and the talk that it may be part of; none where its header does not fit.
    #[inline(always)]
    pub(super) fn sight(&self, way: Way, fields: &Fields, packet: &[u8]) -> Option<Sight> {
        Some(Sight {
            segment: Segment::read(fields, packet)?,
            talk: self.entry(way).talk(way.reply),
        })
    }

    /// Does to the connection what the packet does.
    #[inline(always)]
    pub(super) fn commit(
        &mut self,
        track: &Track,
        sight: &Sight,
        fields: &Fields,
        now: Tick,
        limits: &Limits,
    ) {
        let Some(way) = track.way else { return };
        let entry = self.entry(way);
        let flags = entry.flags(way.reply);
        let fasttrack = flags & flag::FASTTRACK != 0;
        // The rate of a second that is over is made before this one's bytes are counted.
        if track.step != Step::Ignore {
            entry.touch(way.reply, now);
        }
        entry.count(way.reply, u64::from(fields.len));
        if fasttrack {
            entry.count_slow(way.reply, u64::from(fields.len));
        }
        match track.step {
            Step::Nothing if flags & flag::ASSURED != 0 => {}
            Step::Nothing => self.settle(way, flags, fields.tuple.protocol, limits),
            step => self.converse(way, step, sight, limits),
        }
    }

    /// A connection that is not TCP is seen in its second direction, then becomes a stream.
    fn settle(&mut self, way: Way, flags: u8, protocol: u8, limits: &Limits) {
        let place = way.slot.place();
        if flags & flag::SEEN_REPLY == 0 {
            if way.reply {
                self.set_flags(place, flag::SEEN_REPLY);
            }
            return;
        }
        // A single question with a single answer is no stream, and an echo never is.
        if !matches!(protocol, protocol::ICMP | protocol::ICMPV6) {
            self.set_state(place, TcpState::None as u8, limits.plain(protocol, true));
            self.set_flags(place, flag::ASSURED);
        }
    }

    /// Moves a TCP conversation on.
    #[inline(always)]
    fn converse(&mut self, way: Way, step: Step, sight: &Sight, limits: &Limits) {
        let place = way.slot.place();
        let entry = self.entry(way);
        let flags = entry.flags(way.reply);
        let fasttrack = flags & flag::FASTTRACK != 0;
        let old = entry.tcp_state();
        let Sight { segment, mut talk } = *sight;
        let state = match step {
            Step::Advance(state) => {
                talk.note(&segment, old);
                state
            }
            Step::Resync => {
                talk.resync(&segment);
                TcpState::SynReceived
            }
            Step::Ignore => {
                talk.ignore(&segment);
                old
            }
            Step::Nothing | Step::Doubt => old,
        };
        if !fasttrack {
            entry.set_talk(&talk, way.reply);
        }
        let answered = flags & flag::SEEN_REPLY != 0;
        if way.reply && !answered {
            self.set_flags(place, flag::SEEN_REPLY);
        } else if answered && flags & flag::ASSURED == 0 && state == TcpState::Established {
            self.set_flags(place, flag::ASSURED);
        }
        let timeout_secs = match step {
            Step::Ignore => return,
            Step::Doubt => limits.close,
            _ if fasttrack => limits.fast(state),
            _ => limits.tcp(state, &talk, answered || way.reply),
        };
        self.set_state(place, state as u8, timeout_secs);
    }
}

/// A segment, and what was said before it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sight {
    pub(super) segment: Segment,
    /// Of a connection that FastTrack carries it means nothing.
    pub(super) talk: Talk,
}

/// The packet belongs to nothing.
pub(super) const INVALID: Track = Track {
    state: State::Invalid,
    ..BLANK
};

/// The packet may begin a connection.
pub(super) const NEW: Track = Track {
    state: State::New,
    ..BLANK
};

pub(super) const BLANK: Track = Track {
    state: State::Untracked,
    way: None,
    nat: NatState(0),
    fasttrack: false,
    quoted: false,
    step: Step::Nothing,
};

/// A packet of this direction of a connection with these flags.
#[inline(always)]
pub(super) fn of(flags: u8, way: Way) -> Track {
    Track {
        state: state(flags, way.reply),
        way: Some(way),
        nat: NatState(flags >> flag::NAT_SHIFT & 0xf),
        fasttrack: flags & flag::FASTTRACK != 0,
        quoted: false,
        step: Step::Nothing,
    }
}

/// `connection-state` of a packet whose connection has these flags.
#[inline(always)]
fn state(flags: u8, reply: bool) -> State {
    if reply || flags & flag::SEEN_REPLY != 0 {
        State::Established
    } else if flags & flag::EXPECTED != 0 {
        State::Related
    } else {
        State::New
    }
}

impl<F: Layout> Entry<'_, F> {
    /// TCP's state.
    #[inline(always)]
    pub(super) fn tcp_state(self) -> TcpState {
        TcpState::from_bits((load(self.shared(shared::STATE)) >> 24) as u8)
    }

    /// Counts a packet.
    #[inline(always)]
    pub(super) fn count(self, reply: bool, len: u64) {
        let add = |word, more: u64| store(word, load(word).wrapping_add(more));
        add(self.word(reply, F::PACKETS), 1);
        add(self.word(reply, F::BYTES), len);
    }

    /// Counts a packet of a connection with FastTrack that walked slowly.
    pub(super) fn count_slow(self, reply: bool, len: u64) {
        let add = |word, more: u64| store(word, load(word).wrapping_add(more));
        add(self.shared(shared::SLOW_PACKETS[usize::from(reply)]), 1);
        add(self.shared(shared::SLOW_BYTES[usize::from(reply)]), len);
    }

    /// Something came in this direction. `count` comes after it.
    #[inline(always)]
    pub(super) fn touch(self, reply: bool, now: Tick) {
        let word = self.word(reply, F::LAST);
        let (last, generation) = (load(word) as u32, half_of(load(word), 1));
        if Tick(last).second() != now.second() {
            self.turn_rate(reply, Tick(last), now);
        }
        store(word, pair(now.0, generation));
    }

    /// The direction's bytes of a second that is over.
    #[cold]
    #[inline(never)]
    fn turn_rate(self, reply: bool, last: Tick, now: Tick) {
        let rate = self.rate(reply, 0);
        let word = load(rate);
        let turned = Rate::of_word(word).turn(load(self.word(reply, F::BYTES)), last, now);
        store(rate, turned.to_word((word >> 48) as u16));
    }
}
