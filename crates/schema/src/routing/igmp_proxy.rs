//! `/routing/igmp-proxy`: IGMP proxy (RFC 4605).

pub(crate) mod interface;
pub(crate) mod mfc;

use menu::Menu;

use crate::declare::{no, within};
use crate::fragment::idle_settings;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        within("query-interval", 1_000, 3_600_000, "Time between queries").default("2m5s"),
        within(
            "query-response-interval",
            1_000,
            3_600_000,
            "Maximum response time of queries",
        )
        .default("10s"),
        no("quick-leave", "Leave a multicast group at once"),
    ]],
    ..idle_settings("/routing/igmp-proxy", "IGMP proxy")
};
