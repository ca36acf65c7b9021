//! `/ip/ipsec/peer`: IKE peers.

use menu::{Flag, Item, Kind, Link, Menu, MenuShape, MovedProperties, OldProperty, Property};

use super::{ADDRESS, PREFIX};
use crate::declare::{PORT, no, optional, text, with_default, yes};
use crate::fragment::COMMENT_DISABLED;

/// An address, prefix or host name.
const WHO: Kind = Kind::Either(&PREFIX, &Kind::Host);

/// `main-l2tp` is an older name of the main mode exchange.
const MAIN_L2TP: OldProperty = OldProperty {
    name: "exchange-mode",
    value: Some("main-l2tp"),
    becomes: "exchange-mode",
    with: Some("main"),
    makes: None,
};

/// Older versions exported an unset local address.
const NO_ADDRESS: [OldProperty; 2] = [no_address("::"), no_address("0.0.0.0")];

const fn no_address(text: &'static str) -> OldProperty {
    OldProperty {
        name: "local-address",
        value: Some(text),
        becomes: "",
        with: None,
        makes: None,
    }
}

/// RouterOS 6.43: the algorithms of a peer moved to a profile.
const PROFILE: MovedProperties = MovedProperties {
    menu: "/ip/ipsec/profile",
    words: &[
        ("dh-group", "dh-group"),
        ("dpd-interval", "dpd-interval"),
        ("dpd-maximum-failures", "dpd-maximum-failures"),
        ("enc-algorithm", "enc-algorithm"),
        ("hash-algorithm", "hash-algorithm"),
        ("lifebytes", "lifebytes"),
        ("lifetime", "lifetime"),
        ("nat-traversal", "nat-traversal"),
        ("proposal-check", "proposal-check"),
    ],
    values: &[],
    link: Link::Names("profile", "profile_"),
};

/// RouterOS 6.44: the authentication of a peer moved to an identity.
const IDENTITY: MovedProperties = MovedProperties {
    menu: "/ip/ipsec/identity",
    words: &[
        ("auth-method", "auth-method"),
        ("certificate", "certificate"),
        ("disabled", "disabled"),
        ("generate-policy", "generate-policy"),
        ("key", "key"),
        ("mode-config", "mode-config"),
        ("my-id", "my-id"),
        ("notrack-chain", "notrack-chain"),
        ("policy-template-group", "policy-template-group"),
        ("remote-certificate", "remote-certificate"),
        ("remote-key", "remote-key"),
        ("secret", "secret"),
        ("xauth-login", "username"),
        ("xauth-password", "password"),
    ],
    values: &[
        ("auth-method", "rsa-signature", "digital-signature"),
        ("certificate", "none", ""),
        ("generate-policy", "yes", "port-override"),
        ("key", "none", ""),
        ("remote-key", "none", ""),
    ],
    link: Link::NamedBy("peer"),
};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("name", Kind::Name, "Name of the peer"),
            optional("address", WHO, "The peer's address; any if not given"),
            optional("local-address", ADDRESS, "This router's address"),
            no("passive", "Wait for the peer to initiate the connection"),
            optional("port", PORT, "The peer's port"),
            with_default(
                "profile",
                Kind::Reference("ipsec-profile"),
                "default",
                "Profile of the key exchange",
            ),
            with_default(
                "exchange-mode",
                Kind::Words(&["main", "base", "aggressive", "ike2"]),
                "main",
                "Key exchange mode",
            ),
            yes(
                "send-initial-contact",
                "Send INITIAL-CONTACT, which deletes older associations",
            ),
            text("ppk-secret", "Post-quantum preshared key (PPK, RFC 8784)").sensitive(),
            crate::declare::shown("current-address", ADDRESS, "Current address of the peer"),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[
        Flag::new('X', "disabled", 0),
        Flag::new('D', "dynamic", 0),
        Flag::new('R', "responder", 1),
    ],
    space: Some("ipsec-peer"),
    key: Some("name"),
    kind: "peer",
    old: &[MAIN_L2TP, NO_ADDRESS[0], NO_ADDRESS[1]],
    splits: &[PROFILE, IDENTITY],
    idle: Some(of_exchange),
    ..Menu::new("/ip/ipsec/peer", MenuShape::List, "Peers for key exchange")
};

/// Returns the part of a peer that is not implemented.
fn of_exchange(item: &Item) -> Option<&'static str> {
    let base = item.text("exchange-mode") == "base";
    base.then_some("the base exchange (exchange-mode)")
}
