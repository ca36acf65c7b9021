//! `/routing/rip/interface`: RIP interfaces of RouterOS 6.

use menu::{Kind, Menu, Property};

use crate::declare::{no, optional, secret, words};
use crate::dynamic_routing::{INTERFACES, chain};
use crate::fragment::{COMMENT_DISABLED, DISABLED, idle_list};

const VERSIONS: &[&str] = &["v1", "v1-2", "v2"];

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("interface", INTERFACES, "The interface").default("all"),
            no("passive", "Tells nobody"),
            words("receive", VERSIONS, "Versions that are heard").default("v2"),
            words("send", VERSIONS, "Version that is spoken").default("v2"),
            words(
                "authentication",
                &["md5", "none", "simple"],
                "How messages are signed",
            )
            .default("none"),
            secret("authentication-key", "The key"),
            optional("key-chain", Kind::Name, "Keys"),
            chain(
                "in-prefix-list",
                "List that routes pass before they are used",
            ),
            chain(
                "out-prefix-list",
                "List that routes pass before others are told",
            ),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED,
    columns: &["interface", "receive", "send", "authentication"],
    ..idle_list("/routing/rip/interface", "Version 6: interfaces of RIP")
};
