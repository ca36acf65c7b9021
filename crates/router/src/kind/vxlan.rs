//! `/interface/vxlan`: networks of VXLAN (RFC 7348). Routed packets carry their frames, and they run while enabled. The
//! feature adds the remote ends (`feature/vxlan.rs`).

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use dataplane::encap::vxlan::{self as encap, DontFragment, Peer};
use dataplane::out::OutId;
use frame::InterfaceId;
use menu::{Item, Value};
use wire::Mac;

use super::{IfType, Kind, Registration, Site};
use crate::compile::LayoutEntry;
use crate::compile::layout::made_mac;
use crate::intent::{Class, Interface, Name};
use crate::read;

pub(crate) const MENU: &str = "/interface/vxlan";

pub(super) const KIND: Registration = Registration {
    menus: &[MENU],
    read,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Vxlan {
    /// Its link address; `None` generates one from its number.
    mac: Option<Mac>,
    /// The network for workers, without interface ids.
    network: encap::Vxlan,
    /// The interface that joins its multicast group.
    group_on: Option<Name>,
}

impl Vxlan {
    /// Whether its outer packets are IPv6.
    pub(crate) const fn is_over_ipv6(&self) -> bool {
        self.network.local.is_ipv6()
    }

    /// The UDP port of its packets.
    pub(crate) const fn port(&self) -> u16 {
        self.network.port
    }

    /// Returns the network with these remote ends.
    pub(crate) fn with_peers(&self, peers: Arc<[Peer]>) -> Self {
        let mut with = self.clone();
        with.network.peers = peers;
        with
    }
}

impl Kind for Vxlan {
    fn lay_out(&self, entry: &mut LayoutEntry, site: &Site<'_>) {
        let own = made_mac(site.layout.base(), site.id);
        entry.link.mac = self.mac.unwrap_or(own);
        let mut network = self.network.clone();
        network.id = site.id;
        if let Some((_, on)) = &mut network.group {
            let named = self.group_on.as_ref();
            match named.and_then(|name| site.layout.named(name)) {
                Some((id, _)) => *on = id,
                None => return entry.invalid = true,
            }
        }
        entry.link.out = OutId::tunnel(site.id);
        entry.link.running = !entry.disabled;
        entry.tunnel = (!entry.disabled).then(|| network.into());
    }

    fn if_type(&self, _: Class) -> IfType {
        IfType::Virtual
    }

    fn stands_on(&self) -> Option<&Name> {
        self.group_on.as_ref()
    }

    fn follows_first_port(&self) -> bool {
        self.mac.is_none()
    }
}

/// Reads an item: a network without remote ends except its multicast group.
pub(crate) fn read(item: &Item) -> Option<Interface> {
    let port = |name| item.number(name).and_then(|port| u16::try_from(port).ok());
    let address = |name| item.get(name).and_then(Value::as_address);
    let (local, group) = (address("local-address"), address("group"));
    // The configured addresses determine the family.
    let ipv6 = match local.or(group) {
        Some(address) => address.is_ipv6(),
        None => item.text("vteps-ip-version") == "ipv6",
    };
    let unspecified = match ipv6 {
        true => IpAddr::from(Ipv6Addr::UNSPECIFIED),
        false => Ipv4Addr::UNSPECIFIED.into(),
    };
    let number = |name| {
        item.number(name)
            .and_then(|number| u32::try_from(number).ok())
    };
    let network = encap::Vxlan {
        id: InterfaceId::NONE,
        vni: number("vni")?,
        port: port("port").unwrap_or(8472),
        local: local.unwrap_or(unspecified),
        ttl: number("ttl").and_then(|ttl| u8::try_from(ttl).ok()),
        checksum: item.is("checksum"),
        dont_fragment: match item.text("dont-fragment") {
            "enabled" => DontFragment::Always,
            "inherit" => DontFragment::Inherit,
            _ => DontFragment::Never,
        },
        learning: item.is("learning"),
        hosts_max: number("max-fdb-size").unwrap_or(4096),
        fast: item.is("allow-fast-path"),
        group: group.map(|group| (group, InterfaceId::NONE)),
        peers: Arc::default(),
    };
    let kind = Vxlan {
        mac: item.get("mac-address").and_then(Value::as_mac).map(Mac),
        network,
        group_on: group.and_then(|_| read::name(item, "interface")),
    };
    read::interface_of(item, kind, Class::Other)
}
