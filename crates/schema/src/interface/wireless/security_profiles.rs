//! `/interface/wireless/security-profiles`: security profiles.

use menu::{Builtin, ExportSelector, Flag, Kind, Menu, Property, Unique};

use crate::declare::{certificate, list, named, no, secret, span, text, within, words};
use crate::fragment::{COMMENT, idle_list};
use crate::interface::dot1x::server::MAC_FORMATS;

const TYPES: Kind = Kind::Words(&["wpa-eap", "wpa-psk", "wpa2-eap", "wpa2-psk"]);
const CIPHERS: Kind = Kind::Words(&["aes-ccm", "tkip"]);
const METHODS: Kind = Kind::Words(&["eap-tls", "eap-ttls-mschapv2", "passthrough", "peap"]);
/// Ciphers of static keys.
pub(crate) const ALGORITHMS: &[&str] = &["104bit-wep", "40bit-wep", "aes-ccm", "none", "tkip"];
const CALLED: &[&str] = &["mac", "mac:ssid", "ssid"];
const TLS: &[&str] = &[
    "dont-verify-certificate",
    "no-certificates",
    "verify-certificate",
    "verify-certificate-with-crl",
];

const WPA: &[Property] = &[
    words(
        "mode",
        &[
            "dynamic-keys",
            "none",
            "static-keys-optional",
            "static-keys-required",
        ],
        "Keys",
    )
    .default("none"),
    list("authentication-types", &TYPES, "Authentication types").default(""),
    list("unicast-ciphers", &CIPHERS, "Ciphers for unicast frames").default("aes-ccm"),
    list(
        "group-ciphers",
        &CIPHERS,
        "Ciphers for broadcast and multicast frames",
    )
    .default("aes-ccm"),
    secret("wpa-pre-shared-key", "Passphrase of WPA"),
    secret("wpa2-pre-shared-key", "Passphrase of WPA2"),
    text("supplicant-identity", "EAP identity"),
    list("eap-methods", &METHODS, "EAP methods").default("passthrough"),
    words("tls-mode", TLS, "TLS certificate verification mode").default("no-certificates"),
    certificate("tls-certificate", "TLS certificate for EAP"),
    text("mschapv2-username", "User name of EAP"),
    secret("mschapv2-password", "Password of EAP"),
    no("disable-pmkid", "Omit the PMKID from the handshake"),
];

const KEYS: &[Property] = &[
    words(
        "static-algo-0",
        ALGORITHMS,
        "Cipher of the first static key",
    )
    .default("none"),
    secret("static-key-0", "First static key"),
    words(
        "static-algo-1",
        ALGORITHMS,
        "Cipher of the second static key",
    )
    .default("none"),
    secret("static-key-1", "Second static key"),
    words(
        "static-algo-2",
        ALGORITHMS,
        "Cipher of the third static key",
    )
    .default("none"),
    secret("static-key-2", "Third static key"),
    words(
        "static-algo-3",
        ALGORITHMS,
        "Cipher of the fourth static key",
    )
    .default("none"),
    secret("static-key-3", "Fourth static key"),
    words(
        "static-transmit-key",
        &["key-0", "key-1", "key-2", "key-3"],
        "Static key for sending",
    )
    .default("key-0"),
    words(
        "static-sta-private-algo",
        ALGORITHMS,
        "Cipher of the private key of a station",
    )
    .default("none"),
    secret("static-sta-private-key", "Private key of a station"),
];

const RADIUS: &[Property] = &[
    no(
        "radius-mac-authentication",
        "Authenticate MAC addresses by RADIUS",
    ),
    no("radius-mac-accounting", "RADIUS accounting"),
    no("radius-eap-accounting", "RADIUS EAP accounting"),
    span("interim-update", "Interim update interval of accounting").default("0s"),
    words("radius-mac-format", MAC_FORMATS, "MAC address format").default("XX:XX:XX:XX:XX:XX"),
    words(
        "radius-mac-mode",
        &["as-username", "as-username-and-password"],
        "MAC authentication mode",
    )
    .default("as-username"),
    words(
        "radius-called-format",
        CALLED,
        "Format of the Called-Station-Id sent to RADIUS",
    )
    .default("mac:ssid"),
    Property::new(
        "radius-mac-caching",
        Kind::Or(&["disabled"], &Kind::SPAN),
        "Lifetime of cached answers",
    )
    .default("disabled"),
    within(
        "group-key-update",
        30_000,
        86_400_000,
        "Group key update interval",
    )
    .default("5m"),
    words(
        "management-protection",
        &["allowed", "disabled", "required"],
        "Management frame protection mode",
    )
    .default("disabled"),
    secret("management-protection-key", "Encryption key"),
    COMMENT,
];

pub(crate) static MENU: Menu = Menu {
    properties: &[&[named("Name of the profile")], WPA, KEYS, RADIUS],
    flags: &[Flag::new('*', "default", 0)],
    columns: &["name", "mode", "authentication-types"],
    space: Some("wireless-security"),
    key: Some("name"),
    unique: &[Unique {
        properties: &["name"],
        failure: "security profile with the same name already exists",
    }],
    builtin: &[Builtin {
        values: &[("name", "default")],
    }],
    pick: ExportSelector::Default,
    ..idle_list(
        "/interface/wireless/security-profiles",
        "Security of wireless interfaces",
    )
};
