//! `/user-manager`: RADIUS server with users and profiles.

pub(crate) mod plan;

use menu::{
    Builtin, Effect, ExportSelector, Family, Flag, Kind, Menu, MenuShape, OldProperty, Property,
    Spelling,
};

use crate::declare::{
    MONITORED, MONITORED_ITEMS, NUMBERS, PORT, U32, argument, between, idle_command, no, shown,
    text,
};
use crate::fragment::{COMMENT, COMMENT_DISABLED};
use crate::spelling::HOST;

const PROFILE: Kind = Kind::Reference("user-manager-profile");
const USER: Kind = Kind::Reference("user-manager-user");
const GROUP: Kind = Kind::Reference("user-manager-group");
/// RADIUS attributes: `name:value`.
const ATTRIBUTES: Kind = Kind::List(&Kind::Spelled(&Spelling {
    describe: "NAME:VALUE    (attribute)",
    canonical: |text| text.contains(':').then(|| text.to_owned()),
}));
pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        no("enabled", "Enable the RADIUS server"),
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
        no("use-profiles", "Require a profile for each user"),
        Property::new(
            "require-message-auth",
            Kind::Words(&["no", "yes-access-request"]),
            "Require a message authenticator in every request",
        )
        .default("yes-access-request"),
    ]],
    commands: &[
        idle_command(
            "generate-report",
            "Write a report",
            &[
                argument(
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
                argument("report-template", Kind::Text, "Report template"),
            ],
        ),
        idle_command(
            "monitor",
            "Show statistics of requests and answers",
            MONITORED,
        )
        .repeating(),
    ],
    effect: Effect::None,
    ..Menu::new("/user-manager", MenuShape::Settings, "RADIUS server")
};

pub(crate) static ADVANCED: Menu = Menu {
    properties: &[&[
        text("web-private-username", "Web private username"),
        text("web-private-password", "Web private password").sensitive(),
        no("paypal-allow", "Allow payment by PayPal"),
        no("paypal-use-sandbox", "Use the PayPal sandbox"),
        text("paypal-user", "PayPal user"),
        text("paypal-password", "PayPal password").sensitive(),
        text("paypal-signature", "PayPal signature").sensitive(),
        Property::new("paypal-currency", Kind::Text, "PayPal currency").default("USD"),
    ]],
    effect: Effect::None,
    ..Menu::new(
        "/user-manager/advanced",
        MenuShape::Settings,
        "Web page and payments",
    )
};

pub(crate) static ATTRIBUTE: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name of the attribute").required(),
        Property::new(
            "vendor-id",
            Kind::Or(&["Cisco", "Microsoft", "Mikrotik", "standard"], &U32),
            "Vendor of the attribute",
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
            "Type of the values",
        )
        .required(),
        Property::new(
            "packet-types",
            Kind::List(&Kind::Words(&["access-accept", "access-challenge"])),
            "Packet types that contain the attribute",
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
    ..Menu::new("/user-manager/attribute", MenuShape::List, "Attributes")
};

pub(crate) static DATABASE: Menu = Menu {
    properties: &[&[
        Property::new("db-path", Kind::Text, "Folder of the data").default("/user-manager5"),
        shown(
            "found-legacy-db-path",
            Kind::Text,
            "Path of the legacy database found",
        ),
        shown("db-size", U32, "Database size"),
        shown("free-disk-space", U32, "Free disk space"),
    ]],
    commands: &[
        idle_command(
            "load",
            "Load a copy of the database",
            &[argument("name", Kind::Text, "Name")],
        ),
        idle_command(
            "migrate-legacy-db",
            "Migrate the database of an older version",
            &[
                argument("database-path", Kind::Text, "Database path"),
                argument("overwrite", Kind::Bool, "Overwrite"),
            ],
        ),
        idle_command("optimize-db", "Compact the database", &[]),
        idle_command(
            "save",
            "Save a copy of the database",
            &[
                argument("name", Kind::Text, "Name"),
                argument("overwrite", Kind::Bool, "Overwrite"),
            ],
        ),
    ],
    effect: Effect::None,
    ..Menu::new(
        "/user-manager/database",
        MenuShape::Settings,
        "Location of the user database",
    )
};

pub(crate) static ROUTER: Menu = Menu {
    properties: &[
        &[
            Property::new("name", Kind::Name, "Name of the router").required(),
            Property::new("address", HOST, "Address of the router").required(),
            Property::new(
                "protocol",
                Kind::Words(&["udp", "radsec"]),
                "Protocol: UDP or TLS",
            )
            .default("udp"),
            text("shared-secret", "Secret shared with the router").sensitive(),
            Property::new("coa-port", PORT, "Port for Change of Authorization (CoA)")
                .default("3799"),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[Flag::new('X', "disabled", 1)],
    columns: &["name", "address", "protocol", "coa-port"],
    commands: &[
        idle_command(
            "monitor",
            "Show statistics of the router's requests",
            MONITORED_ITEMS,
        )
        .repeating(),
        idle_command("reset-counters", "Set the counters to zero", &[NUMBERS]),
    ],
    effect: Effect::None,
    ..Menu::new(
        "/user-manager/router",
        MenuShape::List,
        "Routers that use the server",
    )
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
        shown("download", U32, "Download"),
        shown("upload", U32, "Upload"),
        shown(
            "last-accounting-packet",
            Kind::Text,
            "Last accounting packet",
        ),
    ]],
    flags: &[Flag::new('A', "active", 0)],
    columns: &["user", "nas-ip-address", "started", "ended", "uptime"],
    commands: &[
        idle_command("close-session", "End sessions", &[NUMBERS]),
        idle_command("remove", "Remove items", &[NUMBERS]),
    ],
    effect: Effect::None,
    ..Menu::new("/user-manager/session", MenuShape::Rows, "Sessions")
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
                "Maximum number of concurrent sessions",
            )
            .default("1"),
            Property::new(
                "caller-id",
                Kind::Or(&["bind"], &Kind::Text),
                "Required address of the user",
            )
            .default(""),
            Property::new("attributes", ATTRIBUTES, "Attributes sent for the user").default(""),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[Flag::new('X', "disabled", 1)],
    columns: &["name", "group", "shared-users", "attributes"],
    space: Some("user-manager-user"),
    key: Some("name"),
    old: &[
        OldProperty::renamed("username", "name"),
        OldProperty::gone("profile"),
        OldProperty::gone("customer"),
    ],
    commands: &[
        idle_command(
            "add-batch-users",
            "Add a batch of users",
            &[
                argument("caller-id", Kind::Text, "Caller identifier"),
                argument("comment", Kind::COMMENT, "Comment"),
                argument("disabled", Kind::Bool, "Disabled"),
                argument("group", GROUP, "Group"),
                argument("number-of-users", U32, "Number of users"),
                argument(
                    "password-characters",
                    Kind::List(&Kind::Words(&["uppercase", "lowercase", "numbers"])),
                    "Password characters",
                ),
                argument(
                    "password-length",
                    Kind::Or(&["empty", "same-as-username"], &between(1, 64)),
                    "Password length",
                ),
                argument("profile", PROFILE, "Profile"),
                argument(
                    "shared-users",
                    Kind::Or(&["unlimited"], &between(1, 65_535)),
                    "Shared users",
                ),
                argument(
                    "username-characters",
                    Kind::List(&Kind::Words(&["uppercase", "lowercase", "numbers"])),
                    "Username characters",
                ),
                argument("username-length", U32, "Username length"),
                argument("username-prefix", Kind::Text, "Username prefix"),
            ],
        ),
        idle_command(
            "generate-voucher",
            "Generate vouchers",
            &[
                NUMBERS,
                argument("voucher-template", Kind::Text, "Voucher template"),
            ],
        ),
        idle_command("monitor", "Show the sessions of users", MONITORED_ITEMS).repeating(),
    ],
    effect: Effect::None,
    ..Menu::new("/user-manager/user", MenuShape::List, "Users")
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
            "Outer authentication methods",
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
            "Inner authentication methods",
        )
        .default("ttls-pap,ttls-chap,ttls-mschap1,ttls-mschap2,peap-mschap2"),
        Property::new(
            "attributes",
            ATTRIBUTES,
            "Attributes sent for the group's users",
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
    pick: ExportSelector::Name,
    effect: Effect::None,
    ..Menu::new(
        "/user-manager/user/group",
        MenuShape::List,
        "Groups of users",
    )
};
