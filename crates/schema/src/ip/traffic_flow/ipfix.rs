//! `/ip/traffic-flow/ipfix`: exported fields.

use menu::{Effect, Menu, MenuShape, Property};

use crate::declare::{no, yes};

const fn field(name: &'static str) -> Property {
    yes(name, "Export this field")
}

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        no("nat-events", "Export NAT events"),
        field("first-forwarded"),
        field("last-forwarded"),
        field("sys-init-time"),
        field("packets"),
        field("bytes"),
        field("src-port"),
        field("dst-port"),
        field("in-interface"),
        field("out-interface"),
        field("protocol"),
        field("tos"),
        field("tcp-flags"),
        field("dst-mac-address"),
        field("src-mac-address"),
        field("src-address"),
        field("dst-address"),
        field("src-address-mask"),
        field("dst-address-mask"),
        field("gateway"),
        field("ttl"),
        field("ip-header-length"),
        field("is-multicast"),
        field("ip-total-length"),
        field("nat-src-address"),
        field("nat-dst-address"),
        field("nat-src-port"),
        field("nat-dst-port"),
        field("ipv6-flow-label"),
        field("udp-length"),
        field("tcp-seq-num"),
        field("tcp-ack-num"),
        field("tcp-window-size"),
        field("igmp-type"),
        field("icmp-type"),
        field("icmp-code"),
    ]],
    effect: Effect::None,
    ..Menu::new(
        "/ip/traffic-flow/ipfix",
        MenuShape::Settings,
        "Exported fields",
    )
};
