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
            chain("do-jump", "Chain that goes on"),
            chain("do-take", "What is taken"),
            chain("do-group-num", "Number that puts routes together"),
            chain("do-group-prfx", "Prefix that puts routes together"),
            chain("do-select-num", "Number that decides"),
            chain("do-select-prfx", "Prefix that decides"),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED_INVALID,
    columns: &["chain", "do-where", "do-take"],
    ..idle_rules("/routing/filter/select-rule", "Choice of routes")
};
