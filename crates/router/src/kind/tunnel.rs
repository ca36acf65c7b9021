//! Tunnels between two addresses: `/interface/eoip`, `gre`, `ipip`, their variants over IPv6, and `6to4`. The feature
//! finds the other end and the MTU (`feature/tunnels/`).

use dataplane::encap::between::{Between, Carries};
use dataplane::out::OutId;
use menu::Item;
use wire::Mac;

use super::{Idle, IfType, Kind, Registration, Site};
use crate::compile::LayoutEntry;
use crate::compile::layout::made_mac;
use crate::intent::{Class, Interface};
use crate::read;

pub(super) const KIND: Registration = Registration {
    menus: &MENUS,
    read,
};

const EOIP: &str = "/interface/eoip";
const EOIP6: &str = "/interface/eoipv6";
const GRE: &str = "/interface/gre";
const GRE6: &str = "/interface/gre6";
const IPIP: &str = "/interface/ipip";
const IPIP6: &str = "/interface/ipipv6";
const SIX_TO_FOUR: &str = "/interface/6to4";

/// The menus of tunnels.
pub(crate) const MENUS: [&str; 7] = [EOIP, EOIP6, GRE, GRE6, IPIP, IPIP6, SIX_TO_FOUR];

/// Returns the payload type of tunnels of this menu; `number` is the tunnel's id.
pub(crate) fn carries(menu: &str, number: u16) -> Carries {
    match menu {
        EOIP | EOIP6 => Carries::Frames(number),
        GRE | GRE6 => Carries::Gre,
        _ => Carries::Packets,
    }
}

/// Whether tunnels of this menu send IPv6 packets.
pub(crate) fn is_over_ipv6(menu: &str) -> bool {
    matches!(menu, EOIP6 | GRE6 | IPIP6)
}

/// A tunnel with a known remote address. An enabled tunnel runs unless the feature holds it down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tunnel {
    /// Its link address, if it carries frames; `None` generates one from its number.
    pub(crate) mac: Option<Mac>,
    /// Encapsulation settings; the layout adds the interface's id.
    pub(crate) tunnel: Between,
}

impl Kind for Tunnel {
    fn lay_out(&self, entry: &mut LayoutEntry, site: &Site<'_>) {
        let [_, b, c, d, e, f] = made_mac(site.layout.base(), site.id).0;
        // RouterOS: link addresses of EoIP begin with FE.
        entry.link.mac = self.mac.unwrap_or(Mac([0xfe, b, c, d, e, f]));
        let tunnel = Between {
            id: site.id,
            ..self.tunnel.clone()
        };
        entry.link.ethernet = matches!(tunnel.carries, Carries::Frames(_));
        entry.link.out = OutId::tunnel(site.id);
        entry.link.running = !entry.disabled;
        entry.tunnel = (!entry.disabled).then(|| tunnel.into());
    }

    fn if_type(&self, _: Class) -> IfType {
        IfType::Tunnel
    }

    fn follows_first_port(&self) -> bool {
        self.mac.is_none()
    }

    fn l2mtu(&self) -> Option<u32> {
        // RouterOS: a tunnel accepts frames of any length, and fragments the outer packets.
        Some(65_535)
    }
}

/// Reads an item. The interface is idle until the feature knows the remote address.
pub(crate) fn read(item: &Item) -> Option<Interface> {
    read::interface_of(item, Idle, Class::Other)
}
