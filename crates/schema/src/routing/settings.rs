//! `/routing/settings`: global routing settings.

use menu::{Kind, Menu};

use crate::declare::{maybe, number, optional, within};
use crate::dynamic_routing::chain;
use crate::fragment::idle_settings;

/// Order of routing decisions; `user` and other names are chains of rules.
const RULES: Kind = Kind::List(&Kind::Name);

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        maybe("single-process", "Run all protocols in one process"),
        number(
            "check-gateway-ping-count",
            1,
            255,
            "Number of missed probes after which a gateway is down",
        )
        .default("2"),
        within(
            "check-gateway-ping-interval",
            100,
            600_000,
            "Interval of gateway checks",
        )
        .default("10s"),
        within("check-gateway-ping-timeout", 1, 1_000, "Timeout of a probe").default("1s"),
        chain("connected-in-chain", "Filter chain for connected networks"),
        chain(
            "dynamic-in-chain",
            "Filter chain for routes of dynamic clients",
        ),
        optional(
            "policy-rules",
            RULES,
            "Order in which policies decide about packets",
        )
        .default("mangle,vrf-lookup,vrf-unreach,local,user,main"),
    ]],
    ..idle_settings("/routing/settings", "Routing settings")
};
