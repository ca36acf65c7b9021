//! `/interface/sstp-server/server`: the SSTP server.

use menu::{Menu, MenuShape, OldProperty};

use crate::declare::{certificate, no, number};
use crate::interface::dial::{
    ENABLED, TLS, UNIT, authentication, ciphers, keepalive, pfs, profile, units,
};

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
            certificate(
                "certificate",
                "The server's certificate; the server does not run without",
            ),
            no("verify-client-certificate", "Verify clients' certificates"),
            pfs(),
            TLS,
            ciphers(),
        ],
    ],
    old: &[OldProperty::gone("force-aes")],
    ..Menu::new(
        "/interface/sstp-server/server",
        MenuShape::Settings,
        "SSTP server",
    )
};
