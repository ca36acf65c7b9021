//! The inputs and outputs of the passes over a chunk of a vector.

use frame::{Frame, InterfaceId};

use super::passage::Met;
use super::plain::Plain;
use crate::connection::Tick;
use crate::counters::Traffic;
use crate::out::OutId;
use crate::outlet::Outlet;
use crate::walk::entered::Lane;
use crate::walk::near::Near;
use crate::walk::tally::Tally;
use crate::walk::teach::Teacher;
use crate::walk::{Context, Exit};

/// What is the same for all packets of a vector.
pub(super) struct Passes<'a, 'o> {
    pub(super) cx: &'a Context<'a>,
    /// By family: IPv4, IPv6.
    pub(super) plain: [Option<Plain<'a>>; 2],
    pub(super) tracks: [bool; 2],
    /// Rules ask for more than columns.
    pub(super) reads: [bool; 2],
    pub(super) fasttracks: [bool; 2],
    pub(super) now: Tick,
    /// The interface that the vector came in by, and what of it left by FastTrack.
    pub(super) ingress: InterfaceId,
    pub(super) received: Traffic,
    /// By family: who teaches the entrance's port the ways of connections.
    pub(super) teachers: [Option<Teacher>; 2],
    pub(super) tally: Tally,
    pub(super) near: &'o mut Near,
    pub(super) outlet: &'o mut Outlet,
}

/// Some packets of a vector, with what pass 1 said of them.
pub(super) struct Chunk<'a> {
    pub(super) frames: &'a mut [Frame],
    pub(super) lanes: &'a [Lane],
    pub(super) outs: &'a mut [OutId],
    pub(super) exits: &'a mut [Exit],
}

/// Why packets do not go on waiting in the run.
pub(super) enum Stop {
    /// There are no more.
    End,
    /// The connection of the next is marked for FastTrack.
    FastTrack,
    /// The next is to be decided about alone; what pass 1 said of one for this router, and what is
    /// known of its connection.
    Alone(Option<Exit>, Met),
}
