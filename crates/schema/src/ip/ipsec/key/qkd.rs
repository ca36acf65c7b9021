//! `/ip/ipsec/key/qkd`: quantum key distribution (ETSI GS QKD 014).

use menu::{Effect, Kind, Menu, MenuShape};

use crate::declare::{between, counter, no, text, with_default};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        no("enabled", "Fetch keys from the key server"),
        text("address", "Key server (KME)"),
        text("kme-id", "KME identifier of the key server"),
        with_default(
            "key-size",
            between(0, 65_535),
            "256",
            "Length of a key in bits",
        ),
        with_default(
            "certificate",
            Kind::Or(&["none"], &Kind::Name),
            "none",
            "This router's certificate",
        ),
        text("peer-sae-id", "SAE identifier of the peer"),
        with_default(
            "cache-size",
            between(0, 65_535),
            "0",
            "Number of cached keys",
        ),
        counter("cache-state", "State of the key cache"),
        counter("total-keys-received", "Total number of received keys"),
    ]],
    effect: Effect::None,
    ..Menu::new(
        "/ip/ipsec/key/qkd",
        MenuShape::Settings,
        "Quantum key distribution (QKD) keys",
    )
};
