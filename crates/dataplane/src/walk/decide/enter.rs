//! Decides about one packet, stage by stage, for the passes and for the tracer.

use frame::InterfaceId;

use crate::context::{Context, name};
use crate::out::{Out, OutId};
use crate::table::Adjacency;
use crate::trace::Tracer;
use crate::walk::exit::Exit;
use crate::walk::ingress;
use crate::walk::ingress::{Arrived, Entrance};
use crate::walk::packet::Key;
use crate::walk::prerouting;
use crate::walk::stage::Stage;

/// Pass 1: ingress and prerouting. Sets `place` even if the packet's walk ends.
pub(in crate::walk) fn enter<const FAST: bool, T: Tracer>(
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
pub(in crate::walk) fn check<const FAST: bool, T: Tracer>(
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
pub(in crate::walk) struct PacketStart {
    pub(in crate::walk) interface: InterfaceId,
    pub(in crate::walk) l3: u16,
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

/// Returns the text of a trace for a packet that IPsec protects.
pub(in crate::walk) fn protected_by(cx: &Context<'_>, out: OutId) -> String {
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
pub(in crate::walk) fn leaves_by(cx: &Context<'_>, adjacency: &Adjacency) -> String {
    format!("leaves by {}", name(cx, adjacency.egress))
}

/// Returns the text of a trace for a packet that leaves.
pub(in crate::walk) fn sent_by(cx: &Context<'_>, adjacency: &Adjacency) -> String {
    format!("sent by {}", name(cx, adjacency.egress))
}
