//! Taps: copies of frames for whoever looks on, a sniffer or a rule that sends copies away.
//!
//! A tapped interface shows its frames where they are received and where they are transmitted, whichever way they
//! take in between. Copies go by a ring of their own, so that they keep nothing else from control. They are bounded
//! by the ring and by what holders may have of the pool; what finds no room is counted as lost. Where no interface is
//! tapped, that is asked once for each vector and each transmission.
//!
//! A mirror is a tap whose copies leave by another port at once, as those of a switch chip do ([`Taps::set_mirrors`]).

mod table;

use frame::{Frame, InterfaceId};

pub(crate) use table::Taps;
pub use table::{By, Direction, MIRRORS, Tapped};

use crate::bridge::packet_at;
use crate::drop::DropReason;
use crate::interface::Above;
use crate::outlet::Outlet;
use crate::snapshot::Role;
use crate::walk::{self, Context, Stage, untagged};

/// Bytes of an Ethernet header.
const ETHERNET: usize = 14;

/// Shows frames that a port received, as they came; on a VLAN's interface without the tags that name it.
#[cold]
#[inline(never)]
pub(crate) fn received(cx: &Context<'_>, port: InterfaceId, frames: &[Frame], outlet: &mut Outlet) {
    mirror(cx, (port, Direction::Received), frames, outlet);
    for frame in frames {
        show(cx, (port, Direction::Received), (frame, 0), outlet);
        // Slaves show theirs where these enter.
        let is_own = |id: InterfaceId| {
            let line = cx.interfaces.get(id);
            id != port && line.is_some_and(|line| line.above == Above::Nothing)
        };
        let vlan = untagged(cx, port, frame.bytes()).filter(|(id, _)| is_own(*id));
        if let Some((vlan, l3)) = vlan {
            show(cx, (vlan, Direction::Received), (frame, l3), outlet);
        }
    }
}

/// Shows frames that a port is about to transmit.
#[cold]
#[inline(never)]
pub(crate) fn transmitted(cx: &Context<'_>, port: u16, frames: &[Frame], outlet: &mut Outlet) {
    let binding = cx.snapshot.port(port);
    let Some(binding) = binding.filter(|binding| binding.role == Role::Wire) else {
        return;
    };
    mirror(
        cx,
        (binding.interface, Direction::Transmitted),
        frames,
        outlet,
    );
    for frame in frames {
        if frame.egress != binding.interface {
            let l3 = usize::from(frame.l3);
            show(
                cx,
                (frame.egress, Direction::Transmitted),
                (frame, l3),
                outlet,
            );
        }
        show(
            cx,
            (binding.interface, Direction::Transmitted),
            (frame, 0),
            outlet,
        );
    }
}

/// Sends copies of frames by the ports that get those of an interface. A port that gets copies is not mirrored itself.
fn mirror(
    cx: &Context<'_>,
    (id, direction): (InterfaceId, Direction),
    frames: &[Frame],
    outlet: &mut Outlet,
) {
    let mirrors = &cx.interfaces.taps().mirrors;
    for target in mirrors.targets(id, direction) {
        let line = cx.interfaces.get(target);
        let Some(line) = line.filter(|line| line.running && target != id) else {
            continue;
        };
        for frame in frames {
            let Some(mut copy) = outlet.pool.copy(frame) else {
                outlet.counters.dropped(DropReason::NoBuffer);
                continue;
            };
            copy.egress = target;
            copy.l3 = packet_at(copy.bytes()) as u16;
            let bytes = copy.len() as u64;
            walk::count_sent(cx, &outlet.counters, target, 1, bytes);
            walk::finish(cx, outlet, copy, line.out, u32::MAX);
            outlet.mirrored = true;
        }
    }
}

/// Shows a frame at an interface if that is tapped; without tags where its packet begins behind some.
#[inline(always)]
pub(crate) fn show(
    cx: &Context<'_>,
    (id, direction): (InterfaceId, Direction),
    (frame, l3): (&Frame, usize),
    outlet: &mut Outlet,
) {
    if !cx.interfaces.is_tapped(id) {
        return;
    }
    let stage = match direction {
        Direction::Received => Stage::Ingress,
        Direction::Transmitted => Stage::Egress,
    };
    let by = By::Interface {
        id,
        direction,
        stage,
    };
    let tags = l3.saturating_sub(ETHERNET);
    outlet.copy_out((frame, tags), cx.interfaces.taps().snap(), by);
}
