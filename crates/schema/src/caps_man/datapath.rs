//! `/caps-man/datapath`: datapath profiles, which define how client traffic is forwarded.

use menu::{Kind, Menu, Property, Unique};

use crate::capsman::datapath;
use crate::declare::{between, named, optional};
use crate::fragment::{COMMENT, idle_list};

const SAID: &[Property] = datapath!("");
/// Properties of the interface itself.
const INTERFACE: &[Property] = &[
    optional("arp", ARP, "Address resolution protocol to use"),
    optional(
        "mtu",
        between(0, 65_535),
        "Maximum transmission unit of layer 3",
    ),
    optional(
        "l2mtu",
        between(0, 65_535),
        "Maximum transmission unit of layer 2",
    ),
];
const ARP: Kind = Kind::Words(&[
    "disabled",
    "enabled",
    "local-proxy-arp",
    "proxy-arp",
    "reply-only",
]);

pub(crate) static MENU: Menu = Menu {
    properties: &[&[named("Name of the profile")], INTERFACE, SAID, &[COMMENT]],
    columns: &["name", "bridge", "vlan-id"],
    space: Some("capsman-datapath"),
    key: Some("name"),
    unique: &[Unique {
        properties: &["name"],
        failure: "already have such name",
    }],
    ..idle_list("/caps-man/datapath", "Datapath profiles for CAPs")
};
