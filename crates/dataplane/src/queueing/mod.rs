//! Queues on a packet's way: simple queues and `global` queue trees behind input and postrouting,
//! and interface queues before the out of the interface.
//!
//! A packet within the limits passes at once. Any other packet waits on the home worker of its
//! queue, in [`queue::Schedule`]; when it leaves the queue, it passes the remaining queues and
//! continues on its way.

mod change;
mod table;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use frame::Frame;
use queue::{Leaf, Lost, Packet};

use crate::drop::DropReason;
use crate::out::OutId;
use crate::outlet::{Dispatch, Outlet};
use crate::packet::Fields;
use crate::rings::Handed;
use crate::walk::{Context, Exit};
pub use change::{Change, Simple};
pub use table::Waiting;
use table::{AfterQueues, ETHERNET, LEAVES, QueueLeaf, SimpleLeaves, seen, stops};
pub(crate) use table::{HeldPacket, Queueing, meets, source};

/// Maximum number of packets that one step takes out of queues, so that the ports are not starved.
const PER_STEP: usize = 1024;

/// Passes a packet from postrouting, about to leave by this out, through the queues. Returns it if
/// no queue holds it.
#[inline]
pub(crate) fn postrouting(
    cx: &Context<'_>,
    frame: Frame,
    source: u128,
    out: OutId,
    outlet: &mut Outlet,
) -> Option<Frame> {
    behind(cx, frame, source, AfterQueues::Out(out), outlet)
}

/// Queues a packet of a vector with this source address. After its queues the packet leaves by this
/// out or, without one, takes this exit.
pub(crate) fn hold(
    cx: &Context<'_>,
    frame: Frame,
    held: HeldPacket,
    source: u128,
    out: OutId,
    exit: Exit,
    outlet: &mut Outlet,
) {
    let then = match out == OutId::NONE {
        true => AfterQueues::Exit(exit),
        false => AfterQueues::Out(out),
    };
    wait(cx, frame, held.leaves, source, then, outlet);
}

/// Passes a packet with this exit, after input or before it is finished, through the queues.
/// Returns it if no queue holds it.
#[inline]
pub(crate) fn ending(
    cx: &Context<'_>,
    frame: Frame,
    source: u128,
    exit: Exit,
    outlet: &mut Outlet,
) -> Option<Frame> {
    match meets(exit) {
        true => behind(cx, frame, source, AfterQueues::Exit(exit), outlet),
        false => Some(frame),
    }
}

#[inline]
fn behind(
    cx: &Context<'_>,
    frame: Frame,
    source: u128,
    then: AfterQueues,
    outlet: &mut Outlet,
) -> Option<Frame> {
    if frame.fasttracked {
        return Some(frame);
    }
    let l3 = usize::from(frame.l3);
    let Some(seen) = seen(&frame, l3, source) else {
        return Some(frame);
    };
    let bytes = frame.len() as u32;
    match stops(outlet.queueing.queues_of(&seen), bytes, cx.now) {
        None => Some(frame),
        Some(leaves) => {
            wait(cx, frame, leaves, source, then, outlet);
            None
        }
    }
}

/// Passes a packet through the queues of the interface in this slot.
pub(crate) fn leave(cx: &Context<'_>, frame: Frame, slot: u32, outlet: &mut Outlet) {
    if outlet.queueing.interface(slot).is_none() {
        // Control announces queues before it directs frames to them, so the change may still be
        // unread.
        learn(cx, outlet);
    }
    let Some(own) = outlet.queueing.interface(slot) else {
        return outlet.lose(frame, DropReason::EgressDown);
    };
    let (leaf, next) = (own.leaves.find(frame.mark), own.next);
    match stops([leaf, None, None], frame.len() as u32, cx.now) {
        None => outlet.dispatch(cx, frame, next),
        Some(leaves) => wait(cx, frame, leaves, 0, AfterQueues::Out(next), outlet),
    }
}

/// Queues a packet in the first of these leaf queues.
#[cold]
fn wait(
    cx: &Context<'_>,
    frame: Frame,
    leaves: [Option<Arc<Leaf>>; LEAVES],
    source: u128,
    then: AfterQueues,
    outlet: &mut Outlet,
) {
    let [Some(leaf), first, second] = leaves else {
        return go(cx, frame, then, outlet);
    };
    let at = network_header(&frame);
    let fields = Fields::of(frame.bytes().get(at..).unwrap_or_default());
    let mut tuple = fields.tuple;
    if source != 0 {
        tuple.source = source;
    }
    let packet = Packet {
        bytes: frame.len() as u32,
        tuple,
        tos: fields.tos,
        is_ack: is_bare_ack(&fields, frame.bytes().get(at..).unwrap_or_default()),
        carries: Waiting {
            frame,
            left: [first, second],
            then,
        },
    };
    let (index, _) = outlet.place_among();
    let home = leaf.node.home();
    if home == index {
        return queued(cx, packet, &leaf, outlet);
    }
    if let Some((frame, reason)) = outlet.hand(home, Handed::Queued(packet, leaf)) {
        outlet.lose(frame, reason);
    }
}

/// Returns true for a TCP acknowledgement without data.
fn is_bare_ack(fields: &Fields, packet: &[u8]) -> bool {
    const ACK: u8 = 0x10;
    let header = packet.get(usize::from(fields.upper) + 12);
    let header = header.map_or(0, |byte| u32::from(*byte >> 4) * 4);
    fields.tcp_flags == ACK && header > 0 && fields.len == u32::from(fields.upper) + header
}

/// Returns the offset of a frame's network header, which is not set for bridged frames.
fn network_header(frame: &Frame) -> usize {
    match frame.l3 {
        0 => {
            let bytes = frame.bytes();
            let is_tag =
                |at: &usize| matches!(bytes.get(*at..*at + 2), Some([0x81, 0x00] | [0x88, 0xa8]));
            let tags = (12..20).step_by(4).take_while(is_tag).count();
            ETHERNET + 4 * tags
        }
        l3 => usize::from(l3),
    }
}

/// Queues a packet whose queue has its home on this worker.
pub(crate) fn queued(
    cx: &Context<'_>,
    mut packet: Packet<Waiting>,
    leaf: &Leaf,
    outlet: &mut Outlet,
) {
    if !outlet.pool.hold(&mut packet.carries.frame) {
        leaf.node.lose();
        return outlet.lose(packet.carries.frame, DropReason::PoolReserve);
    }
    let Queueing { schedule, lost, .. } = &mut outlet.queueing;
    let lose = &mut |packet, why| lost.push((packet, why));
    schedule.enqueue(&leaf.node, &leaf.kind, packet, cx.now, lose);
    forget_lost(outlet);
}

/// Counts and frees packets that disciplines dropped.
fn forget_lost(outlet: &mut Outlet) {
    while let Some((packet, why)) = outlet.queueing.lost.pop() {
        let reason = match why {
            Lost::Full => DropReason::QueueFull,
            Lost::Early => DropReason::QueueEarly,
            Lost::Needless => DropReason::QueueNeedless,
        };
        outlet.lose(packet.carries.frame, reason);
    }
}

/// Sends waiting packets that the limits allow now.
pub(crate) fn drain(cx: &Context<'_>, outlet: &mut Outlet) {
    for _ in 0..PER_STEP {
        let Queueing { schedule, lost, .. } = &mut outlet.queueing;
        let lose = &mut |packet, why| lost.push((packet, why));
        let next = schedule.dequeue(cx.now, lose);
        if !outlet.queueing.lost.is_empty() {
            forget_lost(outlet);
        }
        match next {
            Some(packet) => proceed(cx, packet, outlet),
            None => return,
        }
    }
}

/// Passes a packet that has left its queue through the remaining queues.
fn proceed(cx: &Context<'_>, packet: Packet<Waiting>, outlet: &mut Outlet) {
    let source = packet.tuple.source;
    let Waiting {
        mut frame,
        left: [first, second],
        then,
    } = packet.carries;
    outlet.pool.let_go(&mut frame);
    let queues = [first, second].map(|leaf| leaf.map(QueueLeaf::of));
    let [first, second] = &queues;
    match stops(
        [first.as_ref(), second.as_ref(), None],
        packet.bytes,
        cx.now,
    ) {
        None => go(cx, frame, then, outlet),
        Some(leaves) => wait(cx, frame, leaves, source, then, outlet),
    }
}

/// Sends a packet that has passed all its queues.
fn go(cx: &Context<'_>, frame: Frame, then: AfterQueues, outlet: &mut Outlet) {
    match then {
        AfterQueues::Out(out) => outlet.dispatch(cx, frame, out),
        AfterQueues::Exit(exit) => outlet.settle(cx, frame, exit),
    }
}

/// Applies the changes of queues that control has announced.
pub(crate) fn learn(cx: &Context<'_>, outlet: &mut Outlet) {
    while let Some(change) = outlet.rings.changes.pop() {
        take(cx, change, outlet);
    }
}

fn take(cx: &Context<'_>, change: Change, outlet: &mut Outlet) {
    let queueing = &mut outlet.queueing;
    match change {
        Change::Simple {
            id,
            order,
            matches,
            within,
            queue,
        } => {
            let queues = SimpleLeaves::of(queue);
            queueing.simple.insert(id, order, matches, within, queues);
        }
        Change::NoSimple(id) => {
            queueing.simple.remove(id);
        }
        Change::Global(id, marks, leaf) => queueing.global.insert(id, marks, QueueLeaf::of(leaf)),
        Change::NoGlobal(id) => {
            queueing.global.remove(id);
        }
        Change::Interface(id, next) => queueing.interface_mut(id).next = next,
        Change::Leaf(interface, id, marks, leaf) => {
            let own = queueing.interface_mut(interface);
            own.leaves.insert(id, marks, QueueLeaf::of(leaf));
        }
        Change::NoLeaf(interface, id) => {
            queueing.interface_mut(interface).leaves.remove(id);
        }
        Change::Gone(node) => {
            let mut all = Vec::new();
            { &mut queueing.schedule }.remove(&node, cx.now, &mut |packet| all.push(packet));
            all.into_iter()
                .for_each(|packet| proceed(cx, packet, outlet));
        }
        Change::Kind(leaf) => {
            let Queueing { schedule, lost, .. } = queueing;
            let lose = &mut |packet, why| lost.push((packet, why));
            schedule.reconfigure(&leaf.node, &leaf.kind, cx.now, lose);
            forget_lost(outlet);
        }
    }
}
