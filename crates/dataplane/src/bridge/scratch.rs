//! Memory of the bridging stage, allocated once for a worker.

use frame::{InterfaceId, VECTOR_FRAMES, Vector};

use super::decide::{Class, Head, Many};
use super::own_source::OwnSources;
use super::sheet::{Between, CHUNK, Sheet};
use crate::counters::Traffic;
use crate::drop::DropReason;
use crate::out::OutId;
use crate::table::bridge_hosts::Place;

/// Frames whose lines are asked for before the first of them is decided about.
pub(super) const PART: usize = 32;

/// Egress ports that are remembered within a vector, by the low bits of their slots.
pub(super) const EGRESSES: usize = 32;

/// What pass 1 saw of a frame.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    pub(super) head: Head,
    /// It begins as the one before it does; the rest was not looked at.
    pub(super) again: bool,
    pub(super) class: Result<Class, DropReason>,
    /// Where its stations are looked for.
    pub(super) to: Place,
    pub(super) from: Place,
}

/// What becomes of a frame that does not simply leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// It goes up as it is now.
    Up,
    /// It leaves by the port with this number, and not as it is.
    Port(u16, Class),
    /// Copies leave by several ports.
    Flood(Class, Many),
    /// Copies leave by several ports, and the frame goes up.
    Group(Class, Many),
    /// The frame is discarded.
    Drop(DropReason),
    /// The frame is sent to an address that bridges keep for their own protocols.
    Reserved,
}

/// An egress port, as frames of this vector see it.
#[derive(Clone, Copy)]
pub(super) struct Egress {
    pub(super) id: InterfaceId,
    pub(super) number: u16,
    /// Whether frames may leave by it at all.
    pub(super) joined: Result<(), DropReason>,
    pub(super) out: OutId,
    pub(super) forwarding: u32,
    /// The longest frame that leaves as it is.
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

/// Memory of the stage.
pub(crate) struct Bridging {
    /// Frames that leave the router above one by one, or some together.
    pub(super) some: Vector,
    pub(super) passes: Passes,
}

/// Memory of the passes.
pub(super) struct Passes {
    pub(super) seen: [Seen; PART],
    /// Where frames leave as they are now; none: their way says what becomes of them.
    pub(super) outs: [OutId; VECTOR_FRAMES],
    pub(super) ways: [Way; VECTOR_FRAMES],
    pub(super) egresses: [Egress; EGRESSES],
    /// Frames that go up, while others of their vector leave.
    pub(super) risen: Vector,
    pub(super) asking: Asking,
    pub(super) own_sources: OwnSources,
}

impl Bridging {
    pub(crate) fn new() -> Box<Self> {
        let seen = Seen {
            head: Head::default(),
            again: false,
            class: Err(DropReason::BridgeSource),
            to: Place::default(),
            from: Place::default(),
        };
        Box::new(Self {
            some: Vector::new(),
            passes: Passes {
                seen: [seen; PART],
                outs: [OutId::NONE; VECTOR_FRAMES],
                ways: [Way::Up; VECTOR_FRAMES],
                egresses: [NO_EGRESS; EGRESSES],
                risen: Vector::new(),
                asking: Asking::new(),
                own_sources: OwnSources::default(),
            },
        })
    }
}

/// Memory for rules that are asked about the frames of a part together.
pub(crate) struct Asking {
    pub(super) sheet: Box<Sheet>,
    pub(super) between: [Between; CHUNK],
    /// Of the frames of a part: those that have not ended, a bit each.
    pub(super) left: u64,
    /// A frame by itself, and those that wait until it is done.
    pub(super) alone: Option<(Vector, Vector)>,
}

impl Asking {
    pub(super) fn new() -> Self {
        Self {
            sheet: Box::new(Sheet::new()),
            between: [Between::default(); CHUNK],
            left: u64::MAX,
            alone: Some((Vector::new(), Vector::new())),
        }
    }
}
