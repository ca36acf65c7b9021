//! Next hops of outer packets, and the dispatch of encapsulated frames.

use core::net::IpAddr;

use frame::{Frame, InterfaceId, Segmentation, VECTOR_FRAMES, Vector};

use crate::counters::Traffic;
use crate::drop::DropReason;
use crate::out::OutId;
use crate::outlet::{Dispatch, Outlet};
use crate::punt::PuntReason;
use crate::rings::Handed;
use crate::table::{Adjacency, Kind};
use crate::walk::{self, Context};

/// Destination of an encapsulated frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The out that the finished frame leaves by.
    Out(OutId),
    /// The out, whose layer-3 MTU is smaller than the packet, which must be fragmented.
    Finish(OutId, u32),
    /// The output path of the router. The packet begins at `frame.l3`.
    Own,
    /// Nowhere: its bytes are in the batch of a byte stream.
    Queued,
    /// Multilink fragments of the session of the frame's egress interface.
    Fragments,
    /// The worker that sends the packets of the tunnel.
    HandOver(u16),
    /// A punt to control.
    Punt(PuntReason),
    /// A drop.
    Lost(DropReason),
}

impl Next {
    /// Returns the destination of a frame for the tunnel `id` whose checksum or segmentation is pending, because the
    /// other end could not complete it. The finished frame, or its segments, return to the tunnel.
    #[cold]
    pub(super) fn of_unfinished(id: InterfaceId, frame: &mut Frame) -> Self {
        if frame.offload.segmentation == Segmentation::Fragments {
            // The packet was reassembled in this router, and is encapsulated whole.
            frame.offload.segmentation = Segmentation::None;
        }
        Self::Finish(OutId::tunnel(id), u32::MAX)
    }

    /// Sends a frame to the destination.
    pub(super) fn send(self, cx: &Context<'_>, frame: Frame, outlet: &mut Outlet) {
        match self {
            Self::Out(out) => outlet.dispatch(cx, frame, out),
            Self::Finish(out, mtu) => walk::finish(cx, outlet, frame, out, mtu),
            Self::Own => outlet.route_own(cx, frame),
            Self::Queued => outlet.pool.free(frame),
            Self::Fragments => {
                let mut frame = Some(frame);
                let slot = frame.as_ref().map_or(0, |frame| frame.egress.slot() as u32);
                cx.interfaces.tunnel(slot, |tunnel| {
                    frame
                        .take()
                        .map(|frame| tunnel.send_long(cx, frame, outlet))
                });
                if let Some(frame) = frame {
                    outlet.lose(frame, DropReason::EgressDown);
                }
            }
            Self::HandOver(worker) => {
                let slot = frame.egress.slot() as u32;
                if let Some((frame, reason)) = outlet.hand(worker, Handed::Tunnelled(frame, slot)) {
                    outlet.lose(frame, reason);
                }
            }
            Self::Punt(why) => outlet.punt(frame, why),
            Self::Lost(reason) => outlet.lose(frame, reason),
        }
    }
}

/// Returns the next hop to `remote`, if no firewall rule, connection tracking, routing rule or IPsec policy applies to
/// the router's own packets.
pub(super) fn direct(cx: &Context<'_>, remote: IpAddr) -> Option<Adjacency> {
    match cx.snapshot.ipsec.is_empty() {
        true => beside_ipsec(cx, remote),
        false => None,
    }
}

/// Returns the next hop to `remote`, like [`direct`], for packets that IPsec policies do not apply
/// to.
pub(crate) fn beside_ipsec(cx: &Context<'_>, remote: IpAddr) -> Option<Adjacency> {
    if cx.snapshot.firewall.guards(remote.is_ipv6()) || !cx.snapshot.rules.is_empty() {
        return None;
    }
    let main = cx.fib.main();
    let hop = match remote {
        IpAddr::V4(remote) => main.ipv4.lookup(remote.to_bits()),
        IpAddr::V6(remote) => main.ipv6.lookup(remote.to_bits()),
    };
    let adjacency = cx.fib.adjacencies.read(hop);
    (adjacency.kind == Kind::Forward).then_some(adjacency)
}

/// Destinations of the frames of a vector by index, and the egress counts that are not written yet.
pub(crate) struct Nexts {
    nexts: [Next; VECTOR_FRAMES],
    /// Index in the vector of the frame that [`Self::set`] counts from.
    first: usize,
    egress: InterfaceId,
    sent: Traffic,
}

impl Nexts {
    pub(crate) const fn new() -> Self {
        Self {
            nexts: [Next::Own; VECTOR_FRAMES],
            first: 0,
            egress: InterfaceId::NONE,
            sent: Traffic {
                packets: 0,
                bytes: 0,
            },
        }
    }

    /// Begins with the frames of another tunnel, at this index of the vector.
    #[inline(always)]
    pub(super) fn begin(&mut self, first: usize) {
        self.first = first;
    }

    /// Sets the destination of all frames of the current tunnel. Later tunnels overwrite that of their frames.
    pub(super) fn fill(&mut self, next: Next) {
        self.nexts[self.first % VECTOR_FRAMES..].fill(next);
    }

    /// Sets the destination of the frame with this index among those of its tunnel.
    #[inline(always)]
    pub(crate) fn set(&mut self, at: usize, next: Next) {
        self.nexts[(self.first + at) % VECTOR_FRAMES] = next;
    }

    /// Returns the destination of an outer packet: by the next hop, after writing its link header, or by the router's
    /// output path without one.
    #[inline(always)]
    pub(crate) fn by(
        &mut self,
        cx: &Context<'_>,
        frame: &mut Frame,
        direct: Option<&Adjacency>,
        outlet: &Outlet,
    ) -> Next {
        let Some(adjacency) = direct else {
            frame.egress = InterfaceId::NONE;
            return Next::Own;
        };
        if !walk::rewrite(frame, adjacency) {
            return Next::Lost(DropReason::NoBuffer);
        }
        self.count(cx, frame, adjacency, outlet)
    }

    /// Counts a frame whose link header is written. Returns its destination by the next hop.
    #[inline(always)]
    pub(super) fn count(
        &mut self,
        cx: &Context<'_>,
        frame: &Frame,
        adjacency: &Adjacency,
        outlet: &Outlet,
    ) -> Next {
        if adjacency.egress != self.egress {
            self.flush(cx, outlet);
            self.egress = adjacency.egress;
        }
        self.sent.packets += 1;
        self.sent.bytes += frame.len() as u64;
        let room = adjacency.mtu as usize + usize::from(frame.l3);
        match frame.len() <= room {
            true => Next::Out(adjacency.out),
            false => Next::Finish(adjacency.out, adjacency.mtu),
        }
    }

    /// Writes the counts of the frames whose link headers are written.
    pub(super) fn flush(&mut self, cx: &Context<'_>, outlet: &Outlet) {
        let Traffic { packets, bytes } = core::mem::take(&mut self.sent);
        if packets > 0 {
            walk::count_sent(cx, &outlet.counters, self.egress, packets, bytes);
        }
    }

    /// Sends the frames on, in order.
    pub(crate) fn send(&mut self, cx: &Context<'_>, frames: &mut Vector, outlet: &mut Outlet) {
        self.flush(cx, outlet);
        self.first = 0;
        let nexts = &self.nexts[..frames.len().min(VECTOR_FRAMES)];
        let first = nexts.first().copied().unwrap_or(Next::Own);
        if let Next::Out(out) = first
            && nexts.iter().all(|next| *next == first)
            && outlet.dispatch_vector(cx, frames, out)
        {
            return;
        }
        let mut frames = frames.drain();
        let mut at = 0;
        while at < nexts.len() {
            let next = nexts[at];
            let alike = nexts[at..].iter().take_while(|other| **other == next);
            let run = alike.count();
            at += run;
            if let Next::Out(out) = next {
                outlet.dispatch_run(cx, &mut frames, run, out);
                continue;
            }
            if next == Next::Own {
                outlet.route_own_all(cx, frames.by_ref().take(run));
                continue;
            }
            for frame in frames.by_ref().take(run) {
                next.send(cx, frame, outlet);
            }
        }
    }
}
