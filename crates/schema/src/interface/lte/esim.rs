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
        shown("iccid", Kind::Text, "Number of the card"),
        shown("provider", Kind::Text, "The operator"),
        shown("name", Kind::Text, "Name of the profile"),
        shown("nickname", Kind::Text, "User-defined name"),
        shown("state", Kind::Text, "Whether active"),
    ]],
    flags: &[Flag::new('A', "active", 0)],
    columns: &["interface", "iccid", "provider", "name", "state"],
    commands: &[
        idle_command("activate", "Use a card"),
        idle_command("deactivate", "Do not use a card"),
        idle_command("delete", "Delete a card"),
        idle_command("esim-id", "Show the number of the chip"),
        crate::declare::idle_command(
            "provision",
            "Load a card",
            &[
                argument("activate", Kind::Bool, "Whether the card is used at once"),
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
        idle_command("refresh-profile-list", "Look for cards"),
        idle_command("send-notifications", "Tell operators of changes"),
        idle_command("set-nickname", "Name a card"),
    ],
    ..idle_rows("/interface/lte/esim", "Loaded cards")
};
