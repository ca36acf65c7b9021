//! `/interface/sstp-client`: SSTP clients (PPP over TLS).

use menu::{Kind, Menu, Property};

use super::dial::{
    CONNECT_TO, NAME, ROUTES, TLS, UNIT, USER, VERIFY, authentication, keepalive, profile, units,
};
use crate::declare::{HOST, certificate, list, no, number, words, yes};
use crate::fragment::{COMMENT_WAITING, INTERFACE_COUNTERS, LINK_TIMES, idle_interfaces};

/// Ciphers of SSTP.
pub(crate) const CIPHERS: Kind = Kind::Words(&["aes256-gcm-sha384", "aes256-sha"]);

pub(crate) static MENU: Menu = Menu {
    properties: &[
        NAME,
        &units(UNIT, "1500"),
        &[
            CONNECT_TO,
            number("port", 0, 65_535, "Port of the server").default("443"),
            Property::new("http-proxy", HOST, "HTTP proxy").default("0.0.0.0"),
            number("proxy-port", 0, 65_535, "Port of the proxy").default("443"),
            certificate("certificate", "The client's certificate"),
            VERIFY,
            yes(
                "verify-server-address-from-certificate",
                "Check the server's name in the certificate",
            ),
        ],
        USER,
        &[profile("profile", "default"), keepalive("60")],
        ROUTES,
        &[
            authentication("pap,chap,mschap1,mschap2"),
            words("pfs", &["no", "required", "yes"], "Perfect forward secrecy").default("no"),
            TLS,
            list("ciphers", &CIPHERS, "TLS ciphers").default("aes256-sha,aes256-gcm-sha384"),
            no("add-sni", "Send the server name (SNI)"),
        ],
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_WAITING,
    ],
    columns: &["name", "connect-to", "user", "profile"],
    naming: "sstp-out",
    ..idle_interfaces("/interface/sstp-client", "sstp-out", "SSTP clients")
};
