//! FastTrack: a packet of a connection that a rule marked needs no rule, no routing table and no
//! state machine. Its direction's line holds the complete rewrite and the next hop.
//!
//! Whole TCP segments and UDP datagrams without options go this way. SYN, FIN and RST walk slowly,
//! so that the connection's state is followed; so does what ends the handshake, or the connection
//! would be forgotten like one that nobody answered; so does one packet a second in each direction,
//! which keeps its timeout alive and looks its route up again. RouterOS says only that "some" packets
//! of a FastTracked connection walk slowly.

use frame::Frame;

use crate::connection::{NatState, Tick, Tracker, Way};
use crate::nat::Rewrite;
use crate::packet::{Fields, protocol};
use crate::table::Adjacency;
use crate::walk::depart::{self, Near};
use crate::walk::{Context, forward};

const ETHERNET: usize = 14;

/// Whether a frame can go on as it is: behind an Ethernet header, with nothing unfinished.
#[inline(always)]
pub(super) fn takes(frame: &Frame) -> bool {
    frame.offload.is_finished() & (usize::from(frame.l3) == ETHERNET)
}

/// Forwards a plain packet of a FastTracked connection. None, and nothing changed, when it is to walk
/// slowly.
#[inline(always)]
pub(super) fn forward(
    cx: &Context<'_>,
    frame: &mut Frame,
    fields: &Fields,
    way: Way,
    (tracker, now): (&Tracker, Tick),
    near: &mut Near,
) -> Option<u16> {
    let fast = tracker.fast(way)?;
    if fields.tuple.protocol == protocol::TCP && !fast.assured {
        return None;
    }
    let next = near.get(cx, fast.next_hop.id, frame.ingress);
    let goes = (next.generation == fast.next_hop.generation)
        & next.straight
        & (fields.len <= next.adjacency.mtu);
    if !(goes && fast.count(fields.len, now)) {
        return None;
    }
    let translated = fast.nat != NatState::default();
    rewrite(frame, fields.tuple.ipv6, way, translated, tracker)?;
    relink(frame, fields.len, &next.adjacency).then_some(next.adjacency.port)
}

/// The next link's header, and an end behind a packet of `len` bytes, without padding.
#[inline(always)]
pub(super) fn relink(frame: &mut Frame, len: u32, adjacency: &Adjacency) -> bool {
    let header = adjacency.header.first_chunk::<ETHERNET>();
    let link = frame.bytes_mut().first_chunk_mut::<ETHERNET>();
    let (Some(header), Some(link)) = (header, link) else {
        return false;
    };
    *link = *header;
    frame.egress = adjacency.egress;
    depart::trim(frame, ETHERNET + len as usize)
}

/// Addresses, ports, lifetime.
#[inline(always)]
pub(super) fn rewrite(
    frame: &mut Frame,
    ipv6: bool,
    way: Way,
    translated: bool,
    tracker: &Tracker,
) -> Option<()> {
    let packet = frame.bytes_mut().get_mut(ETHERNET..)?;
    match (ipv6, translated) {
        (false, false) => forward::age4(packet.first_chunk_mut()?),
        (true, false) => forward::age6(packet.first_chunk_mut()?),
        (false, true) => {
            let rewrite = Rewrite::<4>::from_words(tracker.rewrite4(way).0);
            rewrite.forward(packet, false).ok()?;
        }
        (true, true) => {
            let [words @ .., _] = tracker.rewrite6(way).0;
            Rewrite::<16>::from_words(words)
                .forward(packet, false)
                .ok()?;
        }
    }
    Some(())
}
