//! `/ip/proxy/access`: access rules.

use menu::{Effect, Kind, Menu, MenuShape, OldProperty, Property};

use super::{HITS, REQUEST};
use crate::declare::{DISABLED, text, with_default};
use crate::fragment::COMMENT_DISABLED;
use crate::ip::hotspot::walled_garden::COMMANDS;

const ACTION: &[Property] = &[
    with_default(
        "action",
        Kind::Words(&["allow", "deny", "redirect", "url-append"]),
        "allow",
        "Action for requests that match",
    ),
    text("action-data", "Target of a redirect, or added data"),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[REQUEST, ACTION, HITS, COMMENT_DISABLED],
    flags: DISABLED,
    stats: &["dst-host", "path", "action", "hits"],
    commands: COMMANDS,
    old: &[OldProperty::renamed("redirect-to", "action-data")],
    effect: Effect::None,
    ..Menu::new(
        "/ip/proxy/access",
        MenuShape::Ordered,
        "Rules for access to pages",
    )
};
