//! `/interface/sstp-client`: SSTP clients (PPP over TLS).

use menu::{Kind, Menu, Property};

use super::dial::{
    CONNECT_TO, NAME, ON_DEMAND, TLS, UNIT, USER, VERIFY, authentication, ciphers, keepalive, pfs,
    profile, routes, tunnel_clients, units,
};
use crate::declare::{HOST, certificate, no, number, yes};
use crate::fragment::{COMMENT_WAITING, INTERFACE_COUNTERS, LINK_TIMES};

/// Ciphers of SSTP.
pub(crate) const CIPHERS: Kind = Kind::Words(&["aes256-gcm-sha384", "aes256-sha"]);

pub(crate) static MENU: Menu = Menu {
    properties: &[
        NAME,
        &units(UNIT, "1500"),
        &[
            CONNECT_TO,
            number("port", 0, 65_535, "Port of the server").default("443"),
            Property::new("http-proxy", HOST, "Address of an HTTP proxy").default("0.0.0.0"),
            number("proxy-port", 0, 65_535, "Port of the proxy").default("443"),
            certificate("certificate", "The client's certificate"),
            VERIFY,
            yes(
                "verify-server-address-from-certificate",
                "Check the server's name in the certificate, where the certificate is verified",
            ),
        ],
        USER,
        &[profile("profile", "default"), keepalive("60")],
        &routes(ON_DEMAND),
        &[
            authentication("pap,chap,mschap1,mschap2"),
            pfs(),
            TLS,
            ciphers(),
            no("add-sni", "Send the server name (SNI)"),
        ],
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_WAITING,
    ],
    ..tunnel_clients("/interface/sstp-client", "sstp-out", "SSTP clients")
};
