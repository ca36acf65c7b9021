//! Places with nothing of their own but menus below: what help says of them.

use menu::{Menu, Shape};

/// The menus of this file.
pub(crate) const MENUS: &[&Menu] = &[
    &folder("/caps-man", "CAPsMAN of older wireless drivers"),
    &folder("/disk/btrfs", "Btrfs file systems"),
    &folder("/interface/dot1x", "Port authentication by IEEE 802.1X"),
    &folder(
        "/interface/ethernet/switch/qos",
        "Quality of service in switch chips",
    ),
    &folder("/iot", "Internet of things"),
    &folder("/ip", "IP options"),
    &folder("/ip/firewall", "Firewall management"),
    &folder("/ip/ipsec", "IP security"),
    &folder("/ip/ipsec/key", "Keys of IPsec"),
    &folder("/ipv6", "IPv6 options"),
    &folder("/ipv6/firewall", "Firewall management"),
    &folder("/mpls/traffic-eng", "MPLS traffic engineering"),
    &folder("/ppp", "Point to Point Protocol"),
    &folder("/queue", "Bandwidth management"),
    &folder("/routing", "Routing protocols and policies"),
    &folder("/routing/bfd", "Bidirectional Forwarding Detection"),
    &folder("/routing/bgp", "Border Gateway Protocol"),
    &folder("/routing/isis", "IS-IS"),
    &folder("/routing/ospf", "Open Shortest Path First"),
    &folder("/routing/pimsm", "Protocol Independent Multicast"),
    &folder("/routing/stats", "What the routing processes do"),
    &folder("/tool/traffic-generator/stats", "What was measured"),
];

const fn folder(path: &'static str, help: &'static str) -> Menu {
    Menu::new(path, Shape::Folder, help)
}
