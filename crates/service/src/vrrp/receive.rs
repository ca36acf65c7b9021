//! What is heard: whose advertisement it is, and whether it is as it should be (RFC 5798, 7.1; RFC 3768, 7.1).

use core::net::IpAddr;

use machine::Duration;
use wire::vrrp::{self, Packet, TTL};
use wire::{Protocol, ipv4, ipv6};

use super::config::{Authentication, Config, PASSWORD_BYTES, Version};
use super::security;

/// Why an advertisement was discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The packet or the advertisement in it is malformed.
    Malformed,
    /// Its lifetime is not 255: it comes from beyond the link, or is forged.
    Ttl,
    /// The checksum is wrong.
    Checksum,
    /// It is not authenticated as it should be.
    Authentication,
    /// The interval of version 2 is another.
    Interval,
    /// It is for a group, and this router speaks with another one alone; or the other way round.
    Sender,
}

/// An advertisement, read as far as to say whose it is.
#[derive(Clone, Copy, Debug)]
pub struct Heard<'a> {
    packet: &'a [u8],
    header_len: usize,
    /// It stands behind an authentication header.
    secured: bool,
    advertisement: Packet<'a>,
    between: (IpAddr, IpAddr),
    ttl: u8,
}

impl Heard<'_> {
    /// The virtual router that it is of.
    pub const fn vrid(&self) -> u8 {
        self.advertisement.vrid()
    }

    /// Its version.
    pub fn version(&self) -> Version {
        match self.advertisement.version() {
            vrrp::Version::V2 { .. } => Version::V2,
            vrrp::Version::V3 { .. } => Version::V3,
        }
    }

    /// Whom it was sent to.
    pub const fn destination(&self) -> IpAddr {
        self.between.1
    }

    /// Whether it came over IPv6.
    pub const fn is_ipv6(&self) -> bool {
        self.between.0.is_ipv6()
    }
}

/// What an accepted advertisement says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Offer {
    pub(super) priority: u8,
    pub(super) from: IpAddr,
    pub(super) interval: Duration,
}

/// Reads an IP packet.
///
/// # Errors
/// [`Fault::Malformed`].
pub fn hear(packet: &[u8]) -> Result<Heard<'_>, Fault> {
    match packet.first().map(|first| first >> 4) {
        Some(6) => hear6(packet),
        _ => hear4(packet),
    }
    .ok_or(Fault::Malformed)
}

fn hear4(packet: &[u8]) -> Option<Heard<'_>> {
    let read = ipv4::Packet::new_checked(packet).ok()?;
    let secured = match read.protocol() {
        Protocol::VRRP => false,
        Protocol::AH => true,
        _ => return None,
    };
    let payload = read.payload();
    let advertisement = match secured {
        true => security::behind(payload)?,
        false => payload,
    };
    let whole = usize::from(read.total_len());
    Some(Heard {
        packet: packet.get(..whole)?,
        header_len: read.header_len(),
        secured,
        advertisement: Packet::new_checked(advertisement, false).ok()?,
        between: (read.src().into(), read.dst().into()),
        ttl: read.ttl(),
    })
}

fn hear6(packet: &[u8]) -> Option<Heard<'_>> {
    let read = ipv6::Packet::new_checked(packet).ok()?;
    let upper = read.upper().ok()?;
    let is_whole = upper.fragment.is_none() && upper.protocol == Protocol::VRRP;
    Some(Heard {
        packet,
        header_len: upper.at,
        secured: false,
        advertisement: Packet::new_checked(upper.payload, true)
            .ok()
            .filter(|_| is_whole)?,
        between: (read.src().into(), read.dst().into()),
        ttl: read.hop_limit(),
    })
}

/// Whether an advertisement is as it should be for this virtual router, and what it says.
pub(super) fn check(config: &Config, heard: &Heard<'_>) -> Result<Offer, Fault> {
    if heard.ttl != TTL {
        return Err(Fault::Ttl);
    }
    let expected = match config.remote {
        Some(remote) => heard.between.0 == remote && !is_group(heard.destination()),
        None => heard.destination() == config.destination(),
    };
    if !expected {
        return Err(Fault::Sender);
    }
    let pseudo = config.pseudo(heard.between);
    if !heard.advertisement.is_intact(pseudo) {
        return Err(Fault::Checksum);
    }
    let interval = match heard.advertisement.version() {
        vrrp::Version::V2 {
            kind,
            data,
            seconds,
        } => {
            authenticate(config, heard, (kind, data))?;
            // RFC 3768, 7.1: the interval has to be the same.
            if seconds != config.seconds() {
                return Err(Fault::Interval);
            }
            Duration::from_secs(seconds.into())
        }
        vrrp::Version::V3 { centiseconds } => {
            // A backup follows the master's interval (RFC 5798, 6.4.2).
            Duration::from_millis(u64::from(centiseconds.max(1)) * 10)
        }
    };
    Ok(Offer {
        priority: heard.advertisement.priority(),
        from: heard.between.0,
        interval,
    })
}

const fn is_group(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_multicast(),
        IpAddr::V6(address) => address.is_multicast(),
    }
}

/// Whether an advertisement of version 2 proves who sent it.
fn authenticate(
    config: &Config,
    heard: &Heard<'_>,
    (kind, data): (u8, [u8; PASSWORD_BYTES]),
) -> Result<(), Fault> {
    let is_proven = match (config.authentication, kind, heard.secured) {
        (Authentication::None, 0, false) => true,
        (Authentication::Simple(password), 1, false) => password == data,
        (Authentication::Header(key), 2, true) => {
            security::is_proven(heard.packet, heard.header_len, &key)
        }
        _ => false,
    };
    is_proven.then_some(()).ok_or(Fault::Authentication)
}
