//! `/routing/bgp/session`: established sessions.

use menu::{Flag, Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;
use crate::interface::idle_command;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("name", Kind::Text, "Name of the session"),
        shown("instance", Kind::Text, "The instance"),
        shown("remote.address", Kind::Text, "Address of the other end"),
        shown(
            "remote.as",
            Kind::COUNTER,
            "Number of its autonomous system",
        ),
        shown("remote.id", Kind::Text, "Router ID of the other end"),
        shown(
            "remote.capabilities",
            Kind::Text,
            "Capabilities of the other end",
        ),
        shown("local.role", Kind::Text, "BGP role of this end"),
        shown("local.address", Kind::Text, "Address of this end"),
        shown(
            "local.as",
            Kind::COUNTER,
            "Number of the own autonomous system",
        ),
        shown("local.id", Kind::Text, "Own number"),
        shown("output.procid", Kind::COUNTER, "Process for output"),
        shown("input.procid", Kind::COUNTER, "Process for input"),
        shown("hold-time", Kind::Text, "After which silence it is gone"),
        shown(
            "keepalive-time",
            Kind::Text,
            "Interval of keepalive messages",
        ),
        shown("uptime", Kind::SPAN, "Uptime of the session"),
        shown(
            "last-started",
            Kind::Text,
            "Time at which the session came up",
        ),
        shown("prefix-count", Kind::COUNTER, "Routes that came"),
    ]],
    flags: &[Flag::new('E', "established", 0)],
    columns: &[
        "name",
        "remote.address",
        "remote.as",
        "uptime",
        "prefix-count",
    ],
    commands: &[
        idle_command("clear", "Clear received or sent routes"),
        idle_command("dump-saved-advertisements", "Save the advertised routes"),
        idle_command("refresh", "Ask for all routes again"),
        idle_command("resend", "Tell all routes again"),
        idle_command("stop", "End sessions"),
    ],
    ..idle_rows("/routing/bgp/session", "Sessions of BGP")
};
