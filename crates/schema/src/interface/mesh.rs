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
            yes("auto-mac", "Takes the hardware address of a port"),
            mac("admin-mac", "Hardware address where auto-mac is off").optional(),
            no("mesh-portal", "Joins the mesh with another network"),
            no("reoptimize-paths", "Looks for better ways now and then"),
            number("hwmp-default-hoplimit", 1, 255, "Most hops of a message").default("32"),
            within(
                "hwmp-preq-waiting-time",
                1_000,
                30_000,
                "How long an answer may take",
            )
            .default("4s"),
            number("hwmp-preq-retries", 0, 255, "How often a way is asked for").default("2"),
            yes("hwmp-preq-destination-only", "Only the destination answers"),
            yes(
                "hwmp-preq-reply-and-forward",
                "Who answers passes the question on",
            ),
            within("hwmp-prep-lifetime", 0, 3_600_000, "How long a way holds").default("5m"),
            within(
                "hwmp-rann-interval",
                0,
                1_800_000,
                "How often the root announces itself",
            )
            .default("10s"),
            number(
                "hwmp-rann-propagation-delay",
                0,
                4_294_967_295,
                "How long an announcement is held",
            )
            .default("500"),
            within(
                "hwmp-rann-lifetime",
                0,
                3_600_000,
                "How long an announcement holds",
            )
            .default("22s"),
        ],
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_DISABLED,
    ],
    columns: &["name", "mtu", "auto-mac"],
    commands: &[idle_command("traceroute", "Show the way through a mesh")],
    ..idle_interfaces("/interface/mesh", "mesh", "Mesh interfaces")
};
