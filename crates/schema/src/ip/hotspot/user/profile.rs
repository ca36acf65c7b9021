//! `/ip/hotspot/user/profile`: hotspot user profiles.

use menu::{Builtin, Effect, ExportSelector, Kind, Menu, MenuShape, Property};

use crate::declare::{DEFAULT, NONE_OR_SPAN, between, no, optional, text, with_default, yes};
use crate::ip::dhcp_server::{PARENT, QUEUE_PLACE};
use crate::ip::hotspot::POOL;

const SESSION: &[Property] = &[
    Property::new("name", Kind::Name, "Name of the profile"),
    with_default("address-pool", POOL, "none", "Address pool of users").quiet(),
    with_default(
        "session-timeout",
        Kind::SPAN,
        "0s",
        "Session timeout; 0 for no limit",
    ),
    optional("idle-timeout", NONE_OR_SPAN, "Idle timeout"),
    optional("keepalive-timeout", NONE_OR_SPAN, "Keepalive timeout"),
    with_default(
        "status-autorefresh",
        NONE_OR_SPAN,
        "1m",
        "Refresh interval of the status page",
    ),
    with_default(
        "shared-users",
        Kind::Or(&["unlimited"], &between(1, 4_294_967_295)),
        "1",
        "Maximum number of sessions per user",
    ),
    yes("add-mac-cookie", "Create a MAC cookie on login"),
    optional(
        "mac-cookie-timeout",
        Kind::SPAN,
        "Lifetime of a login cookie",
    ),
];

const TRAFFIC: &[Property] = &[
    text("rate-limit", "Rate limit of users"),
    optional(
        "insert-queue-before",
        QUEUE_PLACE,
        "Position of users' queues",
    ),
    optional("parent-queue", PARENT, "Parent of users' queues"),
    optional("queue-type", Kind::Name, "Queue type of users' queues"),
    with_default(
        "address-list",
        Kind::List(&Kind::Name),
        "",
        "Address lists for users' addresses",
    ),
    text("incoming-filter", "The chain for packets from users"),
    text("outgoing-filter", "The chain for packets to users"),
    text("incoming-packet-mark", "Mark for packets from users"),
    text("outgoing-packet-mark", "Mark for packets to users"),
];

const PAGES: &[Property] = &[
    text("on-login", "Script to run when a user logs in").script(),
    text("on-logout", "Script to run when a user logs out").script(),
    yes(
        "transparent-proxy",
        "Send HTTP requests through the transparent proxy",
    ),
    with_default(
        "open-status-page",
        Kind::Words(&["always", "http-login"]),
        "always",
        "When the status page opens",
    ),
    no("advertise", "Show advertisements"),
    with_default(
        "advertise-url",
        Kind::List(&Kind::Name),
        "",
        "URLs of the advertisements",
    ),
    with_default(
        "advertise-interval",
        Kind::List(&Kind::SPAN),
        "",
        "Interval between advertisements",
    ),
    with_default(
        "advertise-timeout",
        Kind::Or(&["immediately", "never"], &Kind::SPAN),
        "1m",
        "Time until a user who ignores advertisements is blocked",
    ),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[SESSION, TRAFFIC, PAGES],
    flags: DEFAULT,
    columns: &[
        "name",
        "address-pool",
        "idle-timeout",
        "shared-users",
        "rate-limit",
    ],
    space: Some("hotspot-user-profile"),
    key: Some("name"),
    kind: "uprof",
    pick: ExportSelector::Default,
    builtin: &[Builtin {
        values: &[
            ("name", "default"),
            ("idle-timeout", "none"),
            ("keepalive-timeout", "2m"),
            ("mac-cookie-timeout", "3d"),
        ],
    }],
    effect: Effect::None,
    ..Menu::new(
        "/ip/hotspot/user/profile",
        MenuShape::List,
        "Profiles of HotSpot users",
    )
};
