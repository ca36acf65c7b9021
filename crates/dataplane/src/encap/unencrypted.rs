//! Encapsulation of one frame for a trace: outer headers as [`super::leave`] writes them, without encryption. No
//! counter and no session moves.

use frame::{Frame, Pool};

use crate::drop::DropReason;
use crate::table::Adjacency;
use crate::walk::{Context, Exit};

/// The path of an outer packet.
pub(crate) struct OuterPath {
    /// The next hop, if no rule applies to the outer packet; `None` sends the packet along the
    /// router's output path.
    pub(crate) direct: Option<Adjacency>,
    /// Number of copies, one for each peer.
    pub(crate) copies: usize,
}

/// Encapsulates a frame for the tunnel in this slot. `frame.egress` names the egress interface of
/// an outer packet to a multicast group.
///
/// # Errors
/// The tunnel cannot carry the frame.
pub(crate) fn encapsulate_unencrypted(
    cx: &Context<'_>,
    slot: u32,
    frame: &mut Frame,
    pool: &mut Pool,
) -> Result<OuterPath, Exit> {
    let made = cx.interfaces.tunnel(slot, |tunnel| {
        tunnel.encapsulate_unencrypted(cx, frame, pool)
    });
    made.unwrap_or(Err(Exit::Drop(DropReason::EgressDown)))
}
