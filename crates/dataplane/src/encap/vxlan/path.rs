//! Finds the source address and the next hop of a target.

use core::net::IpAddr;

use frame::InterfaceId;

use super::Vxlan;
use super::target::{Path, Target, Targets, To};
use crate::drop::DropReason;
use crate::punt::PuntReason;
use crate::table::Kind;
use crate::walk::{self, Context, Exit};

impl Targets {
    /// Returns the cache line of a target; builds its template on a miss.
    pub(super) fn get(&mut self, cx: &Context<'_>, network: &Vxlan, to: To) -> usize {
        let low = match to.address {
            IpAddr::V4(address) => address.to_bits(),
            IpAddr::V6(address) => address.to_bits() as u32,
        };
        let place = (low ^ low >> 8) as usize % Self::PLACES;
        if self.of[place] != Some(to) {
            self.targets[place].set(cx, network, to);
            self.of[place] = Some(to);
        }
        place
    }
}

impl Target {
    /// Builds the template for a target.
    #[inline(never)]
    fn set(&mut self, cx: &Context<'_>, network: &Vxlan, to: To) {
        let packet = self.write_packet(network, to, network.local);
        let found = walk::route_own(cx, packet, to.by);
        let egress = match &found {
            Ok((_, adjacency)) => adjacency.egress,
            Err(Exit::Punt(PuntReason::Unresolved(hop))) => cx.fib.adjacencies.read(*hop).egress,
            Err(Exit::Drop(reason)) => return self.path = Path::Lost(*reason),
            Err(_) => return self.path = Path::Lost(DropReason::NoRoute),
        };
        if network.local.is_unspecified() {
            let Some(source) = source(cx, egress, to.address) else {
                return self.path = Path::Lost(DropReason::VxlanNoSource);
            };
            self.write_packet(network, to, source);
        }
        let ipv6 = to.address.is_ipv6();
        let looks = cx.snapshot.firewall.guards(ipv6) || !cx.snapshot.rules.is_empty();
        self.path = match found {
            Ok((_, adjacency)) if adjacency.kind == Kind::Forward && network.fast && !looks => {
                self.write_link(&adjacency);
                Path::By(adjacency)
            }
            _ => Path::Own(to.by),
        };
    }
}

/// Returns the source address of packets that leave by this interface for `to`.
fn source(cx: &Context<'_>, egress: InterfaceId, to: IpAddr) -> Option<IpAddr> {
    cx.interfaces.address(egress, |details| match to {
        IpAddr::V4(to) => details.address_towards(to).map(IpAddr::V4),
        IpAddr::V6(to) => details.source6_towards(to).map(IpAddr::V6),
    })
}
