//! `/routing/settings`: routing as a whole.

use menu::{Kind, Menu};

use crate::brief::may;
use crate::dynamic_routing::chain;
use crate::fragment::idle_settings;
use crate::terms::{maybe, number, within};

const RULES: Kind = Kind::Words(&["main-first", "original", "rules-first"]);

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
        .default("500ms"),
        chain("connected-in-chain", "Chain that connected networks pass"),
        chain("dynamic-in-chain", "Chain that routes of clients pass"),
        may("policy-rules", RULES, "When rules are looked at"),
    ]],
    rank: 655,
    ..idle_settings("/routing/settings", "Routing as a whole")
};
