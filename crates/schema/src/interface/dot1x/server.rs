//! `/interface/dot1x/server`: 802.1X authentication of devices on a port.

pub(crate) mod active;
pub(crate) mod state;

use menu::{Kind, Menu, Property};

use crate::declare::{list, span, within, words, yes};
use crate::fragment::{COMMENT_DISABLED, DISABLED_INVALID, idle_list};
use crate::interface::bridge::port::PORT;

const YEARS: i64 = 4_294_967_295_000;
const LONGEST: i64 = 42_949_672_950;
/// Formats of MAC addresses in RADIUS requests.
pub(crate) const MAC_FORMATS: &[&str] = &[
    "XX-XX-XX-XX-XX-XX",
    "XX:XX:XX:XX:XX:XX",
    "XXXX:XXXX:XXXX",
    "XXXXXX-XXXXXX",
    "XXXXXX:XXXXXX",
    "XXXXXXXXXXXX",
    "xx-xx-xx-xx-xx-xx",
    "xx:xx:xx:xx:xx:xx",
    "xxxx:xxxx:xxxx",
    "xxxxxx-xxxxxx",
    "xxxxxx:xxxxxx",
    "xxxxxxxxxxxx",
];

const fn vlan(name: &'static str, help: &'static str) -> Property {
    let kind = Kind::Or(&["none"], &Kind::Number { min: 1, max: 4_094 });
    Property::new(name, kind, help).optional()
}

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("interface", PORT, "The port, or a list of ports").required(),
            list(
                "auth-types",
                &Kind::Words(&["dot1x", "mac-auth"]),
                "Authentication types",
            )
            .default("dot1x"),
            yes("accounting", "RADIUS accounting"),
            span("interim-update", "Interim update interval of accounting").default("0s"),
            words(
                "mac-auth-mode",
                &["mac-as-username", "mac-as-username-and-password"],
                "Format of user name and password in MAC authentication",
            )
            .default("mac-as-username"),
            words("radius-mac-format", MAC_FORMATS, "MAC address format")
                .default("XX:XX:XX:XX:XX:XX"),
            within("auth-timeout", 100, LONGEST, "Timeout of authentication").default("1m"),
            within("retrans-timeout", 100, LONGEST, "Retransmission timeout").default("30s"),
            within("reauth-timeout", 1_000, YEARS, "Retry interval").optional(),
            within("reauth-period", 1_000, YEARS, "Reauthentication interval").optional(),
            vlan("guest-vlan-id", "VLAN for devices that do not answer"),
            vlan("reject-vlan-id", "VLAN for rejected devices"),
            vlan("server-fail-vlan-id", "VLAN while no RADIUS server answers"),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_INVALID,
    columns: &["interface", "auth-types", "accounting"],
    ..idle_list("/interface/dot1x/server", "802.1X authenticator")
};
