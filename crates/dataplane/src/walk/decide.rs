//! Decides about one packet, stage by stage, for the passes and for the tracer.

use frame::InterfaceId;

use super::exit::Exit;
use super::forward::{self, Fit};
use super::ingress::{self, Arrived, Entrance};
use super::packet::{Key, Leaving};
use super::stage::Stage;
use super::{options, postrouting, prerouting, routing};
use crate::context::{Context, name};
use crate::drop::DropReason;
use crate::out::{Out, OutId};
use crate::table::{Adjacency, NextHopId};
use crate::trace::Tracer;

/// Pass 1: ingress and prerouting. Sets `place` even if the packet's walk ends.
pub(super) fn enter<const FAST: bool, T: Tracer>(
    cx: &Context<'_>,
    entrance: &Entrance,
    bytes: &[u8],
    start: &mut PacketStart,
    tracer: &mut T,
) -> Result<Key, Exit> {
    let arrived = match ingress::run(cx, entrance, bytes) {
        Ok(arrived) => arrived,
        Err(exit) => {
            tracer.left(Stage::Ingress, &exit);
            // Control reads the packet from the end of its tags on.
            *start = PacketStart::of(cx, entrance, bytes);
            return Err(exit);
        }
    };
    *start = PacketStart {
        interface: arrived.id,
        l3: arrived.l3,
    };
    tracer.passed(Stage::Ingress, || {
        format!("arrived on {}", name(cx, arrived.id))
    });
    check::<FAST, T>(cx, &arrived, bytes, tracer)
}

/// The second half of pass 1: prerouting.
#[inline(always)]
pub(super) fn check<const FAST: bool, T: Tracer>(
    cx: &Context<'_>,
    arrived: &Arrived,
    bytes: &[u8],
    tracer: &mut T,
) -> Result<Key, Exit> {
    let end = bytes.len() - usize::from(arrived.padding).min(bytes.len());
    let packet = bytes.get(usize::from(arrived.l3)..end).unwrap_or_default();
    let checked = if arrived.ipv6 {
        prerouting::ipv6::<FAST>(cx, arrived, packet).map(Key::V6)
    } else {
        prerouting::ipv4::<FAST>(cx, arrived, packet).map(Key::V4)
    };
    match &checked {
        Ok(key) => tracer.passed(Stage::Prerouting, || format!("{key} is to be routed")),
        Err(exit) => tracer.left(Stage::Prerouting, exit),
    }
    checked
}

/// The ingress interface of a frame, and the offset of its network header.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketStart {
    pub(super) interface: InterfaceId,
    pub(super) l3: u16,
}

impl PacketStart {
    #[cold]
    #[inline(never)]
    fn of(cx: &Context<'_>, entrance: &Entrance, bytes: &[u8]) -> Self {
        match ingress::follow_tags(cx, entrance, bytes) {
            Ok(path) if usize::from(path.l3) <= bytes.len() => Self {
                interface: path.entrance.id,
                l3: path.l3,
            },
            _ => Self {
                interface: entrance.id,
                l3: 0,
            },
        }
    }
}

/// Routes a packet by routing rules.
pub(super) fn by_rules<T: Tracer>(
    cx: &Context<'_>,
    packet: &[u8],
    ingress: InterfaceId,
    tracer: &mut T,
) -> Result<NextHopId, Exit> {
    let flow = routing::Query::new(packet, ingress).flow;
    let found = routing::by_table(cx, &flow);
    match &found {
        Ok((table, _)) => tracer.looked_up(*table, flow.destination.bits()),
        Err(exit) => tracer.left(Stage::Routing, exit),
    }
    found.map(|(_, hop)| hop)
}

/// The first half of pass 3, for a next hop of another kind than forward.
#[cold]
#[inline(never)]
pub(super) fn follow<T: Tracer>(
    cx: &Context<'_>,
    packet: &[u8],
    ingress: InterfaceId,
    hop: NextHopId,
    tracer: &mut T,
) -> Result<Adjacency, Exit> {
    let followed = routing::follow(cx, packet, ingress, hop);
    if let Err(exit) = &followed {
        tracer.left(Stage::Routing, exit);
    }
    followed.map(|(_, adjacency)| adjacency)
}

/// The second half of pass 3: forward and postrouting.
#[inline(always)]
pub(super) fn leave<T: Tracer>(
    cx: &Context<'_>,
    leaving: &Leaving<'_>,
    adjacency: &Adjacency,
    tracer: &mut T,
) -> Result<(Fit, Option<OutId>), Exit> {
    tracer.passed(Stage::Routing, || leaves_by(cx, adjacency));
    let fit = fit(cx, leaving, adjacency);
    match &fit {
        Ok(Fit::Whole) => tracer.passed(Stage::Forward, || "fits the link".to_owned()),
        Ok(Fit::Fragments) => tracer.passed(Stage::Forward, || "in fragments".to_owned()),
        Err(exit) => tracer.left(Stage::Forward, exit),
    }
    let fit = fit?;
    let protects = match postrouting::run(cx, leaving) {
        Ok(protects) => protects,
        Err(exit) => {
            tracer.left(Stage::Postrouting, &exit);
            return Err(exit);
        }
    };
    match protects {
        Some(out) => tracer.passed(Stage::Postrouting, || protected_by(cx, out)),
        None => tracer.passed(Stage::Egress, || sent_by(cx, adjacency)),
    }
    Ok((fit, protects))
}

/// Returns the text of a trace for a packet that IPsec protects.
pub(super) fn protected_by(cx: &Context<'_>, out: OutId) -> String {
    let Out::Protect(slot) = out.out() else {
        return String::new();
    };
    let leaving = cx.snapshot.ipsec.associations.leaving(slot);
    match leaving {
        Some(leaving) => format!("IPsec protects it: {leaving}"),
        None => "IPsec protects it, as soon as there are keys".to_owned(),
    }
}

/// Returns the text of a trace for a routed packet.
pub(super) fn leaves_by(cx: &Context<'_>, adjacency: &Adjacency) -> String {
    format!("leaves by {}", name(cx, adjacency.egress))
}

/// Returns the text of a trace for a packet that leaves.
pub(super) fn sent_by(cx: &Context<'_>, adjacency: &Adjacency) -> String {
    format!("sent by {}", name(cx, adjacency.egress))
}

/// Checks the forwarding setting, lifetime, size and options.
#[inline(always)]
fn fit(cx: &Context<'_>, leaving: &Leaving<'_>, adjacency: &Adjacency) -> Result<Fit, Exit> {
    let mtu = adjacency.mtu;
    let Leaving {
        packet, offload, ..
    } = *leaving;
    if leaving.ipv6 {
        let Some(header) = packet.first_chunk::<40>() else {
            return Err(Exit::Drop(DropReason::Ipv6Length));
        };
        match leaving.own {
            true => forward::own6(header, packet, mtu, offload),
            false if !cx.snapshot.ipv6.forward => Err(Exit::Drop(DropReason::ForwardingOff)),
            false => forward::ipv6(header, packet, mtu, offload),
        }
    } else {
        let Some(header) = packet.first_chunk::<20>() else {
            return Err(Exit::Drop(DropReason::Ipv4Length));
        };
        match leaving.own {
            true => forward::fit4(header, packet, mtu, offload),
            false if !cx.snapshot.ipv4.forward => Err(Exit::Drop(DropReason::ForwardingOff)),
            false => {
                let fit = forward::ipv4(header, packet, mtu, offload)?;
                options::check(cx, packet, adjacency.egress)?;
                Ok(fit)
            }
        }
    }
}
