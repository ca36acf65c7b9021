//! `/interface/dot1x/client`: 802.1X authentication of this router.

use menu::{Kind, Menu, Unique};

use crate::declare::{certificate, list, secret, shown, text};
use crate::fragment::{COMMENT_DISABLED, DISABLED_INVALID, idle_list, interface};

const METHODS: Kind = Kind::Words(&["eap-mschapv2", "eap-peap", "eap-tls", "eap-ttls"]);

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            interface("The port"),
            list("eap-methods", &METHODS, "EAP methods").required(),
            text("identity", "Name of the user"),
            text("anon-identity", "Anonymous outer identity"),
            secret("password", "Password of the user"),
            certificate("certificate", "The router's certificate"),
            shown("status", Kind::Text, "State"),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_INVALID,
    columns: &["interface", "identity", "status"],
    unique: &[Unique {
        properties: &["interface"],
        failure: "already have such client",
    }],
    ..idle_list("/interface/dot1x/client", "802.1X supplicant")
};
