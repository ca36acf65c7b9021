//! `/ip/hotspot/ip-binding`: hosts that bypass the login or are blocked.

use menu::{Effect, Family, Flag, Kind, Menu, MenuShape};

use super::SERVER;
use crate::declare::{IPV4, optional, with_default};
use crate::fragment::COMMENT_DISABLED;

/// Binding types.
pub(crate) const TYPES: Kind = Kind::Words(&["regular", "bypassed", "blocked"]);

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            optional("mac-address", Kind::Mac, "The host's hardware address"),
            optional(
                "address",
                Kind::Addresses(Family::V4),
                "The host's addresses",
            ),
            optional("to-address", IPV4, "Address after translation"),
            with_default("server", SERVER, "all", "The server").quiet(),
            with_default("type", TYPES, "regular", "Type of the binding").quiet(),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[
        Flag::new('X', "disabled", 0),
        Flag::new('P', "bypassed", 1),
        Flag::new('B', "blocked", 1),
    ],
    columns: &["mac-address", "address", "to-address", "server"],
    effect: Effect::None,
    ..Menu::new(
        "/ip/hotspot/ip-binding",
        MenuShape::Ordered,
        "IP bindings: hosts that bypass the login or are blocked",
    )
};
