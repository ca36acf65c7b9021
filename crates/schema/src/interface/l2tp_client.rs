//! `/interface/l2tp-client`: L2TP clients (RFC 2661, RFC 3931).

use menu::{Family, Item, Kind, Menu, Property};

use super::dial::{
    ALLOW, CONNECT_TO, NAME, PEER_DNS, ROUTES, UNIT, USER, keepalive, profile, units,
};
use crate::declare::{no, secret, text, words};
use crate::fragment::{COMMENT_WAITING, INTERFACE_COUNTERS, LINK_TIMES, idle_interfaces};

/// Cookie lengths of L2TPv3.
pub(crate) const COOKIE: &[&str] = &["0", "4-bytes", "8-bytes"];
/// Message digests of L2TPv3.
pub(crate) const DIGEST: &[&str] = &["md5", "none", "sha1"];

/// The distance of the default route is meaningless without `add-default-route`.
fn of_no_route(item: &Item, name: &str) -> bool {
    name == "default-route-distance" && !item.is("add-default-route")
}

pub(crate) static MENU: Menu = Menu {
    properties: &[
        NAME,
        &units(UNIT, "1450"),
        &[CONNECT_TO],
        USER,
        &[
            profile("profile", "default-encryption"),
            keepalive("60"),
            no("use-ipsec", "Encrypt the tunnel with IPsec"),
            secret("ipsec-secret", "IPsec secret"),
            no("allow-fast-path", "Allow FastPath"),
        ],
        ROUTES,
        &[
            PEER_DNS,
            ALLOW,
            Property::new("src-address", Kind::Address(Family::V4), "Source address").optional(),
            no("random-source-port", "Accept any source port"),
            words(
                "l2tp-proto-version",
                &["l2tpv2", "l2tpv3-ip", "l2tpv3-udp"],
                "L2TP version and transport",
            )
            .default("l2tpv2"),
            words("l2tpv3-cookie-length", COOKIE, "Length of cookies").default("0"),
            words("l2tpv3-digest-hash", DIGEST, "Authentication of messages").default("md5"),
            text("l2tpv3-circuit-id", "Identity of the circuit"),
        ],
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_WAITING,
    ],
    columns: &["name", "connect-to", "user", "profile"],
    naming: "l2tp-out",
    moot: Some(of_no_route),
    ..idle_interfaces("/interface/l2tp-client", "l2tp-out", "L2TP clients")
};
