//! What is known of the packets of a chunk before any of them is decided about: what they are, and which
//! connections they belong to.

use frame::Frame;
use kernels::{Lanes, Work};

use super::plain::Firsts;
use super::run::Run;
use super::{CHUNK, fasttrack};
use crate::connection::{Hash, Tracker, Way};
use crate::packet::{Fields, protocol};
use crate::rule::First;
use crate::walk::depart::packet;

/// What the passes tell each other about the frames of a chunk, by their place in it.
pub(in crate::walk) struct Ahead {
    pub(super) fields: [Fields; CHUNK],
    pub(super) hashes: [Hash; CHUNK],
    /// The connections that were there when the chunk began.
    pub(super) ways: [Option<Way>; CHUNK],
    /// A bit for each packet that is plain.
    pub(super) plain: u64,
    /// And for each whose connection is marked for FastTrack.
    pub(super) fasttrack: u64,
    /// Whether `fields` has what the packets of the run are.
    pub(super) reads: bool,
    pub(super) run: Run,
    /// The first candidates in `raw`, by family, by place.
    pub(super) raw: [[First; CHUNK]; 2],
    pub(super) firsts: Firsts,
}

impl Ahead {
    pub(in crate::walk) fn new() -> Self {
        Self {
            fields: [Fields::default(); CHUNK],
            hashes: [Hash::default(); CHUNK],
            ways: [None; CHUNK],
            plain: 0,
            fasttrack: 0,
            reads: false,
            run: Run::new(),
            raw: [[First::NOBODY; CHUNK]; 2],
            firsts: Firsts::new(),
        }
    }
}

/// Reads all packets, and asks for what the index says of their connections.
pub(super) struct Read<'a> {
    pub(super) frames: &'a [Frame],
    pub(super) ahead: &'a mut Ahead,
    pub(super) tracker: &'a Tracker,
    /// Which families are tracked.
    pub(super) tracks: [bool; 2],
}

impl Work for Read<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, _lanes: L) {
        let Self {
            frames,
            ahead,
            tracker,
            tracks,
        } = self;
        (ahead.plain, ahead.fasttrack) = (0, 0);
        ahead.reads = true;
        let places = ahead.fields.iter_mut().zip(&mut ahead.hashes);
        for ((at, frame), (fields, hash)) in frames.iter().enumerate().zip(places) {
            let (tuple, midst) = match fields.read(packet(frame)) {
                Some(usual) => (usual.tuple, usual.midst),
                None => (fields.tuple, false),
            };
            ahead.plain |= u64::from(midst & fasttrack::takes(frame)) << at;
            if tracks[usize::from(tuple.ipv6)] {
                *hash = tracker.hash(&tuple);
                tracker.prefetch(*hash, tuple.ipv6);
            }
        }
    }
}

/// Finds the connections of all packets: first what they most likely are, so that the entries come
/// while others are looked for. The few that this does not find, the guard does.
pub(super) struct Find<'a> {
    pub(super) count: usize,
    pub(super) ahead: &'a mut Ahead,
    pub(super) tracker: &'a Tracker,
    pub(super) tracks: [bool; 2],
    /// Which families may be forwarded by FastTrack.
    pub(super) fasttracks: [bool; 2],
}

impl Work for Find<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Self {
            count,
            ahead,
            tracker,
            tracks,
            fasttracks,
        } = self;
        let packets = ahead.fields.iter().zip(&ahead.hashes).take(count);
        for ((fields, hash), place) in packets.zip(&mut ahead.ways) {
            let ipv6 = fields.tuple.ipv6;
            *place = None;
            if tracks[usize::from(ipv6)]
                && let Some(way) = tracker.candidate(lanes, *hash, ipv6)
            {
                tracker.prefetch_entry(way);
                *place = Some(way);
            }
        }
        let packets = ahead.fields.iter().zip(&mut ahead.ways).take(count);
        for (at, (fields, place)) in packets.enumerate() {
            let tuple = &fields.tuple;
            let Some(way) = *place else {
                continue;
            };
            match tracker.verify(way, tuple) {
                None => *place = None,
                Some(fasttrack) if fasttrack & fasttracks[usize::from(tuple.ipv6)] => {
                    ahead.fasttrack |= 1 << at;
                }
                Some(_) if tuple.protocol == protocol::TCP => tracker.prefetch_shared(way),
                Some(_) => {}
            }
        }
    }
}
