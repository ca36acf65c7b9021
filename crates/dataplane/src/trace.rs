//! The tracer: what every stage decided about a packet, in words.
//!
//! Stages are generic over it, and the tracer of production does nothing, so that it costs nothing.

use frame::{InterfaceId, Offload};
use machine::Instant;

use crate::snapshot::Snapshot;
use crate::table::Fib;
use crate::walk::{self, Context, Exit, Stage};

/// Told by each stage what it decided.
pub trait Tracer {
    /// The stage let the packet go on.
    fn passed(&mut self, stage: Stage, decision: impl FnOnce() -> String);
    /// The stage ended the packet's walk.
    fn left(&mut self, stage: Stage, exit: &Exit);
}

/// The tracer of production.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Tracer for Silent {
    #[inline(always)]
    fn passed(&mut self, _stage: Stage, _decision: impl FnOnce() -> String) {}

    #[inline(always)]
    fn left(&mut self, _stage: Stage, _exit: &Exit) {}
}

/// What one stage decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The stage.
    pub stage: Stage,
    /// Its decision, as a user reads it.
    pub decision: String,
}

/// A tracer that keeps what it is told.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    /// In the packet's order.
    pub lines: Vec<Line>,
}

impl Tracer for Recorder {
    fn passed(&mut self, stage: Stage, decision: impl FnOnce() -> String) {
        self.lines.push(Line {
            stage,
            decision: decision(),
        });
    }

    fn left(&mut self, stage: Stage, exit: &Exit) {
        self.lines.push(Line {
            stage,
            decision: exit.to_string(),
        });
    }
}

/// The way that a packet would take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walked {
    /// Stage by stage.
    pub lines: Vec<Line>,
    /// Where it ends.
    pub end: End,
}

/// Where a traced packet ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// It is sent by this interface.
    Sent(InterfaceId),
    /// Something else: dropped, punted, delivered.
    Exit(Exit),
}

/// Walks a frame that would arrive at `ingress` through the stages, and commits nothing: no counter
/// moves, no byte changes.
pub fn trace_packet(snapshot: &Snapshot, fib: &Fib, frame: &[u8], ingress: InterfaceId) -> Walked {
    let mut recorder = Recorder::default();
    let cx = Context {
        snapshot,
        fib,
        now: Instant::ZERO,
        midnight_ms: walk::UNKNOWN_TIME,
    };
    let end = match walk::decide(&cx, ingress, frame, &Offload::FINISHED, &mut recorder) {
        Ok(adjacency) => End::Sent(adjacency.egress),
        Err(exit) => End::Exit(exit),
    };
    Walked {
        lines: recorder.lines,
        end,
    }
}
