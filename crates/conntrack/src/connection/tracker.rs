//! Connection tracker of one worker: the calls that the data plane makes for each packet.
//!
//! Order of calls for a batch: [`Tracker::ask`] hashes and prefetches, [`Tracker::candidates`] searches the
//! index, [`Tracker::verify`] compares tuples, and [`Tracker::pass_together`] processes the packets in order;
//! each step finds its data in the cache. Packets that these do not handle go to [`Tracker::find`] and
//! [`Tracker::track`].

use std::collections::BTreeMap;
use std::sync::Arc;

use machine::Rng;
use packet::{Fields, Tuple, protocol};

use super::claims::TupleClaims;
use super::draft::{Claims, Draft, Rewrites};
use super::expectation::Expectations;
use super::first_packet::{self, FirstPacket};
use super::follow::{self, JudgedSegment};
use super::gre::Gre;
use super::hash::{Hash, Keys};
use super::helper_state::Altered;
use super::id::{EntryId, FlowId, Slot};
use super::layout::{Ipv4, Ipv6, Layout, flag};
use super::limits::Limits;
use super::part::Part;
use super::remainder::Remainders;
use super::settings::{Settings, Tick};
use super::state::{Helper, Refused, State, TcpState, Track};
use super::sweep::Sweep;
use super::table::Table;
use super::tcp::{self, Opening, Segment};

/// Usual maximum of ended connections per tick that other modules must be notified of.
const COUNTED: usize = 4096;

/// Parameters of a tracker.
#[derive(Debug)]
pub struct Setup<'a> {
    /// The table of all workers.
    pub table: Arc<Table>,
    /// The number of the worker, below the number of workers in the table.
    pub worker: u16,
    /// Claimed tuples of all workers; `None` with a single worker.
    pub tuple_claims: Option<Arc<TupleClaims>>,
    /// Timeouts and strictness.
    pub settings: &'a Settings,
}

/// Connection tracker of one worker.
#[derive(Debug)]
pub struct Tracker {
    pub(super) table: Arc<Table>,
    pub(super) worker: u16,
    pub(super) tuple_claims: Option<Arc<TupleClaims>>,
    pub(super) limits: Limits,
    pub(super) keys: Keys,
    pub(super) ipv4: Part<Ipv4>,
    pub(super) ipv6: Part<Ipv6>,
    pub(super) expectations: Expectations,
    /// Edits that helpers made to connections.
    pub(super) altered: BTreeMap<Slot, Altered>,
    /// Incomplete messages of connections that helpers read.
    pub(super) remainders: Remainders,
    /// Number of connections of this worker, of both families.
    pub(super) live: u32,
    pub(super) sweep: Sweep,
    /// Ended connections that a `connection-limit` counts; drained after each tick.
    pub(super) counted: Vec<Tuple>,
    /// Attachments of ended connections; drained after each tick.
    pub(super) attached: Vec<u32>,
    /// Tuples of ended connections that may have shortcuts; drained after each tick.
    pub(super) ended: Vec<Tuple>,
}

/// Evaluates an expression with the `Part` of an address family.
macro_rules! of_family {
    (ref $tracker:expr, $ipv6:expr, $part:ident => $what:expr) => {
        if $ipv6 {
            let $part = &$tracker.ipv6;
            $what
        } else {
            let $part = &$tracker.ipv4;
            $what
        }
    };
    (mut $tracker:expr, $ipv6:expr, $part:ident => $what:expr) => {
        if $ipv6 {
            let $part = &mut $tracker.ipv6;
            $what
        } else {
            let $part = &mut $tracker.ipv4;
            $what
        }
    };
}
pub(super) use of_family;

impl Tracker {
    /// Creates an empty tracker; a table has one tracker per worker.
    pub fn new(setup: Setup<'_>, rng: &mut Rng, now: Tick) -> Self {
        let keys = Keys::random(rng);
        let (ipv4, ipv6) = setup.table.part(setup.worker, keys);
        Self {
            worker: setup.worker,
            tuple_claims: setup.tuple_claims,
            limits: Limits::of(setup.settings),
            keys,
            ipv4: Part::new(ipv4, setup.worker, now),
            ipv6: Part::new(ipv6, setup.worker, now),
            expectations: Expectations::default(),
            altered: BTreeMap::new(),
            remainders: Remainders::default(),
            live: 0,
            sweep: Sweep::default(),
            counted: Vec::with_capacity(COUNTED),
            attached: Vec::with_capacity(COUNTED),
            ended: Vec::with_capacity(COUNTED),
            table: setup.table,
        }
    }

    /// Returns true if other workers track connections too.
    #[inline]
    pub fn is_shared(&self) -> bool {
        self.tuple_claims.is_some()
    }

    /// Returns true if the table has no connections.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.table.totals() == (0, 0)
    }

    /// Applies new settings. A connection gets its new timeout at its next change of state.
    pub fn configure(&mut self, settings: &Settings) {
        self.limits = Limits::of(settings);
    }

    /// Returns a copy of the hash keys for use in loops.
    #[inline(always)]
    pub(super) fn keys(&self) -> Keys {
        self.keys
    }

    /// Returns the hash of a packet's tuple for the calls below.
    #[inline(always)]
    pub fn hash(&self, tuple: &Tuple) -> Hash {
        self.keys.hash(tuple)
    }

    /// Prefetches the index bucket that [`Tracker::candidates`] reads.
    #[inline(always)]
    pub fn prefetch(&self, hash: Hash, ipv6: bool) {
        of_family!(ref self, ipv6, part => part.prefetch(hash));
    }

    /// Looks up a tuple with its hash.
    #[inline(always)]
    pub fn find(&self, hash: Hash, tuple: &Tuple) -> Option<FlowId> {
        if tuple.ipv6 {
            self.ipv6.find(hash, &Ipv6::key(tuple))
        } else {
            self.ipv4.find(hash, &Ipv4::key(tuple))
        }
    }

    /// Looks up a tuple.
    #[inline]
    pub fn lookup(&self, tuple: &Tuple) -> Option<FlowId> {
        self.find(self.hash(tuple), tuple)
    }

    /// Classifies a packet without changes, given the result of `find`. `packet` begins with the network
    /// header.
    #[inline]
    pub fn classify(&self, found: Option<FlowId>, fields: &Fields, packet: &[u8]) -> Track {
        let Some(way) = found else {
            return self.first(fields, packet);
        };
        let limits = &self.limits;
        of_family!(ref self, way.slot().is_ipv6(), part => {
            if fields.tuple.protocol != protocol::TCP {
                return part.judge(way);
            }
            match segment(part, &self.altered, way, fields, packet) {
                Some(segment) => {
                    let talk = part.entry(way).talk(way.reply());
                    part.judge_segment(way, &segment, &talk, limits)
                }
                None => follow::INVALID,
            }
        })
    }

    /// Updates the connection of a classified packet. Each packet of a connection must be updated before the
    /// next one is classified.
    #[inline]
    pub fn advance(&mut self, track: &Track, fields: &Fields, packet: &[u8], now: Tick) {
        let Some(way) = track.way.filter(|_| !track.quoted) else {
            return;
        };
        let limits = &self.limits;
        of_family!(mut self, way.slot().is_ipv6(), part => {
            if fields.tuple.protocol != protocol::TCP {
                part.commit(way, fields, now, limits);
            } else if let Some(segment) = segment(part, &self.altered, way, fields, packet) {
                let talk = part.entry(way).talk(way.reply());
                let judged = JudgedSegment {
                    step: track.step,
                    segment: &segment,
                    talk: &talk,
                };
                part.commit_segment(way, judged, fields, now, limits);
            }
        });
    }

    /// Classifies a packet and updates its connection.
    #[inline]
    pub fn track(
        &mut self,
        found: Option<FlowId>,
        fields: &Fields,
        packet: &[u8],
        now: Tick,
    ) -> Track {
        let Some(way) = found else {
            return self.first(fields, packet);
        };
        let limits = &self.limits;
        of_family!(mut self, way.slot().is_ipv6(), part => {
            if fields.tuple.protocol != protocol::TCP {
                let track = part.judge(way);
                part.commit(way, fields, now, limits);
                return track;
            }
            let Some(segment) = segment(part, &self.altered, way, fields, packet) else {
                return follow::INVALID;
            };
            let talk = part.entry(way).talk(way.reply());
            let track = part.judge_segment(way, &segment, &talk, limits);
            if track.way.is_some() {
                let judged = JudgedSegment {
                    step: track.step,
                    segment: &segment,
                    talk: &talk,
                };
                part.commit_segment(way, judged, fields, now, limits);
            }
            track
        })
    }

    /// Classifies a packet without an entry.
    #[cold]
    fn first(&self, fields: &Fields, packet: &[u8]) -> Track {
        match first_packet::judge(fields, packet, &self.limits) {
            FirstPacket::Track(track) if track.state == State::New => Track {
                state: match self.expectations.find(&fields.tuple) {
                    Some(_) => State::Related,
                    None => State::New,
                },
                ..track
            },
            FirstPacket::Track(track) => track,
            FirstPacket::Error(quoted) => match self.lookup(&quoted.reversed()) {
                Some(answers) => self.related(answers.reversed()),
                None => follow::INVALID,
            },
        }
    }

    /// Classifies an ICMP error about a packet of this direction.
    fn related(&self, way: FlowId) -> Track {
        let flags =
            of_family!(ref self, way.slot().is_ipv6(), part => part.entry(way).flags(way.reply()));
        first_packet::related(follow::of(flags, way))
    }

    /// Creates the draft of a connection from its first packet, which was classified as `New` or `Related`
    /// without a direction. The reply tuple is the reversed original until a stage translates it.
    pub fn draft(&self, fields: &Fields, packet: &[u8]) -> Draft {
        // The bucket and the entry that `confirm` will use arrive in the cache meanwhile.
        self.prefetch(self.hash(&fields.tuple.reversed()), fields.tuple.ipv6);
        of_family!(ref self, fields.tuple.ipv6, part => part.prefetch_free());
        let expected = self.expectations.find(&fields.tuple);
        let segment = match fields.tuple.protocol {
            protocol::TCP => Segment::read(fields, packet).unwrap_or_default(),
            _ => Segment::default(),
        };
        let state = match fields.tuple.protocol {
            protocol::TCP => tcp::open(&segment, self.limits.loose).unwrap_or_default(),
            _ => TcpState::None,
        };
        let parent = expected.and_then(|expected| self.table.row(expected.parent));
        Draft {
            original: fields.tuple,
            reply: fields.tuple.reversed(),
            mark: parent.map_or(0, |parent| parent.mark),
            helper: expected.map_or(Helper::None, |expected| expected.helper),
            nat: Default::default(),
            rewrites: Rewrites::None,
            fasttrack: false,
            // The translated source is the parent's masquerade address and ends with it.
            masquerade: parent.is_some_and(|parent| parent.masquerade)
                && expected
                    .and_then(|expected| expected.source)
                    .is_some_and(|source| source != fields.tuple.source),
            counted: false,
            attachment: 0,
            egress: frame::InterfaceId::NONE,
            next_hop: Default::default(),
            claims: Claims::None,
            bytes: fields.len,
            expected: expected.is_some(),
            gre: Gre::of(fields, packet),
            opening: Opening { state, segment },
        }
    }

    /// Adds a connection to the table when its first packet leaves the router.
    ///
    /// # Errors
    /// Returns the reason for the refusal. The table is then unchanged, except that connections may have been
    /// evicted.
    pub fn confirm(&mut self, draft: &Draft, now: Tick) -> Result<FlowId, Refused> {
        if let Some(old) = self.lookup(&draft.original) {
            // A new connection between the ports of a closed one.
            if !self.is_over(old) {
                return Err(Refused::Taken);
            }
            self.leave(old.slot());
            // The `connection-limit` entry of the closed connection passes to the new one.
            let goes_on = |ended: &mut Tuple| draft.counted && *ended == draft.original;
            let _ = self.counted.pop_if(goes_on);
        }
        if self.lookup(&draft.reply).is_some() {
            return Err(Refused::Taken);
        }
        self.claim(draft)?;
        let held = self.hold_endpoints(draft.nat, &draft.original, &draft.reply);
        let entered = held.and_then(|()| {
            let way = self.admit(draft.original.ipv6).and_then(|()| {
                let way = self.enter(draft, now);
                if way.is_none() {
                    self.dismiss(draft.original.ipv6);
                }
                way.ok_or(Refused::Full)
            });
            way.inspect_err(|_| self.release_endpoints(draft.nat, &draft.original, &draft.reply))
        });
        match entered {
            Ok(_) if draft.expected => self.fulfil(draft),
            Ok(_) => {}
            Err(_) => self.give_up(draft),
        }
        entered
    }

    fn enter(&mut self, draft: &Draft, now: Tick) -> Option<FlowId> {
        let (limits, keys) = (&self.limits, &self.keys);
        let opening = &draft.opening;
        let timeout_secs = match opening.state {
            TcpState::None if draft.is_call() => Limits::call(false),
            TcpState::None => limits.plain(draft.original.protocol, false),
            state => limits.tcp(state, &Default::default(), false),
        };
        if draft.original.ipv6 {
            let rewrites = match draft.rewrites {
                Rewrites::Ipv6(rewrites) => rewrites,
                _ => Default::default(),
            };
            self.ipv6.enter(draft, keys, timeout_secs, rewrites, now)
        } else {
            let rewrites = match draft.rewrites {
                Rewrites::Ipv4(rewrites) => rewrites,
                _ => Default::default(),
            };
            self.ipv4.enter(draft, keys, timeout_secs, rewrites, now)
        }
    }

    /// Returns true if a new connection with the tuple `original` replaces this one.
    pub(super) fn gives_way(&self, way: FlowId, original: &Tuple) -> bool {
        let same = |other: FlowId| other.slot() == way.slot();
        self.is_over(way) && self.lookup(original).is_some_and(same)
    }

    /// Returns true if a SYN may begin a new connection in place of this one.
    fn is_over(&self, way: FlowId) -> bool {
        let state = of_family!(ref self, way.slot().is_ipv6(), part => part.entry(way).tcp_state());
        matches!(state, TcpState::TimeWait | TcpState::Close)
    }

    /// Returns the id of a connection.
    #[inline]
    pub fn id(&self, way: FlowId) -> EntryId {
        let generation =
            of_family!(ref self, way.slot().is_ipv6(), part => part.entry(way).generation());
        EntryId {
            slot: way.slot(),
            generation,
        }
    }
}

/// Parses a segment for tracking. If a helper changed payload lengths, the numbers are converted to those
/// that both senders wrote.
#[inline(always)]
fn segment<F: Layout>(
    part: &Part<F>,
    altered: &BTreeMap<Slot, Altered>,
    way: FlowId,
    fields: &Fields,
    packet: &[u8],
) -> Option<Segment> {
    let segment = Segment::read(fields, packet)?;
    let entry = part.entry(way);
    if entry.flags(way.reply()) & flag::NOTED != 0 && entry.is_helped() {
        return Some(unshifted(altered, way, segment));
    }
    Some(segment)
}

#[cold]
#[inline(never)]
fn unshifted(altered: &BTreeMap<Slot, Altered>, way: FlowId, mut segment: Segment) -> Segment {
    if let Some(altered) = altered.get(&way.slot()) {
        altered.unshift(way.reply(), &mut segment);
    }
    segment
}
