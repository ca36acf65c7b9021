//! `/routing/settings`: global routing settings.

use menu::{Kind, Menu};

use crate::declare::{maybe, number, optional, within};
use crate::dynamic_routing::chain;
use crate::fragment::idle_settings;

/// Order of routing decisions; `user` and other names are chains of rules.
const RULES: Kind = Kind::List(&Kind::Name);

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        maybe("single-process", "Does all in one process"),
        number(
            "check-gateway-ping-count",
            1,
            255,
            "Probes that may be missed",
        )
        .default("2"),
        within(
            "check-gateway-ping-interval",
            100,
            600_000,
            "How often gateways are asked",
        )
        .default("10s"),
        within(
            "check-gateway-ping-timeout",
            1,
            1_000,
            "How long an answer may take",
        )
        .default("1s"),
        chain("connected-in-chain", "Chain that connected networks pass"),
        chain("dynamic-in-chain", "Chain that routes of clients pass"),
        optional(
            "policy-rules",
            RULES,
            "What decides about packets, in order",
        )
        .default("mangle,vrf-lookup,vrf-unreach,local,user,main"),
    ]],
    ..idle_settings("/routing/settings", "Routing as a whole")
};
