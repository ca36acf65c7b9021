//! `/routing/ospf-v3/interface`: OSPFv3 interfaces of RouterOS 6.

use menu::{Menu, Property};

use crate::declare::{between, no, optional, reference, seconds, words};
use crate::dynamic_routing::INTERFACES;
use crate::fragment::{COMMENT_DISABLED, DISABLED, idle_list};

const TYPES: &[&str] = &["broadcast", "default", "nbma", "point-to-point", "ptmp"];

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("interface", INTERFACES, "The interface").default("all"),
            reference("area", "ospf-v3-area", "The area").required(),
            optional("cost", between(1, 65_535), "Cost of the interface").default("10"),
            optional(
                "priority",
                between(0, 255),
                "Priority in the election of the designated router",
            )
            .default("1"),
            words("network-type", TYPES, "Network type").default("default"),
            optional("instance-id", between(0, 255), "Instance ID on the link").default("0"),
            no("passive", "Do not send or receive messages"),
            no("use-bfd", "Monitor neighbours by BFD"),
            optional(
                "retransmit-interval",
                seconds(1, 65_535),
                "Retransmit interval",
            )
            .default("5s"),
            optional("transmit-delay", seconds(1, 65_535), "Transmit delay").default("1s"),
            optional(
                "hello-interval",
                seconds(1, 65_535),
                "Interval of hello messages",
            )
            .default("10s"),
            optional("dead-interval", seconds(1, 65_535), "Dead interval").default("40s"),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED,
    columns: &["interface", "area", "cost"],
    older: true,
    ..idle_list("/routing/ospf-v3/interface", "Version 6: OSPFv3 interfaces")
};
