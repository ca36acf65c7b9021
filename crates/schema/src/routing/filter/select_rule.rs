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
                "Chain that decides whether the rule is for a route",
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
            chain("do-select-num", "Numeric property that decides"),
            chain("do-select-prfx", "Prefix property that decides"),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED_INVALID,
    columns: &["chain", "do-where", "do-take"],
    ..idle_rules("/routing/filter/select-rule", "Choice of routes")
};
