//! Memory of the bridging stage, allocated once for a worker.

use frame::{InterfaceId, VECTOR_FRAMES, Vector};

use super::decide::{Class, FloodKind, Head};
use super::frame_columns::{CHUNK, FrameColumns, PortPair};
use super::own_source::OwnSources;
use crate::counters::Traffic;
use crate::drop::DropReason;
use crate::out::OutId;
use crate::table::bridge_hosts::HostPosition;

/// Frames whose host lines are prefetched before the first decision, and whose rules are looked up
/// together.
pub(super) const PART: usize = 64;

/// Egress ports cached for a vector, by the low bits of their slots.
pub(super) const EGRESSES: usize = 32;

/// The results of pass 1 for a frame.
#[derive(Clone, Copy)]
pub(super) struct ClassifiedFrame {
    pub(super) head: Head,
    /// The header equals that of the previous frame; the other fields are not valid.
    pub(super) again: bool,
    pub(super) class: Class,
    /// The reason why the frame is not admitted; `class` is not valid then.
    pub(super) refused: Option<DropReason>,
    /// Positions of both hosts in the host table.
    pub(super) to: HostPosition,
    pub(super) from: HostPosition,
}

/// The destination of a frame that does not leave unchanged by one port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BridgeExit {
    /// The frame goes up as it is.
    Up,
    /// The frame leaves by the port with this number, after changes.
    Port(u16, Class),
    /// Copies leave by several ports.
    Flood(Class, FloodKind),
    /// Copies leave by several ports, and the frame goes up.
    Group(Class, FloodKind),
    /// The frame is discarded.
    Drop(DropReason),
    /// The destination is a reserved bridge address.
    Reserved,
}

/// An egress port in the cache of a vector.
#[derive(Clone, Copy)]
pub(super) struct Egress {
    pub(super) id: InterfaceId,
    pub(super) number: u16,
    /// The reason why no frame may leave by the port, if there is one.
    pub(super) joined: Result<(), DropReason>,
    pub(super) out: OutId,
    pub(super) forwarding: u32,
    /// The length in bytes of the longest frame that leaves unchanged.
    pub(super) longest: usize,
    pub(super) sent: Traffic,
}

pub(super) const NO_EGRESS: Egress = Egress {
    id: InterfaceId::NONE,
    number: 0,
    joined: Err(DropReason::EgressDown),
    out: OutId::NONE,
    forwarding: 0,
    longest: 0,
    sent: Traffic {
        packets: 0,
        bytes: 0,
    },
};

/// Memory of the bridging stage.
pub(crate) struct Bridging {
    /// A vector for frames of the router that come without one.
    pub(super) some: Vector,
    pub(super) passes: Passes,
}

/// Memory of the passes.
pub(super) struct Passes {
    pub(super) classified: [ClassifiedFrame; PART],
    /// The out of each frame that leaves unchanged; [`OutId::NONE`] for a frame with a [`BridgeExit`].
    pub(super) outs: [OutId; VECTOR_FRAMES],
    pub(super) exits: [BridgeExit; VECTOR_FRAMES],
    pub(super) egresses: [Egress; EGRESSES],
    /// Frames that go up, while other frames of the vector leave.
    pub(super) risen: Vector,
    pub(super) rule_scratch: RuleScratch,
    pub(super) own_sources: OwnSources,
}

impl Bridging {
    pub(crate) fn new() -> Box<Self> {
        let classified = ClassifiedFrame {
            head: Head::default(),
            again: false,
            class: Class::new(0, 0, false),
            refused: Some(DropReason::BridgeSource),
            to: HostPosition::default(),
            from: HostPosition::default(),
        };
        Box::new(Self {
            some: Vector::new(),
            passes: Passes {
                classified: [classified; PART],
                outs: [OutId::NONE; VECTOR_FRAMES],
                exits: [BridgeExit::Up; VECTOR_FRAMES],
                egresses: [NO_EGRESS; EGRESSES],
                risen: Vector::new(),
                rule_scratch: RuleScratch::new(),
                own_sources: OwnSources::default(),
            },
        })
    }
}

/// Memory for the evaluation of rules for the frames of a part.
pub(crate) struct RuleScratch {
    pub(super) frame_columns: Box<FrameColumns>,
    pub(super) ports: [PortPair; CHUNK],
    /// Frames of the part that continue, one bit each.
    pub(super) left: u64,
    /// The frame at hand and the waiting frames, where frames take the stage one by one.
    pub(super) alone: Option<(Vector, Vector)>,
}

impl RuleScratch {
    pub(super) fn new() -> Self {
        Self {
            frame_columns: Box::new(FrameColumns::new()),
            ports: [PortPair::default(); CHUNK],
            left: u64::MAX,
            alone: Some((Vector::new(), Vector::new())),
        }
    }
}
