//! Source addresses of outer packets.

use core::net::IpAddr;

use frame::InterfaceId;

use super::outer::{IP_BYTES, Outer};
use crate::punt::PuntReason;
use crate::walk::{self, Context, Exit};

/// Returns the source address of outer packets to `remote`: that of the egress interface. `None`
/// without a route.
pub(super) fn source(cx: &Context<'_>, remote: IpAddr, protocol: u8) -> Option<IpAddr> {
    let unspecified = match remote {
        IpAddr::V4(_) => IpAddr::from([0u8; 4]),
        IpAddr::V6(_) => IpAddr::from([0u16; 8]),
    };
    let len = IP_BYTES[usize::from(remote.is_ipv6())];
    let mut header = [0; IP_BYTES[1]];
    let header = header.get_mut(..len)?;
    let outer = Outer {
        ends: (unspecified, remote),
        protocol,
        tos: 0,
        total: len,
        id: 0,
    };
    outer.write(header);
    let egress = match walk::route_own(cx, header, InterfaceId::NONE) {
        Ok((_, adjacency)) => adjacency.egress,
        Err(Exit::Punt(PuntReason::Unresolved(hop))) => cx.fib.adjacencies.read(hop).egress,
        Err(_) => return None,
    };
    cx.interfaces.address(egress, |details| match remote {
        IpAddr::V4(to) => details.address_towards(to).map(IpAddr::V4),
        IpAddr::V6(to) => details.source6_towards(to).map(IpAddr::V6),
    })
}
