//! Tunnels: encapsulation and decapsulation.
//!
//! Encapsulation is a pass over frames for one tunnel. It writes the outer header in front of each, and the outer
//! link header at once where nothing looks at the router's own packets; otherwise each packet takes the way of the
//! router's own. Decapsulation is an exit of `input`: the inner packet enters the walk behind ingress, on the
//! tunnel's interface. The depth of a frame counts its tunnels and ends loops.

mod ipip;
#[cfg(test)]
mod tests;

use frame::{Frame, InterfaceId, Vector};

use self::ipip::Template;

use crate::drop::DropReason;
use crate::interface::Tunnel;
use crate::outlet::Outlet;
use crate::table::{Adjacency, Kind};
use crate::tap::{self, Direction};
use crate::walk::{self, Context, Exit};

/// Bytes of the Ethernet header that every packet stands behind in the walk.
const ETHERNET: usize = 14;
/// Tunnels within tunnels.
const DEPTH: u8 = 8;

/// Wraps the frames that leave by the tunnel in this slot, and sends them on.
pub(crate) fn leave(cx: &Context<'_>, slot: u32, frames: &mut Vector, outlet: &mut Outlet) {
    let tunnel = cx.interfaces.tunnel(slot);
    let direct = tunnel.and_then(|tunnel| direct(cx, &tunnel));
    let template = tunnel.as_ref().map(Template::of);
    let mut sent = (InterfaceId::NONE, 0, 0);
    for mut frame in frames.drain() {
        let leaves = (frame.egress, Direction::Transmitted);
        tap::show(cx, leaves, (&frame, 0), outlet);
        let wrapped = match &template {
            Some(template) => wrap(&mut frame, template, outlet),
            None => Err(DropReason::EgressDown),
        };
        if let Err(reason) = wrapped {
            outlet.lose(frame, reason);
            continue;
        }
        let Some(adjacency) = &direct else {
            frame.egress = InterfaceId::NONE;
            walk::own(cx, frame, None, outlet);
            continue;
        };
        if !walk::rewrite(&mut frame, adjacency) {
            outlet.lose(frame, DropReason::NoBuffer);
            continue;
        }
        sent = (adjacency.egress, sent.1 + 1, sent.2 + frame.len() as u64);
        let room = adjacency.mtu as usize + usize::from(frame.l3);
        match frame.len() <= room {
            true => outlet.dispatch(cx, frame, adjacency.out),
            false => walk::finish(cx, outlet, frame, adjacency.out, adjacency.mtu),
        }
    }
    if sent.1 > 0 {
        walk::count_sent(cx, &outlet.counters, sent.0, sent.1, sent.2);
    }
}

/// The next hop of a tunnel's packets, where nothing looks at them: no rule of the firewall, no connection
/// tracking, no routing rule.
fn direct(cx: &Context<'_>, tunnel: &Tunnel) -> Option<Adjacency> {
    if cx.snapshot.firewall.guards(false) || !cx.snapshot.rules.is_empty() {
        return None;
    }
    let hop = cx.fib.main().ipv4.lookup(tunnel.remote.to_bits());
    let adjacency = cx.fib.adjacencies.read(hop);
    (adjacency.kind == Kind::Forward).then_some(adjacency)
}

/// Writes the outer header in front of a packet.
fn wrap(frame: &mut Frame, template: &Template, outlet: &mut Outlet) -> Result<(), DropReason> {
    if frame.depth >= DEPTH {
        return Err(DropReason::TunnelDepth);
    }
    frame.depth += 1;
    let id = outlet.memory.rules.random() as u16;
    ipip::wrap(frame, template, id)?;
    frame.rise(InterfaceId::NONE, InterfaceId::NONE);
    (frame.walked, frame.priority) = (false, 0);
    Ok(())
}

/// The tunnel that a packet for this router comes out of, if it is of one.
#[cold]
pub(crate) fn arrival(cx: &Context<'_>, packet: &[u8]) -> Option<Exit> {
    let (local, remote) = ipip::ends(packet)?;
    cx.interfaces
        .tunnel_between(local, remote)
        .map(Exit::Decapsulate)
}

/// Takes a packet out of the packet of a tunnel, and leaves it to be walked.
#[cold]
pub(crate) fn arrive(cx: &Context<'_>, mut frame: Frame, id: InterfaceId, outlet: &mut Outlet) {
    let unwrapped = match cx.interfaces.get(id).filter(|interface| interface.running) {
        Some(_) if frame.depth >= DEPTH => Err(DropReason::TunnelDepth),
        Some(interface) => ipip::unwrap(&mut frame, interface.mac),
        None => Err(DropReason::InterfaceDown),
    };
    if let Err(reason) = unwrapped {
        return outlet.discard(frame, reason);
    }
    frame.depth += 1;
    frame.rise(frame.ingress, id);
    frame.egress = InterfaceId::NONE;
    (frame.walked, frame.priority) = (false, 0);
    (frame.untagged, frame.came_priority) = (0, 0);
    let counters = outlet.counters.interface(id);
    counters.rx.add(1, frame.len() as u64);
    tap::show(cx, (id, Direction::Received), (&frame, 0), outlet);
    if let Err(frame) = outlet.agenda.arrive(frame) {
        outlet.discard(frame, DropReason::AgendaFull);
    }
}
