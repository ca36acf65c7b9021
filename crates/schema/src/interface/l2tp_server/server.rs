//! `/interface/l2tp-server/server`: the L2TP server.

use menu::{Draft, Kind, Menu, MenuShape, Property, Reason, Store};

use crate::declare::{no, secret, text, words};
use crate::interface::dial::{ENABLED, UNIT, authentication, keepalive, profile, units};
use crate::interface::l2tp_client::{COOKIE, DIGEST};

/// Refuses a server for PPP over version 3 alone, which the router does not speak.
fn is_served(draft: &Draft<'_>, _: &Store) -> Result<(), Reason> {
    let is = |name, word| {
        draft
            .get(name)
            .is_some_and(|value| value.to_string() == word)
    };
    match is("accept-proto-version", "l2tpv3") && is("accept-pseudowire-type", "ppp") {
        true => Err(Reason::failure(
            "PPP over L2TP version 3 is not implemented",
        )),
        false => Ok(()),
    }
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
            .default("all"),
            words(
                "accept-proto-version",
                &["all", "l2tpv2", "l2tpv3"],
                "Accepted L2TP versions",
            )
            .default("all"),
            words("l2tpv3-cookie-length", COOKIE, "Length of cookies").default("0"),
            words("l2tpv3-digest-hash", DIGEST, "Authentication of messages").default("md5"),
            text("l2tpv3-circuit-id", "Identity of the circuit"),
            Property::new(
                "l2tpv3-ether-interface-list",
                Kind::Or(&["none"], &Kind::Reference("interface-list")),
                "Interface list for session interfaces",
            )
            .default("none"),
        ],
    ],
    check: Some(is_served),
    ..Menu::new(
        "/interface/l2tp-server/server",
        MenuShape::Settings,
        "L2TP server",
    )
};
