//! `/interface/l2tp-server/server`: the L2TP server.

use menu::{Kind, Menu, MenuShape, Property};

use crate::declare::{no, secret, text, words};
use crate::interface::dial::{ENABLED, UNIT, authentication, keepalive, profile, units};
use crate::interface::l2tp_client::{COOKIE, DIGEST};

/// Returns true for words that allow version 3 or Ethernet alone.
fn needs_version_3(value: &str) -> bool {
    matches!(value, "ether" | "l2tpv3")
}

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[ENABLED],
        &units(UNIT, "1450"),
        &[
            authentication("pap,chap,mschap1,mschap2"),
            keepalive("30"),
            Property::new(
                "max-sessions",
                Kind::Or(
                    &["unlimited"],
                    &Kind::Number {
                        min: 0,
                        max: 4_294_967_295,
                    },
                ),
                "Maximum number of sessions",
            )
            .default("unlimited"),
            profile("default-profile", "default-encryption"),
            words(
                "use-ipsec",
                &["no", "required", "yes"],
                "Encrypt tunnels with IPsec",
            )
            .default("no"),
            secret("ipsec-secret", "IPsec secret"),
            words(
                "caller-id-type",
                &["ip-address", "number"],
                "Caller id type",
            )
            .default("ip-address"),
            no("one-session-per-host", "One session per host"),
            no("allow-fast-path", "Allows FastPath"),
            words(
                "accept-pseudowire-type",
                &["all", "ether", "ppp"],
                "Allowed payloads",
            )
            .default("all")
            .inert_for(needs_version_3),
            words(
                "accept-proto-version",
                &["all", "l2tpv2", "l2tpv3"],
                "Accepted L2TP versions",
            )
            .default("all")
            .inert_for(needs_version_3),
            words("l2tpv3-cookie-length", COOKIE, "Length of cookies")
                .default("0")
                .inert(),
            words("l2tpv3-digest-hash", DIGEST, "Authentication of messages")
                .default("md5")
                .inert(),
            text("l2tpv3-circuit-id", "Identity of the circuit").inert(),
            Property::new(
                "l2tpv3-ether-interface-list",
                Kind::Or(&["none"], &Kind::Reference("interface-list")),
                "Interface list for session interfaces",
            )
            .default("none")
            .inert(),
        ],
    ],
    ..Menu::new(
        "/interface/l2tp-server/server",
        MenuShape::Settings,
        "L2TP server",
    )
};
