//! Options of neighbour discovery messages (RFC 4861, 4.6; RFC 4191, 2.3; RFC 8106, 5; RFC 8781, 4).

use core::net::Ipv6Addr;

use alloc::vec::Vec;

use super::{Malformed, Preference};
use crate::{Mac, bytes_at, u16_at, u32_at};

/// Maximum number of parsed options per message; further ones are ignored.
pub const OPTIONS_MAX: usize = 64;

/// Options of a message, with checked lengths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options<'a> {
    pub(super) bytes: &'a [u8],
}

impl<'a> Options<'a> {
    /// No options.
    pub const NONE: Self = Self { bytes: &[] };

    /// Views `bytes` as options.
    ///
    /// # Errors
    /// Returns `OptionLengthZero` or `OptionTruncated`.
    pub fn new_checked(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let &[_, len, ..] = rest else {
                return Err(Malformed::OptionTruncated);
            };
            if len == 0 {
                return Err(Malformed::OptionLengthZero);
            }
            rest = rest
                .get(usize::from(len) * 8..)
                .ok_or(Malformed::OptionTruncated)?;
        }
        Ok(Self { bytes })
    }

    /// Bytes of the options.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Iterates over the options, at most [`OPTIONS_MAX`]; unknown ones are `Other`.
    pub fn iter(&self) -> impl Iterator<Item = NdpOption<'a>> + use<'a> {
        let mut rest = self.bytes;
        core::iter::from_fn(move || {
            let len = usize::from(*rest.get(1)?).max(1) * 8;
            let (option, tail) = rest.split_at_checked(len)?;
            rest = tail;
            Some(NdpOption::parse(option))
        })
        .take(OPTIONS_MAX)
    }

    /// First source link-layer address.
    pub fn source(&self) -> Option<Mac> {
        self.iter().find_map(|option| match option {
            NdpOption::Source(mac) => Some(mac),
            _ => None,
        })
    }

    /// First target link-layer address.
    pub fn target(&self) -> Option<Mac> {
        self.iter().find_map(|option| match option {
            NdpOption::Target(mac) => Some(mac),
            _ => None,
        })
    }
}

/// An option as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NdpOption<'a> {
    /// Source link-layer address (RFC 4861, 4.6.1).
    Source(Mac),
    /// Target link-layer address (RFC 4861, 4.6.1).
    Target(Mac),
    /// Prefix information (RFC 4861, 4.6.2).
    Prefix(Prefix),
    /// Redirected header: beginning of the packet that caused a redirect (RFC 4861, 4.6.3).
    Redirected(&'a [u8]),
    /// MTU of the link in bytes (RFC 4861, 4.6.4).
    Mtu(u32),
    /// Route information (RFC 4191, 2.3).
    Route(Route),
    /// Recursive DNS servers (RFC 8106, 5.1).
    Rdnss(Rdnss<'a>),
    /// DNS search list (RFC 8106, 5.2).
    Dnssl(Dnssl<'a>),
    /// NAT64 prefix (RFC 8781).
    Pref64(Pref64),
    /// Unknown option, or one whose length does not fit its type: the whole option.
    Other(&'a [u8]),
}

/// A prefix information option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// Prefix length in bits, 0 to 128.
    pub len: u8,
    /// On-link flag (L).
    pub on_link: bool,
    /// Autonomous address configuration flag (A).
    pub autonomous: bool,
    /// Valid lifetime; 0xffffffff is infinite.
    pub valid_s: u32,
    /// Preferred lifetime; 0xffffffff is infinite.
    pub preferred_s: u32,
    /// Prefix; receivers ignore the bits after `len`.
    pub prefix: Ipv6Addr,
}

/// A route information option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Prefix length in bits, 0 to 128.
    pub len: u8,
    /// Preference among routers with the same route.
    pub preference: Preference,
    /// Lifetime; 0xffffffff is infinite.
    pub lifetime_s: u32,
    /// Destination prefix; the bits after `len` are zero.
    pub prefix: Ipv6Addr,
}

/// A recursive DNS server option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rdnss<'a> {
    /// Lifetime; 0xffffffff is infinite.
    pub lifetime_s: u32,
    /// Server addresses.
    pub servers: &'a [[u8; 16]],
}

/// A DNS search list option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dnssl<'a> {
    /// Lifetime; 0xffffffff is infinite.
    pub lifetime_s: u32,
    /// Consecutive names in wire format (RFC 1035, 3.1), padded with zeros.
    pub names: &'a [u8],
}

/// A PREF64 option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pref64 {
    /// Lifetime in units of 8 seconds, 13 bits.
    pub lifetime_8s: u16,
    /// Prefix length code: 0 to 5 for /96, /64, /56, /48, /40, /32.
    pub code: u8,
    /// Highest 96 bits of the prefix.
    pub prefix: [u8; 12],
}

impl<'a> NdpOption<'a> {
    fn parse(option: &'a [u8]) -> Self {
        let kind = option.first().copied().unwrap_or(0);
        Self::parse_kind(kind, option).unwrap_or(Self::Other(option))
    }

    /// Parses an option; `None` if its length does not fit its type.
    fn parse_kind(kind: u8, option: &'a [u8]) -> Option<Self> {
        Some(match kind {
            kind::SOURCE => Self::Source(Mac(bytes_at(option.as_array::<8>()?, 2))),
            kind::TARGET => Self::Target(Mac(bytes_at(option.as_array::<8>()?, 2))),
            kind::PREFIX => Self::Prefix(Prefix::parse(option.as_array()?)?),
            kind::REDIRECTED => Self::Redirected(option.get(8..)?),
            kind::MTU => Self::Mtu(u32_at(option.as_array::<8>()?, 4)),
            kind::ROUTE => Self::Route(Route::parse(option)?),
            kind::RDNSS => {
                let (head, servers) = option.split_first_chunk::<8>()?;
                let (servers, rest) = servers.as_chunks();
                if servers.is_empty() || !rest.is_empty() {
                    return None;
                }
                Self::Rdnss(Rdnss {
                    lifetime_s: u32_at(head, 4),
                    servers,
                })
            }
            kind::DNSSL => {
                let (head, names) = option.split_first_chunk::<8>()?;
                if names.is_empty() {
                    return None;
                }
                Self::Dnssl(Dnssl {
                    lifetime_s: u32_at(head, 4),
                    names,
                })
            }
            kind::PREF64 => {
                let option = option.as_array::<16>()?;
                let word = u16_at(option, 2);
                let prefix = bytes_at(option, 4);
                Self::Pref64(Pref64 {
                    lifetime_8s: word >> 3,
                    code: (word & 7) as u8,
                    prefix,
                })
            }
            _ => return None,
        })
    }

    /// Appends the option, padded to a multiple of 8 bytes. `Dnssl` names and a redirected packet are truncated to
    /// 2,032 bytes, the list of servers to 127.
    pub fn emit(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Source(mac) => emit(kind::SOURCE, &[&mac.0], out),
            Self::Target(mac) => emit(kind::TARGET, &[&mac.0], out),
            Self::Prefix(prefix) => prefix.emit(out),
            Self::Redirected(packet) => {
                let packet = packet.get(..DATA_MAX).unwrap_or(packet);
                emit(kind::REDIRECTED, &[&[0; 6], packet], out);
            }
            Self::Mtu(mtu) => emit(kind::MTU, &[&[0; 2], &mtu.to_be_bytes()], out),
            Self::Route(route) => route.emit(out),
            Self::Rdnss(Rdnss {
                lifetime_s,
                servers,
            }) => {
                let servers = servers.get(..SERVERS_MAX).unwrap_or(servers);
                let head = lifetime_s.to_be_bytes();
                emit(kind::RDNSS, &[&[0; 2], &head, servers.as_flattened()], out);
            }
            Self::Dnssl(Dnssl { lifetime_s, names }) => {
                let names = names.get(..DATA_MAX).unwrap_or(names);
                emit(
                    kind::DNSSL,
                    &[&[0; 2], &lifetime_s.to_be_bytes(), names],
                    out,
                );
            }
            Self::Pref64(Pref64 {
                lifetime_8s,
                code,
                prefix,
            }) => {
                let word = lifetime_8s << 3 | u16::from(code & 7);
                emit(kind::PREF64, &[&word.to_be_bytes(), &prefix], out);
            }
            Self::Other(option) => out.extend_from_slice(option),
        }
    }
}

impl Prefix {
    fn parse(option: &[u8; 32]) -> Option<Self> {
        let [len, flags] = bytes_at(option, 2);
        (len <= 128).then(|| Self {
            len,
            on_link: flags & 0x80 != 0,
            autonomous: flags & 0x40 != 0,
            valid_s: u32_at(option, 4),
            preferred_s: u32_at(option, 8),
            prefix: bytes_at::<16, _>(option, 16).into(),
        })
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let flags = u8::from(self.on_link) << 7 | u8::from(self.autonomous) << 6;
        let (valid, preferred) = (self.valid_s.to_be_bytes(), self.preferred_s.to_be_bytes());
        let parts: [&[u8]; 5] = [
            &[self.len, flags],
            &valid,
            &preferred,
            &[0; 4],
            &self.prefix.octets(),
        ];
        emit(kind::PREFIX, &parts, out);
    }
}

impl Route {
    /// The prefix field may be shortened to 0, 8 or 16 bytes, but must hold the whole prefix (RFC 4191, 2.3).
    fn parse(option: &[u8]) -> Option<Self> {
        let (head, tail) = option.split_first_chunk::<8>()?;
        let [len, flags] = bytes_at(head, 2);
        if len > 128 || tail.len() > 16 || usize::from(len) > tail.len() * 8 {
            return None;
        }
        let mut prefix = [0; 16];
        for (slot, byte) in prefix.iter_mut().zip(tail) {
            *slot = *byte;
        }
        let mask = u128::MAX.checked_shl(128 - u32::from(len)).unwrap_or(0);
        Some(Self {
            len,
            preference: Preference::from_flags(flags),
            lifetime_s: u32_at(head, 4),
            prefix: Ipv6Addr::from_bits(u128::from_be_bytes(prefix) & mask),
        })
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let octets = self.prefix.octets();
        let bytes = usize::from(self.len.min(128)).div_ceil(64) * 8;
        let prefix = octets.get(..bytes).unwrap_or_default();
        let head = [self.len, self.preference.to_flags()];
        emit(
            kind::ROUTE,
            &[&head, &self.lifetime_s.to_be_bytes(), prefix],
            out,
        );
    }
}

impl Pref64 {
    /// Prefix length in bits; `None` for an undefined code (RFC 8781, 4).
    pub const fn len(&self) -> Option<u8> {
        Some(match self.code {
            0 => 96,
            1 => 64,
            2 => 56,
            3 => 48,
            4 => 40,
            5 => 32,
            _ => return None,
        })
    }

    /// Always false: a prefix of length 0 has no code.
    pub const fn is_empty(&self) -> bool {
        false
    }
}

/// Appends an option made of `parts`, padded to a multiple of 8 bytes.
fn emit(kind: u8, parts: &[&[u8]], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&[kind, 0]);
    for part in parts {
        out.extend_from_slice(part);
    }
    let len = (out.len() - start).next_multiple_of(8);
    out.resize(start + len, 0);
    if let Some(slot) = out.get_mut(start + 1) {
        *slot = (len / 8) as u8;
    }
}

/// Option types (IANA, "IPv6 Neighbour Discovery Option Formats").
mod kind {
    pub(super) const SOURCE: u8 = 1;
    pub(super) const TARGET: u8 = 2;
    pub(super) const PREFIX: u8 = 3;
    pub(super) const REDIRECTED: u8 = 4;
    pub(super) const MTU: u8 = 5;
    pub(super) const ROUTE: u8 = 24;
    pub(super) const RDNSS: u8 = 25;
    pub(super) const DNSSL: u8 = 31;
    pub(super) const PREF64: u8 = 38;
}

/// Maximum data length after the 8-byte header of an option (255 units of 8).
const DATA_MAX: usize = 255 * 8 - 8;
/// Maximum number of servers in an option.
const SERVERS_MAX: usize = DATA_MAX / 16;
