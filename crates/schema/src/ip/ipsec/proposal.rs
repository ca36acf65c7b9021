//! `/ip/ipsec/proposal`: ESP and AH algorithms.

use menu::{Builtin, ExportSelector, Flag, Kind, Menu, MenuShape, Property};

use crate::declare::with_default;
use crate::fragment::COMMENT_DISABLED;

const CIPHERS: Kind = Kind::Set(&[
    "chacha20poly1305",
    "aes-256-cbc",
    "aes-256-ctr",
    "aes-256-gcm",
    "camellia-256",
    "aes-192-cbc",
    "aes-192-ctr",
    "aes-192-gcm",
    "camellia-192",
    "aes-128-cbc",
    "aes-128-ctr",
    "aes-128-gcm",
    "camellia-128",
    "3des",
    "blowfish",
    "twofish",
    "des",
    "null",
]);
const GROUPS: Kind = Kind::Words(&[
    "none", "x25519", "ecp256", "ecp384", "ecp521", "modp8192", "modp6144", "modp4096", "modp3072",
    "modp2048", "modp1536", "modp1024", "modp768",
]);

pub(crate) static MENU: Menu = Menu {
    lost: &[super::profile::BINARY_GROUPS],
    properties: &[
        &[
            Property::new("name", Kind::Name, "Name of the proposal"),
            with_default(
                "auth-algorithms",
                Kind::Set(&["sha512", "sha256", "sha1", "md5", "null"]),
                "sha1",
                "Authentication algorithms for packets",
            ),
            with_default(
                "enc-algorithms",
                CIPHERS,
                "aes-256-cbc,aes-192-cbc,aes-128-cbc",
                "Encryption algorithms for packets",
            ),
            with_default("lifetime", Kind::SPAN, "30m", "Lifetime of keys"),
            with_default(
                "pfs-group",
                GROUPS,
                "modp1024",
                "Diffie-Hellman group for perfect forward secrecy",
            ),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[Flag::new('X', "disabled", 0), Flag::new('*', "default", 1)],
    space: Some("ipsec-proposal"),
    key: Some("name"),
    kind: "proposal",
    pick: ExportSelector::Default,
    builtin: &[Builtin {
        values: &[("name", "default")],
    }],
    ..Menu::new(
        "/ip/ipsec/proposal",
        MenuShape::List,
        "Algorithms for encryption and authentication of packets",
    )
};
