//! Matchers that read the payload of connections: `tls-host` and `layer7-protocol`.
//!
//! ```text
//! rules ─▶ Sought: all patterns and globs of the rules, compiled together, one per snapshot
//! packet ─▶ Streams::layer7, ::tls_host ─▶ Kept of its connection ─▶ a slot with parser state, or the result
//! ```
//!
//! A packet is read once, by the first rule that needs its payload; the result is an interned set
//! ([`PatternSet`]), in which other rules look up their pattern. A connection stores 32 bits in its entry: a slot
//! of the worker during parsing, then the result. Slots are bounded in number and size. They are freed when
//! the connection ends, and approximately the oldest is reused if none is free.
//!
//! If the rules change their patterns, connections keep their results; a search in progress ends, and new
//! patterns apply to connections that begin later.

mod automata;
mod dialect;
mod glob;
mod hello;
mod host;
mod layer7;
mod patterns;
mod pieces;
mod quic;
mod sets;
mod slots;
#[cfg(test)]
mod tests;

/// The parsers, exported for fuzzers only.
pub mod readers {
    pub use super::Streams;
    pub use super::hello::{Read, message, records};
    pub use super::pieces::Pieces;
    pub use super::quic::{Initial, Keys, gather, initials};
}

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

pub use glob::Glob;
pub use layer7::Layer7;
pub use patterns::{CompileMode, Joined, Joining, StreamPatterns};
pub(super) use sets::PatternSet;
pub use slots::StreamState;

use automata::Searches;
use host::Hosts;
use layer7::Patterns;
use machine::Instant;
use packet::{Fields, Fragment, Tuple, protocol};
use sets::Sets;
use slots::{DecodedState, Hello, Quic, Slots, Tcp};

use super::shared::fold;
use super::subject::{Carrier, Facts, Subject};
use kernels::tsc;

/// Maximum number of directions of untracked connections with stored state.
const UNTRACKED: usize = 4096;
/// Maximum number of QUIC packets that a worker decrypts per second, each of which takes about 10,000 cycles.
/// Further packets are not read and match no glob.
const OPENED_MAX: u32 = 4000;
/// Maximum number of QUIC packets per connection that are decrypted.
const TRIED_MAX: u8 = 8;

/// Stream data of a packet, shared by all rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamResult {
    pub(super) layer7: ReadResult,
    pub(super) host: ReadResult,
    /// State to store with the connection that the packet begins.
    pub kept: StreamState,
}

impl StreamResult {
    /// Returns true if no rule with a server name can match.
    #[inline(always)]
    pub(super) fn has_no_host(&self) -> bool {
        self.host.is_empty()
    }

    /// Returns true if no rule with a pattern can match.
    #[inline(always)]
    pub(super) fn has_no_pattern(&self) -> bool {
        self.layer7.is_empty()
    }

    /// Returns the answer for every glob, if it does not depend on the glob; the outer `None` means that it
    /// does.
    #[inline(always)]
    pub(super) const fn of_host(&self) -> Option<Option<bool>> {
        self.host.of_all()
    }

    /// Returns the answer for every pattern, if it does not depend on the pattern.
    #[inline(always)]
    pub(super) const fn of_layer7(&self) -> Option<Option<bool>> {
        self.layer7.of_all()
    }
}

/// Result of reading a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ReadResult {
    /// The packet was not read.
    #[default]
    Not,
    /// The packet has no data to match, so that negated matchers fail as well.
    Lacks,
    /// These patterns or globs match.
    Found(PatternSet),
}

impl ReadResult {
    /// Returns true if the packet was read and nothing matches.
    #[inline(always)]
    const fn is_empty(self) -> bool {
        match self {
            Self::Not => false,
            Self::Lacks => true,
            Self::Found(found) => found.is_empty(),
        }
    }

    #[inline(always)]
    const fn of_all(self) -> Option<Option<bool>> {
        match self {
            Self::Lacks => Some(None),
            Self::Found(found) if found.is_empty() => Some(Some(false)),
            Self::Not | Self::Found(_) => None,
        }
    }
}

/// Stream state of one worker.
#[derive(Debug, Default)]
pub struct Streams {
    slots: Slots,
    sets: Sets,
    searches: Searches,
    /// State of untracked connections, by direction.
    untracked: Untracked,
    /// State to store with the connection whose first packet is being processed.
    beginning: Option<StreamState>,
    opened: Opened,
    /// Buffer for decrypted QUIC packets.
    room: Vec<u8>,
    /// Cycles spent on reading payload.
    pub(super) clocks: u64,
}

/// A packet whose payload is read.
struct Packet<'a> {
    fields: &'a Fields,
    payload: &'a [u8],
    bytes: &'a [u8],
    /// True if the packet travels in the reply direction, as far as known.
    reply: bool,
    now: Instant,
}

impl<'a> Packet<'a> {
    fn of(subject: &Subject<'a>, now: Instant) -> Option<Self> {
        Some(Self {
            fields: subject.fields,
            payload: payload(subject.fields, subject.packet)?,
            bytes: subject.packet,
            reply: false,
            now,
        })
    }
}

impl Streams {
    /// Returns whether the connection's payload so far matches the pattern; `None` if the packet has no
    /// payload to search. RouterOS: nothing matches if connections are not tracked.
    pub fn layer7<F: Facts>(
        &mut self,
        subject: &mut Subject<'_>,
        facts: &F,
        pattern: &Layer7,
        now: Instant,
        commit: bool,
    ) -> Option<bool> {
        if subject.changes.looked.layer7 == ReadResult::Not {
            subject.changes.looked.layer7 = self.read_patterns(subject, facts, now, commit);
        }
        self.answer(subject.changes.looked.layer7, pattern.number)
    }

    /// Returns whether the packet completes or repeats a ClientHello with a matching server name; `None` if
    /// the packet does not belong to a ClientHello with a name.
    ///
    /// RouterOS reads a ClientHello only in a single TCP segment; this function also reads several segments
    /// in any order, and the first packets of QUIC.
    pub fn tls_host<F: Facts>(
        &mut self,
        subject: &mut Subject<'_>,
        facts: &F,
        glob: &Glob,
        now: Instant,
        commit: bool,
    ) -> Option<bool> {
        if subject.changes.looked.host == ReadResult::Not {
            subject.changes.looked.host = self.read_host(subject, facts, now, commit);
        }
        self.answer(subject.changes.looked.host, glob.number)
    }

    fn answer(&self, seen: ReadResult, number: u64) -> Option<bool> {
        match seen {
            ReadResult::Not | ReadResult::Lacks => None,
            ReadResult::Found(found) => Some(self.sets.has(found, number)),
        }
    }

    fn read_patterns<F: Facts>(
        &mut self,
        subject: &mut Subject<'_>,
        facts: &F,
        now: Instant,
        commit: bool,
    ) -> ReadResult {
        let carrier = facts.carrier();
        let kept = match carrier {
            Carrier::None => return ReadResult::Lacks,
            Carrier::Begins => subject.changes.looked.kept,
            Carrier::Known { kept, .. } => kept,
        };
        let Some(packet) = Packet::of(subject, now) else {
            return ReadResult::Lacks;
        };
        let place = self.slots.place(kept);
        if let DecodedState::Done(found) = place {
            return ReadResult::Found(found);
        }
        let Some(sought) = facts.sought() else {
            return ReadResult::Lacks;
        };
        let look = |streams: &mut Self, kept| streams.read_text(kept, &sought.patterns, &packet);
        let (seen, after) = self.committing(kept, commit, look);
        if commit && after != kept {
            self.keep(subject, facts, carrier, after);
        }
        seen
    }

    fn read_host<F: Facts>(
        &mut self,
        subject: &mut Subject<'_>,
        facts: &F,
        now: Instant,
        commit: bool,
    ) -> ReadResult {
        let Some(mut packet) = Packet::of(subject, now) else {
            return ReadResult::Lacks;
        };
        let read = match subject.fields.tuple.protocol {
            protocol::TCP if packet.payload.is_empty() && !opens(&packet) => {
                return ReadResult::Lacks;
            }
            protocol::TCP => Self::read_segment,
            protocol::UDP if is_initial(packet.payload) => Self::read_datagram,
            _ => return ReadResult::Lacks,
        };
        let Some(sought) = facts.sought().filter(|sought| !sought.hosts.is_empty()) else {
            return ReadResult::Lacks;
        };
        let carrier = facts.carrier();
        let kept = match carrier {
            Carrier::None => self.untracked.find(number(&subject.fields.tuple)),
            Carrier::Begins => subject.changes.looked.kept,
            Carrier::Known { kept, reply } => {
                packet.reply = reply;
                kept
            }
        };
        let look = |streams: &mut Self, kept| read(streams, kept, &sought.hosts, &packet);
        let (seen, after) = self.committing(kept, commit, look);
        if commit && after != kept {
            self.keep(subject, facts, carrier, after);
        }
        seen
    }

    /// Reads the packet's stream; without `commit` it works on a copy of the connection's state.
    fn committing(
        &mut self,
        kept: StreamState,
        commit: bool,
        look: impl FnOnce(&mut Self, StreamState) -> (ReadResult, StreamState),
    ) -> (ReadResult, StreamState) {
        if commit {
            let from = tsc();
            let looked = look(self, kept);
            self.clocks += tsc().saturating_sub(from);
            return looked;
        }
        let (slots, kept) = self.slots.copy_of(kept);
        let slots = core::mem::replace(&mut self.slots, slots);
        let opened = self.opened;
        let (seen, _) = look(self, kept);
        (self.slots, self.opened) = (slots, opened);
        (seen, kept)
    }

    /// Stores state with the packet's connection.
    fn keep<F: Facts>(
        &mut self,
        subject: &mut Subject<'_>,
        facts: &F,
        carrier: Carrier,
        kept: StreamState,
    ) {
        match carrier {
            Carrier::Known { .. } => facts.keep(kept),
            Carrier::Begins => {
                let before = core::mem::replace(&mut subject.changes.looked.kept, kept);
                // The packet for which the previous state was meant was dropped.
                if let Some(lost) = self.beginning.replace(kept).filter(|lost| *lost != before) {
                    self.slots.forget(lost);
                }
            }
            Carrier::None => self.untracked.put(number(&subject.fields.tuple), kept),
        }
    }

    /// Confirms that the connection of the last first packet entered the table with its state.
    pub(super) fn begun(&mut self) {
        self.beginning = None;
    }

    /// Frees the state of a connection that has ended.
    pub(super) fn forget(&mut self, kept: StreamState) {
        self.slots.forget(kept);
    }

    /// Continues the search for patterns.
    fn read_text(
        &mut self,
        kept: StreamState,
        patterns: &Arc<Patterns>,
        packet: &Packet<'_>,
    ) -> (ReadResult, StreamState) {
        use slots::Patterns::{Done, Reading, Unasked};
        let at = self.slots.open(self.slots.place(kept));
        let slot = self.slots.at(at);
        let mut found = match slot.patterns {
            Done(found) => return (ReadResult::Found(found), kept),
            Reading(found) => found,
            Unasked => {
                slot.text.begin(patterns);
                PatternSet::EMPTY
            }
        };
        if slot.text.read(patterns, packet.payload, &mut self.searches) {
            found = self.sets.of(slot.text.found());
        }
        slot.patterns = match slot.text.is_over() {
            true => {
                slot.text.end();
                Done(found)
            }
            false => Reading(found),
        };
        (ReadResult::Found(found), self.slots.settle(at))
    }

    /// Reads a TCP segment for a ClientHello.
    fn read_segment(
        &mut self,
        kept: StreamState,
        hosts: &Hosts,
        packet: &Packet<'_>,
    ) -> (ReadResult, StreamState) {
        let Some(sequence) = sequence(packet.fields, packet.bytes) else {
            return (ReadResult::Lacks, kept);
        };
        let place = self.slots.place(kept);
        let reads = match place {
            DecodedState::Slot(at) => match &self.slots.at(at).hello {
                Hello::Tcp(tcp) => part(tcp, packet, sequence).map(|offset| (at, offset)),
                _ => None,
            },
            _ => None,
        };
        let begins = hello::begins(packet.payload);
        if let (true, hello::Read::Name(name)) = (begins, hello::records(packet.payload)) {
            // The segment contains the whole ClientHello; nothing has to be stored.
            let found = self.fitting(hosts, &name);
            let kept = match reads {
                Some((at, _)) => {
                    self.slots.at(at).hello = Hello::None;
                    self.slots.settle(at)
                }
                None => kept,
            };
            return (ReadResult::Found(found), kept);
        }
        let (at, offset) = match reads {
            Some(reads) => reads,
            None if begins || opens(packet) => {
                let at = self.slots.open(place);
                self.slots.at(at).hello = Hello::Tcp(Tcp {
                    start: sequence,
                    reply: packet.reply,
                    ..Tcp::default()
                });
                (at, 0)
            }
            None => return (ReadResult::Lacks, kept),
        };
        let seen = self.gather_segment(at, offset, hosts, packet);
        (seen, self.slots.settle(at))
    }

    /// Adds a segment to the pieces of a ClientHello.
    fn gather_segment(
        &mut self,
        at: usize,
        offset: i32,
        hosts: &Hosts,
        packet: &Packet<'_>,
    ) -> ReadResult {
        let may = packet.payload.is_empty() || self.slots.may_gather(at);
        let slot = self.slots.at(at);
        let Hello::Tcp(tcp) = &mut slot.hello else {
            return ReadResult::Lacks;
        };
        if let Some((_, found)) = tcp.known {
            return ReadResult::Found(found);
        }
        // Bytes before the beginning do not belong to it.
        let skipped = offset.min(0).unsigned_abs() as usize;
        let piece = packet.payload.get(skipped..).unwrap_or_default();
        if !may || !tcp.pieces.put(offset.max(0) as usize, piece) {
            slot.hello = Hello::None;
            return ReadResult::Lacks;
        }
        let pieces = core::mem::take(&mut tcp.pieces);
        let read = hello::records(pieces.beginning());
        let known = match &read {
            hello::Read::Name(name) => Some(self.fitting(hosts, name)),
            hello::Read::More | hello::Read::Other => None,
        };
        let other = read == hello::Read::Other;
        let slot = self.slots.at(at);
        let Hello::Tcp(tcp) = &mut slot.hello else {
            return ReadResult::Lacks;
        };
        match known {
            Some(found) => {
                tcp.known = Some((pieces.beginning().len() as u32, found));
                ReadResult::Found(found)
            }
            None if other => {
                slot.hello = Hello::None;
                ReadResult::Lacks
            }
            None => {
                tcp.pieces = pieces;
                ReadResult::Lacks
            }
        }
    }

    /// Reads a datagram that contains a QUIC Initial packet.
    fn read_datagram(
        &mut self,
        kept: StreamState,
        hosts: &Hosts,
        packet: &Packet<'_>,
    ) -> (ReadResult, StreamState) {
        // Initial packets of servers use other keys and contain no name.
        if packet.reply {
            return (ReadResult::Lacks, kept);
        }
        let at = self.slots.open(self.slots.place(kept));
        let slot = self.slots.at(at);
        let mut quic = match core::mem::take(&mut slot.hello) {
            Hello::Quic(quic) => quic,
            _ => Box::default(),
        };
        let before = quic.known;
        for initial in quic::initials(packet.payload) {
            if quic.known.is_none() {
                quic.known = self.read_initial(at, &mut quic, &initial, hosts, packet.now);
            }
        }
        let seen = quic
            .known
            .or(before)
            .map_or(ReadResult::Lacks, ReadResult::Found);
        self.slots.at(at).hello = Hello::Quic(quic);
        (seen, self.slots.settle(at))
    }

    /// Reads an Initial packet; returns the matching globs if it completes the ClientHello.
    fn read_initial(
        &mut self,
        at: usize,
        quic: &mut Quic,
        initial: &quic::Initial<'_>,
        hosts: &Hosts,
        now: Instant,
    ) -> Option<PatternSet> {
        if quic.tried >= TRIED_MAX || !self.opened.take(now) {
            return None;
        }
        quic.tried += 1;
        // A client that adopts the server's connection id keeps its keys; after a Retry it uses new keys
        // (RFC 9001, 5.2).
        let known = quic.keys.as_ref();
        let opened = known.and_then(|keys| keys.open(initial, &mut self.room));
        let frames = match opened {
            Some(frames) => frames,
            None => {
                let keys = quic::Keys::new(initial)?;
                let frames = keys.open(initial, &mut self.room)?;
                (quic.keys, quic.pieces) = (Some(keys), Default::default());
                frames
            }
        };
        let frames = &self.room[frames];
        if !self.slots.may_gather(at) || !quic::gather(frames, &mut quic.pieces) {
            quic.tried = TRIED_MAX;
            return None;
        }
        let read = hello::message(quic.pieces.beginning());
        let found = match read {
            hello::Read::More => return None,
            hello::Read::Other => {
                quic.tried = TRIED_MAX;
                None
            }
            hello::Read::Name(name) => {
                let fitting = hosts.fitting(&name, &mut self.searches);
                Some(self.sets.of(fitting.into_iter()))
            }
        };
        quic.pieces = Default::default();
        found
    }

    /// Returns the globs that match a name.
    fn fitting(&mut self, hosts: &Hosts, name: &[u8]) -> PatternSet {
        let fitting = hosts.fitting(name, &mut self.searches);
        self.sets.of(fitting.into_iter())
    }
}

/// Returns the offset of a segment in the ClientHello of its connection; `None` if it does not belong to it.
fn part(tcp: &Tcp, packet: &Packet<'_>, sequence: u32) -> Option<i32> {
    if tcp.reply != packet.reply {
        return None;
    }
    let offset = sequence.wrapping_sub(tcp.start) as i32;
    let end = offset.checked_add(i32::try_from(packet.payload.len()).ok()?)?;
    match tcp.known {
        Some((len, _)) => (offset < len as i32 && end > 0).then_some(offset),
        None => (end > 0).then_some(offset),
    }
}

const SYN: u8 = 0x02;
const ACK: u8 = 0x10;

/// Returns true if a segment opens a connection.
fn opens(packet: &Packet<'_>) -> bool {
    packet.fields.tcp_flags & (SYN | ACK) == SYN
}

/// Returns true if a datagram may contain the first QUIC packet of a connection.
fn is_initial(payload: &[u8]) -> bool {
    let long = payload.first().is_some_and(|first| first & 0x80 != 0);
    payload.len() >= quic::DATAGRAM_MIN && long && quic::initials(payload).next().is_some()
}

/// Returns a 64-bit hash that identifies a direction of a connection; with a few thousand connections a
/// collision is improbable.
fn number(tuple: &Tuple) -> u64 {
    let ends = u64::from(tuple.source_port) << 32
        | u64::from(tuple.destination_port) << 16
        | u64::from(tuple.protocol) << 8
        | u64::from(tuple.ipv6);
    let from = fold(tuple.source as u64, ends ^ (tuple.source >> 64) as u64);
    let to = fold(tuple.destination as u64, from.rotate_left(17));
    fold(to, from ^ (tuple.destination >> 64) as u64)
}

/// Returns the payload after the TCP, UDP or ICMP header; `None` for other protocols and later fragments.
fn payload<'a>(fields: &Fields, packet: &'a [u8]) -> Option<&'a [u8]> {
    if fields.fragment == Fragment::Later || fields.truncated {
        return None;
    }
    let packet = packet.get(..fields.len as usize).unwrap_or(packet);
    let upper = packet.get(usize::from(fields.upper)..)?;
    let header = match fields.tuple.protocol {
        protocol::TCP => usize::from(upper.get(12)? >> 4) * 4,
        protocol::UDP | protocol::ICMP | protocol::ICMPV6 => 8,
        _ => return None,
    };
    upper.get(header..)
}

/// Returns the sequence number of a segment's first byte.
fn sequence(fields: &Fields, packet: &[u8]) -> Option<u32> {
    let number = packet.get(usize::from(fields.upper) + 4..)?.first_chunk()?;
    let syn = u32::from(fields.tcp_flags & SYN != 0);
    Some(u32::from_be_bytes(*number).wrapping_add(syn))
}

/// Counter of QUIC packets decrypted in the current second.
#[derive(Clone, Copy, Debug, Default)]
struct Opened {
    second: u64,
    count: u32,
}

impl Opened {
    fn take(&mut self, now: Instant) -> bool {
        let second = now.as_nanos() / 1_000_000_000;
        if second != self.second {
            *self = Self { second, count: 0 };
        }
        self.count += 1;
        self.count <= OPENED_MAX
    }
}

/// State of untracked connections, by direction; the oldest entry is dropped first.
#[derive(Debug, Default)]
struct Untracked {
    kept: HashMap<u64, StreamState>,
    order: VecDeque<u64>,
}

impl Untracked {
    fn find(&self, key: u64) -> StreamState {
        self.kept.get(&key).copied().unwrap_or_default()
    }

    fn put(&mut self, key: u64, kept: StreamState) {
        if kept == StreamState::default() {
            self.kept.remove(&key);
            return;
        }
        if self.kept.insert(key, kept).is_some() {
            return;
        }
        self.order.push_back(key);
        // Removed entries stay in the queue until their turn comes.
        while self.order.len() > UNTRACKED {
            if let Some(oldest) = self.order.pop_front() {
                self.kept.remove(&oldest);
            }
        }
    }
}
