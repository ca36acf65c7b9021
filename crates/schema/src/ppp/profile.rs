//! `/ppp/profile`: PPP profiles.

use menu::{Builtin, Family, Flag, Kind, Menu, Pick, Property, Unique};

use crate::declare::{
    POOL, POOL6, list, named, number, optional_text, reference, span, text, words,
};
use crate::fragment::{COMMENT, idle_list};

const YES_NO: &[&str] = &["default", "no", "yes"];
const YES_NO_REQUIRED: &[&str] = &["default", "no", "required", "yes"];
const ADDRESS_OR_POOL: Kind = Kind::Either(&Kind::Address(Family::V4), &POOL);
const IPV4: Kind = Kind::Address(Family::V4);
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
        "Gives a user the same prefix again",
    )
    .default("default"),
    Property::new(
        "dhcpv6-pd-pool",
        Kind::Or(&["none"], &POOL6),
        "Pool of delegated prefixes",
    )
    .optional(),
    span("dhcpv6-lease-time", "How long such a prefix is lent").default("1d"),
    words(
        "dhcpv6-use-radius",
        &["accounting", "no", "yes"],
        "Asks a RADIUS server for prefixes",
    )
    .default("no"),
];

const BRIDGING: &[Property] = &[
    reference("bridge", "interface", "Bridge that sessions are put into").optional(),
    Property::new(
        "bridge-horizon",
        Kind::Or(
            &["none"],
            &Kind::Number {
                min: 0,
                max: 4_294_967_295,
            },
        ),
        "Horizon in that bridge",
    )
    .optional(),
    words("bridge-learning", YES_NO, "Whether hosts are learned").default("default"),
    number(
        "bridge-path-cost",
        1,
        200_000_000,
        "Path cost in that bridge",
    )
    .optional(),
    Property::new(
        "bridge-port-priority",
        Kind::Hex { max: 0xff },
        "Priority in that bridge",
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
    optional_text("incoming-filter", "Chain that packets from the user pass"),
    optional_text("outgoing-filter", "Chain that packets to the user pass"),
    text(
        "address-list",
        "Address list that the user's address is put into",
    ),
    reference(
        "interface-list",
        "interface-list",
        "List that sessions are put into",
    )
    .optional(),
    list("dns-server", &IPV4, "DNS servers that users are told").optional(),
    list("wins-server", &IPV4, "WINS servers that users are told").optional(),
    span("session-timeout", "After how long a session ends").optional(),
    span(
        "idle-timeout",
        "After how long without traffic a session ends",
    )
    .optional(),
    optional_text(
        "rate-limit",
        "Rates of a user, as a queue for each session has them",
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
        "Place",
    )
    .optional(),
    Property::new("parent-queue", QUEUE, "Parent of that queue").optional(),
    Property::new(
        "queue-type",
        Kind::Pair(&Kind::Reference("queue-type")),
        "Type of that queue",
    )
    .optional(),
];

const USES: &[Property] = &[
    words("use-ipv6", YES_NO_REQUIRED, "Carries IPv6").default("default"),
    words("use-mpls", YES_NO_REQUIRED, "Carries MPLS").default("default"),
    words("use-compression", YES_NO, "Compresses").default("default"),
    words("use-encryption", YES_NO_REQUIRED, "Encrypts").default("default"),
    words("use-upnp", YES_NO, "Users may open ports by UPnP").default("default"),
    words(
        "change-tcp-mss",
        YES_NO,
        "Lowers the segment size of TCP to what fits",
    )
    .default("default"),
    text("on-up", "Script that runs when a session is up").script(),
    text("on-down", "Script that runs when a session is down").script(),
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
    pick: Pick::Id,
    ..idle_list("/ppp/profile", "Profiles of PPP sessions")
};
