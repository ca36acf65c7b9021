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
            Property::new("signal-range", SIGNAL, "Signal strength range").default("-120..120"),
            optional(
                "allow-signal-out-of-range",
                Kind::Or(&["always"], &Kind::SPAN),
                "Time for which a signal out of range is accepted",
            )
            .default("10s"),
            yes("authentication", "Accept the client"),
            yes("forwarding", "Forward frames of the client"),
            number(
                "ap-tx-limit",
                0,
                4_294_967_295,
                "Transmit limit in bits per second",
            )
            .default("0"),
            number(
                "client-tx-limit",
                0,
                4_294_967_295,
                "Receive limit in bits per second",
            )
            .default("0"),
            words("private-algo", ALGORITHMS, "Private key cipher").default("none"),
            secret("private-key", "Private key"),
            secret("private-pre-shared-key", "Private passphrase"),
            secret(
                "management-protection-key",
                "Key for management frame protection",
            ),
            words(
                "vlan-mode",
                &["default", "no-tag", "use-service-tag", "use-tag"],
                "VLAN tagging mode",
            )
            .default("default"),
            number("vlan-id", 1, 4_095, "VLAN id").default("1"),
            optional("time", TIME_OF_WEEK, "Time of day"),
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
        "Access rules for wireless clients",
    )
};
