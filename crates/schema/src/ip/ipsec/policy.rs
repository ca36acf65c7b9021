//! `/ip/ipsec/policy`: IPsec policies.

pub(crate) mod group;

use menu::{Builtin, Draft, ExportSelector, Flag, Kind, Menu, MenuShape, Property, Reason, Store};

use super::{ADDRESS, PEER, PREFIX};
use crate::declare::{PORT, no, optional, shown, with_default};
use crate::firewall::PROTOCOL;
use crate::fragment::COMMENT_DISABLED;

const ANY_PORT: Kind = Kind::Or(&["any"], &PORT);

const WHICH: &[Property] = &[
    optional("peer", Kind::List(&PEER), "The peers"),
    no("tunnel", "Tunnel mode"),
    with_default(
        "group",
        Kind::Reference("ipsec-policy-group"),
        "default",
        "Group of a template policy",
    ),
    with_default("src-address", PREFIX, "0.0.0.0/0", "Source of packets"),
    with_default("src-port", ANY_PORT, "any", "Source port of packets"),
    with_default("dst-address", PREFIX, "0.0.0.0/0", "Destination of packets"),
    with_default("dst-port", ANY_PORT, "any", "Destination port of packets"),
    with_default(
        "protocol",
        Kind::Or(&["all"], &PROTOCOL),
        "all",
        "Protocol above IP",
    ),
];

const HOW: &[Property] = &[
    with_default(
        "action",
        Kind::Words(&["encrypt", "discard", "none"]),
        "encrypt",
        "Action for packets",
    ),
    with_default(
        "level",
        Kind::Words(&["require", "use", "unique"]),
        "require",
        "Action while there is no security association",
    ),
    with_default(
        "ipsec-protocols",
        Kind::Words(&["ah", "esp"]),
        "esp",
        "Protection protocol",
    ),
    optional("sa-src-address", ADDRESS, "Local address of the tunnel"),
    optional("sa-dst-address", ADDRESS, "Remote address of the tunnel"),
    with_default(
        "proposal",
        Kind::Reference("ipsec-proposal"),
        "default",
        "Proposal with the algorithms",
    ),
    no("template", "Whether the policy is a template"),
    shown("ph2-count", Kind::COUNTER, "Number of phase 2 SA pairs"),
    shown("ph2-state", Kind::Text, "State of phase 2"),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[WHICH, HOW, COMMENT_DISABLED],
    flags: &[
        Flag::new('T', "template", 0),
        Flag::new('B', "backup", 0),
        Flag::new('X', "disabled", 1),
        Flag::new('D', "dynamic", 1),
        Flag::new('I', "invalid", 1),
        Flag::new('A', "active", 2),
        Flag::new('*', "default", 3),
    ],
    columns: &[
        "peer",
        "tunnel",
        "src-address",
        "dst-address",
        "protocol",
        "action",
        "level",
        "ph2-count",
    ],
    pick: ExportSelector::Number,
    builtin: &[Builtin {
        values: &[
            ("src-address", "::/0"),
            ("dst-address", "::/0"),
            ("template", "yes"),
        ],
    }],
    check: Some(has_peer),
    ..Menu::new(
        "/ip/ipsec/policy",
        MenuShape::Ordered,
        "Policies for encryption",
    )
};

/// Requires a peer or endpoint for tunnel mode.
fn has_peer(draft: &Draft<'_>, _: &Store) -> Result<(), Reason> {
    let encrypts = draft.get("action").and_then(|action| action.as_str()) == Some("encrypt");
    let ends = draft.get("sa-dst-address").is_some() || draft.get("peer").is_some();
    if encrypts && draft.is("tunnel") && !draft.is("template") && !ends {
        return Err(Reason::failure("peer must be set for tunnel policy"));
    }
    Ok(())
}
