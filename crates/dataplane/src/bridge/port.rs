//! A bridge and its ports: immutable values that control replaces as a whole.

use std::sync::Arc;

use frame::InterfaceId;
use wire::Mac;

use super::link::number;
use super::offload::Switched;
use super::{Groups, Guards, Trust, VlanTable, vlan};

/// Maximum number of ports of a bridge (RouterOS).
pub const PORTS: usize = 1024;

/// Which frames a port admits (`frame-types`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FrameTypes {
    /// All frames.
    #[default]
    All,
    /// Frames with a tag that names a VLAN.
    Tagged,
    /// Frames without a tag, or with a priority tag.
    UntaggedAndPriority,
}

/// How a switch chip treats the VLANs of received frames (`vlan-mode` of
/// `/interface/ethernet/switch/port`). Untagged frames belong to the port's own VLAN
/// (`default-vlan-id`); a VLAN is known if the chip's table has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VlanMode {
    /// Tags are ignored.
    Disabled,
    /// Frames of known VLANs go to the members; others are forwarded as if untagged.
    Fallback,
    /// Frames of unknown VLANs are dropped.
    Check,
    /// Frames of unknown VLANs, and of VLANs without the port as a member, are dropped.
    Secure,
}

/// A set of ports of a bridge, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortSet(Vec<u64>);

impl PortSet {
    /// Returns true if the set has the port with this number.
    pub fn has(&self, port: usize) -> bool {
        let word = self.0.get(port / 64).copied().unwrap_or_default();
        word >> (port % 64) & 1 != 0
    }
}

impl FromIterator<usize> for PortSet {
    fn from_iter<I: IntoIterator<Item = usize>>(ports: I) -> Self {
        let mut words = Vec::new();
        for port in ports {
            if words.len() <= port / 64 {
                words.resize(port / 64 + 1, 0);
            }
            words[port / 64] |= 1_u64 << (port % 64);
        }
        Self(words)
    }
}

/// A port of a bridge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BridgePort {
    /// The port's interface, which has an Ethernet header and an out.
    pub interface: InterfaceId,
    /// Spanning trees in which the port learns, a bit each: bit 0 is the common tree.
    pub learning: u32,
    /// Spanning trees in which the port forwards, a bit each.
    pub forwarding: u32,
    /// The VLAN of untagged frames. Frames with a VLAN tag keep their VLAN.
    pub pvid: u16,
    /// Which frames are admitted, if VLANs are filtered.
    pub frame_types: FrameTypes,
    /// Frames are admitted only if the port is a member of their VLAN.
    pub ingress_filtering: bool,
    /// Received frames count as untagged, whatever tags they have.
    pub tag_stacking: bool,
    /// Frames are not forwarded between ports with equal horizon.
    pub horizon: Option<u32>,
    /// Source addresses are learned.
    pub learn: bool,
    /// Frames to unknown hosts are flooded to this port.
    pub unknown_unicast_flood: bool,
    /// Frames to multicast groups without known members are flooded to this port.
    pub unknown_multicast_flood: bool,
    /// Broadcasts are flooded to this port.
    pub broadcast_flood: bool,
    /// Frames are not forwarded between isolated ports.
    pub isolated: bool,
    /// The only ports that frames from this port go to, by number; `None`: any port
    /// (`forwarding-override`).
    pub only_to: Option<PortSet>,
    /// Frames from this port do not go up to the router.
    pub kept_down: bool,
    /// The VLAN mode, if the VLAN table is a switch chip's and not the bridge's own.
    pub vlan_mode: Option<VlanMode>,
    /// The switch port that forwards for this port below the workers; `None` if workers forward all
    /// frames.
    pub switched: Option<Switched>,
    /// Trust settings, if the bridge has guards.
    pub trust: Trust,
}

impl Default for BridgePort {
    fn default() -> Self {
        Self {
            interface: InterfaceId::NONE,
            learning: u32::MAX,
            forwarding: u32::MAX,
            pvid: 1,
            frame_types: FrameTypes::All,
            ingress_filtering: true,
            tag_stacking: false,
            horizon: None,
            learn: true,
            unknown_unicast_flood: true,
            unknown_multicast_flood: true,
            broadcast_flood: true,
            isolated: false,
            only_to: None,
            kept_down: false,
            vlan_mode: None,
            switched: None,
            trust: Trust::default(),
        }
    }
}

/// A bridge as workers see it: immutable. `Bridge::new` gives RouterOS's defaults, whose fields are
/// then changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bridge {
    /// The bridge's interface, with its MAC address and `OutId::bridge`.
    pub id: InterfaceId,
    /// The VLAN table, if VLANs are filtered; `None`: tags are forwarded unchanged and VLANs are
    /// not distinguished.
    pub vlans: Option<Arc<VlanTable>>,
    /// The EtherType of tags that the bridge recognises.
    pub ethertype: u16,
    /// The VLAN of untagged frames from the router.
    pub pvid: u16,
    /// Which frames from the router are admitted.
    pub frame_types: FrameTypes,
    /// Frames from the router are admitted only if the bridge is a member of their VLAN.
    pub ingress_filtering: bool,
    /// The only ports that frames from the router go to, by number; `None`: any port.
    pub only_to: Option<PortSet>,
    /// The VLAN mode for frames from the router, if the VLAN table is a switch chip's.
    pub vlan_mode: Option<VlanMode>,
    /// `allow-fast-path`, and no table applies to the frames: they count as fast path.
    pub fast_path: bool,
    /// With two ports, forwarded frames need no host lookup and are not learned. Control sets this
    /// where `fast-forward` applies; the data plane checks that both ports forward.
    pub fast_forward: bool,
    /// `forward-reserved-addresses`: frames to 01:80:c2:00:00:0X are forwarded, except flow
    /// control.
    pub forward_reserved: bool,
    /// Seconds after which control forgets a learned host.
    pub ageing_seconds: u32,
    /// Maximum number of learned hosts.
    pub max_learned: u32,
    /// The members of multicast groups, if the bridge snoops.
    pub groups: Option<Arc<Groups>>,
    /// The guards of untrusted ports.
    pub guards: Guards,
    ports: Vec<BridgePort>,
    /// The numbers of ports by their interfaces, sorted.
    numbers: Vec<(InterfaceId, u16)>,
    /// The link addresses of the ports' interfaces.
    pub(super) addresses: PortAddresses,
}

/// MAC addresses of ports. A received frame has such a source address only if the network has a
/// loop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PortAddresses {
    sorted: Vec<u64>,
    /// Filter: one bit for the low bits of each address, which excludes nearly every other address
    /// at once.
    pub(super) bits: u64,
}

impl PortAddresses {
    /// Returns the bit of an address in [`Self::bits`].
    #[inline(always)]
    pub(super) const fn bit(address: u64) -> u64 {
        1 << (address & 63)
    }

    /// Returns true if an address belongs to a port.
    pub(super) fn has(&self, address: u64) -> bool {
        self.sorted.binary_search(&address).is_ok()
    }
}

impl FromIterator<Mac> for PortAddresses {
    fn from_iter<I: IntoIterator<Item = Mac>>(addresses: I) -> Self {
        let mut sorted: Vec<_> = addresses.into_iter().map(number).collect();
        sorted.sort_unstable();
        let bits = sorted
            .iter()
            .fold(0, |bits, address| bits | Self::bit(*address));
        Self { sorted, bits }
    }
}

impl Bridge {
    /// Creates a bridge of these ports, whose index is their number. Drops ports beyond [`PORTS`].
    pub fn new(id: InterfaceId, ports: impl IntoIterator<Item = BridgePort>) -> Self {
        let ports: Vec<_> = ports.into_iter().take(PORTS).collect();
        let numbers = ports.iter().map(|port| port.interface).zip(0..);
        let mut numbers: Vec<_> = numbers.collect();
        numbers.sort_unstable();
        Self {
            id,
            vlans: None,
            ethertype: vlan::CUSTOMER,
            pvid: 1,
            frame_types: FrameTypes::All,
            ingress_filtering: true,
            only_to: None,
            vlan_mode: None,
            fast_path: true,
            fast_forward: false,
            forward_reserved: false,
            ageing_seconds: 300,
            max_learned: 131_072,
            groups: None,
            guards: Guards::default(),
            ports,
            numbers,
            addresses: PortAddresses::default(),
        }
    }

    /// Sets the switch port of each port. RouterOS: a bridge with a switched port has no fast
    /// forward.
    pub fn switch(&mut self, place: impl Fn(InterfaceId) -> Option<Switched>) {
        for port in &mut self.ports {
            port.switched = place(port.interface);
        }
        self.fast_forward &= self.ports.iter().all(|port| port.switched.is_none());
    }

    /// Sets the MAC addresses of the ports' interfaces, which are never learned.
    pub fn set_addresses(&mut self, addresses: impl IntoIterator<Item = Mac>) {
        self.addresses = addresses.into_iter().collect();
    }

    /// Replaces the port with this number by another value for its interface.
    pub fn set_port(&mut self, number: usize, port: BridgePort) {
        if let Some(place) = self.ports.get_mut(number) {
            *place = BridgePort {
                interface: place.interface,
                ..port
            };
        }
    }

    /// Returns the ports, by number.
    pub fn ports(&self) -> &[BridgePort] {
        &self.ports
    }

    /// Returns the number of the port with this interface.
    pub fn number(&self, interface: InterfaceId) -> Option<usize> {
        let at = self.numbers.binary_search_by_key(&interface, |(of, _)| *of);
        at.ok().map(|at| usize::from(self.numbers[at].1))
    }
}
