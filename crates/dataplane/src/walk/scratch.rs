//! Memory of the passes, allocated once for a worker.

use frame::{VECTOR_FRAMES, Vector};

use super::demux::KnownTags;
use super::guarded;
use super::next_hop_cache::NextHopCache;
use super::pass1_results::Pass1Results;
use crate::encap;
use crate::out::OutId;
use crate::queueing;
use crate::table::NextHopId;

/// The results that one pass stores for the next, by the frame's position in the vector.
pub(crate) struct Scratch {
    pub(super) entered: Pass1Results,
    /// The out of each frame; [`OutId::NONE`] for a frame with an exit.
    pub(super) outs: [OutId; VECTOR_FRAMES],
    /// The next hops of each family, stored without gaps.
    pub(super) hops4: [NextHopId; VECTOR_FRAMES],
    pub(super) hops6: [NextHopId; VECTOR_FRAMES],
    pub(super) next_hops: NextHopCache,
    pub(super) tags: KnownTags,
    pub(super) lookups: guarded::ChunkLookups,
    /// The destinations of encapsulated frames.
    pub(crate) nexts: encap::Nexts,
    pub(crate) targets: encap::Targets,
    /// The source addresses on arrival, if queues match them.
    pub(super) sources: [u128; VECTOR_FRAMES],
    /// Frames that wait in queues.
    pub(super) held: Vec<queueing::HeldPacket>,
}

impl Scratch {
    pub(crate) fn new() -> Box<Self> {
        Box::new(Self {
            entered: Pass1Results::new(),
            outs: [OutId::NONE; VECTOR_FRAMES],
            hops4: [NextHopId::NO_ROUTE; VECTOR_FRAMES],
            hops6: [NextHopId::NO_ROUTE; VECTOR_FRAMES],
            next_hops: NextHopCache::new(),
            tags: KnownTags::new(),
            lookups: guarded::ChunkLookups::new(),
            nexts: encap::Nexts::new(),
            targets: encap::Targets::new(),
            sources: [0; VECTOR_FRAMES],
            held: Vec::new(),
        })
    }

    /// Stores the source addresses. Called before packets are changed.
    pub(super) fn note_sources(&mut self, vector: &Vector) {
        let sources = self.sources.iter_mut().zip(vector.frames());
        sources.for_each(|(source, frame)| *source = queueing::source(frame));
    }
}
