//! `/interface/lte/esim`: eSIM profiles.

use menu::{Flag, Kind, Menu};

use crate::declare::{
    APPEND, AS_VALUE, DO, FILE, FREEZE, INTERVAL, ONCE, PROPLIST, WITHOUT_PAGING, argument, shown,
};
use crate::fragment::idle_rows;
use crate::interface::idle_command;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("interface", Kind::Text, "The modem"),
        shown("iccid", Kind::Text, "ICCID of the profile"),
        shown("provider", Kind::Text, "Mobile operator"),
        shown("name", Kind::Text, "Name of the profile"),
        shown("nickname", Kind::Text, "User-defined name"),
        shown("state", Kind::Text, "State of the profile"),
    ]],
    flags: &[Flag::new('A', "active", 0)],
    columns: &["interface", "iccid", "provider", "name", "state"],
    commands: &[
        idle_command("activate", "Activate a profile"),
        idle_command("deactivate", "Deactivate a profile"),
        idle_command("delete", "Delete a profile"),
        idle_command("esim-id", "Show the eSIM identifier (EID)"),
        crate::declare::idle_command(
            "provision",
            "Download a profile",
            &[
                argument(
                    "activate",
                    Kind::Bool,
                    "Activate the profile after the download",
                ),
                argument("activation-code", Kind::Text, "Activation code"),
                APPEND,
                AS_VALUE,
                argument("confirmation-code", Kind::Text, "Confirmation code"),
                DO,
                FILE,
                argument(
                    "force-confirmation",
                    Kind::Bool,
                    "Ask for the confirmation code",
                ),
                FREEZE,
                argument("interface", Kind::Text, "The modem"),
                INTERVAL,
                argument("matching-id", Kind::Text, "Identifier of the profile"),
                ONCE,
                PROPLIST,
                argument("sm-dp-plus", Kind::Text, "Server of profiles"),
                argument(
                    "sm-dp-plus-oid",
                    Kind::Text,
                    "Object identifier of the server",
                ),
                WITHOUT_PAGING,
            ],
        ),
        idle_command("refresh-profile-list", "Read the list of profiles again"),
        idle_command(
            "send-notifications",
            "Send pending notifications to operators",
        ),
        idle_command("set-nickname", "Set the nickname of a profile"),
    ],
    ..idle_rows("/interface/lte/esim", "eSIM profiles")
};
