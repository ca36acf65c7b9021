//! Parses and validates received advertisements (RFC 5798, 7.1; RFC 3768, 7.1).

use core::net::IpAddr;

use machine::Duration;
use wire::vrrp::{self, Packet, TTL};
use wire::{Protocol, ipv4, ipv6};

use super::config::{Authentication, Config, PASSWORD_BYTES, Version};
use super::security;

/// Reason why an advertisement is discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Malformed packet or advertisement.
    Malformed,
    /// TTL below 255: the packet comes from off the link or is forged.
    Ttl,
    /// Wrong checksum.
    Checksum,
    /// Authentication failed.
    Authentication,
    /// Different advertisement interval in version 2.
    Interval,
    /// Other version.
    Version,
}

/// An advertisement, parsed but not validated.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedAdvertisement<'a> {
    packet: &'a [u8],
    header_len: usize,
    /// The packet has an authentication header.
    secured: bool,
    advertisement: Packet<'a>,
    between: (IpAddr, IpAddr),
    ttl: u8,
}

impl ReceivedAdvertisement<'_> {
    /// Virtual router id.
    pub const fn vrid(&self) -> u8 {
        self.advertisement.vrid()
    }

    /// VRRP version.
    pub fn version(&self) -> Version {
        match self.advertisement.version() {
            vrrp::Version::V2 { .. } => Version::V2,
            vrrp::Version::V3 { .. } => Version::V3,
        }
    }

    /// True for IPv6.
    pub const fn is_ipv6(&self) -> bool {
        self.between.0.is_ipv6()
    }
}

/// Contents of a valid advertisement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AdvertisementContents {
    pub(super) priority: u8,
    pub(super) from: IpAddr,
    pub(super) interval: Duration,
    /// Sequence number of the authentication header.
    pub(super) sequence: Option<u32>,
}

/// Parses an IP packet.
///
/// # Errors
/// Returns [`Fault::Malformed`] if the packet is no VRRP advertisement.
pub fn parse(packet: &[u8]) -> Result<ReceivedAdvertisement<'_>, Fault> {
    match packet.first().map(|first| first >> 4) {
        Some(6) => parse6(packet),
        _ => parse4(packet),
    }
    .ok_or(Fault::Malformed)
}

fn parse4(packet: &[u8]) -> Option<ReceivedAdvertisement<'_>> {
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
    Some(ReceivedAdvertisement {
        packet: packet.get(..whole)?,
        header_len: read.header_len(),
        secured,
        advertisement: Packet::new_checked(advertisement, false).ok()?,
        between: (read.src().into(), read.dst().into()),
        ttl: read.ttl(),
    })
}

fn parse6(packet: &[u8]) -> Option<ReceivedAdvertisement<'_>> {
    let read = ipv6::Packet::new_checked(packet).ok()?;
    let upper = read.upper().ok()?;
    let is_whole = upper.fragment.is_none() && upper.protocol == Protocol::VRRP;
    Some(ReceivedAdvertisement {
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

/// Validates an advertisement for this virtual router and returns its contents.
pub(super) fn check(
    config: &Config,
    heard: &ReceivedAdvertisement<'_>,
) -> Result<AdvertisementContents, Fault> {
    if heard.ttl != TTL {
        return Err(Fault::Ttl);
    }
    if heard.version() != config.version {
        return Err(Fault::Version);
    }
    let pseudo = config.pseudo(heard.between);
    if !heard.advertisement.is_intact(pseudo) {
        return Err(Fault::Checksum);
    }
    let (interval, sequence) = match heard.advertisement.version() {
        vrrp::Version::V2 {
            kind,
            data,
            seconds,
        } => {
            let sequence = authenticate(config, heard, kind, data)?;
            // RFC 3768, 7.1: the interval must match.
            if seconds != config.seconds() {
                return Err(Fault::Interval);
            }
            (Duration::from_secs(seconds.into()), sequence)
        }
        vrrp::Version::V3 { centiseconds } => {
            // A backup uses the master's interval (RFC 5798, 6.4.2).
            let interval = Duration::from_millis(u64::from(centiseconds.max(1)) * 10);
            (interval, None)
        }
    };
    Ok(AdvertisementContents {
        priority: heard.advertisement.priority(),
        from: heard.between.0,
        interval,
        sequence,
    })
}

/// Verifies the authentication of a version 2 advertisement; returns the sequence number of its authentication
/// header.
fn authenticate(
    config: &Config,
    heard: &ReceivedAdvertisement<'_>,
    kind: u8,
    data: [u8; PASSWORD_BYTES],
) -> Result<Option<u32>, Fault> {
    match (config.authentication, kind, heard.secured) {
        (Authentication::None, 0, false) => Ok(None),
        (Authentication::Simple(password), 1, false) if password == data => Ok(None),
        (Authentication::Header(key), 2, true) => {
            let sequence = security::prove(heard.packet, heard.header_len, &key);
            sequence.map(Some).ok_or(Fault::Authentication)
        }
        _ => Err(Fault::Authentication),
    }
}
