//! `/routing/filter/community-list`: lists of communities that rules name, such as `65000:1`.

use menu::{Kind, Menu, Property};

use crate::fragment::{COMMENT_SAID, DISABLED_INVALID, idle_rules};
use crate::terms::{list, note};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("list", Kind::Name, "The list").required(),
            list("communities", &Kind::Name, "The communities").optional(),
            note("regexp", "A regular expression instead"),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED_INVALID,
    columns: &["list", "communities", "regexp"],
    ..idle_rules("/routing/filter/community-list", "Lists of communities")
};
