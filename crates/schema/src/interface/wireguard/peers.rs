//! `/interface/wireguard/peers`: WireGuard peers.

use menu::{
    Argument, AutoValue, Command, Draft, Effect, Family, Item, Kind, Menu, MenuShape, OldProperty,
    Policies, Property, Reason, Store, Unique, Value,
};

use super::check_key;
use crate::declare::{HOST, list, no, number, optional, shown, within};
use crate::fragment::{COMMENT_DISABLED, DISABLED_DYNAMIC, interface};
use crate::interface::NUMBER;

const HOST_OR_NONE: Kind = Kind::Or(&[""], &HOST);
const PREFIX: Kind = Kind::Prefix(Family::Any);
const LOCAL: Kind = Kind::Local(Family::Any);
const ADDRESS: Kind = Kind::Address(Family::Any);
const HOURS_18: i64 = 65_535_000;

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            interface("The WireGuard interface"),
            Property::new("name", Kind::Name, "Name of the peer"),
            optional(
                "public-key",
                Kind::Text,
                "Public key of the peer; derived from private-key if that is set",
            ),
            Property::new(
                "private-key",
                Kind::Text,
                "Private key of the peer, for export; auto: generate",
            )
            .default("")
            .sensitive(),
            Property::new(
                "endpoint-address",
                HOST_OR_NONE,
                "Endpoint address of the peer",
            )
            .default(""),
            number("endpoint-port", 0, 65_535, "UDP port of the peer").default("0"),
            shown(
                "current-endpoint-address",
                Kind::Text,
                "Current endpoint address of the peer",
            ),
            shown(
                "current-endpoint-port",
                Kind::COUNTER,
                "Current endpoint port of the peer",
            ),
            list("allowed-address", &PREFIX, "Networks behind the peer").default(""),
            Property::new(
                "preshared-key",
                Kind::Text,
                "Preshared key in base64; auto: generate",
            )
            .default("")
            .sensitive(),
            within(
                "persistent-keepalive",
                0,
                HOURS_18,
                "Persistent keepalive interval",
            )
            .default("0s"),
            list(
                "client-address",
                &LOCAL,
                "Addresses of the peer, for export",
            )
            .default(""),
            list("client-dns", &ADDRESS, "DNS servers, for export").default(""),
            Property::new(
                "client-endpoint",
                HOST_OR_NONE,
                "Endpoint of this router, for export",
            )
            .default(""),
            within(
                "client-keepalive",
                0,
                HOURS_18,
                "Keepalive interval of the peer, for export",
            )
            .default("0s"),
            number(
                "client-listen-port",
                0,
                65_535,
                "Listen port of the peer, for export",
            )
            .default("0"),
            list(
                "client-allowed-address",
                &PREFIX,
                "Allowed networks behind this router, for export",
            )
            .default(""),
            no("responder", "Wait for the peer to initiate the handshake"),
            shown("rx", Kind::COUNTER, "Received bytes").unit("B"),
            shown("tx", Kind::COUNTER, "Sent bytes").unit("B"),
            shown(
                "last-handshake",
                Kind::SPAN,
                "Time since the last handshake",
            ),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_DYNAMIC,
    columns: &[
        "interface",
        "public-key",
        "endpoint-address",
        "endpoint-port",
        "allowed-address",
    ],
    key: Some("name"),
    kind: "peer",
    space: Some("wireguard peer"),
    filled: &[
        ("private-key", AutoValue::KeyIfAuto),
        ("preshared-key", AutoValue::KeyIfAuto),
    ],
    check: Some(check),
    idle: Some(no_networks),
    commands: &[Command {
        name: "show-client-config",
        help: "Show the peer's configuration in wg-quick format",
        arguments: SHOW,
        effect: Effect::Full,
        repeats: false,
    }],
    command_policies: &[("show-client-config", Policies::READ.or(Policies::SENSITIVE))],
    old: &[OldProperty::renamed("is-responder", "responder")],
    distinct: &[Unique {
        properties: &["public-key", "interface"],
        failure: "entry already exists",
    }],
    ..Menu::new(
        "/interface/wireguard/peers",
        MenuShape::Ordered,
        "Peers of WireGuard interfaces",
    )
};

const SHOW: &[Argument] = &[NUMBER];

/// Checks the keys, and requires one that identifies the peer.
fn check(draft: &Draft<'_>, _: &Store) -> Result<(), Reason> {
    const KEYS: [&str; 3] = ["public-key", "private-key", "preshared-key"];
    KEYS.iter().try_for_each(|name| check_key(draft, name))?;
    let has = |name| draft.get(name).is_some_and(|value| !value.is_empty());
    match has("public-key") || has("private-key") {
        true => Ok(()),
        false => Err(Reason::failure(
            "a peer needs a key: set public-key, or private-key=auto",
        )),
    }
}

fn no_networks(item: &Item) -> Option<&'static str> {
    let any = item
        .get("allowed-address")
        .is_some_and(|networks| !Value::as_list(networks).is_empty());
    (!any).then_some("a peer without allowed-address")
}
