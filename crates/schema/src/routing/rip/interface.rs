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
            no("passive", "Do not send messages"),
            words("receive", VERSIONS, "Accepted versions").default("v2"),
            words("send", VERSIONS, "Sent version").default("v2"),
            words(
                "authentication",
                &["md5", "none", "simple"],
                "Authentication of messages",
            )
            .default("none"),
            secret("authentication-key", "Authentication key"),
            optional("key-chain", Kind::Name, "Keys"),
            chain("in-prefix-list", "Filter list for received routes"),
            chain("out-prefix-list", "Filter list for advertised routes"),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED,
    columns: &["interface", "receive", "send", "authentication"],
    ..idle_list("/routing/rip/interface", "Version 6: interfaces of RIP")
};
