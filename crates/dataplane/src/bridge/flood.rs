//! Flooding: frames that leave by several ports, and the general transmission by one port.

use frame::Frame;

use super::decide::{self, Class, FloodKind, Leaves, Source};
use super::groups::Receivers;
use super::{BridgePort, filter, guard, link, snoop, tags};
use crate::drop::DropReason;
use crate::interface::Interface;
use crate::out::Out;
use crate::outlet::Outlet;
use crate::queueing;
use crate::walk::{self, Context, Exit};

/// Bytes of an Ethernet header and a tag, which a frame may have beyond the layer-3 MTU of its link
/// (as in Linux).
const BEYOND_MTU: usize = 18;

/// Returns true if the port's flooding settings permit frames of this kind.
#[inline(always)]
const fn floods(port: &BridgePort, many: FloodKind) -> bool {
    match many {
        FloodKind::Unknown => port.unknown_unicast_flood,
        FloodKind::Multicast => port.unknown_multicast_flood,
        FloodKind::Broadcast => port.broadcast_flood,
    }
}

/// The ports that a flooded frame reaches. With snooping, multicast goes to the ports that joined
/// the group or lead to routers; with guards, client requests go to ports with servers.
struct Reach {
    receivers: Option<Receivers>,
    guarded: guard::Kind,
}

impl Reach {
    #[inline(always)]
    fn of(source: &Source<'_>, bytes: &[u8], class: &Class, many: FloodKind) -> Self {
        let receivers = match many {
            FloodKind::Multicast => snoop::receivers(source, bytes, class.vid()),
            FloodKind::Unknown | FloodKind::Broadcast => None,
        };
        let guarded = match source.bridge.guards.are_off() {
            true => guard::Kind::Other,
            false => guard::kind_of(bytes).1,
        };
        Self { receivers, guarded }
    }

    /// Returns true if the settings of a port permit the frame.
    #[inline(always)]
    fn has(&self, source: &Source<'_>, port: &BridgePort, many: FloodKind) -> bool {
        let floods = floods(port, many);
        let listens = match &self.receivers {
            Some(receivers) => receivers.has(port.interface, floods),
            None => floods,
        };
        listens && guard::leaves(source.bridge.guards, &port.trust, self.guarded)
    }
}

/// Returns the ports that a flooded frame leaves by, and how it leaves.
pub(super) fn targets<'a>(
    cx: &Context<'a>,
    source: &'a Source<'a>,
    bytes: &[u8],
    class: Class,
    many: FloodKind,
) -> impl Iterator<Item = (usize, Leaves)> + 'a {
    let cx = *cx;
    let reach = Reach::of(source, bytes, &class, many);
    let ports = source.bridge.ports().iter().enumerate();
    ports.filter_map(move |(to, port)| {
        let wants = reach.has(source, port, many);
        let leaves = wants.then(|| decide::leaves(source, &class, to).ok())??;
        let runs = cx.interfaces.get(port.interface)?.running;
        runs.then_some((to, leaves))
    })
}

/// Floods a frame: sends copies, and the frame itself by the last port.
#[cold]
#[inline(never)]
pub(super) fn flood(
    cx: &Context<'_>,
    source: &Source<'_>,
    frame: Frame,
    class: Class,
    many: FloodKind,
    outlet: &mut Outlet,
) {
    snoop::tell(cx, source, &frame, outlet);
    let mut last = None;
    for next in targets(cx, source, frame.bytes(), class, many) {
        if let Some((to, how)) = last.replace(next) {
            copy(cx, source, &frame, class, to, how, outlet);
        }
    }
    match last {
        Some((to, how)) => leave(cx, source, frame, class, to, how, outlet),
        None => outlet.discard(frame, DropReason::BridgeNowhere),
    }
}

/// Sends copies of a multicast frame that itself goes up to the router.
#[cold]
#[inline(never)]
pub(super) fn copies(
    cx: &Context<'_>,
    source: &Source<'_>,
    frame: &Frame,
    class: Class,
    many: FloodKind,
    outlet: &mut Outlet,
) {
    snoop::tell(cx, source, frame, outlet);
    for (to, how) in targets(cx, source, frame.bytes(), class, many) {
        copy(cx, source, frame, class, to, how, outlet);
    }
}

/// Sends a copy of a frame by a port.
fn copy(
    cx: &Context<'_>,
    source: &Source<'_>,
    frame: &Frame,
    class: Class,
    to: usize,
    how: Leaves,
    outlet: &mut Outlet,
) {
    match outlet.pool.copy(frame) {
        Some(copy) => leave(cx, source, copy, class, to, how, outlet),
        None => outlet.counters.dropped(DropReason::NoBuffer),
    }
}

/// Returns the length of the longest frame that an interface takes as a port, in bytes. Tunnels
/// take any length and fragment the outer packets (RouterOS).
#[inline(always)]
pub(super) fn longest(line: &Interface) -> usize {
    match line.out.out() {
        Out::Port(_) | Out::Queue(_) => line.mtu as usize + BEYOND_MTU,
        _ => usize::MAX,
    }
}

/// Sends a frame by the port with this number, after tags, rules and pending offload work.
#[cold]
#[inline(never)]
pub(super) fn leave(
    cx: &Context<'_>,
    source: &Source<'_>,
    mut frame: Frame,
    class: Class,
    to: usize,
    how: Leaves,
    outlet: &mut Outlet,
) {
    let Some(port) = source.bridge.ports().get(to) else {
        return outlet.discard(frame, DropReason::EgressDown);
    };
    frame.egress = port.interface;
    let line = cx.interfaces.get(port.interface);
    let Some(line) = line.filter(|line| line.running) else {
        return outlet.lose(frame, DropReason::EgressDown);
    };
    if !tags::retag(&mut frame, &class, how, source.bridge.ethertype) {
        return outlet.lose(frame, DropReason::NoBuffer);
    }
    if source.applied.any() {
        match filter::one_leaves(cx, source, frame, outlet) {
            Some(left) => frame = left,
            None => return,
        }
    }
    if link::bytes_on_link(&frame) > longest(&line) {
        return outlet.lose(frame, DropReason::BridgeTooBig);
    }
    if line.under != port.interface && !put_own_tags(cx, &mut frame) {
        return outlet.lose(frame, DropReason::NoBuffer);
    }
    frame.l3 = link::packet_at(frame.bytes()) as u16;
    let bytes = frame.len() as u64;
    walk::count_sent(cx, &outlet.counters, port.interface, 1, bytes);
    if source.is_fast() {
        let sent = outlet.counters.interface(port.interface);
        sent.fp_tx.add(1, bytes);
        if !source.is_router() {
            outlet.counters.bridge_fast_path.add(1, bytes);
        }
    }
    let exit = Exit::Finish {
        out: line.out,
        mtu: u32::MAX,
    };
    if let Some(frame) = queued(cx, source, frame, exit, outlet) {
        walk::finish(cx, outlet, frame, line.out, u32::MAX);
    }
}

/// RouterOS: a bridged packet that has passed the IP tables also passes the queues, with its bridge
/// ports as interfaces. Returns the frame if no queue takes it.
fn queued(
    cx: &Context<'_>,
    source: &Source<'_>,
    mut frame: Frame,
    exit: Exit,
    outlet: &mut Outlet,
) -> Option<Frame> {
    if outlet.detoured.is_none() || !outlet.queueing.looks_at_packets() {
        return Some(frame);
    }
    frame.ingress = source.interface;
    queueing::ending(cx, frame, 0, exit, outlet)
}

/// Pushes the tags of a VLAN interface that is the egress port. Returns false if there is no room.
pub(super) fn put_own_tags(cx: &Context<'_>, frame: &mut Frame) -> bool {
    let put = cx.interfaces.details(frame.egress, |details| {
        // The first tag of the interface is the outermost.
        let mut tags = details.tags.iter().rev();
        tags.all(|tag| {
            let priority = u16::from(frame.priority & 7) << 13;
            tags::push(frame, tag.ethertype, priority | tag.vlan_id)
        })
    });
    put.unwrap_or(false)
}
