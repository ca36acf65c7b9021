//! `/routing/filter/community-large-list`: lists of large communities, such as `65000:1:1`.

use menu::{Kind, Menu, Property};

use crate::declare::{list, optional_text};
use crate::fragment::{COMMENT_SAID, DISABLED_INVALID, idle_rules};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("list", Kind::Name, "The list").required(),
            list("communities", &Kind::Name, "The large communities").optional(),
            optional_text("regexp", "A regular expression instead"),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED_INVALID,
    columns: &["list", "communities", "regexp"],
    ..idle_rules(
        "/routing/filter/community-large-list",
        "Lists of large communities",
    )
};
