//! One frame into a tunnel, for a trace: outer headers as [`super::leave`] writes them, without encryption. No counter
//! and no session moves.

use frame::{Frame, InterfaceId, Pool};

use super::{between, vxlan, wireguard};
use crate::drop::DropReason;
use crate::interface::Tunnel;
use crate::table::Adjacency;
use crate::walk::{Context, Exit};

/// How an outer packet goes on.
pub(crate) struct Wrapped {
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
pub(crate) fn wrap_unsealed(
    cx: &Context<'_>,
    slot: u32,
    frame: &mut Frame,
    pool: &mut Pool,
) -> Result<Wrapped, Exit> {
    let wrapped = cx.interfaces.tunnel(slot, |tunnel| match tunnel {
        Tunnel::Between(tunnel) => {
            let direct = between::wrap(cx, tunnel, frame).map_err(Exit::Drop)?;
            frame.egress = InterfaceId::NONE;
            Ok(Wrapped { direct, copies: 1 })
        }
        Tunnel::Vxlan(network) => {
            let wrapped = vxlan::wrap(cx, network, frame).map_err(Exit::Drop)?;
            let vxlan::Wrapped { direct, copies } = wrapped;
            Ok(Wrapped { direct, copies })
        }
        Tunnel::Wireguard(network) => {
            let direct = wireguard::wrap_unsealed(cx, network, frame, pool)?;
            frame.egress = InterfaceId::NONE;
            Ok(Wrapped { direct, copies: 1 })
        }
    });
    wrapped.unwrap_or(Err(Exit::Drop(DropReason::EgressDown)))
}
