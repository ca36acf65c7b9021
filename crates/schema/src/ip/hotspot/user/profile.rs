//! `/ip/hotspot/user/profile`: hotspot user profiles.

use menu::{Builtin, Effect, Kind, Menu, Pick, Property, Shape};

use crate::declare::{DEFAULT, NONE_OR_SPAN, between, no, optional, text, with_default, yes};
use crate::ip::dhcp_server::{PARENT, QUEUE_PLACE};
use crate::ip::hotspot::POOL;

const SESSION: &[Property] = &[
    Property::new("name", Kind::Name, "Name of the profile"),
    with_default(
        "address-pool",
        POOL,
        "none",
        "The pool that users' addresses come from",
    )
    .quiet(),
    with_default(
        "session-timeout",
        Kind::SPAN,
        "0s",
        "How long a user may stay; 0 is no limit",
    ),
    optional(
        "idle-timeout",
        NONE_OR_SPAN,
        "How long a user may be silent",
    ),
    optional(
        "keepalive-timeout",
        NONE_OR_SPAN,
        "How long a user may be out of reach",
    ),
    with_default(
        "status-autorefresh",
        NONE_OR_SPAN,
        "1m",
        "How often the page of the state is shown anew",
    ),
    with_default(
        "shared-users",
        Kind::Or(&["unlimited"], &between(1, 4_294_967_295)),
        "1",
        "How many may log in as one user",
    ),
    yes("add-mac-cookie", "Whether users need not log in again"),
    optional(
        "mac-cookie-timeout",
        Kind::SPAN,
        "How long they need not log in again",
    ),
];

const TRAFFIC: &[Property] = &[
    text("rate-limit", "Limit of users' rates"),
    optional(
        "insert-queue-before",
        QUEUE_PLACE,
        "Where users' queues are put",
    ),
    optional("parent-queue", PARENT, "The queue above those of users"),
    optional("queue-type", Kind::Name, "The type of users' queues"),
    with_default(
        "address-list",
        Kind::List(&Kind::Name),
        "",
        "Lists that users' addresses are added to",
    ),
    text("incoming-filter", "The chain for packets from users"),
    text("outgoing-filter", "The chain for packets to users"),
    text("incoming-packet-mark", "Mark for packets from users"),
    text("outgoing-packet-mark", "Mark for packets to users"),
];

const PAGES: &[Property] = &[
    text("on-login", "Runs when a user logs in").script(),
    text("on-logout", "Runs when a user logs out").script(),
    yes("transparent-proxy", "Whether requests go through the proxy"),
    with_default(
        "open-status-page",
        Kind::Words(&["always", "http-login"]),
        "always",
        "When the page of the state is opened",
    ),
    no("advertise", "Whether advertisements are shown"),
    with_default(
        "advertise-url",
        Kind::List(&Kind::Name),
        "",
        "The advertisements",
    ),
    with_default(
        "advertise-interval",
        Kind::List(&Kind::SPAN),
        "",
        "How often they are shown",
    ),
    with_default(
        "advertise-timeout",
        Kind::Or(&["immediately", "never"], &Kind::SPAN),
        "1m",
        "When a user who does not look is blocked",
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
    pick: Pick::Default,
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
        Shape::List,
        "Profiles of HotSpot users",
    )
};
