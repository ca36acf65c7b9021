//! Taps: copies of frames for a sniffer or for a rule that exports packets.
//!
//! Frames of a tapped interface are copied at reception and at transmission, whatever way they take
//! in between. Copies go by a separate ring, so that they do not displace punts. The ring and the
//! holders' share of the pool limit the copies; copies without room are counted as lost. Without
//! taps, the check costs one load per vector and per transmission.
//!
//! A mirror is a tap whose copies leave by another port at once, like port mirroring of a switch
//! chip ([`Taps::set_mirrors`]).

mod table;

use frame::{Frame, InterfaceId};

pub(crate) use table::Taps;
pub use table::{Direction, MIRRORS, TapOrigin, Tapped};

use crate::bridge::packet_at;
use crate::drop::DropReason;
use crate::interface::Above;
use crate::outlet::Outlet;
use crate::snapshot::Role;
use crate::walk::{self, Context, Stage, session_of, untagged};

/// Bytes of an Ethernet header.
const ETHERNET: usize = 14;

/// Copies received frames of a port; at a VLAN interface without the tags that name it, at a PPPoE session without the
/// session's header.
#[cold]
#[inline(never)]
pub(crate) fn received(cx: &Context<'_>, port: InterfaceId, frames: &[Frame], outlet: &mut Outlet) {
    mirror(cx, port, Direction::Received, frames, outlet);
    for frame in frames {
        show(cx, port, Direction::Received, frame, 0, outlet);
        // Frames of bridge ports and bond slaves are copied where they enter the bridge or bond.
        let is_own = |id: InterfaceId| {
            let line = cx.interfaces.get(id);
            id != port && line.is_some_and(|line| line.above == Above::Nothing)
        };
        let Some((id, l3)) = untagged(cx, port, frame.bytes()) else {
            continue;
        };
        if is_own(id) {
            show(cx, id, Direction::Received, frame, l3, outlet);
        }
        if let Some((session, l3)) = session_of(cx, id, frame.bytes(), l3) {
            show(cx, session, Direction::Received, frame, l3, outlet);
        }
    }
}

/// Copies frames that a port is about to transmit.
#[cold]
#[inline(never)]
pub(crate) fn transmitted(cx: &Context<'_>, port: u16, frames: &[Frame], outlet: &mut Outlet) {
    let binding = cx.snapshot.port(port);
    let Some(binding) = binding.filter(|binding| binding.role == Role::Wire) else {
        return;
    };
    mirror(
        cx,
        binding.interface,
        Direction::Transmitted,
        frames,
        outlet,
    );
    for frame in frames {
        if frame.egress != binding.interface {
            let l3 = usize::from(frame.l3);
            show(cx, frame.egress, Direction::Transmitted, frame, l3, outlet);
        }
        show(
            cx,
            binding.interface,
            Direction::Transmitted,
            frame,
            0,
            outlet,
        );
    }
}

/// Sends copies of frames by the mirror targets of an interface. A target is not mirrored itself.
fn mirror(
    cx: &Context<'_>,
    id: InterfaceId,
    direction: Direction,
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
            outlet.ports.mirrored = true;
        }
    }
}

/// Copies a frame at a tapped interface, without the tags and the PPPoE session header in front of its packet.
#[inline(always)]
pub(crate) fn show(
    cx: &Context<'_>,
    id: InterfaceId,
    direction: Direction,
    frame: &Frame,
    l3: usize,
    outlet: &mut Outlet,
) {
    if !cx.interfaces.is_tapped(id) {
        return;
    }
    let stage = match direction {
        Direction::Received => Stage::Ingress,
        Direction::Transmitted => Stage::Egress,
    };
    let by = TapOrigin::Interface {
        id,
        direction,
        stage,
    };
    let tags = l3.saturating_sub(ETHERNET);
    outlet.copy_out(frame, tags, cx.interfaces.taps().snap(), by);
}
