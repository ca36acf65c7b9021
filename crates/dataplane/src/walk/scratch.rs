//! Memory of the passes, allocated once for a worker.

use frame::{Frame, InterfaceId, VECTOR_FRAMES, Vector};

use super::Exit;
use super::demux::KnownTags;
use super::fast;
use super::fast::next_hop_cache::NextHopCache;
use super::fast::pass1_results::Pass1Results;
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
    pub(super) lookups: fast::ChunkLookups,
    /// The destinations of encapsulated frames.
    pub(crate) nexts: encap::Nexts,
    pub(crate) targets: encap::Targets,
    /// The source addresses on arrival, if queues match them.
    pub(super) sources: [u128; VECTOR_FRAMES],
    /// Frames that wait in queues.
    pub(super) held: Vec<queueing::HeldPacket>,
    pub(super) decapsulating: Decapsulating,
}

/// Frames of a vector that tunnels and IPsec decapsulate, taken from between other frames so that
/// those of one tunnel come together. Empty between two vectors.
pub(super) struct Decapsulating {
    /// Packets of IPsec.
    pub(super) protected: Vec<Frame>,
    /// Packets of tunnels, and the interface of each.
    pub(super) tunnelled: Vec<Frame>,
    pub(super) tunnels: Vec<InterfaceId>,
}

/// Runs of frames of one tunnel that are worth no gathering.
const LONG: usize = 16;

impl Decapsulating {
    fn new() -> Self {
        Self {
            protected: Vec::with_capacity(VECTOR_FRAMES),
            tunnelled: Vec::with_capacity(VECTOR_FRAMES),
            tunnels: Vec::with_capacity(VECTOR_FRAMES),
        }
    }

    /// Returns true if a run of frames with this exit is to be gathered: it is short, or it follows
    /// gathered frames, perhaps of the same tunnel, which it must not overtake.
    pub(super) fn must_wait(&self, exit: Exit, run: usize) -> bool {
        let follows = match exit {
            Exit::Reveal => !self.protected.is_empty(),
            _ => !self.tunnelled.is_empty(),
        };
        follows || run < LONG
    }

    /// Gathers the next `count` frames, which have this exit.
    pub(super) fn take(
        &mut self,
        frames: &mut impl Iterator<Item = Frame>,
        count: usize,
        exit: Exit,
    ) {
        let frames = frames.take(count);
        match exit {
            Exit::Decapsulate(id) => {
                self.tunnelled.extend(frames);
                self.tunnels.resize(self.tunnelled.len(), id);
            }
            _ => self.protected.extend(frames),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tunnelled.is_empty() && self.protected.is_empty()
    }
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
            lookups: fast::ChunkLookups::new(),
            nexts: encap::Nexts::new(),
            targets: encap::Targets::new(),
            sources: [0; VECTOR_FRAMES],
            held: Vec::new(),
            decapsulating: Decapsulating::new(),
        })
    }

    /// Stores the source addresses. Called before packets are changed.
    pub(super) fn note_sources(&mut self, vector: &Vector) {
        let sources = self.sources.iter_mut().zip(vector.frames());
        sources.for_each(|(source, frame)| *source = queueing::source(frame));
    }
}
