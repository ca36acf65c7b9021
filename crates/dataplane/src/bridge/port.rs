//! A bridge and its ports as control gives them: values, replaced as a whole.

use std::sync::Arc;

use frame::InterfaceId;
use wire::Mac;

use super::link::number;
use super::offload::Switched;
use super::{Groups, Guards, Trust, VlanTable, vlan};

/// The most ports of a bridge (RouterOS).
pub const PORTS: usize = 1024;

/// Which frames a port admits (`frame-types`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FrameTypes {
    /// All.
    #[default]
    All,
    /// Those with a tag that names a VLAN.
    Tagged,
    /// Those without one, or with a priority alone.
    UntaggedAndPriority,
}

/// How a switch chip takes the VLANs of what comes by a port (`vlan-mode` of `/interface/ethernet/switch/port`). What
/// has no tag is of the port's own VLAN (`default-vlan-id`); a VLAN is known if the chip's table has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VlanMode {
    /// Tags do not count.
    Disabled,
    /// Frames of known VLANs go to the members; others go on as if they had no tag.
    Fallback,
    /// Frames of unknown VLANs are discarded.
    Check,
    /// Those of VLANs that the port is no member of, too.
    Secure,
}

/// Ports of a bridge, by their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortSet(Vec<u64>);

impl PortSet {
    /// Whether the port with this number is in it.
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
    /// Its interface: anything with an Ethernet header whose line has an `out`.
    pub interface: InterfaceId,
    /// The spanning trees in which it learns, a bit each: bit 0 is the common one.
    pub learning: u32,
    /// The spanning trees in which it forwards.
    pub forwarding: u32,
    /// The VLAN of frames that come without one; frames that have one are never changed by it.
    pub pvid: u16,
    /// Which frames come in, where VLANs are filtered.
    pub frame_types: FrameTypes,
    /// Frames come in only of VLANs that it is a member of.
    pub ingress_filtering: bool,
    /// Frames are taken to be without a tag, whatever tags they have.
    pub tag_stacking: bool,
    /// Frames do not go from one port to another of the same horizon.
    pub horizon: Option<u32>,
    /// Stations are learned here.
    pub learn: bool,
    /// Frames to stations that are not known leave here.
    pub unknown_unicast_flood: bool,
    /// Frames to groups that nobody is known to have joined leave here.
    pub unknown_multicast_flood: bool,
    /// Broadcasts leave here.
    pub broadcast_flood: bool,
    /// Frames do not go from one isolated port to another.
    pub isolated: bool,
    /// The only ports that frames go to from here, by number; none: any (`forwarding-override`).
    pub only_to: Option<PortSet>,
    /// Frames do not go up to the router from here.
    pub kept_down: bool,
    /// How it takes VLANs, where the table is a switch chip's and not the bridge's own.
    pub vlan_mode: Option<VlanMode>,
    /// Where it is switched below the workers; none where they do all of it.
    pub switched: Option<Switched>,
    /// What it is trusted with, where the bridge has guards.
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

/// A bridge, as workers see it: immutable. `Bridge::new` gives RouterOS's defaults, whose fields are then changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bridge {
    /// Its interface, whose line has its link address and `OutId::bridge`.
    pub id: InterfaceId,
    /// The VLANs that are filtered; none: it forwards tags as they are, and does not tell VLANs apart.
    pub vlans: Option<Arc<VlanTable>>,
    /// The EtherType of tags that count as such.
    pub ethertype: u16,
    /// What the bridge itself is as a port: of its frames without a tag, which of them it sends, and whether only in
    /// VLANs that it is a member of.
    pub pvid: u16,
    /// See [`Self::pvid`].
    pub frame_types: FrameTypes,
    /// See [`Self::pvid`].
    pub ingress_filtering: bool,
    /// The only ports that the router's frames go to, and how it takes VLANs: see [`BridgePort`].
    pub only_to: Option<PortSet>,
    /// See [`Self::only_to`].
    pub vlan_mode: Option<VlanMode>,
    /// `allow-fast-path`, and nothing looks at its frames: they are counted as such.
    pub fast_path: bool,
    /// With two ports, frames that only pass are not looked up and teach nothing. Control says so where
    /// `fast-forward` holds; the data plane looks whether both ports forward.
    pub fast_forward: bool,
    /// `forward-reserved-addresses`: frames to 01:80:c2:00:00:0X are forwarded, but for those of flow control.
    pub forward_reserved: bool,
    /// Seconds after which a learned station is forgotten. Control does so.
    pub ageing_seconds: u32,
    /// How many stations it learns at most.
    pub max_learned: u32,
    /// Who listens to which multicast groups, where it snoops.
    pub groups: Option<Arc<Groups>>,
    /// What it keeps to trusted ports.
    pub guards: Guards,
    ports: Vec<BridgePort>,
    /// The numbers of ports by their interfaces, sorted.
    numbers: Vec<(InterfaceId, u16)>,
    /// The link addresses of the ports' interfaces.
    pub(super) addresses: PortAddresses,
}

/// Link addresses of ports: no frame that comes by a port has one of them as its source, unless there is a loop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PortAddresses {
    sorted: Vec<u64>,
    /// A bit for the low bits of each address, so that nearly every other address is told apart at once.
    pub(super) bits: u64,
}

impl PortAddresses {
    /// The bit of an address in [`Self::bits`].
    #[inline(always)]
    pub(super) const fn bit(address: u64) -> u64 {
        1 << (address & 63)
    }

    /// Whether an address is one of them.
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
    /// A bridge of these ports, of which there are at most [`PORTS`]; others are left out. A port's number is its
    /// place.
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

    /// Says where each port is switched below the workers. RouterOS: where any is, there is no fast forward.
    pub fn switch(&mut self, place: impl Fn(InterfaceId) -> Option<Switched>) {
        for port in &mut self.ports {
            port.switched = place(port.interface);
        }
        self.fast_forward &= self.ports.iter().all(|port| port.switched.is_none());
    }

    /// Sets the link addresses of the ports' interfaces, which are never learned.
    pub fn set_addresses(&mut self, addresses: impl IntoIterator<Item = Mac>) {
        self.addresses = addresses.into_iter().collect();
    }

    /// Replaces the port with this number by another one of the same interface.
    pub fn set_port(&mut self, number: usize, port: BridgePort) {
        if let Some(place) = self.ports.get_mut(number) {
            *place = BridgePort {
                interface: place.interface,
                ..port
            };
        }
    }

    /// Its ports, by their numbers.
    pub fn ports(&self) -> &[BridgePort] {
        &self.ports
    }

    /// The number of the port that an interface is.
    pub fn number(&self, interface: InterfaceId) -> Option<usize> {
        let at = self.numbers.binary_search_by_key(&interface, |(of, _)| *of);
        at.ok().map(|at| usize::from(self.numbers[at].1))
    }
}
