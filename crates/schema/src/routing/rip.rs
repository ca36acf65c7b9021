//! `/routing/rip`: RIP (RFC 2453), settings of RouterOS 6. Version 7 has instances.

pub(crate) mod instance;
pub(crate) mod interface;
pub(crate) mod interface_template;
pub(crate) mod keys;
pub(crate) mod neighbor;
pub(crate) mod network;
pub(crate) mod static_neighbor;

use menu::{Menu, Property};

use crate::declare::{between, no, reference, span, words};
use crate::fragment::idle_settings;

const fn metric(name: &'static str, help: &'static str) -> Property {
    Property::new(name, between(1, 16), help).default("1")
}

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        words(
            "distribute-default",
            &["always", "if-installed", "never"],
            "Distribution of a default route",
        )
        .default("never"),
        no("redistribute-static", "Redistribute static routes"),
        no("redistribute-connected", "Redistribute connected networks"),
        no("redistribute-ospf", "Redistribute OSPF routes"),
        no("redistribute-bgp", "Redistribute BGP routes"),
        metric("metric-default", "Metric of the default route"),
        metric("metric-static", "Metric of static routes"),
        metric("metric-connected", "Metric of connected networks"),
        metric("metric-ospf", "Metric of OSPF routes"),
        metric("metric-bgp", "Metric of BGP routes"),
        span("update-timer", "Update interval").default("30s"),
        span("timeout-timer", "Timeout of routes").default("3m"),
        span(
            "garbage-timer",
            "Time for which an expired route is announced as unreachable",
        )
        .default("2m"),
        reference(
            "routing-table",
            "routing-table",
            "Routing table of the routes",
        )
        .default("main"),
    ]],
    ..idle_settings("/routing/rip", "Version 6: RIP")
};
