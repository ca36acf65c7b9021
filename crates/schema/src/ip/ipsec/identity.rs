//! `/ip/ipsec/identity`: authentication of peers.

use core::net::IpAddr;

use menu::{
    Absent, Draft, Flag, Item, Kind, Menu, MenuShape, Part, Property, Reason, Store, Value,
};

use super::PEER;
use crate::declare::{optional, property, text, with_default};
use crate::fragment::COMMENT_DISABLED;

const MY_ID: Kind = Kind::Either(&Kind::Words(&["auto", "dn"]), &NAMED);
const REMOTE_ID: Kind = Kind::Either(&Kind::Words(&["auto", "ignore", "dn"]), &NAMED);
/// `fqdn:router.example.com`: type and value of an identity.
const NAMED: Kind = Kind::Parts(&[
    Part::new("", Kind::Words(&["address", "fqdn", "user-fqdn", "key-id"])),
    Part::new(":", Kind::Name).or(Absent::Left),
]);

const PROOF: &[Property] = &[
    property("peer", PEER, "The peer").required(),
    with_default(
        "auth-method",
        Kind::Words(&[
            "pre-shared-key",
            "digital-signature",
            "eap",
            "eap-radius",
            "pre-shared-key-xauth",
            "rsa-key",
            "rsa-signature-hybrid",
        ]),
        "pre-shared-key",
        "Authentication method",
    ),
    with_default(
        "eap-methods",
        Kind::List(&Kind::Words(&[
            "eap-tls",
            "eap-ttls",
            "eap-peap",
            "eap-mschapv2",
        ])),
        "eap-tls",
        "EAP methods",
    ),
    with_default(
        "mode-config",
        Kind::Or(&["none"], &Kind::Reference("ipsec-mode-config")),
        "none",
        "Mode config of the peer",
    ),
    text("notrack-chain", "Raw chain for notrack rules of the peer").inert(),
    with_default("my-id", MY_ID, "auto", "Identity of this router"),
    with_default(
        "remote-id",
        REMOTE_ID,
        "auto",
        "Required identity of the peer",
    ),
    with_default(
        "match-by",
        Kind::Words(&["remote-id", "certificate"]),
        "remote-id",
        "Property by which a peer is matched",
    ),
];

const SECRETS: &[Property] = &[
    optional("key", Kind::Name, "This router's key"),
    optional("remote-key", Kind::Name, "The peer's key"),
    text("secret", "Pre-shared key").sensitive(),
    with_default(
        "certificate",
        Kind::List(&Kind::Name),
        "",
        "This router's certificates",
    ),
    with_default(
        "remote-certificate",
        Kind::Or(&["none"], &Kind::Name),
        "none",
        "The peer's certificate",
    )
    .quiet(),
    text("username", "User name for XAuth or EAP"),
    text("password", "Password for XAuth or EAP").sensitive(),
    with_default(
        "generate-policy",
        Kind::Words(&["no", "port-override", "port-strict"]),
        "no",
        "Generate policies for the peer",
    ),
    with_default(
        "policy-template-group",
        Kind::Reference("ipsec-policy-group"),
        "default",
        "Template group of generated policies",
    ),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[PROOF, SECRETS, COMMENT_DISABLED],
    flags: &[Flag::new('D', "dynamic", 0), Flag::new('X', "disabled", 0)],
    idle: Some(of_proof),
    check: Some(check),
    ..Menu::new(
        "/ip/ipsec/identity",
        MenuShape::List,
        "Authentication of peers",
    )
};

/// Requires a valid address in `address:` identities.
fn check(draft: &Draft<'_>, _: &Store) -> Result<(), Reason> {
    for name in ["my-id", "remote-id"] {
        let text = draft.get(name).map(ToString::to_string).unwrap_or_default();
        let address = text.strip_prefix("address:");
        if address.is_some_and(|address| address.parse::<IpAddr>().is_err()) {
            return Err(Reason::failure(format!(
                "{name}: {text} is not an address; write a name as fqdn:NAME"
            )));
        }
    }
    Ok(())
}

fn has_method(item: &Item, name: &str) -> bool {
    let methods = item.get("eap-methods").map(Value::as_list);
    let mut methods = methods.unwrap_or_default().iter();
    methods.any(|method| method.as_str() == Some(name))
}

fn has_certificate(item: &Item) -> bool {
    let names = item.get("certificate");
    names.is_some_and(|names| !names.is_empty())
}

/// Returns the part of an identity that is not implemented.
fn of_proof(item: &Item) -> Option<&'static str> {
    let is_named = !matches!(item.text("remote-certificate"), "" | "none");
    if item.text("match-by") == "certificate" && !is_named {
        return Some("matching by certificate without a remote-certificate");
    }
    match item.text("auth-method") {
        "pre-shared-key" => None,
        "pre-shared-key-xauth" => item
            .text("username")
            .is_empty()
            .then_some("a login without a username"),
        "digital-signature" | "eap-radius" => (!has_certificate(item))
            .then_some("authentication of this router without a certificate"),
        "eap" if has_method(item, "eap-mschapv2") => None,
        "eap" if !has_method(item, "eap-tls") => {
            Some("EAP methods other than eap-tls and eap-mschapv2 (eap-methods)")
        }
        "eap" => (!has_certificate(item)).then_some("a login by eap-tls without a certificate"),
        "rsa-signature-hybrid" => {
            Some("authentication by certificate at one end only (auth-method)")
        }
        _ => Some("RSA keys (auth-method)"),
    }
}
