//! The [`Decider`]: the inputs and outputs of the firewall's decision about one packet.

use super::memory::Memory;
use super::passage::{EarlyLookup, PacketView, Passage, PreroutingResult};
use crate::firewall::Tables;
use crate::rule::Watch;
use crate::trace::Tracer;
use crate::walk::Context;

/// Receives decisions and the events of rules: the walk, or the tracer.
pub(crate) trait Watcher: Tracer + Watch {}
impl<T: Tracer + Watch> Watcher for T {}

/// Decides about one packet. Each file of this folder implements the methods of one stage.
pub(crate) struct Decider<'a, W> {
    pub(crate) cx: &'a Context<'a>,
    pub(crate) tables: &'a Tables,
    pub(crate) memory: &'a mut Memory,
    pub(crate) view: PacketView<'a>,
    pub(crate) passage: &'a mut Passage,
    pub(crate) lookup: EarlyLookup,
    /// The result of mangle's prerouting, if it was evaluated earlier.
    pub(in crate::walk) early: Option<PreroutingResult>,
    pub(crate) watch: &'a mut W,
}
