//! `/interface/wireless/connect-list`: access points that a station may connect to.

use menu::{Kind, Menu, Property};

use super::PROTOCOLS;
use crate::declare::{mac, optional, optional_text, text, words, yes};
use crate::fragment::{COMMENT_DISABLED, DISABLED, idle_rules};
use crate::radio::{IPV4, IPV6, NETWORKS, SIGNAL};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("interface", Kind::Reference("interface"), "The interface").required(),
            mac("mac-address", "Hardware address of the access point").default("00:00:00:00:00:00"),
            text("ssid", "Name of the network"),
            text("area-prefix", "Area prefix"),
            Property::new("signal-range", SIGNAL, "Signal strength range").default("-120..120"),
            optional(
                "allow-signal-out-of-range",
                Kind::Or(&["always"], &Kind::SPAN),
                "Time for which a signal out of range is accepted",
            )
            .default("10s"),
            words("wireless-protocol", PROTOCOLS, "Wireless protocol").default("any"),
            Property::new(
                "security-profile",
                Kind::Or(&["none"], &Kind::Reference("wireless-security")),
                "Security",
            )
            .default("none"),
            yes("connect", "Connect to the access point"),
            words("interworking", &["any", "no", "yes"], "Interworking").default("any"),
            optional_text("iw-authentication-types", "Authentication type"),
            optional_text("iw-connection-capabilities", "Connection capabilities"),
            mac("iw-hessid", "Hardware address of the network").optional(),
            optional_text("iw-realms", "Realms"),
            optional_text(
                "iw-roaming-ois",
                "Organization identifiers of roaming partners",
            ),
            optional_text("iw-venue", "Venue type"),
            optional_text("3gpp", "Mobile networks (3GPP)"),
        ],
        IW,
        COMMENT_DISABLED,
    ],
    flags: DISABLED,
    columns: &[
        "interface",
        "mac-address",
        "ssid",
        "signal-range",
        "connect",
    ],
    ..idle_rules(
        "/interface/wireless/connect-list",
        "Rules for connecting to access points",
    )
};

const IW: &[Property] = &[
    any("iw-asra", "Additional step required for access"),
    any("iw-esr", "Emergency services are reachable"),
    any("iw-hotspot20", "Hotspot 2.0"),
    any(
        "iw-hotspot20-dgaf",
        "Downstream group-addressed forwarding disabled",
    ),
    any("iw-internet", "Internet access"),
    any("iw-uesa", "Unauthenticated emergency service access"),
    optional("iw-ipv4-availability", Kind::Words(IPV4), "IPv4"),
    optional("iw-ipv6-availability", Kind::Words(IPV6), "IPv6"),
    optional("iw-network-type", Kind::Words(NETWORKS), "Network type"),
];

const fn any(name: &'static str, help: &'static str) -> Property {
    words(name, &["any", "no", "yes"], help).optional()
}
