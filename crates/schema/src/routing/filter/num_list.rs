//! `/routing/filter/num-list`: lists of numbers.

use menu::{Kind, Menu, Property};

use crate::declare::U32;
use crate::fragment::{COMMENT_SAID, DISABLED_INVALID, idle_rules};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("list", Kind::Name, "The list").required(),
            Property::new(
                "range",
                Kind::Range("-", &U32),
                "Number or range of numbers",
            )
            .required(),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED_INVALID,
    columns: &["list", "range"],
    ..idle_rules("/routing/filter/num-list", "Lists of numbers")
};
