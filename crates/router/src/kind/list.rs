//! The list of all interface kinds, and what follows from it.

use menu::Item;

#[cfg(test)]
use super::null;
use super::{
    Registration, bond, bridge, l2tp, l2tp_ether, loopback, macvlan, ovpn, port, pppoe, pptp, sstp,
    tunnel, veth, vlan, vrrp, vxlan, wireguard,
};
use crate::intent::Interface;

/// All kinds. Items of menus without a kind are ports, or interfaces without effect.
pub(super) const KINDS: &[Registration] = &[
    bond::KIND,
    bridge::KIND,
    l2tp::KIND,
    l2tp_ether::KIND,
    loopback::KIND,
    macvlan::KIND,
    #[cfg(test)]
    null::KIND,
    ovpn::KIND,
    pppoe::KIND,
    pptp::KIND,
    sstp::KIND,
    tunnel::KIND,
    veth::KIND,
    vlan::KIND,
    vrrp::KIND,
    vxlan::KIND,
    wireguard::KIND,
];

/// The menus of ports.
const PORTS: [&str; 2] = ["/interface/ethernet", "/interface/port"];

/// Clients whose interfaces get their addresses from the other end: menu, and name of the protocol.
pub(crate) const DIALS: [(&str, &str); 1] = [(pppoe::CLIENT_MENU, "PPPoE")];

/// Returns the interface of such a client as if the other end had answered; `None` for other items.
pub(crate) fn assumed(item: &Item) -> Option<Interface> {
    let is_pppoe = item.menu.path == pppoe::CLIENT_MENU;
    is_pppoe.then(|| pppoe::assumed(item))?
}

/// Menus of all effective interfaces: ports and all kinds.
pub(crate) const MENUS: [&str; menu_count()] = menus();

const fn menu_count() -> usize {
    let (mut count, mut kind) = (PORTS.len(), 0);
    while kind < KINDS.len() {
        count += KINDS[kind].menus.len();
        kind += 1;
    }
    count
}

const fn menus() -> [&'static str; menu_count()] {
    let mut all = [PORTS[0]; menu_count()];
    all[1] = PORTS[1];
    let (mut at, mut kind) = (PORTS.len(), 0);
    while kind < KINDS.len() {
        let mut menu = 0;
        while menu < KINDS[kind].menus.len() {
            all[at] = KINDS[kind].menus[menu];
            (at, menu) = (at + 1, menu + 1);
        }
        kind += 1;
    }
    all
}

/// Reads an item of any interface menu. Returns `None` for an item without a name, or an incomplete item.
pub(crate) fn read_item(item: &Item) -> Option<Interface> {
    let mut kinds = KINDS.iter();
    let kind = kinds.find(|kind| kind.menus.contains(&item.menu.path));
    kind.map_or(port::read as fn(&Item) -> _, |kind| kind.read)(item)
}
