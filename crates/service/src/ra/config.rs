//! Settings of router advertisements: `/ipv6/nd`, `/ipv6/nd/prefix` and addresses with `advertise=yes`.

use core::net::Ipv6Addr;

use machine::Duration;
use wire::Mac;
use wire::ndp::Preference;

/// Infinite lifetime, in seconds.
pub const INFINITE_S: u32 = u32::MAX;

/// Contents of the advertisements of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// MAC address of the interface.
    pub mac: Mac,
    /// Minimum interval between unsolicited advertisements (`ra-interval`, at least 3 s).
    pub interval_min: Duration,
    /// Maximum interval (`ra-interval`, at most 30 min).
    pub interval_max: Duration,
    /// Minimum interval between multicast advertisements (`ra-delay`; MIN_DELAY_BETWEEN_RAS).
    pub delay: Duration,
    /// Router lifetime in seconds, at most 9,000; 0: not a default router (`ra-lifetime`).
    pub lifetime_s: u16,
    /// Default router preference (`ra-preference`).
    pub preference: Preference,
    /// Hop limit; 0 is unspecified (`hop-limit`).
    pub hop_limit: u8,
    /// Link MTU in bytes, if advertised (`mtu`).
    pub mtu: Option<u32>,
    /// Reachable time; 0 is unspecified (`reachable-time`).
    pub reachable_ms: u32,
    /// Retransmission timer; 0 is unspecified (`retransmit-interval`).
    pub retransmit_ms: u32,
    /// Addresses are available by DHCPv6 (`managed-address-configuration`).
    pub managed: bool,
    /// Other configuration is available by DHCPv6 (`other-configuration`).
    pub other: bool,
    /// Include the link-layer address (`advertise-mac-address`).
    pub advertise_mac: bool,
    /// DNS servers (`dns`, or the router's own with `advertise-dns`).
    pub dns: Vec<Ipv6Addr>,
    /// NAT64 prefixes (`pref64`).
    pub nat64: Vec<Nat64Prefix>,
    /// Prefixes of the link.
    pub prefixes: Vec<Prefix>,
}

/// Prefix of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// Network; bits after `len` are sent as zero.
    pub network: Ipv6Addr,
    /// Prefix length, at most 128.
    pub len: u8,
    /// On-link flag (`on-link`).
    pub on_link: bool,
    /// Autonomous address configuration flag (`autonomous`).
    pub autonomous: bool,
    /// Valid lifetime in seconds, or [`INFINITE_S`] (`valid-lifetime`).
    pub valid_s: u32,
    /// Preferred lifetime in seconds, or [`INFINITE_S`] (`preferred-lifetime`).
    pub preferred_s: u32,
}

/// NAT64 prefix (RFC 8781).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nat64Prefix {
    network: Ipv6Addr,
    code: u8,
}

impl Nat64Prefix {
    /// Creates a NAT64 prefix; `None` for a length that RFC 6052, 2.2 does not allow.
    pub fn new(network: Ipv6Addr, len: u8) -> Option<Self> {
        let code = match len {
            96 => 0,
            64 => 1,
            56 => 2,
            48 => 3,
            40 => 4,
            32 => 5,
            _ => return None,
        };
        let network = mask(network, len);
        Some(Self { network, code })
    }

    /// Builds the PREF64 option (RFC 8781, 4).
    pub(super) fn option(&self, lifetime_s: u32) -> wire::ndp::Pref64 {
        let mut prefix = [0; 12];
        for (slot, byte) in prefix.iter_mut().zip(self.network.octets()) {
            *slot = byte;
        }
        // Units of 8 seconds, rounded up, 13 bits.
        let lifetime_8s = lifetime_s.div_ceil(8).min(0x1fff) as u16;
        wire::ndp::Pref64 {
            lifetime_8s,
            code: self.code,
            prefix,
        }
    }
}

impl Config {
    /// Returns RouterOS's defaults for an interface with this MAC address, without prefixes.
    pub fn new(mac: Mac) -> Self {
        Self {
            mac,
            interval_min: Duration::from_secs(200),
            interval_max: Duration::from_secs(600),
            delay: Duration::from_secs(3),
            lifetime_s: 1_800,
            preference: Preference::Medium,
            hop_limit: 0,
            mtu: None,
            reachable_ms: 0,
            retransmit_ms: 0,
            managed: false,
            other: false,
            advertise_mac: true,
            dns: Vec::new(),
            nat64: Vec::new(),
            prefixes: Vec::new(),
        }
    }

    /// Raises intervals that could flood the link (RFC 4861, 6.2.1), and the maximum interval if it is below the
    /// minimum.
    pub(super) fn clamped(mut self) -> Self {
        self.interval_min = self.interval_min.max(Duration::from_secs(3));
        self.interval_max = self.interval_max.max(self.interval_min);
        self.delay = self.delay.max(Duration::from_millis(10));
        for prefix in &mut self.prefixes {
            prefix.len = prefix.len.min(128);
            prefix.network = mask(prefix.network, prefix.len);
            prefix.preferred_s = prefix.preferred_s.min(prefix.valid_s);
        }
        self
    }

    /// Lifetime of DNS servers and NAT64 prefixes in seconds: three times the maximum interval (RFC 8106, 5.1; RFC
    /// 8781, 4.1).
    pub(super) fn option_lifetime_s(&self) -> u32 {
        let seconds = self.interval_max.as_secs().saturating_mul(3);
        u32::try_from(seconds).unwrap_or(INFINITE_S)
    }
}

impl Prefix {
    /// Prefix of an address with `advertise=yes`, with the defaults of `/ipv6/nd/prefix/default`: valid for 4w2d,
    /// preferred for 1w.
    pub fn of_address(address: Ipv6Addr, len: u8) -> Self {
        let len = len.min(128);
        Self {
            network: mask(address, len),
            len,
            on_link: true,
            autonomous: true,
            valid_s: 2_592_000,
            preferred_s: 604_800,
        }
    }

    /// True if both prefixes describe the same network.
    pub fn is_of(&self, other: &Self) -> bool {
        let network = |prefix: &Self| mask(prefix.network, prefix.len);
        self.len == other.len && network(self) == network(other)
    }

    /// Key of the prefix: network and length.
    pub(super) fn key(&self) -> (Ipv6Addr, u8) {
        (self.network, self.len)
    }
}

fn mask(address: Ipv6Addr, len: u8) -> Ipv6Addr {
    let drop = 128 - u32::from(len.min(128));
    Ipv6Addr::from_bits(address.to_bits() & u128::MAX.checked_shl(drop).unwrap_or(0))
}
