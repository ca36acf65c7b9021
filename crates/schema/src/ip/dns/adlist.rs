//! `/ip/dns/adlist`: lists of blocked names.

use menu::{Kind, Menu, MenuShape};

use crate::declare::{DISABLED, argument, command, counter, idle_command, text, yes};
use crate::fragment::COMMENT_DISABLED;

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            text("file", "The file with the list"),
            text("url", "URL of the list"),
            yes("ssl-verify", "Verify the server's certificate"),
            counter("match-count", "Number of queries that matched the list"),
            counter("name-count", "Names in the list"),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED,
    columns: &["url", "file", "ssl-verify", "match-count", "name-count"],
    commands: &[
        idle_command(
            "pause",
            "Pause the use of the lists",
            &[argument("duration", Kind::SPAN, "Duration of the pause")],
        ),
        command("reload", "Download the lists again", &[]),
    ],
    ..Menu::new("/ip/dns/adlist", MenuShape::List, "Lists of blocked names")
};
