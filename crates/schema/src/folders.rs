//! Help of menu folders.

use menu::{Menu, MenuShape};

pub(crate) static CAPS_MAN: Menu = folder("/caps-man", "CAPsMAN of older wireless drivers");
pub(crate) static DISK_BTRFS: Menu = folder("/disk/btrfs", "Btrfs file systems");
pub(crate) static INTERFACE_DOT1X: Menu =
    folder("/interface/dot1x", "Port authentication by IEEE 802.1X");
pub(crate) static INTERFACE_ETHERNET_SWITCH_QOS: Menu = folder(
    "/interface/ethernet/switch/qos",
    "Quality of service in switch chips",
);
pub(crate) static IOT: Menu = folder("/iot", "Internet of things");
pub(crate) static IP: Menu = folder("/ip", "IP options");
pub(crate) static IP_FIREWALL: Menu = folder("/ip/firewall", "Firewall management");
pub(crate) static IP_IPSEC: Menu = folder("/ip/ipsec", "IPsec: keys, peers and policies");
pub(crate) static IP_IPSEC_KEY: Menu = folder("/ip/ipsec/key", "IPsec keys");
pub(crate) static IPV6: Menu = folder("/ipv6", "IPv6 options");
pub(crate) static IPV6_FIREWALL: Menu = folder("/ipv6/firewall", "Firewall management");
pub(crate) static MPLS_TRAFFIC_ENG: Menu = folder("/mpls/traffic-eng", "MPLS traffic engineering");
pub(crate) static PPP: Menu = folder("/ppp", "Point to Point Protocol");
pub(crate) static QUEUE: Menu = folder("/queue", "Bandwidth management");
pub(crate) static ROUTING: Menu = folder("/routing", "Routing protocols and policies");
pub(crate) static ROUTING_BFD: Menu = folder("/routing/bfd", "Bidirectional Forwarding Detection");
pub(crate) static ROUTING_BGP: Menu = folder("/routing/bgp", "Border Gateway Protocol");
pub(crate) static ROUTING_ISIS: Menu = folder("/routing/isis", "IS-IS");
pub(crate) static ROUTING_OSPF: Menu = folder("/routing/ospf", "Open Shortest Path First");
pub(crate) static ROUTING_PIMSM: Menu = folder("/routing/pimsm", "Protocol Independent Multicast");
pub(crate) static ROUTING_STATS: Menu = folder("/routing/stats", "Statistics of routing processes");
pub(crate) static TOOL_TRAFFIC_GENERATOR_STATS: Menu =
    folder("/tool/traffic-generator/stats", "Measurements");

const fn folder(path: &'static str, help: &'static str) -> Menu {
    Menu::new(path, MenuShape::Folder, help)
}
