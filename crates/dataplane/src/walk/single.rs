//! Packets that walk alone: those that the router sends, punted packets that control returns when
//! their neighbour is resolved, and complete frames.

use frame::{Frame, InterfaceId};

use super::decide::enter;
use super::decide::{LastDecision, PriorResults};
use super::forward::{self, Fit};
use super::ingress::Arrived;
use super::leave::{self, Departed};
use super::packet::{Leaving, packet};
use super::settle::settle;
use super::tally::Tally;
use super::{Context, Exit, decide, egress, gather, output, postrouting, routing};
use crate::drop::DropReason;
use crate::flow;
use crate::handover;
use crate::out::OutId;
use crate::outlet::{Dispatch, Outlet};
use crate::packet::{Fields, Fragment};
use crate::punt::PuntReason;
use crate::queueing;
use crate::rings::Handed;
use crate::table::{Kind, NextHopId};
use crate::trace::Silent;

/// Sends a packet of this router, which begins at `frame.l3`: by the next hop `by`, or along
/// routes. [`NextHopId::NO_ROUTE`] sends it by the point-to-point interface `frame.egress`.
pub(crate) fn own(cx: &Context<'_>, frame: Frame, by: Option<NextHopId>, outlet: &mut Outlet) {
    own_after(cx, frame, by, &mut LastDecision::default(), outlet);
}

/// Sends consecutive packets of this router along routes, such as the outer packets of a tunnel. Each begins at
/// `frame.l3`.
pub(crate) fn own_all(cx: &Context<'_>, frames: impl Iterator<Item = Frame>, outlet: &mut Outlet) {
    let mut run = OwnRun {
        last: LastDecision::default(),
        tally: Tally::new(cx),
        departing: core::mem::take(&mut outlet.departing),
        out: OutId::NONE,
    };
    for frame in frames {
        run.send(cx, frame, outlet);
    }
    run.flush(cx, outlet);
    outlet.departing = run.departing;
}

/// Consecutive packets of this router.
struct OwnRun {
    last: LastDecision,
    tally: Tally,
    /// Finished packets to the out below, sent as one batch.
    departing: Vec<Frame>,
    out: OutId,
}

impl OwnRun {
    /// Sends the next packet.
    #[inline(always)]
    fn send(&mut self, cx: &Context<'_>, mut frame: Frame, outlet: &mut Outlet) {
        frame.ingress = InterfaceId::NONE;
        let fields = Fields::of(packet(&frame));
        let repeated =
            (self.last).repeat_departure(cx, &mut frame, &fields, &mut self.tally, outlet);
        match repeated {
            Some(Ok(Departed::Whole(out))) if !outlet.queueing.looks_at_packets() => {
                if out != self.out {
                    self.flush(cx, outlet);
                    self.out = out;
                }
                self.departing.push(frame);
            }
            Some(departed) => {
                self.flush(cx, outlet);
                go(cx, frame, departed, outlet);
            }
            None => {
                self.flush(cx, outlet);
                self.last.forget();
                own_after(cx, frame, None, &mut self.last, outlet);
            }
        }
    }

    /// Passes the waiting packets to their out, and writes their counts.
    fn flush(&mut self, cx: &Context<'_>, outlet: &mut Outlet) {
        self.tally.flush(cx, &outlet.counters);
        let count = self.departing.len();
        if count > 0 {
            outlet.dispatch_run(cx, &mut self.departing.drain(..), count, self.out);
        }
    }
}

/// Sends a packet of this router, and records its decision in `last`.
fn own_after(
    cx: &Context<'_>,
    mut frame: Frame,
    by: Option<NextHopId>,
    last: &mut LastDecision,
    outlet: &mut Outlet,
) {
    match home(cx, &mut frame, outlet) {
        Some(worker) => {
            if let Some((frame, reason)) = outlet.hand(worker, Handed::Own(frame, by)) {
                outlet.discard(frame, reason);
            }
        }
        None => own_here(cx, frame, by, last, outlet),
    }
}

/// Returns the other worker that must send a packet of this router if connections are tracked: the
/// worker of its connection, or the worker that receive steering assigns to its answers.
fn home(cx: &Context<'_>, frame: &mut Frame, outlet: &Outlet) -> Option<u16> {
    let (index, workers) = outlet.place_among();
    if workers < 2 {
        return None;
    }
    let packet = packet(frame);
    let fields = Fields::of(packet);
    let tracker = &outlet.memory.tracker;
    if fields.fragment != Fragment::Whole {
        return gather::home(cx, &fields, frame, outlet);
    }
    if !cx.snapshot.firewall.tracks(fields.tuple.ipv6) || tracker.lookup(&fields.tuple).is_some() {
        return None;
    }
    let home = match tracker.home(&fields, packet) {
        // An ICMP error belongs to the worker of the packet that it quotes, whatever its own hash.
        None if !tracker.is_error(&fields, packet) => match flow::of(frame) {
            0 => None,
            flow => Some(handover::place(flow, workers)),
        },
        home => home,
    };
    home.filter(|home| *home != index)
}

/// Sends a packet of this router on this worker, which owns its connection, as another worker asked.
pub(crate) fn own_handed(
    cx: &Context<'_>,
    frame: Frame,
    by: Option<NextHopId>,
    outlet: &mut Outlet,
) {
    own_here(cx, frame, by, &mut LastDecision::default(), outlet);
}

/// Sends a packet of this router on this worker, which owns its connection. Records its decision in `last`.
fn own_here(
    cx: &Context<'_>,
    mut frame: Frame,
    by: Option<NextHopId>,
    last: &mut LastDecision,
    outlet: &mut Outlet,
) {
    frame.ingress = InterfaceId::NONE;
    let ipv6 = packet(&frame).first().is_some_and(|first| first >> 4 == 6);
    let decided = match by {
        None => output::run(cx, packet(&frame), frame.egress),
        Some(NextHopId::NO_ROUTE) => output::to_far_end(cx, frame.egress, ipv6),
        Some(hop) => routing::follow(cx, packet(&frame), hop),
    };
    let mut tally = Tally::new(cx);
    let departed = decide::own(cx, &mut frame, decided, last, &mut tally, outlet);
    tally.flush(cx, &outlet.counters);
    go(cx, frame, departed, outlet);
}

/// Walks a punted packet again from prerouting on. A packet that has passed all rules only leaves,
/// by this next hop.
pub(crate) fn resume(cx: &Context<'_>, mut frame: Frame, hop: NextHopId, outlet: &mut Outlet) {
    if frame.walked {
        let departed = onward(cx, &mut frame, hop, outlet);
        return go(cx, frame, departed, outlet);
    }
    let Some(interface) = cx.interfaces.get(frame.ingress) else {
        return own(cx, frame, None, outlet);
    };
    let arrived = Arrived {
        id: frame.ingress,
        interface,
        l3: frame.l3,
        ipv6: packet(&frame).first().is_some_and(|first| first >> 4 == 6),
        padding: 0,
        group: false,
    };
    let key = enter::check::<false, _>(cx, &arrived, frame.bytes(), &mut Silent);
    let local = match key {
        Ok(_) => None,
        Err(exit) if exit.is_local() => Some(exit),
        Err(exit) => return settle(cx, frame, exit, outlet),
    };
    let fields = Fields::of(packet(&frame));
    let before = PriorResults::of(local);
    let last = &mut LastDecision::default();
    let mut tally = Tally::new(cx);
    let departed = decide::one(cx, &mut frame, &fields, before, last, &mut tally, outlet);
    tally.flush(cx, &outlet.counters);
    go(cx, frame, departed, outlet);
}

/// Walks a reassembled datagram, here or on the worker of its connection.
pub(super) fn walk_on(cx: &Context<'_>, frame: Frame, outlet: &mut Outlet) {
    if cx.interfaces.get(frame.ingress).is_none() {
        return own(cx, frame, None, outlet);
    }
    let Some(worker) = gather::elsewhere(cx, &frame, outlet) else {
        return resume(cx, frame, NextHopId::NO_ROUTE, outlet);
    };
    if let Some((frame, reason)) = outlet.hand(worker, Handed::Arrived(frame)) {
        outlet.discard(frame, reason);
    }
}

/// Sends a packet that has passed the firewall and whose neighbour is resolved now. Its marks and
/// original addresses are lost, so it is routed again only if the resolved next hop is gone.
fn onward(
    cx: &Context<'_>,
    frame: &mut Frame,
    hop: NextHopId,
    outlet: &Outlet,
) -> Result<Departed, Exit> {
    let mut adjacency = cx.fib.adjacencies.read(hop);
    let mut hop = hop;
    if adjacency.kind != Kind::Forward {
        let query = routing::Query::new(packet(frame), frame.ingress);
        hop = routing::by_rules(cx, &query.flow)?;
        (hop, adjacency) = routing::resolve(cx, &query, hop)?;
    }
    if adjacency.kind != Kind::Forward {
        return Err(Exit::Punt(PuntReason::Unresolved(hop)));
    }
    let own = frame.ingress == InterfaceId::NONE;
    let fit = forward::fit(packet(frame), own, &frame.offload, adjacency.mtu)?;
    let leaving = Leaving {
        packet: packet(frame),
        offload: &frame.offload,
        own,
        guarded: frame.guarded,
    };
    if let Some(out) = postrouting::run(cx, &leaving)? {
        return Ok(Departed::Whole(out));
    }
    if !egress::rewrite(frame, &adjacency) {
        return Err(Exit::Drop(DropReason::NoBuffer));
    }
    egress::count_sent(cx, &outlet.counters, frame.egress, 1, frame.len() as u64);
    Ok(leave::departed(frame, &adjacency, fit == Fit::Whole))
}

/// Sends a frame, or acts on its exit.
fn go(cx: &Context<'_>, frame: Frame, departed: Result<Departed, Exit>, outlet: &mut Outlet) {
    let exit = match departed {
        Ok(Departed::Whole(out)) => {
            if let Some(frame) = queueing::postrouting(cx, frame, 0, out, outlet) {
                outlet.dispatch(cx, frame, out);
            }
            return;
        }
        Ok(Departed::Unfinished { out, mtu }) => Exit::Finish { out, mtu },
        Err(exit) => exit,
    };
    if let Some(frame) = queueing::ending(cx, frame, 0, exit, outlet) {
        settle(cx, frame, exit, outlet);
    }
}

/// Sends a complete frame of IPv6's link protocols by the interface `egress`, if rules accept it.
/// Rules may change the packet, but marks do not change its route: the link header is complete.
pub(crate) fn on_link(cx: &Context<'_>, mut frame: Frame, outlet: &mut Outlet) {
    frame.ingress = InterfaceId::NONE;
    if cx.snapshot.firewall.guards(true) {
        match output::on_link(cx, &frame, outlet) {
            Ok(passage) => {
                if let Err(reason) = decide::commit(&mut frame, &passage) {
                    return outlet.discard(frame, reason);
                }
                egress::prioritise(&mut frame);
            }
            Err(reason) => return outlet.discard(frame, reason),
        }
    }
    egress::transmit(cx, frame, outlet);
}
