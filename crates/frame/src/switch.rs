//! Switching between bridge ports below the workers, by the kernel or a switch chip.
//!
//! ```text
//!  control   groups, VLANs, spanning tree                     ─▶ set_member, set_vlan
//!            ageing and moving hosts, flushed ports          ─▶ seen, forget, flush
//!            switched traffic                                 ◀─ take
//!  workers   a host seen at a port, or moved elsewhere        ─▶ learn, forget
//! ```
//!
//! Only known unicast is switched. All other frames go to the workers, as without a switch.

/// Position of a port in a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SwitchPort(u8);

impl SwitchPort {
    /// Number of positions.
    pub const MOST: usize = 64;

    /// Returns the position with this number; `None` from [`SwitchPort::MOST`] on.
    pub fn new(number: usize) -> Option<Self> {
        (number < Self::MOST).then_some(Self(number as u8))
    }

    /// Returns the number.
    pub fn number(self) -> usize {
        usize::from(self.0)
    }
}

/// A set of positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwitchPorts(pub u64);

impl SwitchPorts {
    /// Returns the set with `port` added.
    #[must_use]
    pub fn with(self, port: SwitchPort) -> Self {
        Self(self.0 | 1 << port.0)
    }

    /// Returns the set without `port`.
    #[must_use]
    pub fn without(self, port: SwitchPort) -> Self {
        Self(self.0 & !(1 << port.0))
    }

    /// Returns true if the set contains `port`.
    pub fn has(self, port: SwitchPort) -> bool {
        self.0 >> port.0 & 1 != 0
    }
}

impl FromIterator<SwitchPort> for SwitchPorts {
    fn from_iter<I: IntoIterator<Item = SwitchPort>>(ports: I) -> Self {
        ports.into_iter().fold(Self::default(), Self::with)
    }
}

/// Ports that switch among each other: those of one bridge on one chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Group(u8);

impl Group {
    /// Maximum number of groups.
    pub const MOST: usize = 15;

    /// Returns the group with this number, from 1 to [`Group::MOST`].
    pub fn new(number: usize) -> Option<Self> {
        (1..=Self::MOST)
            .contains(&number)
            .then_some(Self(number as u8))
    }

    /// Returns the number.
    pub fn number(self) -> usize {
        usize::from(self.0)
    }
}

/// Settings of a switching port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The group of the port.
    pub group: Group,
    /// Ports that its frames may leave by, regardless of VLANs and spanning tree; never the port itself.
    pub reaches: SwitchPorts,
    /// Maximum length in bytes of a frame that it sends, from the Ethernet header on.
    pub longest: u32,
    /// True if frames of unknown hosts go to a worker, which learns them.
    pub learns: bool,
    /// Tag handling; `None` without VLAN filtering, where all frames are in VLAN 0.
    pub tags: Option<MemberTags>,
}

/// Tag handling of a bridge port with VLAN filtering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberTags {
    /// VLAN of untagged frames, 1 to 4094; `None` if they are not admitted.
    pub pvid: Option<u16>,
    /// True if tagged frames are admitted.
    pub admits_tagged: bool,
}

/// The ports of a VLAN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VlanPorts {
    /// Ports on which its frames are accepted.
    pub ingress: SwitchPorts,
    /// Ports by which its frames may leave.
    pub egress: SwitchPorts,
    /// Ports by which its frames leave untagged.
    pub untagged: SwitchPorts,
}

/// Key of a host in a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HostKey {
    /// The group.
    pub group: Group,
    /// The VLAN; 0 without VLAN filtering.
    pub vid: u16,
    /// The MAC address.
    pub mac: [u8; 6],
}

/// Traffic switched from one port to another since the last call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switched {
    /// The ingress port.
    pub from: SwitchPort,
    /// The egress port.
    pub to: SwitchPort,
    /// Number of frames.
    pub frames: u64,
    /// Bytes of the frames as received, including Ethernet headers.
    pub bytes: u64,
}

/// Fill level of a group's host table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filling {
    /// Number of switched hosts.
    pub hosts: u32,
    /// Number of hosts that found no room; workers forward their frames.
    pub refused: u64,
}

/// Switching of bridge ports. Only the control plane calls these functions, unless they are marked for
/// workers. No function blocks or makes a system call.
pub trait BridgeOffload: Send + Sync + core::fmt::Debug {
    /// Sets a port's settings; without settings, frames from and to the port are not switched.
    fn set_member(&self, port: SwitchPort, member: Option<&Member>);

    /// Sets the ports of a VLAN; VLAN 0 without VLAN filtering.
    fn set_vlan(&self, group: Group, vid: u16, ports: &VlanPorts);

    /// Sets the maximum number of hosts of a group.
    fn set_limit(&self, group: Group, hosts: u32);

    /// Removes all hosts of a port.
    fn flush(&self, port: SwitchPort);

    /// Removes a host. Workers may call this as well.
    fn forget(&self, host: &HostKey);

    /// Returns the seconds since a host's last frame; `None` if the host is unknown.
    fn seen(&self, host: &HostKey) -> Option<u32>;

    /// Records that a host was seen at a port. Workers call this from many threads; it does not allocate.
    fn learn(&self, host: &HostKey, port: SwitchPort);

    /// Reports the switched traffic.
    fn take(&self, switched: &mut dyn FnMut(Switched));

    /// Frees part of the memory of flushed hosts; all of it after 64 calls.
    fn sweep(&self);

    /// Returns the fill level of a group's host table.
    fn filling(&self, group: Group) -> Filling;
}
