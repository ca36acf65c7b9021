//! Neighbour discovery messages (RFC 4861), with the options of RFC 4191 (routes), RFC 8106 (DNS) and RFC 8781
//! (PREF64).
//!
//! ```text
//! | type | code | checksum |   icmpv6::Packet
//! | flags, hop limit …     |   its `rest`
//! | target, timers …       |   its `payload`, up to the options
//! | kind | len/8 | data …  |   options, until the end
//! ```
//!
//! The receiver checks hop limit 255 and the source address (RFC 4861, 6.1 and 7.1), which are in the IPv6 header.

mod options;

pub use options::{Dnssl, NdpOption, OPTIONS_MAX, Options, Pref64, Prefix, Rdnss, Route};

use core::net::Ipv6Addr;

use alloc::vec::Vec;

use crate::icmpv6::{self, Packet, Type};
use crate::{bytes_at, u32_at};

/// Hop limit of every message; it proves that the sender is on the link (RFC 4861, 6.1.1).
pub const HOP_LIMIT: u8 = 255;

/// Reason why a message is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Not a neighbour discovery message.
    NotDiscovery,
    /// The code is not 0.
    Code,
    /// Shorter than the fixed part.
    Truncated,
    /// The target is a multicast address.
    MulticastTarget,
    /// Option of length zero (RFC 4861, 4.6).
    OptionLengthZero,
    /// An option exceeds the message.
    OptionTruncated,
}

/// A message as a value; its options are a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// Router solicitation.
    RouterSolicitation {
        /// Options.
        options: Options<'a>,
    },
    /// Router advertisement.
    RouterAdvertisement {
        /// Fixed part.
        router: Router,
        /// Options.
        options: Options<'a>,
    },
    /// Neighbour solicitation.
    NeighbourSolicitation {
        /// Solicited address.
        target: Ipv6Addr,
        /// Options.
        options: Options<'a>,
    },
    /// Neighbour advertisement.
    NeighbourAdvertisement {
        /// Router, solicited and override flags.
        flags: NeighbourFlags,
        /// Advertised address.
        target: Ipv6Addr,
        /// Options.
        options: Options<'a>,
    },
    /// Redirect.
    Redirect {
        /// Better first hop, or the destination itself if it is on the link.
        target: Ipv6Addr,
        /// Redirected destination.
        destination: Ipv6Addr,
        /// Options.
        options: Options<'a>,
    },
}

/// Fixed part of a router advertisement (RFC 4861, 4.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Router {
    /// Hop limit for hosts; 0 is unspecified.
    pub hop_limit: u8,
    /// Addresses are available by DHCPv6.
    pub managed: bool,
    /// Other configuration is available by DHCPv6.
    pub other: bool,
    /// Default router preference (RFC 4191, 2.2).
    pub preference: Preference,
    /// Router lifetime in seconds; 0: not a default router.
    pub lifetime_s: u16,
    /// Reachable time; 0 is unspecified.
    pub reachable_ms: u32,
    /// Retransmission timer; 0 is unspecified.
    pub retransmit_ms: u32,
}

/// Router preference (RFC 4191, 2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Preference {
    /// Low.
    Low,
    /// Medium; also the meaning of the reserved value.
    #[default]
    Medium,
    /// High.
    High,
}

impl Preference {
    /// Parses bits 3 and 4 of the flags.
    const fn from_flags(flags: u8) -> Self {
        match flags >> 3 & 3 {
            0b01 => Self::High,
            0b11 => Self::Low,
            _ => Self::Medium,
        }
    }

    const fn to_flags(self) -> u8 {
        match self {
            Self::Low => 0b11 << 3,
            Self::Medium => 0,
            Self::High => 0b01 << 3,
        }
    }
}

/// Flags of a neighbour advertisement (RFC 4861, 4.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NeighbourFlags {
    /// The sender is a router.
    pub router: bool,
    /// Answers a solicitation.
    pub solicited: bool,
    /// Replaces the known link-layer address.
    pub overrides: bool,
}

impl<'a> Message<'a> {
    /// Parses a message whose ICMPv6 checksum was verified. Checks the lengths of all options, so that iterating over
    /// them cannot fail.
    ///
    /// # Errors
    /// Returns the fault; `NotDiscovery` for messages of another type.
    pub fn parse(packet: &Packet<'a>) -> Result<Self, Malformed> {
        if !packet.kind().is_ndp() {
            return Err(Malformed::NotDiscovery);
        }
        if packet.code() != 0 {
            return Err(Malformed::Code);
        }
        let body = packet.payload();
        match packet.kind() {
            Type::ROUTER_SOLICITATION => Ok(Self::RouterSolicitation {
                options: Options::new_checked(body)?,
            }),
            Type::ROUTER_ADVERTISEMENT => {
                let (timers, options) = split::<8>(body)?;
                let router = Router::parse(packet.rest(), timers);
                Ok(Self::RouterAdvertisement { router, options })
            }
            Type::NEIGHBOUR_SOLICITATION => {
                let (target, options) = split_target(body)?;
                Ok(Self::NeighbourSolicitation { target, options })
            }
            Type::NEIGHBOUR_ADVERTISEMENT => {
                let (target, options) = split_target(body)?;
                let flags = NeighbourFlags::parse(packet.rest()[0]);
                Ok(Self::NeighbourAdvertisement {
                    flags,
                    target,
                    options,
                })
            }
            _ => {
                let (addresses, options) = split::<32>(body)?;
                let target = bytes_at::<16, _>(addresses, 0).into();
                let destination = bytes_at::<16, _>(addresses, 16).into();
                Ok(Self::Redirect {
                    target,
                    destination,
                    options,
                })
            }
        }
    }

    /// Options of the message.
    pub fn options(&self) -> Options<'a> {
        match *self {
            Self::RouterSolicitation { options }
            | Self::RouterAdvertisement { options, .. }
            | Self::NeighbourSolicitation { options, .. }
            | Self::NeighbourAdvertisement { options, .. }
            | Self::Redirect { options, .. } => options,
        }
    }

    /// Appends the ICMPv6 message, including the checksum.
    pub fn emit(&self, src: Ipv6Addr, dst: Ipv6Addr, out: &mut Vec<u8>) {
        let mut body = Vec::new();
        let (kind, rest) = match self {
            Self::RouterSolicitation { .. } => (Type::ROUTER_SOLICITATION, [0; 4]),
            Self::RouterAdvertisement { router, .. } => {
                body.extend_from_slice(&router.reachable_ms.to_be_bytes());
                body.extend_from_slice(&router.retransmit_ms.to_be_bytes());
                (Type::ROUTER_ADVERTISEMENT, router.rest())
            }
            Self::NeighbourSolicitation { target, .. } => {
                body.extend_from_slice(&target.octets());
                (Type::NEIGHBOUR_SOLICITATION, [0; 4])
            }
            Self::NeighbourAdvertisement { flags, target, .. } => {
                body.extend_from_slice(&target.octets());
                (Type::NEIGHBOUR_ADVERTISEMENT, [flags.bits(), 0, 0, 0])
            }
            Self::Redirect {
                target,
                destination,
                ..
            } => {
                body.extend_from_slice(&target.octets());
                body.extend_from_slice(&destination.octets());
                (Type::REDIRECT, [0; 4])
            }
        };
        body.extend_from_slice(self.options().bytes);
        icmpv6::Message::Other {
            kind,
            code: 0,
            rest,
            data: &body,
        }
        .emit(src, dst, out);
    }
}

impl Router {
    fn parse(rest: [u8; 4], timers: &[u8; 8]) -> Self {
        let [hop_limit, flags, high, low] = rest;
        Self {
            hop_limit,
            managed: flags & 0x80 != 0,
            other: flags & 0x40 != 0,
            preference: Preference::from_flags(flags),
            lifetime_s: u16::from_be_bytes([high, low]),
            reachable_ms: u32_at(timers, 0),
            retransmit_ms: u32_at(timers, 4),
        }
    }

    fn rest(&self) -> [u8; 4] {
        let flags = u8::from(self.managed) << 7 | u8::from(self.other) << 6;
        let [high, low] = self.lifetime_s.to_be_bytes();
        [
            self.hop_limit,
            flags | self.preference.to_flags(),
            high,
            low,
        ]
    }
}

impl NeighbourFlags {
    const fn parse(bits: u8) -> Self {
        Self {
            router: bits & 0x80 != 0,
            solicited: bits & 0x40 != 0,
            overrides: bits & 0x20 != 0,
        }
    }

    const fn bits(self) -> u8 {
        (self.router as u8) << 7 | (self.solicited as u8) << 6 | (self.overrides as u8) << 5
    }
}

/// Splits a fixed part off a message's body.
fn split<const N: usize>(body: &[u8]) -> Result<(&[u8; N], Options<'_>), Malformed> {
    let (fixed, rest) = body.split_first_chunk().ok_or(Malformed::Truncated)?;
    Ok((fixed, Options::new_checked(rest)?))
}

/// Splits off the target of a solicitation or advertisement, which must not be multicast (RFC 4861, 7.1).
fn split_target(body: &[u8]) -> Result<(Ipv6Addr, Options<'_>), Malformed> {
    let (&target, options) = split::<16>(body)?;
    let target = Ipv6Addr::from(target);
    if target.is_multicast() {
        return Err(Malformed::MulticastTarget);
    }
    Ok((target, options))
}
