//! Builds router advertisements from a configuration (RFC 4861, 4.2 and 6.2.3).

use core::net::Ipv6Addr;

use wire::ndp::{self, NdpOption, Preference, Rdnss, Router};
use wire::{icmpv6, ipv6};

use super::stale::Stale;
use super::{Config, Prefix};

/// Kind of an advertisement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Regular advertisement.
    Regular,
    /// Final advertisement with lifetime zero (RFC 4861, 6.2.5).
    Farewell,
}

impl Kind {
    /// `Farewell` if the router only withdraws prefixes.
    pub(super) const fn of(withdraws: bool) -> Self {
        match withdraws {
            true => Self::Farewell,
            false => Self::Regular,
        }
    }
}

/// Builds the fixed part.
pub(super) fn router(config: &Config, kind: Kind) -> Router {
    let lifetime_s = match kind {
        Kind::Regular => config.lifetime_s.min(LIFETIME_MAX_S),
        Kind::Farewell => 0,
    };
    Router {
        hop_limit: config.hop_limit,
        managed: config.managed,
        other: config.other,
        // The preference is ignored if the lifetime is zero (RFC 4191, 2.2).
        preference: match lifetime_s {
            0 => Preference::Medium,
            _ => config.preference,
        },
        lifetime_s,
        reachable_ms: config.reachable_ms,
        retransmit_ms: config.retransmit_ms,
    }
}

/// Builds the options of each packet. Options that exceed the minimum MTU are split over several packets (RFC 4861,
/// 6.2.3). There is always at least one packet.
pub(super) fn options(config: &Config, stale: &Stale, kind: Kind) -> Vec<Vec<u8>> {
    let mut packets = Packets::default();
    if config.advertise_mac {
        packets.push(NdpOption::Source(config.mac));
    }
    if let Some(mtu) = config.mtu {
        packets.push(NdpOption::Mtu(mtu));
    }
    for prefix in &config.prefixes {
        packets.push(NdpOption::Prefix(option(prefix)));
    }
    for prefix in stale.prefixes() {
        let gone = Prefix {
            valid_s: 0,
            preferred_s: 0,
            ..*prefix
        };
        packets.push(NdpOption::Prefix(option(&gone)));
    }
    let lifetime_s = match kind {
        Kind::Regular => config.option_lifetime_s(),
        Kind::Farewell => 0,
    };
    let own: Vec<[u8; 16]> = config.dns.iter().map(Ipv6Addr::octets).collect();
    let gone: Vec<[u8; 16]> = stale.servers().map(|server| server.octets()).collect();
    for (servers, lifetime_s) in [(own, lifetime_s), (gone, 0)] {
        for servers in servers.chunks(SERVERS_PER_OPTION) {
            packets.push(NdpOption::Rdnss(Rdnss {
                lifetime_s,
                servers,
            }));
        }
    }
    for prefix in &config.nat64 {
        packets.push(NdpOption::Pref64(prefix.option(lifetime_s)));
    }
    packets.finish()
}

fn option(prefix: &Prefix) -> ndp::Prefix {
    ndp::Prefix {
        len: prefix.len,
        on_link: prefix.on_link,
        autonomous: prefix.autonomous,
        valid_s: prefix.valid_s,
        preferred_s: prefix.preferred_s,
        prefix: prefix.network,
    }
}

/// Options split over packets.
#[derive(Debug, Default)]
struct Packets {
    full: Vec<Vec<u8>>,
    open: Vec<u8>,
}

impl Packets {
    fn push(&mut self, option: NdpOption<'_>) {
        let mut bytes = Vec::new();
        option.emit(&mut bytes);
        if self.open.len() + bytes.len() > OPTIONS_LEN_MAX {
            self.full.push(core::mem::take(&mut self.open));
        }
        self.open.append(&mut bytes);
    }

    fn finish(mut self) -> Vec<Vec<u8>> {
        self.full.push(self.open);
        self.full
    }
}

/// Maximum router lifetime (RFC 4861, 6.2.1).
const LIFETIME_MAX_S: u16 = 9_000;
/// Maximum length of the options in a packet of the minimum MTU: less headers and the two timers.
const OPTIONS_LEN_MAX: usize = ipv6::MTU_MIN as usize - ipv6::HEADER_LEN - icmpv6::HEADER_LEN - 8;
/// Maximum number of DNS servers per option, so that options fill packets well.
const SERVERS_PER_OPTION: usize = 16;
