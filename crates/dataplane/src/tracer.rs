//! The interface by which stages report their decisions. In production [`Silent`] implements it and costs nothing.

use frame::InterfaceId;

use crate::connection::{NatState, State};
use crate::rule::Marks;
use crate::walk::{Exit, Stage};

/// Receives the decision of each stage.
pub trait Tracer {
    /// The stage let the packet go on.
    fn passed(&mut self, stage: Stage, decision: impl FnOnce() -> String);
    /// The stage ended the packet's walk.
    fn left(&mut self, stage: Stage, exit: &Exit);
    /// Routing looked up a destination in a table. The routing decision follows in another call.
    #[inline(always)]
    fn looked_up(&mut self, _table: u16, _destination: u128) {}
    /// The stage has a notice for the administrator that does not change the decision.
    #[inline(always)]
    fn noticed(&mut self, _stage: Stage, _notice: impl FnOnce() -> Option<String>) {}
    /// The stage begins to evaluate rules.
    #[inline(always)]
    fn asks(&mut self, _stage: Stage) {}
    /// The fields that queues match: the ingress interface and the packet mark on leaving.
    #[inline(always)]
    fn marked(&mut self, _ingress: InterfaceId, _mark: u32) {}
    /// Returns the assumptions about the packet's connection.
    #[inline(always)]
    fn assumed(&self) -> Assumed {
        Assumed::default()
    }
}

/// Assumptions about a traced packet, besides its bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Assumed {
    /// The connection state; `None` leaves the state to the tracker.
    pub state: Option<State>,
    /// The translation of the connection.
    pub nat: NatState,
    /// The marks of the packet on arrival.
    pub marks: Marks,
    /// The connection mark; overrides the mark of a tracked connection.
    pub connection_mark: Option<u32>,
    /// The packet was decapsulated by IPsec.
    pub revealed: bool,
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
