//! `/interface/l2tp-client`: L2TP clients (RFC 2661, RFC 3931).

use menu::{Family, Kind, Menu, Property};

use super::dial::{
    ALLOW, CONNECT_TO, NAME, ON_DEMAND, PEER_DNS, UNIT, USER, keepalive, profile, routes,
    tunnel_clients, units,
};
use crate::declare::{no, secret, text, words};
use crate::fragment::{COMMENT_WAITING, INTERFACE_COUNTERS, LINK_TIMES};

/// Cookie lengths of L2TPv3.
pub(crate) const COOKIE: &[&str] = &["0", "4-bytes", "8-bytes"];
/// Message digests of L2TPv3.
pub(crate) const DIGEST: &[&str] = &["md5", "none", "sha1"];

/// Returns true for versions that the router does not speak.
fn is_version_3(value: &str) -> bool {
    value != "l2tpv2"
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
        &routes(ON_DEMAND),
        &[
            PEER_DNS,
            ALLOW,
            Property::new("src-address", Kind::Address(Family::V4), "Source address").optional(),
            no("random-source-port", "Send from a random port"),
            words(
                "l2tp-proto-version",
                &["l2tpv2", "l2tpv3-ip", "l2tpv3-udp"],
                "L2TP version and transport",
            )
            .default("l2tpv2")
            .inert_for(is_version_3),
            words("l2tpv3-cookie-length", COOKIE, "Length of cookies")
                .default("0")
                .inert(),
            words("l2tpv3-digest-hash", DIGEST, "Authentication of messages")
                .default("md5")
                .inert(),
            text("l2tpv3-circuit-id", "Identity of the circuit").inert(),
        ],
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_WAITING,
    ],
    ..tunnel_clients("/interface/l2tp-client", "l2tp-out", "L2TP clients")
};
