//! `/interface/wireless/snooper`: channel usage.

use menu::Menu;

use crate::declare::{no, span, yes};
use crate::fragment::idle_settings;
use crate::interface::idle_command;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        yes("multiple-channels", "Scan all channels"),
        span("channel-time", "Time per channel").default("200ms"),
        no("receive-errors", "Include damaged frames"),
    ]],
    commands: &[
        idle_command("snoop", "Show channel usage"),
        idle_command("flat-snoop", "Scan for networks"),
    ],
    ..idle_settings("/interface/wireless/snooper", "Wireless snooper settings")
};
