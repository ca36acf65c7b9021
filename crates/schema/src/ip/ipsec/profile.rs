//! `/ip/ipsec/profile`: IKE parameters.

use menu::{Builtin, ExportSelector, Item, Kind, Menu, MenuShape, Property, RemovedValues};

use crate::declare::{DEFAULT, between, with_default, yes};

/// Diffie-Hellman groups (RFC 3526, RFC 5903, RFC 8031).
const GROUPS: Kind = Kind::Set(&[
    "x25519", "ecp256", "ecp384", "ecp521", "modp8192", "modp6144", "modp4096", "modp3072",
    "modp2048", "modp1536", "modp1024", "modp768",
]);

/// Elliptic curve groups over binary fields (RFC 2409, 6.3 and 6.4), which RouterOS 7 removed.
pub(crate) const BINARY_GROUPS: RemovedValues = RemovedValues {
    words: &["dh-group", "pfs-group"],
    values: &["ec2n155", "ec2n185"],
    why: "RouterOS 7 has no groups over binary fields; use ecp256 or modp2048",
};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name of the profile"),
        with_default(
            "hash-algorithm",
            Kind::Words(&["md5", "sha1", "sha256", "sha384", "sha512"]),
            "sha1",
            "Hash algorithm",
        ),
        with_default(
            "prf-algorithm",
            Kind::Words(&["auto", "sha1", "sha256", "sha384", "sha512"]),
            "auto",
            "Pseudorandom function for key derivation",
        )
        .quiet(),
        with_default(
            "enc-algorithm",
            Kind::Set(&["aes-256", "aes-192", "aes-128", "3des", "des"]),
            "aes-128,3des",
            "Encryption algorithms",
        ),
        with_default(
            "dh-group",
            GROUPS,
            "modp2048,modp1024",
            "Diffie-Hellman groups",
        ),
        with_default("lifetime", Kind::SPAN, "1d", "Lifetime of keys"),
        with_default(
            "lifebytes",
            between(0, 4_294_967_295),
            "0",
            "Lifetime of keys in bytes",
        ),
        with_default(
            "proposal-check",
            Kind::Words(&["obey", "strict", "claim", "exact"]),
            "obey",
            "Check of the proposed lifetime",
        ),
        yes("nat-traversal", "NAT traversal (RFC 3947)"),
        with_default(
            "ppk",
            Kind::Words(&["no", "psk", "psk-ike-initial", "qkd"]),
            "no",
            "Post-quantum preshared key (PPK, RFC 8784)",
        ),
        with_default(
            "dpd-interval",
            Kind::Or(&["disable-dpd"], &crate::declare::seconds(0, 3_600)),
            "2m",
            "Interval of dead peer detection",
        ),
        with_default(
            "dpd-maximum-failures",
            between(1, 100),
            "5",
            "Maximum number of unanswered dead peer detections",
        ),
    ]],
    flags: DEFAULT,
    space: Some("ipsec-profile"),
    key: Some("name"),
    kind: "profile",
    pick: ExportSelector::Default,
    builtin: &[Builtin {
        values: &[("name", "default")],
    }],
    lost: &[
        RemovedValues {
            words: &["enc-algorithm"],
            values: &["blowfish", "camellia-128", "camellia-192", "camellia-256"],
            why: "RouterOS 7 encrypts key exchanges with AES, 3DES or DES only; use aes-256",
        },
        BINARY_GROUPS,
    ],
    old_paths: &["/ip/ipsec/peer/profile"],
    idle: Some(of_ppk),
    ..Menu::new(
        "/ip/ipsec/profile",
        MenuShape::List,
        "Settings of the key exchange",
    )
};

/// Returns the part of a profile that is not implemented.
fn of_ppk(item: &Item) -> Option<&'static str> {
    (item.text("ppk") != "no").then_some("post-quantum preshared keys (ppk)")
}
