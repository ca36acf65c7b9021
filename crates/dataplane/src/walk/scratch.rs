//! Memory of the passes, allocated once for a worker.

use frame::{VECTOR_FRAMES, Vector};

use super::demux::KnownTags;
use super::entered::Entered;
use super::guarded;
use super::near::Near;
use crate::encap;
use crate::ipsec;
use crate::out::OutId;
use crate::queueing;
use crate::table::NextHopId;

/// What the passes tell each other about the frames of a vector, by their place in it.
pub(crate) struct Scratch {
    pub(super) entered: Entered,
    /// Where frames leave to; none: by their exit.
    pub(super) outs: [OutId; VECTOR_FRAMES],
    /// The next hops of what entered, by family, without gaps.
    pub(super) hops4: [NextHopId; VECTOR_FRAMES],
    pub(super) hops6: [NextHopId; VECTOR_FRAMES],
    pub(super) near: Near,
    pub(super) tags: KnownTags,
    pub(super) ahead: guarded::Ahead,
    /// Where frames go that were wrapped.
    pub(crate) nexts: encap::Nexts,
    pub(crate) targets: encap::Targets,
    pub(crate) ways: ipsec::Ways,
    /// The sources that frames came with, where queues ask for them.
    pub(super) sources: [u128; VECTOR_FRAMES],
    /// Frames that have to wait in queues.
    pub(super) held: Vec<queueing::Held>,
}

impl Scratch {
    pub(crate) fn new() -> Box<Self> {
        Box::new(Self {
            entered: Entered::new(),
            outs: [OutId::NONE; VECTOR_FRAMES],
            hops4: [NextHopId::NO_ROUTE; VECTOR_FRAMES],
            hops6: [NextHopId::NO_ROUTE; VECTOR_FRAMES],
            near: Near::new(),
            tags: KnownTags::new(),
            ahead: guarded::Ahead::new(),
            nexts: encap::Nexts::new(),
            targets: encap::Targets::new(),
            ways: ipsec::Ways::default(),
            sources: [0; VECTOR_FRAMES],
            held: Vec::new(),
        })
    }

    /// Before anything is written into packets.
    pub(super) fn note_sources(&mut self, vector: &Vector) {
        let sources = self.sources.iter_mut().zip(vector.frames());
        sources.for_each(|(source, frame)| *source = queueing::source(frame));
    }
}
