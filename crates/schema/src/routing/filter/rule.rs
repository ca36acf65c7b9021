//! `/routing/filter/rule`: filter rules in RouterOS's filter language.

use menu::{Kind, Menu, Property};

use crate::firewall::chains;
use crate::fragment::{COMMENT_SAID, DISABLED_INVALID, idle_rules};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("chain", Kind::Name, "The chain that the rule is in")
                .required()
                .shared(&chains(&[])),
            Property::new(
                "rule",
                Kind::Text,
                "Rule, such as if (condition) { action }",
            )
            .required(),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED_INVALID,
    columns: &["chain", "rule"],
    ..idle_rules("/routing/filter/rule", "Routing filter rules")
};
