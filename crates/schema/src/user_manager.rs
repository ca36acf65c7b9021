//! `/user-manager`: a RADIUS server with users and plans.

use menu::{Builtin, Effect, Family, Flag, Kind, Menu, Old, Pick, Property, Shape, Spelling};

use crate::fragment::{COMMENT, COMMENT_DISABLED};
use crate::short::{
    COUNT, MONITORED, MONITORED_ITEMS, NUMBERS, PORT, between, idle, may, shown, switch, text,
};
use crate::spelling::{DATE_TIME, DECIMAL, HOST};

/// The menus of this file.
pub(crate) const MENUS: &[&Menu] = &[
    &MENU,
    &ADVANCED,
    &ATTRIBUTE,
    &DATABASE,
    &LIMITATION_MENU,
    &PAYMENT,
    &PROFILE_MENU,
    &PROFILE_LIMITATION,
    &ROUTER,
    &SESSION,
    &USER_MENU,
    &GROUP_MENU,
    &USER_PROFILE,
];

const PROFILE: Kind = Kind::Reference("user-manager-profile");
const USER: Kind = Kind::Reference("user-manager-user");
const GROUP: Kind = Kind::Reference("user-manager-group");
const LIMITATION: Kind = Kind::Reference("user-manager-limitation");
/// A number of bytes; `k`, `M` and `G` multiply it.
const BYTES: Kind = Kind::Number {
    min: 0,
    max: i64::MAX,
};
/// Attributes and their values, `name:value`.
const ATTRIBUTES: Kind = Kind::List(&Kind::Spelled(&Spelling {
    describe: "NAME:VALUE    (attribute)",
    canonical: |text| text.contains(':').then(|| text.to_owned()),
}));
/// A price with its fraction.
const PRICE: Kind = DECIMAL;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        switch("enabled", "no", "Whether questions are answered"),
        Property::new("authentication-port", PORT, "Port for authentication").default("1812"),
        Property::new("accounting-port", PORT, "Port for accounting").default("1813"),
        Property::new(
            "certificate",
            Kind::Or(&["none"], &Kind::Reference("certificate")),
            "Certificate for EAP",
        )
        .default("none"),
        Property::new(
            "radsec-certificate",
            Kind::Or(&["none"], &Kind::Reference("certificate")),
            "Certificate for RADIUS over TLS",
        )
        .default("none"),
        switch("use-profiles", "no", "Whether users need a plan"),
        Property::new(
            "require-message-auth",
            Kind::Words(&["no", "yes-access-request"]),
            "Asks for proof of every question",
        )
        .default("yes-access-request"),
    ]],
    commands: &[
        idle(
            "generate-report",
            "Write a report",
            &[
                may(
                    "columns",
                    Kind::List(&Kind::Words(&[
                        "username",
                        "session-start",
                        "session-end",
                        "user-ip",
                        "calling-station-id",
                        "uptime",
                        "download",
                        "upload",
                        "acct-session-id",
                        "nas-ip-address",
                        "nas-port-type",
                        "nas-port-id",
                        "terminate-cause",
                        "nas-identifier",
                    ])),
                    "Columns",
                ),
                may("report-template", Kind::Text, "Report template"),
            ],
        ),
        idle("monitor", "Show what was asked and answered", MONITORED),
    ],
    effect: Effect::None,
    rank: 980,
    ..Menu::new("/user-manager", Shape::Settings, "RADIUS server")
};

pub(crate) static ADVANCED: Menu = Menu {
    properties: &[&[
        text("web-private-username", "Web private username"),
        text("web-private-password", "Web private password").sensitive(),
        switch("paypal-allow", "no", "Lets users pay by PayPal"),
        switch("paypal-use-sandbox", "no", "Paypal use sandbox"),
        text("paypal-user", "Paypal user"),
        text("paypal-password", "Paypal password").sensitive(),
        text("paypal-signature", "Paypal signature").sensitive(),
        Property::new("paypal-currency", Kind::Text, "Paypal currency").default("USD"),
    ]],
    effect: Effect::None,
    rank: 981,
    ..Menu::new(
        "/user-manager/advanced",
        Shape::Settings,
        "Web page and payments",
    )
};

pub(crate) static ATTRIBUTE: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name of the attribute").required(),
        Property::new(
            "vendor-id",
            Kind::Or(&["Cisco", "Microsoft", "Mikrotik", "standard"], &COUNT),
            "Whose attribute it is",
        )
        .default("standard"),
        Property::new("type-id", between(0, 255), "Number of the attribute").required(),
        Property::new(
            "value-type",
            Kind::Words(&[
                "hex",
                "ip-address",
                "ip6-prefix",
                "macro",
                "string",
                "uint32",
            ]),
            "Type of its values",
        )
        .required(),
        Property::new(
            "packet-types",
            Kind::List(&Kind::Words(&["access-accept", "access-challenge"])),
            "Messages that it is sent in",
        )
        .default("access-accept"),
        shown("default-name", Kind::Text, "Default name"),
        shown("standard-name", Kind::Text, "Standard name"),
    ]],
    flags: &[Flag::new('*', "default", 0)],
    columns: &["name", "vendor-id", "type-id", "value-type", "packet-types"],
    space: Some("user-manager-attribute"),
    key: Some("name"),
    effect: Effect::None,
    rank: 982,
    ..Menu::new(
        "/user-manager/attribute",
        Shape::List,
        "Attributes that are sent",
    )
};

pub(crate) static DATABASE: Menu = Menu {
    properties: &[&[
        Property::new("db-path", Kind::Text, "Folder of the data").default("/user-manager5"),
        shown(
            "found-legacy-db-path",
            Kind::Text,
            "Found legacy database path",
        ),
        shown("db-size", COUNT, "Database size"),
        shown("free-disk-space", COUNT, "Free disk space"),
    ]],
    commands: &[
        idle("load", "Read a copy", &[may("name", Kind::Text, "Name")]),
        idle(
            "migrate-legacy-db",
            "Take over the data of an older version",
            &[
                may("database-path", Kind::Text, "Database path"),
                may("overwrite", Kind::Bool, "Overwrite"),
            ],
        ),
        idle("optimize-db", "Make the data smaller", &[]),
        idle(
            "save",
            "Write a copy",
            &[
                may("name", Kind::Text, "Name"),
                may("overwrite", Kind::Bool, "Overwrite"),
            ],
        ),
    ],
    effect: Effect::None,
    rank: 983,
    ..Menu::new(
        "/user-manager/database",
        Shape::Settings,
        "Where users are kept",
    )
};

pub(crate) static LIMITATION_MENU: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name of the limit").required(),
        Property::new("download-limit", BYTES, "Bytes to the user").default("0"),
        Property::new("upload-limit", BYTES, "Bytes from the user").default("0"),
        Property::new("transfer-limit", BYTES, "Bytes in both directions").default("0"),
        Property::new("uptime-limit", Kind::SPAN, "Time of use").default("0s"),
        Property::new(
            "reset-counters-start-time",
            DATE_TIME,
            "When counting begins",
        )
        .default("1970-01-01 00:00:00"),
        Property::new(
            "reset-counters-interval",
            Kind::Or(
                &["daily", "disabled", "hourly", "monthly", "weekly"],
                &Kind::SPAN,
            ),
            "When counting begins anew",
        )
        .default("disabled"),
        Property::new("rate-limit-rx", Kind::Rate, "Speed from the user").default("0"),
        Property::new("rate-limit-tx", Kind::Rate, "Speed to the user").default("0"),
        Property::new(
            "rate-limit-burst-rx",
            Kind::Rate,
            "Rate limit burst received",
        )
        .default("0"),
        Property::new(
            "rate-limit-burst-tx",
            Kind::Rate,
            "Rate limit burst transmitted",
        )
        .default("0"),
        Property::new(
            "rate-limit-burst-threshold-rx",
            Kind::Rate,
            "Rate limit burst threshold received",
        )
        .default("0"),
        Property::new(
            "rate-limit-burst-threshold-tx",
            Kind::Rate,
            "Rate limit burst threshold transmitted",
        )
        .default("0"),
        Property::new(
            "rate-limit-burst-time-rx",
            Kind::SPAN,
            "Rate limit burst time received",
        )
        .default("0s"),
        Property::new(
            "rate-limit-burst-time-tx",
            Kind::SPAN,
            "Rate limit burst time transmitted",
        )
        .default("0s"),
        Property::new("rate-limit-min-rx", Kind::Rate, "Rate limit least received").default("0"),
        Property::new(
            "rate-limit-min-tx",
            Kind::Rate,
            "Rate limit least transmitted",
        )
        .default("0"),
        Property::new("rate-limit-priority", between(0, 8), "Priority among users").default("0"),
        COMMENT,
    ]],
    columns: &["name", "download-limit", "upload-limit", "uptime-limit"],
    space: Some("user-manager-limitation"),
    key: Some("name"),
    old_paths: &["/user-manager/profile/limitation"],
    effect: Effect::None,
    rank: 984,
    ..Menu::new("/user-manager/limitation", Shape::List, "Limits of plans")
};

pub(crate) static PAYMENT: Menu = Menu {
    properties: &[&[
        Property::new("user", USER, "Who pays").required(),
        Property::new("profile", PROFILE, "What is paid for").required(),
        Property::new("price", PRICE, "How much").default("0"),
        Property::new("currency", Kind::Text, "Currency").default("USD"),
        Property::new("trans-start", DATE_TIME, "Trans start").optional(),
        Property::new(
            "trans-end",
            Kind::Or(&["not-finished"], &DATE_TIME),
            "Trans end",
        )
        .optional(),
        Property::new(
            "trans-status",
            Kind::Words(&[
                "started",
                "pending",
                "approved",
                "declined",
                "error",
                "timeout",
                "aborted",
                "user-approved",
            ]),
            "What became of it",
        )
        .optional(),
        Property::new(
            "method",
            Kind::Words(&["authorize-net", "paypal"]),
            "How it is paid",
        )
        .optional(),
        text("user-message", "User message"),
    ]],
    columns: &["user", "profile", "price", "currency", "trans-status"],
    effect: Effect::None,
    rank: 985,
    ..Menu::new("/user-manager/payment", Shape::List, "Payments")
};

pub(crate) static PROFILE_MENU: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name of the plan").required(),
        Property::new(
            "validity",
            Kind::Or(&["unlimited"], &Kind::SPAN),
            "How long it is valid",
        )
        .default("unlimited"),
        text("name-for-users", "What users see"),
        Property::new(
            "starts-when",
            Kind::Words(&["first-auth", "assigned"]),
            "When it begins",
        )
        .default("assigned"),
        Property::new("price", PRICE, "What it costs").default("0"),
        Property::new(
            "override-shared-users",
            Kind::Or(&["off", "unlimited"], &between(1, 65_535)),
            "Devices at once, in place of the user's",
        )
        .default("off"),
        COMMENT,
    ]],
    columns: &["name", "validity", "price"],
    space: Some("user-manager-profile"),
    key: Some("name"),
    old: &[Old::renamed("starts", "starts-when")],
    effect: Effect::None,
    rank: 986,
    ..Menu::new("/user-manager/profile", Shape::List, "Plans")
};

pub(crate) static PROFILE_LIMITATION: Menu = Menu {
    properties: &[&[
        Property::new("profile", PROFILE, "The plan").required(),
        Property::new("limitation", LIMITATION, "The limit").required(),
        Property::new(
            "from-time",
            Kind::SPAN,
            "From what time of day it is in force",
        )
        .default("0s"),
        Property::new(
            "till-time",
            Kind::SPAN,
            "Until what time of day it is in force",
        )
        .default("23h59m59s"),
        Property::new(
            "weekdays",
            Kind::List(&Kind::Words(&[
                "sunday",
                "monday",
                "tuesday",
                "wednesday",
                "thursday",
                "friday",
                "saturday",
            ])),
            "On which days it is in force",
        )
        .default("sunday,monday,tuesday,wednesday,thursday,friday,saturday"),
        COMMENT,
    ]],
    columns: &[
        "profile",
        "limitation",
        "from-time",
        "till-time",
        "weekdays",
    ],
    old_paths: &["/user-manager/profile/profile-limitation"],
    effect: Effect::None,
    rank: 987,
    ..Menu::new(
        "/user-manager/profile-limitation",
        Shape::List,
        "Limits of each plan",
    )
};

pub(crate) static ROUTER: Menu = Menu {
    properties: &[
        &[
            Property::new("name", Kind::Name, "Name of the router").required(),
            Property::new("address", HOST, "Its address").required(),
            Property::new(
                "protocol",
                Kind::Words(&["udp", "radsec"]),
                "Whether it asks by UDP or over TLS",
            )
            .default("udp"),
            text("shared-secret", "Secret shared with it").sensitive(),
            Property::new("coa-port", PORT, "Its port for changes of sessions").default("3799"),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[Flag::new('X', "disabled", 1)],
    columns: &["name", "address", "protocol", "coa-port"],
    commands: &[
        idle("monitor", "Show what it asked", MONITORED_ITEMS),
        idle("reset-counters", "Set the counters to zero", &[NUMBERS]),
    ],
    effect: Effect::None,
    rank: 988,
    ..Menu::new("/user-manager/router", Shape::List, "Routers that ask")
};

pub(crate) static SESSION: Menu = Menu {
    properties: &[&[
        shown("user", Kind::Text, "User"),
        shown(
            "acct-session-id",
            Kind::Text,
            "Accounting session identifier",
        ),
        shown(
            "acct-multi-session-id",
            Kind::Text,
            "Accounting multi session identifier",
        ),
        shown(
            "nas-port-type",
            Kind::Words(&[
                "async",
                "sync",
                "isdn-sync",
                "isdn-sync-v120",
                "isdn-sync-v110",
                "virtual",
                "piafs",
                "hdlc",
                "x25",
                "x75",
                "g3-fax",
                "sdsl",
                "adsl-cap",
                "adsl-dmt",
                "idsl",
                "ethernet",
                "dsl",
                "cable",
                "wireless",
                "wireless-802.11",
            ]),
            "NAS port type",
        ),
        shown("nas-port-id", Kind::Text, "NAS port identifier"),
        shown(
            "nas-ip-address",
            Kind::Address(Family::Any),
            "NAS IP address",
        ),
        shown("nas-identifier", Kind::Text, "NAS identifier"),
        shown(
            "calling-station-id",
            Kind::Text,
            "Calling station identifier",
        ),
        shown("user-address", Kind::Address(Family::V4), "User address"),
        shown(
            "status",
            Kind::List(&Kind::Words(&[
                "start",
                "stop",
                "interim",
                "close-acked",
                "expired",
            ])),
            "Status",
        ),
        shown("started", Kind::Text, "Started"),
        shown("ended", Kind::Text, "Ended"),
        shown(
            "terminate-cause",
            Kind::Words(&[
                "user-request",
                "lost-carrier",
                "lost-service",
                "idle-timeout",
                "session-timeout",
                "admin-reset",
                "admin-reboot",
                "port-error",
                "nas-error",
                "nas-request",
                "nas-reboot",
                "port-unneeded",
                "port-preempted",
                "port-suspended",
                "service-unavailable",
                "callback",
                "user-error",
                "host-request",
                "supplicant-restart",
                "reauthentication-failure",
                "port-reinitialized",
                "port-administratively-disabled",
                "um-user-deleted",
                "um-user-disabled",
                "um-admin-request",
                "um-nas-rebooted",
                "um-simultaneous-sessions",
                "um-limits-reached",
                "um-limits-changed",
                "um-unknown",
            ]),
            "Terminate cause",
        ),
        shown("uptime", Kind::SPAN, "Uptime"),
        shown("download", COUNT, "Download"),
        shown("upload", COUNT, "Upload"),
        shown(
            "last-accounting-packet",
            Kind::Text,
            "Last accounting packet",
        ),
    ]],
    flags: &[Flag::new('A', "active", 0)],
    columns: &["user", "nas-ip-address", "started", "ended", "uptime"],
    commands: &[
        idle("close-session", "End sessions", &[NUMBERS]),
        idle("remove", "Remove items", &[NUMBERS]),
    ],
    effect: Effect::None,
    rank: 989,
    ..Menu::new("/user-manager/session", Shape::Rows, "Sessions")
};

pub(crate) static USER_MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("name", Kind::Name, "Name of the user").required(),
            text("password", "Password").sensitive(),
            text("otp-secret", "Secret of one-time passwords").sensitive(),
            Property::new("group", GROUP, "Group").default("default"),
            Property::new(
                "shared-users",
                Kind::Or(&["unlimited"], &between(1, 65_535)),
                "Devices at once",
            )
            .default("1"),
            Property::new(
                "caller-id",
                Kind::Or(&["bind"], &Kind::Text),
                "Address that the user must have",
            )
            .default(""),
            Property::new(
                "attributes",
                ATTRIBUTES,
                "Attributes that are sent for the user",
            )
            .default(""),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[Flag::new('X', "disabled", 1)],
    columns: &["name", "group", "shared-users", "attributes"],
    space: Some("user-manager-user"),
    key: Some("name"),
    old: &[
        Old::renamed("username", "name"),
        Old::gone("profile"),
        Old::gone("customer"),
    ],
    commands: &[
        idle(
            "add-batch-users",
            "Make many users",
            &[
                may("caller-id", Kind::Text, "Caller identifier"),
                may("comment", Kind::Text, "Comment"),
                may("disabled", Kind::Bool, "Disabled"),
                may("group", GROUP, "Group"),
                may("number-of-users", COUNT, "Number of users"),
                may(
                    "password-characters",
                    Kind::List(&Kind::Words(&["uppercase", "lowercase", "numbers"])),
                    "Password characters",
                ),
                may(
                    "password-length",
                    Kind::Or(&["empty", "same-as-username"], &between(1, 64)),
                    "Password length",
                ),
                may("profile", PROFILE, "Profile"),
                may(
                    "shared-users",
                    Kind::Or(&["unlimited"], &between(1, 65_535)),
                    "Shared users",
                ),
                may(
                    "username-characters",
                    Kind::List(&Kind::Words(&["uppercase", "lowercase", "numbers"])),
                    "Username characters",
                ),
                may("username-length", COUNT, "Username length"),
                may("username-prefix", Kind::Text, "Username prefix"),
            ],
        ),
        idle(
            "generate-voucher",
            "Write vouchers",
            &[
                NUMBERS,
                may("voucher-template", Kind::Text, "Voucher template"),
            ],
        ),
        idle("monitor", "Show what users do", MONITORED_ITEMS),
    ],
    effect: Effect::None,
    rank: 991,
    ..Menu::new("/user-manager/user", Shape::List, "Users")
};

pub(crate) static GROUP_MENU: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name of the group").required(),
        Property::new(
            "outer-auths",
            Kind::List(&Kind::Words(&[
                "pap",
                "chap",
                "mschap1",
                "mschap2",
                "eap-tls",
                "eap-ttls",
                "eap-peap",
                "eap-mschap2",
            ])),
            "Ways to prove oneself",
        )
        .default("pap,chap,mschap1,mschap2,eap-tls,eap-ttls,eap-peap,eap-mschap2"),
        Property::new(
            "inner-auths",
            Kind::List(&Kind::Words(&[
                "ttls-pap",
                "ttls-chap",
                "ttls-mschap1",
                "ttls-mschap2",
                "peap-mschap2",
            ])),
            "Ways to prove oneself within EAP",
        )
        .default("ttls-pap,ttls-chap,ttls-mschap1,ttls-mschap2,peap-mschap2"),
        Property::new(
            "attributes",
            ATTRIBUTES,
            "Attributes that are sent for the group's users",
        )
        .default(""),
        shown("default-name", Kind::Text, "Default name"),
        COMMENT,
    ]],
    flags: &[Flag::new('*', "default", 0)],
    columns: &["name", "outer-auths", "inner-auths"],
    space: Some("user-manager-group"),
    key: Some("name"),
    builtin: &[
        Builtin {
            values: &[("name", "default")],
        },
        Builtin {
            values: &[("name", "default-anonymous")],
        },
    ],
    pick: Pick::Name,
    effect: Effect::None,
    rank: 990,
    ..Menu::new("/user-manager/user/group", Shape::List, "Groups of users")
};

pub(crate) static USER_PROFILE: Menu = Menu {
    properties: &[&[
        Property::new("user", USER, "The user").required(),
        Property::new("profile", PROFILE, "The plan").required(),
        shown(
            "state",
            Kind::Words(&["waiting", "running", "running-active", "used"]),
            "State",
        ),
        shown(
            "end-time",
            Kind::Or(&["not-yet-running", "unlimited"], &Kind::Text),
            "End time",
        ),
    ]],
    columns: &["user", "profile", "state", "end-time"],
    commands: &[idle(
        "activate-user-profile",
        "Begin a plan now",
        &[NUMBERS],
    )],
    effect: Effect::None,
    rank: 992,
    ..Menu::new(
        "/user-manager/user-profile",
        Shape::List,
        "Plans of each user",
    )
};
