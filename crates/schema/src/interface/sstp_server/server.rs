//! `/interface/sstp-server/server`: the SSTP server.

use menu::{Menu, OldProperty};

use crate::declare::{certificate, list, no, number, words};
use crate::fragment::idle_settings;
use crate::interface::dial::{ENABLED, TLS, UNIT, authentication, keepalive, profile, units};
use crate::interface::sstp_client::CIPHERS;

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            ENABLED,
            number("port", 1, 65_535, "Port of the server").default("443"),
        ],
        &units(UNIT, "1500"),
        &[
            keepalive("60"),
            profile("default-profile", "default"),
            authentication("pap,chap,mschap1,mschap2"),
            certificate("certificate", "The server's certificate"),
            no("verify-client-certificate", "Verify clients' certificates"),
            words("pfs", &["no", "required", "yes"], "Perfect forward secrecy").default("no"),
            TLS,
            list("ciphers", &CIPHERS, "TLS ciphers").default("aes256-sha,aes256-gcm-sha384"),
        ],
    ],
    old: &[OldProperty::gone("force-aes")],
    ..idle_settings("/interface/sstp-server/server", "SSTP server")
};
