//! `/interface/wireless/access-list`: access control for wireless clients.

use menu::{Kind, Menu, Property};

use super::security_profiles::ALGORITHMS;
use crate::declare::{TIME_OF_WEEK, mac, number, optional, secret, words, yes};
use crate::fragment::{COMMENT_DISABLED, DISABLED, idle_rules};
use crate::radio::SIGNAL;

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            mac("mac-address", "Hardware address of the client").default("00:00:00:00:00:00"),
            Property::new(
                "interface",
                Kind::Or(&["any", "all"], &Kind::Reference("interface")),
                "The interface",
            )
            .default("any"),
            Property::new("signal-range", SIGNAL, "How strong the client is").default("-120..120"),
            optional(
                "allow-signal-out-of-range",
                Kind::Or(&["always"], &Kind::SPAN),
                "For how long it may be otherwise",
            )
            .default("10s"),
            yes("authentication", "Takes the client"),
            yes("forwarding", "Lets it reach others"),
            number("ap-tx-limit", 0, 4_294_967_295, "Bits a second to it").default("0"),
            number("client-tx-limit", 0, 4_294_967_295, "Bits a second from it").default("0"),
            words("private-algo", ALGORITHMS, "Cipher of its own key").default("none"),
            secret("private-key", "Its own key"),
            secret("private-pre-shared-key", "Its own passphrase"),
            secret("management-protection-key", "Key that protects management"),
            words(
                "vlan-mode",
                &["default", "no-tag", "use-service-tag", "use-tag"],
                "Its tag",
            )
            .default("default"),
            number("vlan-id", 1, 4_095, "Its VLAN").default("1"),
            optional("time", TIME_OF_WEEK, "When the rule counts"),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED,
    columns: &[
        "mac-address",
        "interface",
        "signal-range",
        "authentication",
        "forwarding",
    ],
    ..idle_rules(
        "/interface/wireless/access-list",
        "Clients of access points",
    )
};
