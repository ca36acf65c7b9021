//! Settings of neighbour discovery, and the data announced for each interface.

use core::net::{Ipv4Addr, Ipv6Addr};

use machine::{Duration, Instant};
use wire::Mac;

/// Discovery protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// Cisco Discovery Protocol.
    Cdp,
    /// IEEE 802.1AB.
    Lldp,
    /// MikroTik Neighbour Discovery Protocol.
    Mndp,
}

impl Protocol {
    /// All protocols, in the order of RouterOS.
    pub const ALL: [Self; 3] = [Self::Cdp, Self::Lldp, Self::Mndp];

    /// Returns the protocol's name in RouterOS.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cdp => "cdp",
            Self::Lldp => "lldp",
            Self::Mndp => "mndp",
        }
    }
}

/// Set of protocols.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Protocols(u8);

impl Protocols {
    /// All three protocols.
    pub const ALL: Self = Self(7);

    /// Adds a protocol.
    #[must_use]
    pub const fn and(self, protocol: Protocol) -> Self {
        Self(self.0 | 1 << protocol as u8)
    }

    /// True if the set contains the protocol.
    pub const fn has(self, protocol: Protocol) -> bool {
        self.0 >> protocol as u8 & 1 == 1
    }
}

impl core::fmt::Display for Protocols {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let its = Protocol::ALL.into_iter().filter(|its| self.has(*its));
        for (at, protocol) in its.enumerate() {
            let comma = if at > 0 { "," } else { "" };
            write!(f, "{comma}{}", protocol.name())?;
        }
        Ok(())
    }
}

/// Settings of neighbour discovery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Interval between announcements. Announcements are valid for four intervals and one second.
    pub interval: Duration,
    /// Enabled protocols.
    pub protocols: Protocols,
    /// Send announcements.
    pub tells: bool,
    /// Receive announcements.
    pub listens: bool,
    /// Announce LLDP-MED support.
    pub med: bool,
    /// Voice VLAN announced to LLDP-MED endpoints; `None` announces none.
    pub voice_vlan: Option<u16>,
    /// Announce the port's speed by LLDP.
    pub phy: bool,
    /// Announce the maximum frame size by LLDP.
    pub max_frame: bool,
    /// Announce the port's VLAN by LLDP.
    pub vlan: bool,
    /// Data about the router.
    pub system: System,
}

/// Announced data about the router.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct System {
    /// Identity.
    pub identity: String,
    /// Version.
    pub version: String,
    /// Platform.
    pub platform: String,
    /// Board name.
    pub board: String,
    /// Start of the router, for its uptime.
    pub started: Instant,
}

impl Config {
    /// Lifetime of announcements in seconds. RouterOS: 121 at an interval of 30 seconds.
    pub fn hold(&self) -> u16 {
        let seconds = self.interval.as_secs().saturating_mul(4).saturating_add(1);
        u16::try_from(seconds).unwrap_or(u16::MAX)
    }
}

/// Announced data about an interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Port {
    /// Interface name.
    pub name: String,
    /// Interface name with its bridge, `bridge/ether1`; without a bridge the interface name.
    pub path: String,
    /// MAC address.
    pub mac: Mac,
    /// IPv4 address of the interface or its bridge.
    pub ipv4: Option<Ipv4Addr>,
    /// Link-local address of the interface or its bridge.
    pub link_local: Option<Ipv6Addr>,
    /// Other IPv6 address of the interface or its bridge.
    pub ipv6: Option<Ipv6Addr>,
    /// Interface index.
    pub index: u32,
    /// MTU in bytes.
    pub mtu: u32,
    /// Speed in Mbit/s; `None` if unknown.
    pub speed_mbps: Option<u32>,
    /// VLAN of untagged frames.
    pub pvid: u16,
}
