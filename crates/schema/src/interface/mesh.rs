//! `/interface/mesh`: layer 2 mesh networks (HWMP+).

pub(crate) mod fdb;
pub(crate) mod port;

use menu::Menu;

use super::idle_command;
use crate::declare::{mac, no, number, within, yes};
use crate::fragment::{
    ARP, COMMENT_DISABLED, INTERFACE_COUNTERS, LINK_TIMES, idle_interfaces, name_mtu,
};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &name_mtu("1500"),
        ARP,
        &[
            yes("auto-mac", "Use the MAC address of a port"),
            mac("admin-mac", "Hardware address where auto-mac is off").optional(),
            no("mesh-portal", "Portal to another network"),
            no("reoptimize-paths", "Proactive path refresh"),
            number(
                "hwmp-default-hoplimit",
                1,
                255,
                "Maximum number of hops of a message",
            )
            .default("32"),
            within(
                "hwmp-preq-waiting-time",
                1_000,
                30_000,
                "Timeout of an answer",
            )
            .default("4s"),
            number("hwmp-preq-retries", 0, 255, "Path request retries").default("2"),
            yes("hwmp-preq-destination-only", "Only the destination answers"),
            yes(
                "hwmp-preq-reply-and-forward",
                "Forward path requests after replying",
            ),
            within("hwmp-prep-lifetime", 0, 3_600_000, "Path lifetime").default("5m"),
            within(
                "hwmp-rann-interval",
                0,
                1_800_000,
                "Root announcement interval",
            )
            .default("10s"),
            number(
                "hwmp-rann-propagation-delay",
                0,
                4_294_967_295,
                "Announcement delay",
            )
            .default("500"),
            within("hwmp-rann-lifetime", 0, 3_600_000, "Announcement lifetime").default("22s"),
        ],
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_DISABLED,
    ],
    columns: &["name", "mtu", "auto-mac"],
    commands: &[idle_command("traceroute", "Trace the path through a mesh")],
    ..idle_interfaces("/interface/mesh", "mesh", "Mesh interfaces")
};
