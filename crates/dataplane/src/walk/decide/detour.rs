//! RouterOS: `/interface/bridge/settings use-ip-firewall`: packets that a bridge forwards pass the
//! tables of IP.
//!
//! ```text
//! raw → connection → mangle → dstnat     before the bridging decision      ([`enter`])
//! mangle → filter forward                for each egress port              ([`leave`])
//! mangle postrouting → srcnat
//! ```
//!
//! Rules see the bridge as ingress and egress interface of such a packet; separate matchers cover
//! the ports. The TTL is not changed. A packet with a translated destination is routed: its frame
//! goes to the router instead. Fragments are not reassembled: they belong to no connection, and are
//! `invalid` where connections are tracked.

use frame::{Frame, InterfaceId};
use wire::checksum;

use super::chains::Hook;
use super::passage::Detoured;
use super::{Decider, EarlyLookup, Memory, PacketView, Passage, Watcher, commit};
use crate::connection::State;
use crate::drop::DropReason;
use crate::firewall::Detour;
use crate::outlet::Outlet;
use crate::packet::link;
use crate::packet::link::{HEADER, ethertype};
use crate::packet::{Fields, Fragment};
use crate::rule::{Changes, Sender};
use crate::table::NextHopId;
use crate::walk::{Context, Exit};

/// The reason why a frame is not bridged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DetourEnd {
    /// The packet ends with this exit. The frame stays with the caller, for `settle`.
    Ends(Exit),
    /// The packet's destination is translated, so the packet is routed.
    Routed,
}

/// Returns true if packets of a bridge pass the IP tables. Called once per vector.
///
/// RouterOS: on a bridge with VLAN filtering every frame belongs to a VLAN, tagged or not, so
/// `use-ip-firewall-for-vlan=no` exempts all of them.
#[inline]
pub(crate) fn is_on(cx: &Context<'_>, filters_vlans: bool) -> bool {
    let firewall = &cx.snapshot.firewall;
    let detour = firewall.bridge.detour;
    let applies = detour.plain && (detour.vlan || !filters_vlans);
    applies && (firewall.guards(false) || firewall.guards(true))
}

/// The detour of all packets, VLAN and PPPoE included.
const ANY: Detour = Detour {
    plain: true,
    vlan: true,
    pppoe: true,
};

/// Returns the offset of the IP packet in a frame whose packet passes the IP tables.
fn packet_in(detour: Detour, bytes: &[u8]) -> Option<usize> {
    const TAGGED: usize = HEADER + 4;
    /// PPPoE version 1, type 1, code 0: session data (RFC 2516, 4).
    const SESSION: [u8; 2] = [0x11, 0];
    const PPP: usize = HEADER + 6;
    let word = |at: usize| {
        let bytes = bytes.get(at..).and_then(<[u8]>::first_chunk);
        bytes.map(|bytes| u16::from_be_bytes(*bytes))
    };
    let (kind, at) = match word(HEADER - 2)? {
        kind @ (ethertype::IPV4 | ethertype::IPV6) if detour.plain => (kind, HEADER),
        ethertype::VLAN | ethertype::SERVICE_VLAN if detour.vlan => (word(TAGGED - 2)?, TAGGED),
        ethertype::PPPOE if detour.pppoe && bytes.get(HEADER..)?.starts_with(&SESSION) => {
            // RFC 1332, 2; RFC 5072, 3.
            match word(PPP)? {
                0x21 => (ethertype::IPV4, PPP + 2),
                0x57 => (ethertype::IPV6, PPP + 2),
                _ => return None,
            }
        }
        _ => return None,
    };
    link::has_ip(kind, &bytes[at..]).then_some(at)
}

/// Checks the lengths and version of an IP header (RFC 1812, 5.2.2; RFC 8200, 3).
fn check(packet: &[u8]) -> Result<(), DropReason> {
    let word = |at: usize| usize::from(packet[at]) << 8 | usize::from(packet[at + 1]);
    if packet[0] >> 4 == 6 {
        let whole = word(4) + 40 <= packet.len();
        return whole.then_some(()).ok_or(DropReason::Ipv6Length);
    }
    let header = usize::from(packet[0] & 0xf) * 4;
    if word(2) < header || word(2) > packet.len() {
        return Err(DropReason::Ipv4Length);
    }
    let right = checksum::checksum(&packet[..header]) == 0;
    right.then_some(()).ok_or(DropReason::Ipv4Checksum)
}

/// Passes the packet of a frame from this bridge port through the IP tables before the bridging
/// decision. Returns `None` if the frame carries no packet for these tables.
///
/// # Errors
/// The reason why the frame is not bridged.
#[inline(never)]
pub(crate) fn enter(
    cx: &Context<'_>,
    frame: &mut Frame,
    bridge: InterfaceId,
    port: InterfaceId,
    outlet: &mut Outlet,
) -> Result<Option<Detoured>, DetourEnd> {
    let Some(l3) = enters_at(cx, frame.bytes()) else {
        return Ok(None);
    };
    let before = (frame.ingress, frame.below, frame.l3);
    (frame.ingress, frame.below, frame.l3) = (bridge, port, l3);
    let Outlet {
        memory,
        rule_events,
        ..
    } = outlet;
    let entered = pass_prerouting(cx, frame, memory, rule_events);
    outlet.send_rule_events(frame);
    let detoured = entered.map_err(DetourEnd::Ends)?;
    (frame.ingress, frame.below, frame.l3) = before;
    settle_entry(frame, detoured).map(Some)
}

/// Decides for a trace about the packet in a frame before the bridging decision, as [`enter`] does.
///
/// # Errors
/// The reason why the frame is not bridged.
pub(crate) fn explain_entry<W: Watcher>(
    cx: &Context<'_>,
    frame: &mut Frame,
    bridge: InterfaceId,
    port: InterfaceId,
    memory: &mut Memory,
    watch: &mut W,
) -> Result<Option<Detoured>, DetourEnd> {
    let Some(l3) = enters_at(cx, frame.bytes()) else {
        return Ok(None);
    };
    let before = (frame.ingress, frame.below, frame.l3);
    (frame.ingress, frame.below, frame.l3) = (bridge, port, l3);
    let entered = pass_prerouting(cx, frame, memory, watch);
    (frame.ingress, frame.below, frame.l3) = before;
    settle_entry(frame, entered.map_err(DetourEnd::Ends)?).map(Some)
}

/// Returns the offset of the packet in a frame that passes the IP tables; `None` for other frames.
fn enters_at(cx: &Context<'_>, bytes: &[u8]) -> Option<u16> {
    let l3 = packet_in(cx.snapshot.firewall.bridge.detour, bytes)?;
    let ipv6 = bytes.get(l3)? >> 4 == 6;
    cx.snapshot.firewall.guards(ipv6).then_some(l3 as u16)
}

/// Passes the packet at `frame.l3` through the IP tables before the bridging decision.
fn pass_prerouting<W: Watcher>(
    cx: &Context<'_>,
    frame: &Frame,
    memory: &mut Memory,
    watch: &mut W,
) -> Result<Detoured, Exit> {
    let packet = packet_of(frame, usize::from(frame.l3));
    check(packet).map_err(Exit::Drop)?;
    let mut passage = Passage::new(Fields::of(packet));
    passage.marks = watch.assumed().marks;
    passage.marks.packet = frame.mark;
    guard(cx, frame, &mut passage, memory, watch, |guard| {
        guard.enter_bridged()
    })?;
    Ok(Detoured { passage })
}

/// Copies the packet mark to the frame.
///
/// # Errors
/// The destination is translated: the packet is routed.
fn settle_entry(frame: &mut Frame, detoured: Detoured) -> Result<Detoured, DetourEnd> {
    let passage = &detoured.passage;
    if passage.fields.tuple.destination != passage.received.destination {
        return Err(DetourEnd::Routed);
    }
    frame.mark = passage.marks.packet;
    Ok(detoured)
}

/// Decides for a trace about the packet of a frame that leaves by a port of the bridge, as
/// [`leave`] does.
///
/// # Errors
/// The packet's exit.
pub(crate) fn explain_exit<W: Watcher>(
    cx: &Context<'_>,
    frame: &mut Frame,
    detoured: &Detoured,
    ports: Ports,
    memory: &mut Memory,
    watch: &mut W,
) -> Result<(), Exit> {
    let Some(l3) = packet_in(ANY, frame.bytes()) else {
        return Ok(());
    };
    let before = (frame.ingress, frame.below, frame.l3);
    (frame.ingress, frame.below, frame.l3) = (ports.bridge, ports.ingress, l3 as u16);
    let mut passage = Passage {
        leaves_by: ports.egress,
        ..detoured.passage
    };
    let left = guard(cx, frame, &mut passage, memory, watch, |guard| {
        guard.leave_bridged(ports.bridge)
    });
    (frame.ingress, frame.below, frame.l3) = before;
    left
}

/// The bridge of a packet, with its ingress and egress ports.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ports {
    pub(crate) bridge: InterfaceId,
    pub(crate) ingress: InterfaceId,
    pub(crate) egress: InterfaceId,
}

/// Passes the packet through the IP tables after the bridging decision, and commits the decisions
/// of all tables. A flooded frame calls this once per egress port, with a copy each.
///
/// # Errors
/// The exit of the packet. The frame stays with the caller, for `settle`.
#[inline(never)]
pub(crate) fn leave(
    cx: &Context<'_>,
    frame: &mut Frame,
    detoured: &mut Detoured,
    ports: Ports,
    outlet: &mut Outlet,
) -> Result<(), Exit> {
    // The bridge may have added or removed a tag since [`enter`].
    let Some(l3) = packet_in(ANY, frame.bytes()) else {
        return Ok(());
    };
    let before = (frame.ingress, frame.below, frame.l3);
    (frame.ingress, frame.below, frame.l3) = (ports.bridge, ports.ingress, l3 as u16);
    let mut passage = Passage {
        leaves_by: ports.egress,
        ..detoured.passage
    };
    let Outlet {
        memory,
        rule_events,
        ..
    } = outlet;
    let left = guard(cx, frame, &mut passage, memory, rule_events, |guard| {
        guard.leave_bridged(ports.bridge)
    });
    outlet.send_rule_events(frame);
    if passage.changes.counted && passage.draft.is_some() && !passage.accepted {
        let tables = cx.snapshot.firewall.tables(passage.fields.tuple.ipv6);
        tables.leave(&passage.received);
    }
    left?;
    // The first of several copies has already begun the connection.
    detoured.passage.draft = None;
    detoured.passage.translation = passage.translation;
    let plain = Changes {
        fasttrack: passage.changes.fasttrack,
        counted: passage.changes.counted,
        looked: passage.changes.looked,
        untracked: passage.changes.untracked,
        ..Changes::default()
    };
    frame.mark = passage.marks.packet;
    if passage.translation.is_some() || passage.changes != plain {
        // A priority that a rule sets goes into the VLAN tag, if there is one.
        commit(frame, &passage).map_err(Exit::Drop)?;
    }
    (frame.ingress, frame.below, frame.l3) = before;
    Ok(())
}

fn packet_of(frame: &Frame, l3: usize) -> &[u8] {
    frame.bytes().get(l3..).unwrap_or_default()
}

/// Passes a packet through the given tables.
fn guard<W: Watcher>(
    cx: &Context<'_>,
    frame: &Frame,
    passage: &mut Passage,
    memory: &mut Memory,
    watch: &mut W,
    act: impl FnOnce(&mut Decider<'_, W>) -> Result<(), Exit>,
) -> Result<(), Exit> {
    let sender = link::Link::of(frame.bytes()).map(|link| Sender {
        mac: link.source,
        priority: link.tag.map_or(0, |tag| tag.tci.pcp()),
    });
    let mut guard = Decider {
        cx,
        tables: cx.snapshot.firewall.tables(passage.fields.tuple.ipv6),
        memory,
        view: PacketView {
            packet: packet_of(frame, usize::from(frame.l3)),
            offload: &frame.offload,
            ingress: frame.ingress,
            port: frame.below,
            guarded: frame.guarded,
            sender,
        },
        passage,
        lookup: EarlyLookup::Unknown,
        early: None,
        watch,
    };
    act(&mut guard)
}

impl<W: Watcher> Decider<'_, W> {
    /// raw, connection, mangle, dstnat.
    fn enter_bridged(&mut self) -> Result<(), Exit> {
        self.hook(Hook::Raw, InterfaceId::NONE)?;
        let Fields {
            tuple, fragment, ..
        } = self.passage.fields;
        let is_tracked =
            self.cx.snapshot.firewall.tracks(tuple.ipv6) && !self.passage.changes.untracked;
        match fragment {
            Fragment::First | Fragment::Later if is_tracked => {
                self.passage.track.state = State::Invalid;
            }
            _ => self.connect(),
        }
        self.hook(Hook::Prerouting, InterfaceId::NONE)?;
        self.keep_mark();
        Ok(())
    }

    /// Runs forward and postrouting, and confirms the connection.
    fn leave_bridged(&mut self, bridge: InterfaceId) -> Result<(), Exit> {
        self.hook(Hook::Forward, bridge)?;
        self.hook(Hook::Postrouting, bridge)?;
        self.confirm(bridge, NextHopId::NO_ROUTE)
    }
}
