//! `/routing/rip/keys`: keys that sign messages, by time.

use menu::{Kind, Menu, Property};

use crate::brief::{may, number};
use crate::fragment::{COMMENT_SAID, DISABLED_INVALID, idle_list};
use crate::terms::note;

const KEY: Kind = Kind::Sized { min: 0, max: 16 };

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("chain", Kind::Name, "The chain of keys").required(),
            may("key-id", number(0, 255), "Number of the key"),
            may("key", KEY, "The key").sensitive(),
            note("valid-from", "When it begins to hold"),
            note("valid-till", "When it ends to hold"),
        ],
        COMMENT_SAID,
    ],
    flags: DISABLED_INVALID,
    columns: &["chain", "key-id", "valid-from", "valid-till"],
    ..idle_list("/routing/rip/keys", "Keys of RIP")
};
