//! `/interface/wireguard`. The feature has the keys, and adds the allowed networks of the peers (`feature/wireguard/`).

use std::sync::Arc;

use dataplane::encap::wireguard::{self as encap, Allowed};
use dataplane::out::OutId;
use menu::Item;

use super::{Idle, IfType, Kind, Registration, Site};
use crate::compile::LayoutEntry;
use crate::intent::{Class, Interface};
use crate::read;

pub(crate) const MENU: &str = "/interface/wireguard";

pub(super) const KIND: Registration = Registration {
    menus: &[MENU],
    read,
};

/// Default layer-3 MTU (RouterOS): outer packets fit a path of 1,500 bytes over IPv6, with 8 bytes of PPPoE.
const MTU: u32 = 1420;

/// A WireGuard interface with a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wireguard {
    /// The UDP port that it listens on.
    pub(crate) port: u16,
    /// The allowed networks of its peers.
    pub(crate) allowed: Arc<Allowed>,
}

impl Kind for Wireguard {
    fn lay_out(&self, entry: &mut LayoutEntry, site: &Site<'_>) {
        entry.link.ethernet = false;
        entry.link.out = OutId::tunnel(site.id);
        entry.link.running = !entry.disabled;
        let network = encap::Wireguard {
            id: site.id,
            port: self.port,
            allowed: Arc::clone(&self.allowed),
        };
        entry.tunnel = (!entry.disabled).then(|| network.into());
    }

    fn if_type(&self, _: Class) -> IfType {
        IfType::Tunnel
    }
}

/// Reads an item. The interface is idle until the feature knows its key.
pub(crate) fn read(item: &Item) -> Option<Interface> {
    let mtu = item.number("mtu").and_then(|mtu| u32::try_from(mtu).ok());
    Some(Interface {
        mtu: mtu.unwrap_or(MTU),
        ..read::interface_of(item, Idle, Class::Other)?
    })
}
