//! The way of a tunnel's packets to the other end, and where the frames of a vector go when they are wrapped.

use core::net::IpAddr;

use frame::{Frame, InterfaceId, VECTOR_FRAMES, Vector};

use super::outer::{IP_BYTES, Outer};
use crate::counters::Traffic;
use crate::drop::DropReason;
use crate::out::OutId;
use crate::outlet::Outlet;
use crate::punt::Why;
use crate::table::{Adjacency, Kind};
use crate::walk::{self, Context, Exit};

/// Where a wrapped frame goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// It is ready for this out.
    Out(OutId),
    /// It is too long for this out's link, of that layer-3 MTU.
    Finish(OutId, u32),
    /// It is this router's own packet, which begins at `frame.l3`: routes and rules say.
    Own,
    /// Control is asked to do something about it.
    Punt(Why),
    /// It is discarded.
    Lost(DropReason),
}

impl Next {
    /// Sends a frame there.
    pub(super) fn send(self, cx: &Context<'_>, frame: Frame, outlet: &mut Outlet) {
        match self {
            Self::Out(out) => outlet.dispatch(cx, frame, out),
            Self::Finish(out, mtu) => walk::finish(cx, outlet, frame, out, mtu),
            Self::Own => walk::own(cx, frame, None, outlet),
            Self::Punt(why) => outlet.punt(frame, why),
            Self::Lost(reason) => outlet.lose(frame, reason),
        }
    }
}

/// The next hop of a tunnel's packets to one other end, where nothing looks at them: no rule of the firewall, no
/// connection tracking, no routing rule, no policy of IPsec.
pub(super) fn direct(cx: &Context<'_>, remote: IpAddr) -> Option<Adjacency> {
    match cx.snapshot.ipsec.is_empty() {
        true => beside_ipsec(cx, remote),
        false => None,
    }
}

/// The same of packets that no policy of IPsec looks at.
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

/// The address that this router's packets of a protocol to another end come from: that of the interface that they leave
/// by. None where no route leads there.
pub(super) fn source(cx: &Context<'_>, remote: IpAddr, protocol: u8) -> Option<IpAddr> {
    let unspecified = match remote {
        IpAddr::V4(_) => IpAddr::from([0u8; 4]),
        IpAddr::V6(_) => IpAddr::from([0u16; 8]),
    };
    let len = IP_BYTES[usize::from(remote.is_ipv6())];
    let mut header = [0; IP_BYTES[1]];
    let header = header.get_mut(..len)?;
    let outer = Outer {
        ends: (unspecified, remote),
        protocol,
        tos: 0,
        total: len,
        id: 0,
    };
    outer.write(header);
    let egress = match walk::route_own(cx, header, InterfaceId::NONE) {
        Ok((_, adjacency)) => adjacency.egress,
        Err(Exit::Punt(Why::Unresolved(hop))) => cx.fib.adjacencies.read(hop).egress,
        Err(_) => return None,
    };
    cx.interfaces.address(egress, |details| match remote {
        IpAddr::V4(to) => details.address_towards(to).map(IpAddr::V4),
        IpAddr::V6(to) => details.source6_towards(to).map(IpAddr::V6),
    })
}

/// Where the frames of a vector go, by their place in it, and what of them is to be counted.
pub(crate) struct Nexts {
    nexts: [Next; VECTOR_FRAMES],
    egress: InterfaceId,
    sent: Traffic,
}

impl Nexts {
    pub(crate) const fn new() -> Self {
        Self {
            nexts: [Next::Own; VECTOR_FRAMES],
            egress: InterfaceId::NONE,
            sent: Traffic {
                packets: 0,
                bytes: 0,
            },
        }
    }

    /// All frames go there.
    pub(super) fn fill(&mut self, next: Next) {
        self.nexts.fill(next);
    }

    /// The frame at this place goes there.
    #[inline(always)]
    pub(crate) fn set(&mut self, at: usize, next: Next) {
        self.nexts[at % VECTOR_FRAMES] = next;
    }

    /// Where a wrapped packet goes by this next hop, whose link header is written then; or as routes say.
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

    /// Where a frame goes by a next hop whose link header it has.
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

    fn flush(&mut self, cx: &Context<'_>, outlet: &Outlet) {
        let Traffic { packets, bytes } = core::mem::take(&mut self.sent);
        if packets > 0 {
            walk::count_sent(cx, &outlet.counters, self.egress, packets, bytes);
        }
    }

    /// Sends the frames on, in order.
    pub(crate) fn send(&mut self, cx: &Context<'_>, frames: &mut Vector, outlet: &mut Outlet) {
        self.flush(cx, outlet);
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
            for frame in frames.by_ref().take(run) {
                next.send(cx, frame, outlet);
            }
        }
    }
}
