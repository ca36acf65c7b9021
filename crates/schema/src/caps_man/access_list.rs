//! `/caps-man/access-list`: access control for wireless clients of CAPs.

use menu::{Kind, Menu, Property};

use crate::declare::{
    TIME_OF_WEEK, U32, between, mac, maybe, optional, optional_text, text, words,
};
use crate::fragment::{COMMENT_DISABLED, DISABLED, idle_rules};
use crate::interface::wireless::VLAN_MODES;
use crate::radio::SIGNAL;

const ANY: Kind = Kind::Or(&["any"], &Kind::Reference("interface"));

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            mac("mac-address", "Hardware address of the client").optional(),
            mac("mac-address-mask", "MAC address mask").optional(),
            Property::new("interface", ANY, "The interface").default("any"),
            optional("signal-range", SIGNAL, "Signal strength range"),
            optional(
                "allow-signal-out-of-range",
                Kind::Or(&["always"], &Kind::SPAN),
                "Time for which a signal out of range is accepted",
            ),
            text("ssid-regexp", "Regular expression for the SSID"),
            optional("time", TIME_OF_WEEK, "Time of day and days of the week"),
            words("action", &["accept", "query-radius", "reject"], "Action").default("accept"),
            optional("ap-tx-limit", U32, "Transmit limit in bits per second"),
            optional("client-tx-limit", U32, "Receive limit in bits per second"),
            maybe(
                "client-to-client-forwarding",
                "Forward frames of the client",
            ),
            optional_text("private-passphrase", "Private passphrase").sensitive(),
            maybe("radius-accounting", "RADIUS accounting"),
            optional("vlan-mode", Kind::Words(VLAN_MODES), "VLAN tagging mode"),
            optional("vlan-id", between(1, 4_095), "VLAN id"),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED,
    columns: &["mac-address", "interface", "signal-range", "action"],
    ..idle_rules("/caps-man/access-list", "Access rules for wireless clients")
};
