//! `/ip/smb`: SMB file server.

pub(crate) mod shares;
pub(crate) mod users;

use menu::{Effect, Kind, Menu, MenuShape, OldProperty};

use crate::declare::{INTERFACE, shown, text, with_default};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        with_default(
            "enabled",
            Kind::Words(&["no", "auto", "yes"]),
            "auto",
            "Enable the SMB server",
        ),
        text("domain", "Name of the work group").default("MSHOME"),
        text("comment", "Comment of the server").default("MikrotikSMB"),
        with_default(
            "interfaces",
            Kind::List(&Kind::Or(&["all"], &INTERFACE)),
            "all",
            "Interfaces of the server",
        ),
        shown("status", Kind::Text, "State of the server"),
    ]],
    old: &[OldProperty::gone("allow-guests")],
    effect: Effect::None,
    off: Some(("enabled", "no")),
    ..Menu::new("/ip/smb", MenuShape::Settings, "File sharing")
};
