//! How a virtual router is configured, and the packets that it sends.

use core::net::IpAddr;

use machine::Duration;
use wire::vrrp::{self, GROUP4, GROUP6, Repr, TTL};
use wire::{Protocol, ipv4, ipv6};

use super::security::{self, KEY_BYTES};

/// Bytes of a password that stands in an advertisement.
pub(super) const PASSWORD_BYTES: usize = 8;

/// The version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// Version 2, of IPv4 alone (RFC 3768).
    V2,
    /// Version 3 (RFC 5798).
    V3,
}

/// How advertisements of version 2 prove who sent them (RFC 2338, 5.3.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authentication {
    /// Not at all.
    None,
    /// By a password that everybody on the link can read.
    Simple([u8; PASSWORD_BYTES]),
    /// By an authentication header with HMAC-MD5.
    Header([u8; KEY_BYTES]),
}

/// How a virtual router is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The version.
    pub version: Version,
    /// It is of IPv6.
    pub ipv6: bool,
    /// Its number, 1 to 255.
    pub vrid: u8,
    /// Its priority, 1 to 255; 255 of who owns the addresses.
    pub priority: u8,
    /// Between advertisements: 10 ms to 255 s. Version 2 has whole seconds, version 3 hundredths of them.
    pub interval: Duration,
    /// A backup of a higher priority takes over.
    pub preempt: bool,
    /// Version 3 sums as version 2 did, without a pseudo-header (of IPv4 alone).
    pub sums_as_v2: bool,
    /// How advertisements of version 2 are authenticated.
    pub authentication: Authentication,
    /// The addresses that it has while it is master; 255 at most are told.
    pub addresses: Vec<IpAddr>,
    /// The address that it speaks with, of its interface: the first one of IPv4, the link-local one of IPv6.
    pub source: Option<IpAddr>,
    /// The other router, where advertisements are sent to it alone.
    pub remote: Option<IpAddr>,
}

impl Authentication {
    /// By this password, of which 8 bytes are told.
    pub fn simple(password: &str) -> Self {
        Self::Simple(filled_up(password))
    }

    /// By a header with this password as key, of which 16 bytes count.
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
    /// A virtual router of version 3 with this number, otherwise as RouterOS has it by default.
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
            remote: None,
        }
    }

    /// Where advertisements are sent to.
    pub fn destination(&self) -> IpAddr {
        let group = match self.ipv6 {
            true => GROUP6.into(),
            false => GROUP4.into(),
        };
        self.remote.unwrap_or(group)
    }

    /// The interval in whole seconds, as version 2 tells it.
    pub(super) fn seconds(&self) -> u8 {
        self.interval.as_secs().clamp(1, 255) as u8
    }

    /// What sums are over besides the advertisement.
    pub(super) fn pseudo(&self, between: (IpAddr, IpAddr)) -> Option<(IpAddr, IpAddr)> {
        let bare = self.version == Version::V2 || self.sums_as_v2 && !self.ipv6;
        (!bare).then_some(between)
    }

    /// The addresses that are told: there is at least one, and of IPv6 the link-local one is first (RFC 5798,
    /// 5.2.9).
    fn told(&self) -> Vec<IpAddr> {
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

    /// An advertisement with this priority, in its IP packet; none where it has no address to speak with.
    pub(super) fn packet(&self, priority: u8, sequence: u32) -> Option<Vec<u8>> {
        let source = self.source.filter(|source| source.is_ipv6() == self.ipv6)?;
        let to = self.destination();
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
            addresses: self.told(),
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
                    (Version::V2, Authentication::Header(key)) => Some(security::wrap(
                        &header,
                        &advertisement,
                        (&key, self.vrid, sequence),
                    )),
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

/// The class of routing protocols (RFC 4594, 3.2: CS6).
const INTERNETWORK_CONTROL: u8 = 0xc0;
