//! `/ip/firewall/service-port`: connection tracking helpers for protocols with related connections.

use menu::{Builtin, ExportSelector, Flag, Item, Kind, Menu, MenuShape};

use crate::declare::{PORT, counter, no, optional, shown};

const fn helper(values: &'static [(&'static str, &'static str)]) -> Builtin {
    Builtin { values }
}

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("name", Kind::Name, "Name of the helper"),
        optional("ports", Kind::List(&PORT), "Ports of the protocol"),
        optional(
            "sip-direct-media",
            Kind::Bool,
            "Accept media streams from the signalling peer only",
        ),
        optional(
            "sip-timeout",
            Kind::SPAN,
            "Idle timeout of signalling connections",
        ),
        no("disabled", "Defines whether item is ignored or used"),
        counter(
            "cut-messages",
            "Segments not inspected: part of the message was already forwarded",
        ),
    ]],
    flags: &[Flag::new('X', "disabled", 0), Flag::new('I', "invalid", 0)],
    columns: &["name", "ports"],
    key: Some("name"),
    pick: ExportSelector::Name,
    builtin: &[
        helper(&[("name", "ftp"), ("ports", "21")]),
        helper(&[("name", "tftp"), ("ports", "69")]),
        helper(&[("name", "irc"), ("ports", "6667"), ("disabled", "yes")]),
        helper(&[("name", "h323")]),
        helper(&[
            ("name", "sip"),
            ("ports", "5060,5061"),
            ("sip-direct-media", "yes"),
            ("sip-timeout", "1h"),
        ]),
        helper(&[("name", "pptp")]),
        helper(&[("name", "rtsp"), ("ports", "554"), ("disabled", "yes")]),
        helper(&[("name", "udplite")]),
        helper(&[("name", "dccp")]),
        helper(&[("name", "sctp")]),
    ],
    idle: Some(other_than_it_says),
    ..Menu::new(
        "/ip/firewall/service-port",
        MenuShape::Fixed,
        "Connection tracking helpers (ALG)",
    )
};

/// Returns the missing feature: the H.323 helper, or the exemption of a transport protocol from connection
/// tracking. Connections of these protocols are always tracked.
fn other_than_it_says(item: &Item) -> Option<&'static str> {
    match (item.text("name"), item.is("disabled")) {
        ("h323", false) => Some("H.323 helper"),
        ("udplite" | "dccp" | "sctp", true) => {
            Some("exempting the protocol from connection tracking")
        }
        _ => None,
    }
}
