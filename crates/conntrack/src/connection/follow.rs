//! Processes packets of existing connections: `judge` classifies a packet without changes, `commit`
//! updates the connection.
//!
//! A datagram costs three stores to its direction's cache line: packets, bytes, time. TCP sequence state is
//! in the shared line next to it. The first packet of a second in a direction also updates the rate.

use core::sync::atomic::AtomicU64;

use packet::{Fields, protocol};

use super::entry::Entry;
use super::id::FlowId;
use super::layout::{Layout, Line, flag, half_of, load, pair, shared, store};
use super::limits::Limits;
use super::part::Part;
use super::rate::Rate;
use super::settings::Tick;
use super::state::{NatState, State, TcpState, Track};
use super::tcp::{self, Judgement, Segment, Step, Talk};

/// A TCP segment of a connection, and the step that its classification permits.
pub(super) struct JudgedSegment<'a> {
    pub(super) step: Step,
    pub(super) segment: &'a Segment,
    /// The connection's TCP data before the segment.
    pub(super) talk: &'a Talk,
}

impl<F: Layout> Part<F> {
    /// Classifies a non-TCP packet of this direction.
    #[inline(always)]
    pub(super) fn judge(&self, way: FlowId) -> Track {
        let flags = self.entry(way).flags(way.reply());
        let track = of(flags, way);
        if flags & flag::NOTED != 0 {
            return self.judge_noted(track, way);
        }
        track
    }

    /// Classifies a non-TCP packet of a connection with a mark or a helper.
    #[inline(never)]
    fn judge_noted(&self, track: Track, way: FlowId) -> Track {
        let entry = self.entry(way);
        Track {
            state: match (track.state, entry.is_expected()) {
                (State::New, true) => State::Related,
                (state, _) => state,
            },
            helped: entry.is_helped(),
            ..track
        }
    }

    /// Classifies a TCP segment of this direction.
    #[inline(always)]
    pub(super) fn judge_segment(
        &self,
        way: FlowId,
        segment: &Segment,
        talk: &Talk,
        limits: &Limits,
    ) -> Track {
        let track = self.judge(way);
        let entry = self.entry(way);
        let tcp_state = entry.tcp_state();
        let judgement = if track.fasttrack {
            tcp::judge_fast(&entry.trails(way.reply()), tcp_state, segment, way.reply())
        } else {
            tcp::judge(talk, tcp_state, segment, way.reply(), limits.liberal)
        };
        match judgement {
            Judgement::Step(step) => Track { step, ..track },
            Judgement::Invalid => INVALID,
            Judgement::Reopen => NEW,
        }
    }

    /// Updates the connection for a non-TCP packet.
    #[inline(always)]
    pub(super) fn commit(&mut self, way: FlowId, fields: &Fields, now: Tick, limits: &Limits) {
        let entry = self.entry(way);
        let flags = entry.flags(way.reply());
        entry.touch(way.reply(), now);
        entry.count_walked(way.reply(), flags, fields.len);
        if flags & flag::ASSURED == 0 {
            self.settle(way, flags, fields.tuple.protocol, limits);
        }
    }

    /// Updates the connection for a TCP segment.
    #[inline(always)]
    pub(super) fn commit_segment(
        &mut self,
        way: FlowId,
        judged: JudgedSegment<'_>,
        fields: &Fields,
        now: Tick,
        limits: &Limits,
    ) {
        let JudgedSegment {
            step,
            segment,
            talk,
        } = judged;
        let entry = self.entry(way);
        let flags = entry.flags(way.reply());
        if !matches!(step, Step::Ignore | Step::Doubt) {
            entry.touch(way.reply(), now);
        }
        entry.count_walked(way.reply(), flags, fields.len);
        self.advance_tcp(way, step, segment, *talk, limits);
    }

    /// Records the first reply of a non-TCP connection; a further packet makes the connection assured.
    #[cold]
    #[inline(never)]
    fn settle(&mut self, way: FlowId, flags: u8, protocol: u8, limits: &Limits) {
        let place = way.slot().place();
        if flags & flag::SEEN_REPLY == 0 {
            if way.reply() {
                self.set_flags(place, flag::SEEN_REPLY);
            }
            return;
        }
        // One request with one reply is no stream, and ICMP never is.
        if !matches!(protocol, protocol::ICMP | protocol::ICMPV6) {
            let timeout_secs = match self.entries.at(place).is_call(protocol) {
                true => Limits::call(true),
                false => limits.plain(protocol, true),
            };
            self.set_state(place, TcpState::None as u8, timeout_secs);
            self.set_flags(place, flag::ASSURED);
        }
    }

    /// Ends the count for `connection-limit`: a closed TCP connection stays in the table but no longer
    /// counts.
    #[cold]
    #[inline(never)]
    fn uncount(&mut self, place: u32) {
        let entry = self.entries.at(place);
        if entry.take_counted() {
            self.over.push(entry.tuple(false));
        }
    }

    /// Advances the TCP state.
    #[inline(always)]
    fn advance_tcp(
        &mut self,
        way: FlowId,
        step: Step,
        segment: &Segment,
        mut talk: Talk,
        limits: &Limits,
    ) {
        let place = way.slot().place();
        let entry = self.entry(way);
        let flags = entry.flags(way.reply());
        let fasttrack = flags & flag::FASTTRACK != 0;
        let old = entry.tcp_state();
        let state = match step {
            Step::Advance(state) => {
                talk.note(segment, old);
                state
            }
            Step::Resync => {
                talk = talk.resynced(*segment);
                TcpState::SynReceived
            }
            Step::Ignore => {
                talk = talk.ignoring(*segment);
                old
            }
            Step::Nothing | Step::Doubt => old,
        };
        if fasttrack {
            let trails = entry.trails(way.reply());
            entry.follow_trails(trails, way.reply(), step, segment);
        } else {
            entry.set_talk(&talk, way.reply());
        }
        let answered = flags & flag::SEEN_REPLY != 0;
        if way.reply() && !answered {
            self.set_flags(place, flag::SEEN_REPLY);
        } else if answered && flags & flag::ASSURED == 0 && state == TcpState::Established {
            self.set_flags(place, flag::ASSURED);
        }
        // Under FastTrack the sequence state is incomplete: a guessed RST must not lower a `connection-limit`
        // count.
        if state != old && state.is_over() && !fasttrack {
            self.uncount(place);
        }
        let timeout_secs = match step {
            Step::Ignore | Step::Doubt => return,
            _ if fasttrack => limits.fast(state),
            _ => limits.tcp(state, &talk, answered || way.reply()),
        };
        self.set_state(place, state as u8, timeout_secs);
    }
}

/// Classification of a packet that belongs to no connection and cannot begin one.
pub(super) const INVALID: Track = Track {
    state: State::Invalid,
    ..BLANK
};

/// Classification of a packet that may begin a connection.
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
    helped: false,
    step: Step::Nothing,
};

/// Returns the classification of a packet of a connection with these flags that no helper expected.
#[inline(always)]
pub(super) fn of(flags: u8, way: FlowId) -> Track {
    Track {
        state: state(flags, way.reply()),
        way: Some(way),
        nat: NatState(flags >> flag::NAT_SHIFT & 0xf),
        fasttrack: flags & flag::FASTTRACK != 0,
        quoted: false,
        helped: false,
        step: Step::Nothing,
    }
}

/// Returns `connection-state` of a packet of a connection with these flags.
#[inline(always)]
fn state(flags: u8, reply: bool) -> State {
    if reply || flags & flag::SEEN_REPLY != 0 {
        State::Established
    } else {
        State::New
    }
}

/// Returns true if a state word says TCP `established`.
#[inline(always)]
pub(super) fn is_established(word: &AtomicU64) -> bool {
    (load(word) >> 24) as u8 == TcpState::Established as u8
}

/// Counts a packet of `len` bytes in its direction's line.
#[inline(always)]
pub(super) fn count_in<F: Layout>(line: &Line, len: u64) {
    let add = |word: usize, more: u64| store(&line[word], load(&line[word]).wrapping_add(more));
    add(F::PACKETS, 1);
    add(F::BYTES, len);
}

/// Returns the time of the last packet of a direction.
#[inline(always)]
pub(super) fn last_in<F: Layout>(line: &Line) -> Tick {
    Tick(load(&line[F::LAST]) as u32)
}

/// Stores the time of the last packet of a direction.
#[inline(always)]
pub(super) fn touch_in<F: Layout>(line: &Line, now: Tick) {
    let generation = half_of(load(&line[F::LAST]), 1);
    store(&line[F::LAST], pair(now.0, generation));
}

impl<F: Layout> Entry<'_, F> {
    /// Returns the TCP state.
    #[inline(always)]
    pub(super) fn tcp_state(self) -> TcpState {
        TcpState::from_bits((load(self.shared(shared::STATE)) >> 24) as u8)
    }

    /// Counts a packet of `len` bytes.
    #[inline(always)]
    pub(super) fn count(self, reply: bool, len: u64) {
        count_in::<F>(self.line(reply), len);
    }

    /// Adds the packets and bytes that a shortcut forwarded.
    pub(super) fn count_many(self, reply: bool, packets: u64, bytes: u64) {
        let add = |word, more: u64| store(word, load(word).wrapping_add(more));
        add(self.word(reply, F::PACKETS), packets);
        add(self.word(reply, F::BYTES), bytes);
    }

    /// Counts a packet of the slow path. `touch` must be called first: it closes the rate of the last second.
    #[inline(always)]
    fn count_walked(self, reply: bool, flags: u8, len: u32) {
        self.count(reply, u64::from(len));
        if flags & flag::FASTTRACK != 0 {
            self.count_slow(reply, u64::from(len));
        }
    }

    /// Stores the time of a packet; the first packet of a second closes the rate of the last second.
    #[inline(always)]
    pub(super) fn touch(self, reply: bool, now: Tick) {
        let line = self.line(reply);
        if last_in::<F>(line).second() != now.second() {
            self.turn_rate(reply, now);
        }
        touch_in::<F>(line, now);
    }

    /// Closes the rate measurement of a second that is over.
    #[cold]
    #[inline(never)]
    pub(super) fn turn_rate(self, reply: bool, now: Tick) {
        let last = last_in::<F>(self.line(reply));
        let rate = self.rate(reply, 0);
        let word = load(rate);
        let turned = Rate::of_word(word).turn(load(self.word(reply, F::BYTES)), last, now);
        store(rate, turned.to_word((word >> 48) as u16));
    }
}
