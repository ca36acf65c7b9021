//! What an interface advertises: `/ipv6/nd`, `/ipv6/nd/prefix` and addresses with `advertise=yes`.

use core::net::Ipv6Addr;

use machine::Duration;
use wire::Mac;
use wire::ndp::Preference;

/// A lifetime without end, in seconds.
pub const INFINITE_S: u32 = u32::MAX;

/// What an interface advertises. Zero says nothing where a field says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The interface's MAC address.
    pub mac: Mac,
    /// The least time between unsolicited advertisements (`ra-interval`, at least 3 s).
    pub interval_min: Duration,
    /// The greatest (`ra-interval`, at most 30 min).
    pub interval_max: Duration,
    /// The least time between advertisements to all nodes (`ra-delay`; MIN_DELAY_BETWEEN_RAS).
    pub delay: Duration,
    /// For how long hosts may take this router as default, in seconds, at most 9,000; 0: not at all
    /// (`ra-lifetime`).
    pub lifetime_s: u16,
    /// How much this router wants to be the default (`ra-preference`).
    pub preference: Preference,
    /// The hop limit for hosts; 0 says nothing (`hop-limit`).
    pub hop_limit: u8,
    /// The link's MTU in bytes, if it is told (`mtu`).
    pub mtu: Option<u32>,
    /// How long a neighbour counts as reachable; 0 says nothing (`reachable-time`).
    pub reachable_ms: u32,
    /// Between solicitations; 0 says nothing (`retransmit-interval`).
    pub retransmit_ms: u32,
    /// Addresses are to be had by DHCPv6 (`managed-address-configuration`).
    pub managed: bool,
    /// Other configuration is to be had by DHCPv6 (`other-configuration`).
    pub other: bool,
    /// Whether the link address is told (`advertise-mac-address`).
    pub advertise_mac: bool,
    /// DNS servers (`dns`, or the router's own with `advertise-dns`).
    pub dns: Vec<Ipv6Addr>,
    /// NAT64 prefixes (`pref64`).
    pub nat64: Vec<Nat64Prefix>,
    /// The link's prefixes.
    pub prefixes: Vec<Prefix>,
}

/// A prefix of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// The network; bits behind `len` are sent as zero.
    pub network: Ipv6Addr,
    /// The prefix's length, at most 128.
    pub len: u8,
    /// Its addresses are on the link (`on-link`).
    pub on_link: bool,
    /// Hosts may make addresses of it (`autonomous`).
    pub autonomous: bool,
    /// For how long it is on the link ([`INFINITE_S`]: for ever) (`valid-lifetime`).
    pub valid_s: u32,
    /// For how long its addresses are preferred (`preferred-lifetime`).
    pub preferred_s: u32,
}

/// A prefix by which IPv4 hosts can be reached (RFC 8781).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nat64Prefix {
    network: Ipv6Addr,
    code: u8,
}

impl Nat64Prefix {
    /// A prefix of one of the lengths that RFC 6052, 2.2 allows; `None` for another.
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

    /// The option that tells it (RFC 8781, 4).
    pub(super) fn option(&self, lifetime_s: u32) -> wire::ndp::Pref64 {
        let mut prefix = [0; 12];
        for (slot, byte) in prefix.iter_mut().zip(self.network.octets()) {
            *slot = byte;
        }
        // In units of 8 seconds, rounded up, 13 bits.
        let lifetime_8s = lifetime_s.div_ceil(8).min(0x1fff) as u16;
        wire::ndp::Pref64 {
            lifetime_8s,
            code: self.code,
            prefix,
        }
    }
}

impl Config {
    /// RouterOS's defaults for an interface with this MAC address, without prefixes.
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

    /// The same, with intervals that cannot flood the link (RFC 4861, 6.2.1) and the greater of two
    /// that are the wrong way round.
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

    /// For how long DNS servers and NAT64 prefixes hold, in seconds: three times the greatest
    /// interval (RFC 8106, 5.1; RFC 8781, 4.1).
    pub(super) fn option_lifetime_s(&self) -> u32 {
        let seconds = self.interval_max.as_secs().saturating_mul(3);
        u32::try_from(seconds).unwrap_or(INFINITE_S)
    }
}

impl Prefix {
    /// The prefix of an address with `advertise=yes`, with the defaults of
    /// `/ipv6/nd/prefix/default`: valid for 4w2d, preferred for 1w.
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

    /// Whether both are of one network.
    pub fn is_of(&self, other: &Self) -> bool {
        let network = |prefix: &Self| mask(prefix.network, prefix.len);
        self.len == other.len && network(self) == network(other)
    }

    /// What tells prefixes apart.
    pub(super) fn key(&self) -> (Ipv6Addr, u8) {
        (self.network, self.len)
    }
}

fn mask(address: Ipv6Addr, len: u8) -> Ipv6Addr {
    let drop = 128 - u32::from(len.min(128));
    Ipv6Addr::from_bits(address.to_bits() & u128::MAX.checked_shl(drop).unwrap_or(0))
}
