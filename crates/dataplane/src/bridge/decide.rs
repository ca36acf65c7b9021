//! Bridging decisions about a frame, without side effects: [`admit`] at ingress, [`find`] for the
//! destination, [`leaves`] at each egress port. The tracer calls the same functions.

use frame::InterfaceId;
use wire::Mac;

use super::guard::{TRUSTED, Trust};
use super::link::number;
use super::port::PortAddresses;
use super::rules::AppliedTables;
use super::{Bridge, BridgePort, FrameTypes, Member, PortSet, VlanMode, VlanTable, vlan};
use crate::drop::DropReason;
use crate::interface::{InterfaceTable, Tag};
use crate::service::ServiceSet;
use crate::table::bridge_hosts::HostPosition;
use crate::table::{BridgeHosts, HostKey, HostKind};

/// The group bit of a MAC address.
const GROUP: u64 = 1 << 40;
pub(super) const BROADCAST: u64 = (1 << 48) - 1;
/// The reserved bridge addresses 01:80:c2:00:00:00 to 0f (IEEE 802.1Q, 8.6.3).
const RESERVED: u64 = 0x0180_c200_0000;
/// The address of Ethernet flow control: such frames are never forwarded.
const PAUSE: u64 = RESERVED | 1;

/// The first fields of a frame: MAC addresses in the low 48 bits, EtherType, and the following two
/// bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) to: u64,
    pub(crate) from: u64,
    pub(crate) kind: u16,
    /// Priority and VLAN id, if the EtherType is that of a tag.
    pub(crate) tci: u16,
}

/// Bytes of a head.
const HEAD: usize = 16;

/// Parses the head of a frame; `None` if the frame is shorter than an Ethernet header.
#[inline(always)]
pub(super) fn head(bytes: &[u8]) -> Option<Head> {
    match bytes.first_chunk::<HEAD>() {
        Some(bytes) => Some(Head::of(bytes)),
        None => short(bytes),
    }
}

#[cold]
fn short(bytes: &[u8]) -> Option<Head> {
    let mut all = [0; HEAD];
    let len = bytes.len().min(HEAD);
    all[..len].copy_from_slice(&bytes[..len]);
    (len >= HEAD - 2).then(|| Head::of(&all))
}

impl Head {
    #[inline(always)]
    fn of(bytes: &[u8; HEAD]) -> Self {
        let all = u128::from_be_bytes(*bytes);
        Self {
            to: (all >> 80) as u64,
            from: (all >> 32) as u64 & BROADCAST,
            kind: (all >> 16) as u16,
            tci: all as u16,
        }
    }

    /// Returns true if the destination is a multicast or broadcast address.
    #[inline(always)]
    pub(crate) const fn is_to_group(&self) -> bool {
        self.to & GROUP != 0
    }

    /// Returns true if the destination is a reserved bridge address.
    #[inline(always)]
    const fn is_reserved(&self) -> bool {
        self.to & !0xf == RESERVED
    }
}

/// The ingress of frames into a bridge: a port, or the router above.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    pub(crate) bridge: &'a Bridge,
    /// Number of the port; the router's number follows that of the last port.
    pub(crate) number: usize,
    pub(crate) interface: InterfaceId,
    /// Spanning trees in which the port learns, and in which it forwards, one bit each.
    learning: u32,
    forwarding: u32,
    pvid: u16,
    frame_types: FrameTypes,
    ingress_filtering: bool,
    tag_stacking: bool,
    horizon: Option<u32>,
    isolated: bool,
    only_to: Option<&'a PortSet>,
    kept_down: bool,
    vlan_mode: Option<VlanMode>,
    /// The port, if a switch forwards for it below the workers.
    pub(super) switched: Option<&'a BridgePort>,
    /// The other port of a two-port bridge with fast forward, where no hosts are looked up.
    pub(super) straight_to: Option<InterfaceId>,
    /// MAC address of the bridge interface.
    pub(super) own: u64,
    /// Filter bits of that address and of the ports' addresses ([`PortAddresses::bits`]).
    own_bits: u64,
    /// Stations exist on the bridge or on its VLANs.
    pub(super) stations: bool,
    /// Services receive frames of this port.
    pub(super) asks: bool,
    /// The port's trust settings for the bridge's guards.
    pub(super) trust: &'a Trust,
    /// The tables that apply to the frames, from [`super::filter::with_tables`].
    pub(super) applied: AppliedTables<'a>,
}

impl<'a> Source<'a> {
    /// Returns the source for a port's interface.
    pub(crate) fn port(
        bridge: &'a Bridge,
        interface: InterfaceId,
        interfaces: &InterfaceTable,
    ) -> Option<Self> {
        let place = bridge.number(interface)?;
        let port = bridge.ports().get(place)?;
        let above = interfaces.get(bridge.id)?;
        Some(Self {
            number: place,
            interface,
            learning: if port.learn { port.learning } else { 0 },
            forwarding: port.forwarding,
            pvid: port.pvid,
            frame_types: port.frame_types,
            ingress_filtering: port.ingress_filtering,
            tag_stacking: port.tag_stacking,
            horizon: port.horizon,
            isolated: port.isolated,
            only_to: port.only_to.as_ref(),
            kept_down: port.kept_down,
            vlan_mode: port.vlan_mode,
            switched: port.switched.is_some().then_some(port),
            straight_to: straight_to(bridge, place),
            own: number(above.mac),
            own_bits: bridge.addresses.bits | PortAddresses::bit(number(above.mac)),
            stations: above.stations,
            asks: interfaces.services(interface) != ServiceSet::default(),
            trust: &port.trust,
            applied: AppliedTables::default(),
            bridge,
        })
    }

    /// Returns the source for the router above a bridge.
    pub(crate) fn router(bridge: &'a Bridge) -> Self {
        Self {
            number: bridge.ports().len(),
            interface: bridge.id,
            learning: 0,
            forwarding: u32::MAX,
            pvid: bridge.pvid,
            frame_types: bridge.frame_types,
            ingress_filtering: bridge.ingress_filtering,
            tag_stacking: false,
            horizon: None,
            isolated: false,
            only_to: bridge.only_to.as_ref(),
            kept_down: false,
            vlan_mode: bridge.vlan_mode,
            switched: None,
            straight_to: None,
            // The router never sends frames to itself through its bridge.
            own: u64::MAX,
            own_bits: 0,
            stations: false,
            asks: false,
            trust: &TRUSTED,
            applied: AppliedTables::default(),
            bridge,
        }
    }

    /// Returns true if the bridge itself filters VLANs (`vlan-filtering`), and not a switch chip.
    #[inline(always)]
    pub(super) const fn filters_vlans(&self) -> bool {
        self.bridge.vlans.is_some() && self.vlan_mode.is_none()
    }

    /// Returns true if the frames come from the router above.
    #[inline(always)]
    pub(crate) fn is_router(&self) -> bool {
        self.number == self.bridge.ports().len()
    }
}

/// Returns the other port of a two-port bridge with fast forward, if both ports forward.
fn straight_to(bridge: &Bridge, from: usize) -> Option<InterfaceId> {
    match bridge.ports() {
        [one, other] if bridge.fast_forward && one.forwarding & other.forwarding & 1 != 0 => {
            Some(if from == 0 { other } else { one }.interface)
        }
        _ => None,
    }
}

/// The classification of a frame in its bridge: VLAN, spanning tree, tag. One word, because the
/// passes store it for each frame and read it back at once; fields of their own would be stored in
/// pieces, and the wider read would wait for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Class(u64);

impl Class {
    const VID_SHIFT: u32 = 32;
    const TAGGED: u64 = 1 << 63;

    /// `tree`: the spanning tree of the VLAN, as a set with one bit.
    #[inline(always)]
    pub(super) const fn new(vid: u16, tree: u32, tagged: bool) -> Self {
        let tag = if tagged { Self::TAGGED } else { 0 };
        Self(tree as u64 | (vid as u64) << Self::VID_SHIFT | tag)
    }

    /// Returns the VLAN; 0 where the bridge does not distinguish VLANs.
    #[inline(always)]
    pub(crate) const fn vid(self) -> u16 {
        (self.0 >> Self::VID_SHIFT) as u16
    }

    /// Returns the spanning tree of the VLAN, as a set with one bit.
    #[inline(always)]
    pub(crate) const fn tree(self) -> u32 {
        self.0 as u32
    }

    /// Returns true if the frame has a tag that the bridge recognises, even if only with a priority.
    #[inline(always)]
    pub(crate) const fn is_tagged(self) -> bool {
        self.0 & Self::TAGGED != 0
    }
}

/// Decides whether a frame is admitted at ingress, and returns its class.
///
/// # Errors
/// The drop reason.
#[inline(always)]
pub(crate) fn admit(source: &Source<'_>, head: &Head) -> Result<Class, DropReason> {
    if head.from & GROUP != 0 || head.from == 0 {
        return Err(DropReason::BridgeSource);
    }
    let class = match &source.bridge.vlans {
        None => Class::new(0, 1, false),
        Some(vlans) => {
            // RouterOS: tags with another EtherType than the bridge's are payload.
            let tagged = head.kind == source.bridge.ethertype && !source.tag_stacking;
            let named = if tagged { head.tci & 0xfff } else { 0 };
            let admitted = match source.frame_types {
                FrameTypes::All => true,
                FrameTypes::Tagged => named != 0,
                FrameTypes::UntaggedAndPriority => named == 0,
            };
            if !admitted {
                return Err(DropReason::BridgeFrameTypes);
            }
            let vid = if named == 0 { source.pvid } else { named };
            if let Some(mode) = source.vlan_mode {
                return as_chip(source, vlans, mode, vid, tagged);
            }
            if source.ingress_filtering && vlans.member(vid, source.number) == Member::No {
                return Err(DropReason::BridgeIngressVlan);
            }
            Class::new(vid, 1 << (vlans.instance(vid) & 31), tagged)
        }
    };
    match (source.learning | source.forwarding) & class.tree() {
        0 => Err(DropReason::BridgePortState),
        _ => Ok(class),
    }
}

/// Decides by the VLAN mode of a switch chip whether a frame of this VLAN (from its tag or its
/// port) is admitted.
///
/// # Errors
/// The drop reason.
#[cold]
#[inline(never)]
fn as_chip(
    source: &Source<'_>,
    vlans: &VlanTable,
    mode: VlanMode,
    vid: u16,
    tagged: bool,
) -> Result<Class, DropReason> {
    let is_member = || vlans.member(vid, source.number) != Member::No;
    let vid = match (mode, vid != 0 && vlans.knows(vid)) {
        (VlanMode::Disabled, _) | (VlanMode::Fallback, false) => 0,
        (VlanMode::Check | VlanMode::Secure, false) => return Err(DropReason::SwitchVlan),
        (VlanMode::Secure, true) if !is_member() => return Err(DropReason::SwitchVlan),
        (_, true) => vid,
    };
    match (source.learning | source.forwarding) & 1 {
        0 => Err(DropReason::BridgePortState),
        _ => Ok(Class::new(vid, 1, tagged)),
    }
}

impl Source<'_> {
    /// Returns true if the port learns or forwards in some spanning tree.
    #[inline(always)]
    pub(super) const fn is_open(&self) -> bool {
        self.learning | self.forwarding != 0
    }

    /// Returns true if frames take the bridge's fast path.
    #[inline(always)]
    pub(super) const fn is_fast(&self) -> bool {
        self.bridge.fast_path && !self.applied.any()
    }

    /// Returns true if a frame is for services of its ingress port only and is not forwarded.
    #[inline(always)]
    pub(super) fn keeps(&self, head: &Head) -> bool {
        let forwards = self.bridge.forward_reserved && head.to != PAUSE || self.is_router();
        head.is_reserved() && !forwards
    }

    /// Returns true if the source address of a frame of this class is learned.
    #[inline(always)]
    pub(super) const fn learns(&self, class: &Class) -> bool {
        self.learning & class.tree() != 0 && self.straight_to.is_none()
    }

    /// Returns true if an address belongs to the bridge or one of its ports.
    #[inline(always)]
    pub(super) fn is_own(&self, address: u64) -> bool {
        self.own_bits & PortAddresses::bit(address) != 0
            && (address == self.own || self.bridge.addresses.has(address))
    }

    /// Returns the key of a host in the VLAN of this class.
    #[inline(always)]
    pub(super) const fn key(&self, class: &Class, mac: u64) -> HostKey {
        HostKey {
            bridge: self.bridge.id,
            vid: class.vid(),
            mac,
        }
    }
}

/// The reason why a frame goes to several ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FloodKind {
    /// The destination host is unknown.
    Unknown,
    /// The destination is a multicast address.
    Multicast,
    /// The destination is the broadcast address.
    Broadcast,
}

/// The destination of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BridgeDestination {
    /// The router above.
    Up,
    /// The host behind this port.
    Port(InterfaceId),
    /// Several ports; multicast and broadcast go to the router as well.
    Many(FloodKind),
    /// The frame is dropped.
    Nowhere(DropReason),
}

/// Decides the destination of an admitted frame.
#[inline(always)]
pub(crate) fn find(
    interfaces: &InterfaceTable,
    hosts: &BridgeHosts,
    source: &Source<'_>,
    head: &Head,
    class: &Class,
    place: HostPosition,
) -> BridgeDestination {
    if source.forwarding & class.tree() == 0 {
        return BridgeDestination::Nowhere(DropReason::BridgePortState);
    }
    if head.is_to_group() {
        return BridgeDestination::Many(match head.to {
            BROADCAST => FloodKind::Broadcast,
            _ => FloodKind::Multicast,
        });
    }
    if head.to == source.own || source.stations && is_station(interfaces, source, head, class) {
        return BridgeDestination::Up;
    }
    if let Some(other) = source.straight_to {
        return BridgeDestination::Port(other);
    }
    match hosts.get_at(place, &source.key(class, head.to)) {
        Some(host) if host.kind == HostKind::Local => up(source),
        Some(host) => BridgeDestination::Port(host.port),
        None => unknown(hosts, source, head, class),
    }
}

/// Returns the destination for a local address: the router, or a drop if the router itself sent the
/// frame.
fn up(source: &Source<'_>) -> BridgeDestination {
    match source.is_router() {
        true => BridgeDestination::Nowhere(DropReason::BridgeSamePort),
        false => BridgeDestination::Up,
    }
}

/// Returns the destination for an address that is unknown in this VLAN. Local addresses, stored
/// without a VLAN, are valid in all VLANs.
#[cold]
fn unknown(
    hosts: &BridgeHosts,
    source: &Source<'_>,
    head: &Head,
    class: &Class,
) -> BridgeDestination {
    if class.vid() != 0 {
        let everywhere = Class::new(0, class.tree(), class.is_tagged());
        let host = hosts.get(&source.key(&everywhere, head.to));
        if host.is_some_and(|host| host.kind == HostKind::Local) {
            return up(source);
        }
    }
    BridgeDestination::Many(FloodKind::Unknown)
}

/// Returns true if the destination is a station on the bridge, or on the VLAN interface of the
/// frame's VLAN.
#[cold]
#[inline(never)]
fn is_station(
    interfaces: &InterfaceTable,
    source: &Source<'_>,
    head: &Head,
    class: &Class,
) -> bool {
    let [_, _, mac @ ..] = head.to.to_be_bytes();
    let (bridge, mac) = (source.bridge, Mac(mac));
    let vlan_id = match class.vid() {
        0 => head.tci & 0xfff,
        vid => vid,
    };
    let ethertype = match class.vid() {
        0 => head.kind,
        _ => bridge.ethertype,
    };
    let vlan = interfaces.vlan(bridge.id, Tag { ethertype, vlan_id });
    let on_vlan = vlan.filter(|_| matches!(ethertype, vlan::CUSTOMER | vlan::SERVICE));
    { on_vlan.into_iter().chain([bridge.id]) }.any(|on| interfaces.station(on, mac).is_some())
}

/// How a frame leaves by a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaves {
    /// Unchanged.
    AsItIs,
    /// With the tag of its VLAN.
    Tagged,
    /// Without a tag.
    Untagged,
}

/// Checks whether frames from this source may leave by the port with this number, whatever their
/// class.
///
/// # Errors
/// The drop reason.
pub(super) fn joined(source: &Source<'_>, to: usize) -> Result<(), DropReason> {
    let port = source.bridge.ports().get(to);
    let port = port.ok_or(DropReason::EgressDown)?;
    if to == source.number {
        return Err(DropReason::BridgeSamePort);
    }
    let apart = source.horizon.is_some() && source.horizon == port.horizon
        || source.isolated && port.isolated
        || source.only_to.is_some_and(|only| !only.has(to));
    match apart {
        true => Err(DropReason::BridgeApart),
        false => Ok(()),
    }
}

/// Decides whether and how a frame of this class leaves by the port with this number; the router's
/// number follows that of the last port. `forwarding` has the port's forwarding spanning trees.
///
/// # Errors
/// The drop reason.
#[inline(always)]
pub(super) fn passes(
    bridge: &Bridge,
    class: &Class,
    to: usize,
    forwarding: u32,
) -> Result<Leaves, DropReason> {
    if forwarding & class.tree() == 0 {
        return Err(DropReason::BridgePortState);
    }
    match &bridge.vlans {
        None => Ok(Leaves::AsItIs),
        Some(vlans) => match vlans.member(class.vid(), to) {
            Member::Tagged => Ok(Leaves::Tagged),
            Member::Untagged => Ok(Leaves::Untagged),
            Member::AsTheyCame => Ok(Leaves::AsItIs),
            Member::No => Err(DropReason::BridgeEgressVlan),
        },
    }
}

/// Decides whether and how a frame from this source leaves by the port with this number.
///
/// # Errors
/// The drop reason.
pub(crate) fn leaves(source: &Source<'_>, class: &Class, to: usize) -> Result<Leaves, DropReason> {
    joined(source, to)?;
    let port = &source.bridge.ports()[to];
    passes(source.bridge, class, to, port.forwarding)
}

/// Decides how a frame goes up to the router.
///
/// # Errors
/// The bridge itself is no member of the VLAN, or the port must not reach the router.
#[inline(always)]
pub(crate) fn rises(source: &Source<'_>, class: &Class) -> Result<Leaves, DropReason> {
    let bridge = source.bridge;
    if source.kept_down {
        return Err(DropReason::BridgeApart);
    }
    passes(bridge, class, bridge.ports().len(), u32::MAX)
}
