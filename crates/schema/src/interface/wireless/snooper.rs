//! `/interface/wireless/snooper`: channel usage.

use menu::Menu;

use crate::declare::{no, span, yes};
use crate::fragment::idle_settings;
use crate::interface::idle_command;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        yes("multiple-channels", "Looks at all channels"),
        span("channel-time", "How long at each").default("200ms"),
        no("receive-errors", "Takes damaged frames"),
    ]],
    commands: &[
        idle_command("snoop", "Show who uses the air"),
        idle_command("flat-snoop", "Show who uses the air, as a list"),
    ],
    ..idle_settings("/interface/wireless/snooper", "Users of the air")
};
