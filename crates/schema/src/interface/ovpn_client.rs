//! `/interface/ovpn-client`: OpenVPN clients.

use menu::{Draft, Kind, Menu, Property, Value};

use super::RESET_COUNTERS;
use super::dial::{CONNECT_TO, NAME, TLS, USER, VERIFY, profile, tunnel_clients};
use super::pppoe_client::MONITOR;
use crate::declare::{
    APPEND, AS_VALUE, DO, DURATION, FILE, FREEZE, INTERVAL, ONCE, WITHOUT_PAGING, argument,
    certificate, command, mac, no, number, words, yes,
};
use crate::fragment::{COMMENT_WAITING, INTERFACE_COUNTERS, LINK_TIMES};

/// Ciphers; the last three in spellings of older versions.
pub(crate) const CIPHERS: &[&str] = &[
    "aes128-cbc",
    "aes128-gcm",
    "aes192-cbc",
    "aes192-gcm",
    "aes256-cbc",
    "aes256-gcm",
    "blowfish128",
    "null",
    "aes128",
    "aes192",
    "aes256",
];

/// Returns true for a cipher that the router does not have.
pub(crate) fn is_blowfish(value: &str) -> bool {
    value == "blowfish128"
}

/// Message digests.
pub(crate) const DIGESTS: &[&str] = &["md5", "null", "sha1", "sha256", "sha384", "sha512"];

pub(crate) static MENU: Menu = Menu {
    properties: &[
        NAME,
        &[
            mac(
                "mac-address",
                "Hardware address of the interface (mode=ethernet)",
            ),
            number("max-mtu", 64, 65_535, "Maximum transmit unit").default("1500"),
            CONNECT_TO,
            number("port", 1, 65_535, "Port of the server").default("1194"),
            words("mode", &["ethernet", "ip"], "Tunnel mode: ip or ethernet").default("ip"),
            words("protocol", &["tcp", "udp"], "Transport protocol").default("tcp"),
        ],
        USER,
        &[
            profile("profile", "default"),
            certificate("certificate", "The client's certificate"),
            VERIFY,
            TLS,
            words("auth", DIGESTS, "Message authentication").default("sha1"),
            words("cipher", CIPHERS, "Cipher")
                .default("blowfish128")
                .inert_for(is_blowfish),
            words(
                "use-peer-dns",
                &["exclusively", "no", "yes"],
                "Use the peer's DNS servers",
            )
            .default("yes"),
            no("add-default-route", "Add a default route to the peer"),
            no("route-nopull", "Ignore routes of the server"),
            yes("disconnect-notify", "Notify the server on disconnect"),
            Property::new(
                "tls-auth",
                Kind::Text,
                "Key for authentication of control packets (tls-auth)",
            )
            .read_only(),
            Property::new(
                "tls-crypt",
                Kind::Text,
                "Key for encryption of control packets (tls-crypt)",
            )
            .read_only(),
        ],
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_WAITING,
    ],
    kept: &[Property::new(
        "control-key",
        Kind::Text,
        "Key that protects control packets",
    )
    .kept()],
    columns: &["name", "connect-to", "user", "mode"],
    commands: &[
        MONITOR,
        RESET_COUNTERS,
        command(
            "import-ovpn-configuration",
            "Add a client from an OpenVPN file",
            &[
                APPEND,
                AS_VALUE,
                DO,
                DURATION,
                FILE,
                argument("file-name", Kind::Text, "File with the configuration"),
                FREEZE,
                INTERVAL,
                argument(
                    "key-passphrase",
                    Kind::Text,
                    "Passphrase of the private key",
                ),
                ONCE,
                argument("ovpn-password", Kind::Text, "Password"),
                argument("ovpn-user", Kind::Text, "User name"),
                argument(
                    "skip-cert-import",
                    Kind::Bool,
                    "Leave out certificates and keys",
                ),
                WITHOUT_PAGING,
            ],
        ),
    ],
    derive: Some(rename_ciphers),
    ..tunnel_clients("/interface/ovpn-client", "ovpn-out", "OpenVPN clients")
};

/// Converts cipher names of older versions.
pub(crate) fn rename_ciphers(draft: &mut Draft<'_>) {
    let mut value = draft.get("cipher").cloned();
    match &mut value {
        Some(Value::List(ciphers)) => ciphers.iter_mut().for_each(rename),
        Some(cipher) => rename(cipher),
        None => return,
    }
    draft.set("cipher", value);
}

fn rename(cipher: &mut Value) {
    *cipher = match cipher {
        Value::Word("aes128") => Value::Word("aes128-cbc"),
        Value::Word("aes192") => Value::Word("aes192-cbc"),
        Value::Word("aes256") => Value::Word("aes256-cbc"),
        _ => return,
    };
}
