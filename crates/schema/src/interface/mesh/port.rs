//! `/interface/mesh/port`: mesh ports.

use menu::{Menu, Unique};

use crate::declare::{number, reference, within, words};
use crate::fragment::{COMMENT_DISABLED, DISABLED_INVALID, idle_list, interface};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            interface("The interface"),
            reference("mesh", "interface", "The mesh").required(),
            number("path-cost", 0, 65_535, "Path cost of the port").default("10"),
            within(
                "hello-interval",
                1_000,
                60_000,
                "Interval of hello messages",
            )
            .default("10s"),
            words(
                "port-type",
                &["WDS", "auto", "ethernet", "wireless"],
                "Type",
            )
            .default("auto"),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_INVALID,
    columns: &["interface", "mesh", "path-cost", "port-type"],
    unique: &[Unique {
        properties: &["interface"],
        failure: "already have such port",
    }],
    ..idle_list("/interface/mesh/port", "Ports of meshes")
};
