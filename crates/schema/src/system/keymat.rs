//! `/system/keymat-provider`: providers of encryption keys.

use menu::{Effect, Kind, Menu, MenuShape, Property};

use crate::declare::{DISABLED_SWITCH, NUMBER, NUMBERS, argument, between, idle_command};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new(
            "hkdf-hash",
            Kind::Words(&["sha1", "sha256", "sha384", "sha512"]),
            "Hash for key derivation",
        )
        .default("sha256"),
        Property::new("hkdf-secret", Kind::Digits, "Secret for key derivation").sensitive(),
        Property::new("key-size", between(128, 4_096), "Length of a key in bits").default("256"),
        Property::new("name", Kind::Name, "Name of the provider").required(),
        Property::new("qkd-address", Kind::Text, "Address of the key server"),
        Property::new("qkd-cache-size", between(0, 1_000), "Number of cached keys").default("0"),
        Property::new(
            "qkd-certificate",
            Kind::Or(&["none"], &Kind::Reference("certificate")),
            "QKD certificate",
        )
        .default("none"),
        Property::new("qkd-kme-id", Kind::Text, "QKD KME identifier"),
        Property::new("qkd-peer-sae-id", Kind::Text, "QKD peer SAE identifier"),
        Property::new(
            "type",
            Kind::Words(&["hkdf", "qkd"]),
            "Method of key generation",
        )
        .default("qkd"),
        DISABLED_SWITCH,
    ]],
    columns: &["name", "type", "key-size"],
    commands: &[
        idle_command(
            "qkd-get-key",
            "Request a key from the server",
            &[
                argument("additional-sae-ids", Kind::Text, "Additional SAE ids"),
                NUMBER,
                NUMBERS,
            ],
        ),
        idle_command(
            "qkd-get-key-with-ids",
            "Request keys by identifier from the server",
            &[argument("key-ids", Kind::Text, "Key ids"), NUMBERS],
        ),
        idle_command(
            "qkd-get-status",
            "Show the state of the server",
            &[NUMBERS, argument("sae-id", Kind::Text, "SAE identifier")],
        ),
    ],
    effect: Effect::None,
    ..Menu::new(
        "/system/keymat-provider",
        MenuShape::List,
        "Providers of key material",
    )
};
