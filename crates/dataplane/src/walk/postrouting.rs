//! Postrouting: what looks at packets when their egress is known. No facility of this router does
//! yet; each that comes (mangle, source NAT, queues) is called here, in the diagram's order.

use super::{Context, Exit};
use crate::table::Adjacency;

/// Decides about a packet that is about to leave by this adjacency.
///
/// # Errors
/// The packet's end.
#[inline(always)]
pub(crate) fn run(_cx: &Context<'_>, _adjacency: &Adjacency) -> Result<(), Exit> {
    Ok(())
}
