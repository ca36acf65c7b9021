//! `/routing/filter/community-ext-list`: lists of extended communities, such as `rt:65000:1`.

use menu::{Kind, Menu, Property};

use crate::declare::{list, optional_text};
use crate::fragment::{COMMENT_SAID, DISABLED_INVALID, idle_rules};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("list", Kind::Name, "The list").required(),
            list("communities", &Kind::Name, "The extended communities").optional(),
            optional_text("regexp", "A regular expression instead"),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED_INVALID,
    columns: &["list", "communities", "regexp"],
    ..idle_rules(
        "/routing/filter/community-ext-list",
        "Lists of extended communities",
    )
};
