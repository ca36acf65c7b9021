//! `/routing/ospf-v3/instance`: OSPFv3 instances of RouterOS 6.

use menu::{Builtin, ExportSelector, Family, Flag, Kind, Menu, Property};

use crate::declare::{named, words};
use crate::dynamic_routing::{as_type, metric};
use crate::fragment::{COMMENT_DISABLED, idle_list};

const DEFAULTS: &[&str] = &[
    "always-as-type-1",
    "always-as-type-2",
    "if-installed-as-type-1",
    "if-installed-as-type-2",
    "never",
];

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            named("Name of the instance"),
            Property::new("router-id", Kind::Address(Family::V4), "Router ID").default("0.0.0.0"),
            words(
                "distribute-default",
                DEFAULTS,
                "Distribution of a default route",
            )
            .default("never"),
            as_type("redistribute-connected", "Redistribute connected networks").default("no"),
            as_type("redistribute-static", "Redistribute static routes").default("no"),
            as_type("redistribute-rip", "Redistribute RIP routes").default("no"),
            as_type("redistribute-bgp", "Redistribute BGP routes").default("no"),
            as_type(
                "redistribute-other-ospf",
                "Redistribute routes of other OSPF instances",
            )
            .default("no"),
            metric("metric-default", "Metric of the default route").default("1"),
            metric("metric-connected", "Metric of connected networks").default("20"),
            metric("metric-static", "Metric of static routes").default("20"),
            metric("metric-rip", "Metric of RIP routes").default("20"),
            metric("metric-bgp", "Metric of BGP routes").default("auto"),
            metric(
                "metric-other-ospf",
                "Metric of routes of other OSPF instances",
            )
            .default("auto"),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[Flag::new('X', "disabled", 0), Flag::new('*', "default", 1)],
    columns: &["name", "router-id"],
    space: Some("ospf-v3-instance"),
    key: Some("name"),
    builtin: &[Builtin {
        values: &[("name", "default")],
    }],
    pick: ExportSelector::Default,
    older: true,
    ..idle_list("/routing/ospf-v3/instance", "Version 6: OSPFv3 instances")
};
