//! `/queue/interface`: interface queues.

use menu::{FollowedMenu, Kind, Menu, MenuShape, Property};

use super::TYPE;
use crate::declare::{reference, shown};

const fn with(path: &'static str, queue: &'static [(&'static str, &'static str)]) -> FollowedMenu {
    FollowedMenu {
        path,
        values: queue,
    }
}

const WIRELESS: &[(&str, &str)] = &[("queue", "wireless-default")];
const HARDWARE: &[(&str, &str)] = &[("queue", "only-hardware-queue")];

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        reference("interface", "interface", "The interface").read_only(),
        Property::new("queue", Kind::Or(&["no-queue"], &TYPE), "Type of the queue")
            .default("no-queue"),
        shown("active-queue", Kind::Text, "Current type of the queue"),
    ]],
    columns: &["interface", "queue", "active-queue"],
    key: Some("interface"),
    follows: &[
        with("/interface/ethernet", HARDWARE),
        with("/interface/wireless", WIRELESS),
        with("/interface/wifi", WIRELESS),
        with("/interface/lte", &[]),
        with("/interface/vlan", &[]),
        with("/interface/bridge", &[]),
        with("/interface/bonding", &[]),
        with("/interface/vrrp", &[]),
        with("/interface/eoip", &[]),
        with("/interface/gre", &[]),
        with("/interface/ipip", &[]),
        with("/interface/vxlan", &[]),
        with("/interface/wireguard", &[]),
        with("/interface/pppoe-client", &[]),
        with("/interface/l2tp-client", &[]),
        with("/interface/pptp-client", &[]),
        with("/interface/sstp-client", &[]),
        with("/interface/ovpn-client", &[]),
        with("/interface/ppp-client", &[]),
        with("/interface/veth", &[]),
    ],
    ..Menu::new("/queue/interface", MenuShape::Fixed, "Queues of interfaces")
};
