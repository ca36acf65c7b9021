//! Encapsulation of one frame for a trace: outer headers as [`super::leave`] writes them, without encryption. No
//! counter and no session moves.

use frame::{Frame, Pool};

use crate::drop::DropReason;
use crate::table::Adjacency;
use crate::walk::{Context, Exit};

/// How an outer packet goes on.
pub(crate) struct Unsealed {
    /// The next hop, where nothing looks at the outer packet; `None` routes it as the router's own.
    pub(crate) direct: Option<Adjacency>,
    /// How many copies leave, one for each peer.
    pub(crate) copies: usize,
}

/// Makes a frame the packet in which the tunnel in this slot carries it. `frame.egress` names the interface that a
/// packet to a group leaves by.
///
/// # Errors
/// The tunnel does not carry it.
pub(crate) fn encapsulate_unsealed(
    cx: &Context<'_>,
    slot: u32,
    frame: &mut Frame,
    pool: &mut Pool,
) -> Result<Unsealed, Exit> {
    let made = cx
        .interfaces
        .tunnel(slot, |tunnel| tunnel.encapsulate_unsealed(cx, frame, pool));
    made.unwrap_or(Err(Exit::Drop(DropReason::EgressDown)))
}
