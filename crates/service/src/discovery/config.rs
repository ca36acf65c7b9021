//! How a router tells of itself and listens, and what it tells of each of its interfaces.

use core::net::{Ipv4Addr, Ipv6Addr};

use machine::{Duration, Instant};
use wire::Mac;

/// A protocol of discovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// Cisco's.
    Cdp,
    /// IEEE 802.1AB.
    Lldp,
    /// RouterOS's own.
    Mndp,
}

impl Protocol {
    /// All of them, in the order in which RouterOS names them.
    pub const ALL: [Self; 3] = [Self::Cdp, Self::Lldp, Self::Mndp];

    /// RouterOS's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cdp => "cdp",
            Self::Lldp => "lldp",
            Self::Mndp => "mndp",
        }
    }
}

/// A set of protocols.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Protocols(u8);

impl Protocols {
    /// All three.
    pub const ALL: Self = Self(7);

    /// With this one.
    #[must_use]
    pub const fn and(self, protocol: Protocol) -> Self {
        Self(self.0 | 1 << protocol as u8)
    }

    /// Whether this is one of them.
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

/// How a router tells and listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Between two messages; what is told holds for four of them and a second.
    pub interval: Duration,
    /// By which protocols.
    pub protocols: Protocols,
    /// Whether it tells.
    pub tells: bool,
    /// Whether it listens.
    pub listens: bool,
    /// Whether LLDP tells that the router knows of media.
    pub med: bool,
    /// The VLAN of voice, for neighbours that are of media; none tells them nothing.
    pub voice_vlan: Option<u16>,
    /// Whether LLDP tells of the port's speed.
    pub phy: bool,
    /// Whether LLDP tells of the longest frame.
    pub max_frame: bool,
    /// Whether LLDP tells of the port's VLAN.
    pub vlan: bool,
    /// The router.
    pub system: System,
}

/// A router, as it tells of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct System {
    /// Its name.
    pub identity: String,
    /// Its version.
    pub version: String,
    /// What it runs.
    pub platform: String,
    /// Its model.
    pub board: String,
    /// Since when it runs.
    pub started: Instant,
}

impl Config {
    /// How long what is told by it holds, in seconds. RouterOS: 121 at 30 seconds.
    pub fn hold(&self) -> u16 {
        let seconds = self.interval.as_secs().saturating_mul(4).saturating_add(1);
        u16::try_from(seconds).unwrap_or(u16::MAX)
    }
}

/// An interface, as it is told of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Port {
    /// Its own name.
    pub name: String,
    /// Its name with that of the bridge that it is a port of, `bridge/ether1`; its own where it is none.
    pub path: String,
    /// Its link address.
    pub mac: Mac,
    /// An address of it, or of its bridge.
    pub ipv4: Option<Ipv4Addr>,
    /// Its link-local address, or that of its bridge.
    pub link_local: Option<Ipv6Addr>,
    /// Another address of it, or of its bridge.
    pub ipv6: Option<Ipv6Addr>,
    /// Its number.
    pub index: u32,
    /// The longest packet, in bytes.
    pub mtu: u32,
    /// Megabits a second; none where nobody knows.
    pub speed_mbps: Option<u32>,
    /// The VLAN of untagged frames.
    pub pvid: u16,
}
