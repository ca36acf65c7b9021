//! `/routing/bgp/session`: established sessions.

use menu::{Flag, Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;
use crate::interface::idle_command;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("name", Kind::Text, "Name of the session"),
        shown("instance", Kind::Text, "The instance"),
        shown("remote.address", Kind::Text, "Remote address"),
        shown("remote.as", Kind::COUNTER, "Remote AS number"),
        shown("remote.id", Kind::Text, "Remote router ID"),
        shown(
            "remote.capabilities",
            Kind::Text,
            "Capabilities of the remote router",
        ),
        shown("local.role", Kind::Text, "Local BGP role (RFC 9234)"),
        shown("local.address", Kind::Text, "Local address"),
        shown("local.as", Kind::COUNTER, "Local AS number"),
        shown("local.id", Kind::Text, "Local router ID"),
        shown("output.procid", Kind::COUNTER, "Process for output"),
        shown("input.procid", Kind::COUNTER, "Process for input"),
        shown("hold-time", Kind::Text, "Hold time"),
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
        shown("prefix-count", Kind::COUNTER, "Number of received prefixes"),
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
        idle_command("refresh", "Request all routes again (route refresh)"),
        idle_command("resend", "Advertise all routes again"),
        idle_command("stop", "End sessions"),
    ],
    ..idle_rows("/routing/bgp/session", "BGP sessions")
};
