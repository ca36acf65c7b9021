//! The interface by which stages report their decisions. In production [`Silent`] implements it and costs nothing.

use frame::InterfaceId;

use crate::connection::{NatState, State};
use crate::rule::Marks;
use crate::walk::{Exit, Stage};

/// Told by each stage what it decided.
pub trait Tracer {
    /// The stage let the packet go on.
    fn passed(&mut self, stage: Stage, decision: impl FnOnce() -> String);
    /// The stage ended the packet's walk.
    fn left(&mut self, stage: Stage, exit: &Exit);
    /// Routing looked for this destination in this table; what it decided follows.
    #[inline(always)]
    fn looked_up(&mut self, _table: u16, _destination: u128) {}
    /// The stage saw something that changes nothing and that an administrator should know.
    #[inline(always)]
    fn noticed(&mut self, _stage: Stage, _notice: impl FnOnce() -> Option<String>) {}
    /// The stage asks rules.
    #[inline(always)]
    fn asks(&mut self, _stage: Stage) {}
    /// What queues look at: the packet has come by this interface, and leaves or ends with this mark.
    #[inline(always)]
    fn marked(&mut self, _ingress: InterfaceId, _mark: u32) {}
    /// What is assumed of the packet's connection.
    #[inline(always)]
    fn assumed(&self) -> Assumed {
        Assumed::default()
    }
}

/// What a traced packet is taken to be besides its bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Assumed {
    /// The state of its connection; none leaves that to the tracker.
    pub state: Option<State>,
    /// How its connection is translated already.
    pub nat: NatState,
    /// Marks that it comes with.
    pub marks: Marks,
    /// Its connection's mark, whatever is known of it.
    pub connection_mark: Option<u32>,
    /// It came out of IPsec.
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
