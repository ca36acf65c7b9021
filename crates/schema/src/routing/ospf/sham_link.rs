//! `/routing/ospf/sham-link`: sham links of RouterOS 6 (RFC 4577).

use menu::Menu;

use super::AREA;
use crate::declare::{between, ipv4, optional};
use crate::fragment::{COMMENT_DISABLED, DISABLED, idle_list};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            AREA.required(),
            ipv4("src-address", "Local address").required(),
            ipv4("dst-address", "Remote address").required(),
            optional("cost", between(1, 65_535), "Cost of the link").default("1"),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED,
    columns: &["area", "src-address", "dst-address", "cost"],
    older: true,
    ..idle_list("/routing/ospf/sham-link", "Version 6: sham links")
};
