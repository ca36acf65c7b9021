//! `/ppp/profile`: PPP profiles.

use menu::{Builtin, ExportSelector, Family, Flag, Kind, Menu, MenuShape, Property, Unique};

use crate::declare::{
    POOL, POOL6, list, named, number, optional_text, reference, span, text, words,
};
use crate::fragment::COMMENT;
use crate::rate_limit;

const YES_NO: &[&str] = &["default", "no", "yes"];
const YES_NO_REQUIRED: &[&str] = &["default", "no", "required", "yes"];
const ADDRESS_OR_POOL: Kind = Kind::Either(&Kind::Address(Family::V4), &POOL);
const IPV4: Kind = Kind::Address(Family::V4);

/// Positions in front of a named queue have no effect.
fn is_named_position(position: &str) -> bool {
    !matches!(position, "" | "bottom" | "first")
}

/// MPLS, compression and UPnP have no effect.
fn is_used(word: &str) -> bool {
    matches!(word, "required" | "yes")
}

const QUEUE: Kind = Kind::Or(&["none"], &Kind::Name);

const ADDRESSES: &[Property] = &[
    Property::new(
        "local-address",
        ADDRESS_OR_POOL,
        "Address of this end, or a pool",
    )
    .optional(),
    Property::new(
        "remote-address",
        ADDRESS_OR_POOL,
        "Address of the user, or a pool",
    )
    .optional(),
    Property::new(
        "remote-ipv6-prefix-pool",
        Kind::Or(&["none"], &POOL6),
        "IPv6 pool of users",
    )
    .optional(),
    words(
        "remote-ipv6-prefix-reuse",
        YES_NO,
        "Assign a user the same prefix again",
    )
    .default("default"),
    Property::new(
        "dhcpv6-pd-pool",
        Kind::Or(&["none"], &POOL6),
        "Pool of delegated prefixes",
    )
    .optional(),
    span("dhcpv6-lease-time", "Lease time of delegated prefixes").default("1d"),
    words(
        "dhcpv6-use-radius",
        &["accounting", "no", "yes"],
        "Request prefixes from a RADIUS server",
    )
    .default("no")
    .inert(),
];

const BRIDGING: &[Property] = &[
    reference("bridge", "interface", "Bridge to which sessions are added").optional(),
    Property::new(
        "bridge-horizon",
        Kind::Or(
            &["none"],
            &Kind::Number {
                min: 0,
                max: 4_294_967_295,
            },
        ),
        "Bridge horizon",
    )
    .optional(),
    words("bridge-learning", YES_NO, "Whether hosts are learned").default("default"),
    number("bridge-path-cost", 1, 200_000_000, "Bridge path cost").optional(),
    Property::new(
        "bridge-port-priority",
        Kind::Hex { max: 0xff },
        "Priority of the bridge port",
    )
    .optional(),
    words(
        "bridge-port-trusted",
        YES_NO,
        "Whether DHCP servers may be there",
    )
    .default("default"),
    number("bridge-port-vid", 1, 4_094, "VLAN of untagged frames").optional(),
];

const LIMITS: &[Property] = &[
    optional_text(
        "incoming-filter",
        "Firewall chain for packets from the user",
    ),
    optional_text("outgoing-filter", "Firewall chain for packets to the user"),
    text("address-list", "Address list for the user's address"),
    reference(
        "interface-list",
        "interface-list",
        "Interface list for sessions",
    )
    .optional(),
    list("dns-server", &IPV4, "DNS servers sent to users").optional(),
    list("wins-server", &IPV4, "WINS servers sent to users").optional(),
    span("session-timeout", "Session timeout").optional(),
    span("idle-timeout", "Idle timeout").optional(),
    optional_text(
        "rate-limit",
        "Rate limit of a user, enforced by a queue for each session",
    ),
    words(
        "only-one",
        YES_NO,
        "Whether a user may have one session only",
    )
    .default("default"),
    Property::new(
        "insert-queue-before",
        Kind::Or(&["bottom", "first"], &Kind::Name),
        "Position of the session's queue",
    )
    .optional()
    .inert_for(is_named_position),
    Property::new("parent-queue", QUEUE, "Parent of the session's queue").optional(),
    Property::new(
        "queue-type",
        Kind::Pair(&Kind::Reference("queue-type")),
        "Type of the session's queue",
    )
    .optional(),
];

const USES: &[Property] = &[
    words("use-ipv6", YES_NO_REQUIRED, "Carries IPv6").default("default"),
    words("use-mpls", YES_NO_REQUIRED, "Carries MPLS")
        .default("default")
        .inert_for(is_used),
    words("use-compression", YES_NO, "Compresses")
        .default("default")
        .inert_for(is_used),
    words("use-encryption", YES_NO_REQUIRED, "Encrypts").default("default"),
    words("use-upnp", YES_NO, "Users may open ports by UPnP")
        .default("default")
        .inert_for(is_used),
    words("change-tcp-mss", YES_NO, "Clamp the TCP MSS to the MTU").default("default"),
    text("on-up", "Script to run when a session comes up").script(),
    text("on-down", "Script to run when a session goes down").script(),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[named("Name of the profile")],
        ADDRESSES,
        BRIDGING,
        LIMITS,
        USES,
        &[COMMENT],
    ],
    flags: &[Flag::new('*', "default", 0)],
    columns: &[
        "name",
        "local-address",
        "remote-address",
        "bridge",
        "use-encryption",
    ],
    check: Some(rate_limit::check),
    space: Some("ppp-profile"),
    key: Some("name"),
    unique: &[Unique {
        properties: &["name"],
        failure: "profile with the same name already exists",
    }],
    builtin: &[
        Builtin {
            values: &[
                (".id", "*0"),
                ("name", "default"),
                ("change-tcp-mss", "yes"),
            ],
        },
        Builtin {
            values: &[
                (".id", "*FFFFFFFE"),
                ("name", "default-encryption"),
                ("use-encryption", "yes"),
                ("change-tcp-mss", "yes"),
            ],
        },
    ],
    pick: ExportSelector::Id,
    ..Menu::new("/ppp/profile", MenuShape::List, "Profiles of PPP sessions")
};
