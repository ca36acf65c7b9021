//! The packet's way, stage by stage. This is the file to begin with.
//!
//! ```text
//!  vector of a port → demux: interface of each frame, VLAN tags off
//!                        │
//!         ┌──────────────┴── firewall or connection tracking? ──────┐
//!         │ no                                                      │ yes: guarded/
//!  1 enter:   ingress → prerouting                     1 enter, as on the left; then per chunk of 64:
//!  2 lookup:  routing in the FIB                         read headers, find connections
//!  3 depart:  next hop → forward → egress              2 decide in order: FastTrack, short way or Guard
//!         │                                              (raw → connection → mangle → dstnat → routing → …)
//!         └──────────────┬──────────────────────────────────────────┘
//!  4 passes:  dispatch to the out (port, tunnel), or settle the exit:
//!             drop · punt · collect · hand over · deliver · decapsulate · finish
//! ```
//!
//! Stages have the names of RouterOS's packet flow diagram, one file each: `ingress`, `prerouting`, `routing`,
//! `input`, `forward`, `output`, `egress`. Rules, connections and NAT of all hooks are in `guarded/`; begin there
//! with `guarded/mod.rs`, which shows the order of tables. `postrouting` is empty here because everything that acts
//! at that hook (mangle, srcnat) belongs to the firewall.
//!
//! A stage *decides* about one packet in a function that changes nothing: it returns its result, or the [`Exit`] by
//! which the packet leaves the walk. Decisions are *committed* apart: the passes write bytes, `Outlet` does
//! everything else. The tracer runs the same functions and commits nothing.
//!
//! Two files bring every packet into one form. `demux` finds the interface of each frame of a port and takes VLAN
//! tags off, so that every packet behind it begins 14 bytes into its frame. `ingress` decides about every frame,
//! tagged ones that `demux` left alone included.
//!
//! A vector takes four passes, cut where memory is missed: headers in pass 1 (`enter`), the routing table in pass
//! 2, next hops in pass 3 (`depart`), outs in pass 4 (`passes`). Packets keep their order in every pass. Packets
//! that walk alone (the router's own, resumed, reassembled) enter in `single`. Frames for a tunnel, and packets out
//! of one, wait on the worker's agenda (`agenda.rs`), because a walk never begins within a walk.
//!
//! The fast path is the unguarded walk with `FAST` set: no rules, no routing rules, no reverse path check.
//! `SlowReason` in the snapshot says why a family does not take it.

pub mod bypass;
mod challenge;
mod demux;
mod depart;
mod egress;
mod enter;
pub(crate) mod explain;
mod forward;
mod gather;
pub(crate) mod guarded;
mod headers;
mod ingress;
mod input;
mod near;
mod options;
mod options6;
mod output;
mod passes;
mod postrouting;
mod prerouting;
mod routing;
mod single;
mod slaves;
mod stations;
mod tally;
mod teach;
#[cfg(test)]
mod tests;

use frame::{Frame, Guarded, InterfaceId, Offload};
use machine::Instant;
use wire::Mac;

pub(crate) use egress::{count_sent, finish, rewrite};
pub(crate) use gather::{discard_lost, expire};
pub use guarded::{Event, Logged};
pub(crate) use guarded::{Memory, Note, Told};
pub(crate) use ingress::{Entrance, untagged};
pub(crate) use output::run as route_own;
pub(crate) use passes::{Entry, Scratch, settle, vector};
pub(crate) use single::{on_link, own, own_here, resume, transmit};
pub(crate) use stations::leave as leave_station;

use crate::drop::DropReason;
use crate::interface::{Above, InterfaceTable};
use crate::out::{Out, OutId};
use crate::punt::Why;
use crate::rule::{Class, Sender};
use crate::snapshot::Snapshot;
use crate::table::{Adjacency, Fib, NextHopId};
use crate::trace::Tracer;
use forward::Fit;
use ingress::Arrived;

/// The stages, in the packet's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// What comes by the port of a bridge, and what leaves by one.
    Bridging,
    /// Link header and interface.
    Ingress,
    /// Header checks.
    Prerouting,
    /// Rules, table, next hop; local delivery is decided here.
    Routing,
    /// What looks at packets for this router.
    Input,
    /// Lifetime and size, and what looks at packets for others.
    Forward,
    /// What looks at this router's own packets.
    Output,
    /// What looks at packets that are about to leave.
    Postrouting,
    /// Link header and queue.
    Egress,
}

impl Stage {
    /// The name that traces show.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bridging => "bridging",
            Self::Ingress => "ingress",
            Self::Prerouting => "prerouting",
            Self::Routing => "routing",
            Self::Input => "input",
            Self::Forward => "forward",
            Self::Output => "output",
            Self::Postrouting => "postrouting",
            Self::Egress => "egress",
        }
    }
}

/// How a packet leaves its walk, other than by the next hop's port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Discarded.
    Drop(DropReason),
    /// Handed to control.
    Punt(Why),
    /// Copies of it leave by ports of its bridge, and it ends there.
    Flood,
    /// Held here until all fragments of its datagram have come.
    Collect,
    /// Walked by this other worker, whose connection it belongs to.
    HandOver(u16),
    /// Given to the host stack, without its link header, by this mirror port.
    Deliver(u16),
    /// It is the packet of this interface's tunnel: the one in it is taken out and walked.
    Decapsulate(InterfaceId),
    /// It is a packet of IPsec: the one in it is taken out and walked.
    Reveal,
    /// Rewritten already, but too long for its link (of this layer-3 MTU) or unfinished: fragments,
    /// segments and checksums are made before this port takes it.
    Finish {
        /// What takes the pieces.
        out: OutId,
        /// The link's layer-3 MTU in bytes.
        mtu: u32,
    },
}

impl Exit {
    /// Whether the packet is for this router, and so meets `input`.
    pub const fn is_local(self) -> bool {
        match self {
            Self::Deliver(_) | Self::Decapsulate(_) | Self::Reveal | Self::Punt(Why::Local) => true,
            Self::Punt(Why::Service { meets_rules, .. }) => meets_rules,
            _ => false,
        }
    }
}

impl core::fmt::Display for Exit {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Drop(reason) => write!(f, "drop: {}", reason.name()),
            Self::Punt(why) => f.write_str(why.explain()),
            Self::Flood => f.write_str("copies leave by ports of the bridge"),
            Self::Collect => write!(f, "held until its datagram is whole"),
            Self::HandOver(_) => f.write_str("it is of another worker's connection"),
            Self::Deliver(_) => f.write_str("it is for this router"),
            Self::Decapsulate(_) => f.write_str("it is for this router: the packet of a tunnel"),
            Self::Reveal => f.write_str("it is for this router: a packet of IPsec"),
            Self::Finish { mtu, .. } => write!(f, "in pieces of {mtu} bytes at most"),
        }
    }
}

/// What decisions are made from.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// Configuration, compiled.
    pub snapshot: &'a Snapshot,
    /// Interfaces.
    pub interfaces: &'a InterfaceTable,
    /// Routes and next hops.
    pub fib: &'a Fib,
    /// When the vector was received.
    pub now: Instant,
    /// What timestamp options get: milliseconds since midnight UTC, or [`UNKNOWN_TIME`].
    pub midnight_ms: u32,
}

impl Context<'_> {
    /// What rules know an interface by.
    #[inline(always)]
    pub(crate) fn class(&self, interface: InterfaceId) -> Class {
        self.interfaces.class(interface, self.snapshot.epoch)
    }

    /// What rules of IP know the bridge's port by that a packet came by, or leaves by. RouterOS: they see it with
    /// `use-ip-firewall` alone.
    #[inline(always)]
    pub(crate) fn port_class(&self, port: InterfaceId) -> Class {
        match self.snapshot.firewall.bridge.detour.plain {
            true => self.class_of_port(port),
            false => Class::NONE,
        }
    }

    #[inline(never)]
    fn class_of_port(&self, port: InterfaceId) -> Class {
        let line = self.interfaces.get(port);
        match line.is_some_and(|line| line.above == Above::Bridge) {
            true => self.class(port),
            false => Class::NONE,
        }
    }
}

/// The timestamp of a worker that was not told the time: "any time may be inserted as a timestamp
/// provided the high order bit of the timestamp field is set to one" (RFC 791, 3.1).
pub(crate) const UNKNOWN_TIME: u32 = 1 << 31;

/// A destination to be routed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    V4(u32),
    V6(u128),
}

/// Pass 1: ingress and prerouting. `place` says where the packet belongs, however it ends.
fn enter<const FAST: bool, T: Tracer>(
    cx: &Context<'_>,
    entrance: &Entrance,
    bytes: &[u8],
    place: &mut Place,
    tracer: &mut T,
) -> Result<Key, Exit> {
    let arrived = match ingress::run(cx, entrance, bytes) {
        Ok(arrived) => arrived,
        Err(exit) => {
            tracer.left(Stage::Ingress, &exit);
            // Control reads the packet from where the tags end.
            *place = Place::of(cx, entrance, bytes);
            return Err(exit);
        }
    };
    *place = Place {
        interface: arrived.id,
        l3: arrived.l3,
    };
    tracer.passed(Stage::Ingress, || {
        format!("arrived on {}", name(cx, arrived.id))
    });
    check::<FAST, T>(cx, &arrived, bytes, tracer)
}

/// The second half of pass 1, for a packet whose place is known.
#[inline(always)]
fn check<const FAST: bool, T: Tracer>(
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

impl core::fmt::Display for Key {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match *self {
            Self::V4(bits) => core::net::Ipv4Addr::from_bits(bits).fmt(f),
            Self::V6(bits) => core::net::Ipv6Addr::from_bits(bits).fmt(f),
        }
    }
}

/// Where a frame belongs, and where its network header begins.
#[derive(Clone, Copy, Debug)]
struct Place {
    interface: InterfaceId,
    l3: u16,
}

impl Place {
    #[cold]
    #[inline(never)]
    fn of(cx: &Context<'_>, entrance: &Entrance, bytes: &[u8]) -> Self {
        match ingress::untag(cx, entrance, bytes) {
            Ok((entrance, l3, _)) if usize::from(l3) <= bytes.len() => Self {
                interface: entrance.id,
                l3,
            },
            _ => Self {
                interface: entrance.id,
                l3: 0,
            },
        }
    }
}

/// The routing decision by rules, where there are any.
fn by_rules<T: Tracer>(
    cx: &Context<'_>,
    packet: &[u8],
    ingress: InterfaceId,
    tracer: &mut T,
) -> Result<NextHopId, Exit> {
    let query = routing::Query::new(packet, ingress);
    let found = routing::by_table(cx, &query);
    match &found {
        Ok((table, _)) => tracer.looked_up(*table, query.destination.bits()),
        Err(exit) => tracer.left(Stage::Routing, exit),
    }
    found.map(|(_, hop)| hop)
}

/// The first half of pass 3: where a next hop that is not simply forwarded to leads.
#[cold]
#[inline(never)]
fn follow<T: Tracer>(
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

/// What pass 3 decides from, beside the next hop.
#[derive(Clone, Copy)]
pub(crate) struct Leaving<'a> {
    /// From its network header on.
    pub(crate) packet: &'a [u8],
    offload: &'a Offload,
    ipv6: bool,
    /// It is the router's own: its lifetime is not touched.
    own: bool,
    /// What IPsec has done to it.
    guarded: Guarded,
}

/// The second half of pass 3: forward and postrouting.
#[inline(always)]
fn leave<T: Tracer>(
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

/// How a packet, as it is, fits a link of this layer-3 MTU.
pub(crate) fn fit_link(leaving: &Leaving<'_>, mtu: u32) -> Result<Fit, Exit> {
    guarded::fit(leaving.packet, leaving.own, leaving.offload, mtu)
}

/// What is said of a packet that IPsec protects.
fn protected_by(cx: &Context<'_>, out: OutId) -> String {
    let Out::Protect(slot) = out.out() else {
        return String::new();
    };
    let leaving = cx.snapshot.ipsec.associations.leaving(slot);
    match leaving.as_ref().and_then(|leaving| leaving.as_deref()) {
        Some(leaving) => format!("IPsec protects it: {leaving}"),
        None => "IPsec protects it, as soon as there are keys".to_owned(),
    }
}

/// What routing says of a packet that it sends on.
fn leaves_by(cx: &Context<'_>, adjacency: &Adjacency) -> String {
    format!("leaves by {}", name(cx, adjacency.egress))
}

/// What is said of a packet that leaves.
fn sent_by(cx: &Context<'_>, adjacency: &Adjacency) -> String {
    format!("sent by {}", name(cx, adjacency.egress))
}

/// The name of an interface, for traces.
pub(crate) fn name(cx: &Context<'_>, id: InterfaceId) -> String {
    let name = cx
        .interfaces
        .details(id, |details| details.name.to_string());
    name.unwrap_or_else(|| "an interface that is gone".to_owned())
}

/// Forwarding on, lifetime, size and options.
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

/// Who sent a frame on the link; none on links without such addresses.
#[inline(always)]
fn sender(frame: &Frame) -> Option<Sender> {
    sender_of(frame.bytes(), (frame.l3, frame.came_priority))
}

/// Who sent a frame whose packet begins at `l3`, and which came with this priority if its tags are off.
#[inline(always)]
fn sender_of(bytes: &[u8], (l3, priority): (u16, u8)) -> Option<Sender> {
    let mac = Mac(*bytes.get(6..12)?.first_chunk()?);
    match usize::from(l3) {
        ..14 => None,
        14 => Some(Sender { mac, priority }),
        // The last tag is that of the interface that it came by.
        l3 => {
            let priority = bytes.get(l3 - 4)? >> 5;
            Some(Sender { mac, priority })
        }
    }
}
