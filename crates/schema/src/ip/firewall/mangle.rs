//! `/ip/firewall/mangle`: marks and header changes.

use menu::{Menu, Property};

use crate::declare::{IPV4, optional};
use crate::firewall as fw;

const ROUTE: &[Property] = &[optional("route-dst", IPV4, "Gateway of the action route")];

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &fw::head(
            &fw::chains(&["forward", "input", "output", "postrouting", "prerouting"]),
            &[
                "accept",
                "add-dst-to-address-list",
                "add-src-to-address-list",
                "change-dscp",
                "change-mss",
                "change-ttl",
                "clear-df",
                "drop",
                "fasttrack-connection",
                "jump",
                "log",
                "mark-connection",
                "mark-packet",
                "mark-routing",
                "passthrough",
                "return",
                "route",
                "set-priority",
                "sniff-pc",
                "sniff-tzsp",
                "strip-ipv4-options",
            ],
        ),
        &fw::changes(("new-ttl", "Change of the time to live")),
        ROUTE,
        fw::FLAGS,
        fw::P2P,
        fw::STATE,
        fw::NAT_STATE,
        fw::TLS,
        fw::TRACKED_V4,
    ],
    old: fw::OLD_MARKS,
    ..fw::table("/ip/firewall/mangle", "Packet marking and header changes")
};
