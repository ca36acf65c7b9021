//! `/interface/wireguard/peers`: the other ends of WireGuard interfaces.

use menu::{Family, Kind, Menu, Old, Property, Unique};

use crate::declare::{HOST, list, no, number, shown, text, within};
use crate::fragment::{COMMENT_DISABLED, DISABLED_DYNAMIC, idle_rules, interface};
use crate::interface::idle_command;

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
            text("public-key", "Public key of the peer in base64"),
            Property::new(
                "private-key",
                Kind::Text,
                "Private key of the peer, for its export",
            )
            .default("")
            .sensitive(),
            Property::new("endpoint-address", HOST_OR_NONE, "Where the peer is").default(""),
            number("endpoint-port", 0, 65_535, "UDP port of the peer").default("0"),
            shown(
                "current-endpoint-address",
                Kind::Text,
                "Where the peer was heard from",
            ),
            shown("current-endpoint-port", Kind::COUNTER, "The port of that"),
            list("allowed-address", &PREFIX, "Networks behind the peer").default(""),
            Property::new(
                "preshared-key",
                Kind::Text,
                "Key that both share besides, in base64",
            )
            .default("")
            .sensitive(),
            within(
                "persistent-keepalive",
                0,
                HOURS_18,
                "How often the peer is greeted",
            )
            .default("0s"),
            list(
                "client-address",
                &LOCAL,
                "Addresses of the peer, for its export",
            )
            .default(""),
            list("client-dns", &ADDRESS, "DNS servers, for its export").default(""),
            Property::new(
                "client-endpoint",
                HOST_OR_NONE,
                "Where this router is, for its export",
            )
            .default(""),
            within(
                "client-keepalive",
                0,
                HOURS_18,
                "How often it greets, for its export",
            )
            .default("0s"),
            number(
                "client-listen-port",
                0,
                65_535,
                "Port of the peer, for its export",
            )
            .default("0"),
            list(
                "client-allowed-address",
                &PREFIX,
                "Networks behind this router, for its export",
            )
            .default(""),
            no("responder", "Waits for the peer to begin"),
            shown("rx", Kind::COUNTER, "Received bytes").unit("B"),
            shown("tx", Kind::COUNTER, "Sent bytes").unit("B"),
            shown("last-handshake", Kind::SPAN, "When the peer was last heard"),
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
    commands: &[idle_command(
        "show-client-config",
        "Show the peer's configuration",
    )],
    old: &[Old::renamed("is-responder", "responder")],
    distinct: &[Unique {
        properties: &["public-key", "interface"],
        failure: "entry already exists",
    }],
    ..idle_rules(
        "/interface/wireguard/peers",
        "Peers of WireGuard interfaces",
    )
};
