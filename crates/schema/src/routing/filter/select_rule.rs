//! `/routing/filter/select-rule`: route selection rules.

use menu::{Kind, Menu, Property};

use crate::dynamic_routing::chain;
use crate::fragment::{COMMENT_SAID, DISABLED_INVALID, idle_rules};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("chain", Kind::Name, "The chain that the rule is in").required(),
            chain(
                "do-where",
                "Filter chain that decides whether the rule applies",
            ),
            chain("do-jump", "Chain to continue with"),
            chain("do-take", "Selection"),
            chain(
                "do-group-num",
                "Numeric property by which routes are grouped",
            ),
            chain(
                "do-group-prfx",
                "Prefix property by which routes are grouped",
            ),
            chain(
                "do-select-num",
                "Numeric property by which the route is selected",
            ),
            chain(
                "do-select-prfx",
                "Prefix property by which the route is selected",
            ),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED_INVALID,
    columns: &["chain", "do-where", "do-take"],
    ..idle_rules("/routing/filter/select-rule", "Route selection rules")
};
