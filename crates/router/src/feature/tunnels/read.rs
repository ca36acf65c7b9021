//! Reads the items of tunnels and builds their interfaces.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use dataplane::encap::between::{Between, Carries, KeepaliveCounter};
use frame::InterfaceId;
use menu::{Item, Value};
use wire::Mac;

use super::keepalive::TTL;
use crate::intent::Interface;
use crate::kind::tunnel;

/// Minimum MTU of an IPv4 link (RFC 791).
const LEAST_MTU: u32 = 68;

/// The remote end of a tunnel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Remote {
    /// `remote-address` is an address.
    Address(IpAddr),
    /// `remote-address` is a DNS name.
    Name(Arc<str>),
}

impl Remote {
    /// Reads the address or name of a property. Returns `None` if it is unset or unspecified.
    pub(crate) fn read(item: &Item, property: &str) -> Option<Self> {
        let value = item.get(property)?;
        match value.as_address() {
            Some(address) => (!address.is_unspecified()).then_some(Self::Address(address)),
            None => { value.as_str() }
                .filter(|name| !name.is_empty())
                .map(|name| Self::Name(name.into())),
        }
    }

    /// Returns the configured address, or `None` for a DNS name.
    pub(crate) const fn address(&self) -> Option<IpAddr> {
        match self {
            Self::Address(address) => Some(*address),
            Self::Name(_) => None,
        }
    }

    /// Returns the DNS name, if configured.
    pub(crate) const fn name(&self) -> Option<&Arc<str>> {
        match self {
            Self::Address(_) => None,
            Self::Name(name) => Some(name),
        }
    }
}

/// Picks the address of a name for a tunnel of this menu: the one in use if it is still among the
/// addresses, otherwise the first of the menu's family. Without a suitable address the tunnel keeps
/// the one in use, since the DNS server may be behind the tunnel.
pub(crate) fn pick(menu: &str, addresses: &[IpAddr], in_use: Option<IpAddr>) -> Option<IpAddr> {
    let fits = |address: &&IpAddr| address.is_ipv6() == tunnel::is_over_ipv6(menu);
    let same = in_use.filter(|in_use| addresses.contains(in_use));
    let first = addresses.iter().find(fits).copied();
    same.or(first).or(in_use)
}

/// Settings of one item.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) menu: &'static str,
    /// The interface without a remote end.
    idle: Interface,
    mac: Option<Mac>,
    pub(super) carries: Carries,
    pub(super) local: Option<IpAddr>,
    pub(super) remote: Option<Remote>,
    /// `mtu`; `None` is `auto`.
    pub(super) mtu: Option<u32>,
    /// Whether `ipsec-secret` is set.
    is_protected: bool,
    dscp: Option<u8>,
    inherits_dont_fragment: bool,
    is_fast: bool,
    clamps: bool,
}

impl Settings {
    pub(super) fn read(item: &Item) -> Option<Self> {
        let menu = item.menu.path;
        let small = |name| {
            item.number(name)
                .and_then(|number| u8::try_from(number).ok())
        };
        let id = item
            .number("tunnel-id")
            .and_then(|id| u16::try_from(id).ok());
        let local = item.get("local-address").and_then(Value::as_address);
        let is_protected = !item.text("ipsec-secret").is_empty();
        Some(Self {
            menu,
            idle: tunnel::read(item)?,
            mac: item.get("mac-address").and_then(Value::as_mac).map(Mac),
            carries: tunnel::carries(menu, id.unwrap_or(0)),
            local: local.filter(|local| !local.is_unspecified()),
            remote: Remote::read(item, "remote-address"),
            mtu: item.number("mtu").and_then(|mtu| u32::try_from(mtu).ok()),
            is_protected,
            dscp: small("dscp"),
            inherits_dont_fragment: item.text("dont-fragment") == "inherit",
            // Packets of the fast path would bypass the policy of the secret.
            is_fast: item.is("allow-fast-path") && !is_protected,
            clamps: item.is("clamp-tcp-mss"),
        })
    }

    pub(super) const fn is_disabled(&self) -> bool {
        self.idle.disabled
    }

    /// Whether this tunnel type has keepalives.
    pub(super) const fn has_keepalives(&self) -> bool {
        !matches!(self.carries, Carries::Packets)
    }

    /// Returns the name of the interface.
    pub(super) fn name(&self) -> &str {
        &self.idle.name
    }

    /// Returns the interface towards `remote` over a path with this MTU. The interface is idle
    /// while the remote end is unknown.
    pub(super) fn interface(
        &self,
        remote: Option<IpAddr>,
        path: u32,
        heard: &KeepaliveCounter,
    ) -> Interface {
        let Some(remote) = remote else {
            return self.idle.clone();
        };
        let unspecified: IpAddr = match remote {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let auto = auto_mtu(self.carries, remote.is_ipv6(), self.is_protected, path);
        let mtu = self.mtu.unwrap_or(auto);
        let between = Between {
            id: InterfaceId::NONE,
            carries: self.carries,
            local: self.local.unwrap_or(unspecified),
            remote,
            ttl: TTL,
            dscp: self.dscp,
            inherits_dont_fragment: self.inherits_dont_fragment,
            fast: self.is_fast,
            clamp: self.clamps.then_some(mtu),
            heard: heard.clone(),
        };
        Interface {
            mtu,
            kind: tunnel::Tunnel {
                mac: self.mac,
                tunnel: between,
            }
            .into(),
            ..self.idle.clone()
        }
    }
}

/// Returns the layer-3 MTU of a tunnel over a path with this MTU. With `ipsec-secret` the payload
/// is in ESP with AES-CBC and SHA-1: header, IV and ICV take 36 bytes, and the payload with its
/// 2-byte trailer is padded to 16.
fn auto_mtu(carries: Carries, ipv6: bool, is_protected: bool, path: u32) -> u32 {
    let room = path.saturating_sub(if ipv6 { 40 } else { 20 });
    let room = match is_protected {
        true => (room.saturating_sub(36) & !15).saturating_sub(2),
        false => room,
    };
    let header = match (carries, ipv6) {
        (Carries::Packets, _) => 0,
        (Carries::Gre, _) => 4,
        (Carries::Frames(_), false) => 8 + 14,
        (Carries::Frames(_), true) => 2 + 14,
    };
    room.saturating_sub(header).max(LEAST_MTU)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EOIP: &str = "/interface/eoip";
    const EOIP6: &str = "/interface/eoipv6";

    #[test]
    fn the_mtu_is_what_routeros_shows() {
        let mtu = |carries, ipv6, secret| auto_mtu(carries, ipv6, secret, 1500);
        assert_eq!(mtu(Carries::Frames(1), false, false), 1458);
        assert_eq!(mtu(Carries::Frames(1), false, true), 1416);
        assert_eq!(mtu(Carries::Frames(1), true, false), 1444);
        assert_eq!(mtu(Carries::Frames(1), true, true), 1406);
        assert_eq!(mtu(Carries::Gre, false, false), 1476);
        assert_eq!(mtu(Carries::Packets, false, false), 1480);
        assert_eq!(auto_mtu(Carries::Frames(1), false, false, 1420), 1378);
        assert_eq!(auto_mtu(Carries::Frames(1), false, false, 9000), 8958);
        assert_eq!(auto_mtu(Carries::Frames(1), true, true, 60), LEAST_MTU);
    }

    #[test]
    fn a_tunnel_keeps_its_remote_address_until_its_name_resolves_to_others() {
        let [a, b]: [IpAddr; 2] =
            ["192.0.2.1", "192.0.2.2"].map(|text| text.parse().expect("an address"));
        let v6: IpAddr = "2001:db8::1".parse().expect("an address");
        assert_eq!(pick(EOIP, &[v6, a, b], None), Some(a));
        assert_eq!(pick(EOIP6, &[a, v6], None), Some(v6));
        assert_eq!(pick(EOIP, &[a, b], Some(b)), Some(b));
        assert_eq!(pick(EOIP, &[a], Some(b)), Some(a));
        assert_eq!(pick(EOIP, &[], Some(b)), Some(b));
        assert_eq!(pick(EOIP, &[v6], None), None);
    }
}
