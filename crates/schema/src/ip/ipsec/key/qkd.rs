//! `/ip/ipsec/key/qkd`: quantum key distribution (ETSI GS QKD 014).

use menu::{Effect, Kind, Menu, MenuShape};

use crate::declare::{between, counter, no, text, with_default};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        no("enabled", "Whether keys are fetched"),
        text("address", "The server of keys"),
        text("kme-id", "Name of the server of keys"),
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
        text("peer-sae-id", "Name of the peer"),
        with_default("cache-size", between(0, 65_535), "0", "Number of keys kept"),
        counter("cache-state", "Keys in store"),
        counter("total-keys-received", "Fetched keys"),
    ]],
    effect: Effect::None,
    ..Menu::new(
        "/ip/ipsec/key/qkd",
        MenuShape::Settings,
        "Keys from a line of light",
    )
};
