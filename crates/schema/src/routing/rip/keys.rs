//! `/routing/rip/keys`: authentication keys with validity periods.

use menu::{Kind, Menu, Property};

use crate::declare::{between, optional, optional_text};
use crate::fragment::{COMMENT_SAID, DISABLED_INVALID, idle_list};

const KEY: Kind = Kind::Sized { min: 0, max: 16 };

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("chain", Kind::Name, "Key chain").required(),
            optional("key-id", between(0, 255), "Key ID"),
            optional("key", KEY, "Authentication key").sensitive(),
            optional_text("valid-from", "Start of validity"),
            optional_text("valid-till", "End of validity"),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED_INVALID,
    columns: &["chain", "key-id", "valid-from", "valid-till"],
    ..idle_list("/routing/rip/keys", "RIP keys")
};
