//! Configuration of a virtual router, and encoding of its advertisements.

use core::net::IpAddr;

use machine::Duration;
use wire::vrrp::{self, GROUP4, GROUP6, Repr, TTL};
use wire::{Protocol, ipv4, ipv6};

use super::security::{self, KEY_BYTES};

/// Length of a simple password in an advertisement.
pub(super) const PASSWORD_BYTES: usize = 8;

/// VRRP version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// Version 2, IPv4 only (RFC 3768).
    V2,
    /// Version 3 (RFC 5798).
    V3,
}

/// Authentication of version 2 (RFC 2338, 5.3.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authentication {
    /// None.
    None,
    /// Simple password in clear text.
    Simple([u8; PASSWORD_BYTES]),
    /// Authentication header with HMAC-MD5.
    Header([u8; KEY_BYTES]),
}

/// Configuration of a virtual router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Version.
    pub version: Version,
    /// IPv6 instead of IPv4.
    pub ipv6: bool,
    /// Virtual router id, 1 to 255.
    pub vrid: u8,
    /// Priority, 1 to 255; 255 for the address owner.
    pub priority: u8,
    /// Advertisement interval: 10 ms to 255 s, in whole seconds (version 2) or hundredths of seconds (version 3).
    pub interval: Duration,
    /// A backup with a higher priority takes over.
    pub preempt: bool,
    /// Version 3 with checksums as in version 2, without pseudo-header (IPv4 only).
    pub sums_as_v2: bool,
    /// Authentication of version 2.
    pub authentication: Authentication,
    /// Virtual addresses; at most 255 are advertised.
    pub addresses: Vec<IpAddr>,
    /// Source address: the interface's first IPv4 address, or its IPv6 link-local address.
    pub source: Option<IpAddr>,
}

impl Authentication {
    /// Simple password; the first 8 bytes count.
    pub fn simple(password: &str) -> Self {
        Self::Simple(filled_up(password))
    }

    /// Authentication header with this password as key; the first 16 bytes count.
    pub fn header(password: &str) -> Self {
        Self::Header(filled_up(password))
    }
}

fn filled_up<const N: usize>(password: &str) -> [u8; N] {
    let mut bytes = [0; N];
    for (to, from) in bytes.iter_mut().zip(password.bytes()) {
        *to = from;
    }
    bytes
}

impl Config {
    /// Version 3 virtual router with this id and RouterOS's defaults.
    pub const fn new(vrid: u8, ipv6: bool) -> Self {
        Self {
            version: Version::V3,
            ipv6,
            vrid,
            priority: 100,
            interval: Duration::from_secs(1),
            preempt: true,
            sums_as_v2: false,
            authentication: Authentication::None,
            addresses: Vec::new(),
            source: None,
        }
    }

    /// Multicast group of advertisements.
    pub(super) const fn group(&self) -> IpAddr {
        match self.ipv6 {
            true => IpAddr::V6(GROUP6),
            false => IpAddr::V4(GROUP4),
        }
    }

    /// Interval in whole seconds for version 2.
    pub(super) fn seconds(&self) -> u8 {
        self.interval.as_secs().clamp(1, 255) as u8
    }

    /// Addresses of the pseudo-header; `None` if the checksum covers the advertisement only.
    pub(super) fn pseudo(&self, between: (IpAddr, IpAddr)) -> Option<(IpAddr, IpAddr)> {
        let bare = self.version == Version::V2 || self.sums_as_v2 && !self.ipv6;
        (!bare).then_some(between)
    }

    /// Advertised addresses: at least one; in IPv6 the link-local one comes first (RFC 5798, 5.2.9).
    fn advertised(&self) -> Vec<IpAddr> {
        let of_family = |address: &&IpAddr| address.is_ipv6() == self.ipv6;
        let mut told: Vec<_> = self.addresses.iter().filter(of_family).copied().collect();
        told.sort_by_key(|address| match address {
            IpAddr::V6(address) => !address.is_unicast_link_local(),
            IpAddr::V4(_) => false,
        });
        if told.is_empty() {
            told.extend(self.source);
        }
        told.truncate(255);
        told
    }

    /// Builds the IP packet of an advertisement with this priority; `None` without a source address.
    pub(super) fn packet(&self, priority: u8, sequence: u32) -> Option<Vec<u8>> {
        let source = self.source.filter(|source| source.is_ipv6() == self.ipv6)?;
        let to = self.group();
        let (kind, data) = match self.authentication {
            Authentication::None => (0, [0; PASSWORD_BYTES]),
            Authentication::Simple(password) => (1, password),
            Authentication::Header(_) => (2, [0; PASSWORD_BYTES]),
        };
        let version = match self.version {
            Version::V2 => vrrp::Version::V2 {
                kind,
                data,
                seconds: self.seconds(),
            },
            Version::V3 => vrrp::Version::V3 {
                centiseconds: (self.interval.as_millis() / 10).clamp(1, 4095) as u16,
            },
        };
        let repr = Repr {
            vrid: self.vrid,
            priority,
            version,
            addresses: self.advertised(),
        };
        let advertisement = repr.to_bytes(self.pseudo((source, to)));
        match (source, to) {
            (IpAddr::V4(source), IpAddr::V4(to)) => {
                let header = ipv4::Repr {
                    ttl: TTL,
                    tos: INTERNETWORK_CONTROL,
                    id: sequence as u16,
                    ..ipv4::Repr::new(Protocol::VRRP, source, to)
                };
                match (self.version, self.authentication) {
                    (Version::V2, Authentication::Header(key)) => {
                        Some(security::wrap(&header, &advertisement, &key, sequence))
                    }
                    _ => Some([&header.to_bytes(advertisement.len())[..], &advertisement].concat()),
                }
            }
            (IpAddr::V6(source), IpAddr::V6(to)) => {
                let header = ipv6::Repr {
                    hop_limit: TTL,
                    traffic_class: INTERNETWORK_CONTROL,
                    ..ipv6::Repr::new(Protocol::VRRP, source, to)
                };
                Some([&header.to_bytes(advertisement.len())[..], &advertisement].concat())
            }
            _ => None,
        }
    }
}

/// TOS of routing protocols (RFC 4594, 3.2: CS6).
const INTERNETWORK_CONTROL: u8 = 0xc0;
