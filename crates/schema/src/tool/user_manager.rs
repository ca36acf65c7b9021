//! `/tool/user-manager`: the RADIUS server of RouterOS 6. Version 7 has `/user-manager`.

use menu::{Builtin, Effect, ExportSelector, Family, Kind, Menu, MenuShape, Property};

use crate::declare::{
    DISABLED, HOST, list, named, no, number, optional_text, secret, span, text, words,
};
use crate::fragment::COMMENT_DISABLED;
use crate::spelling::{BYTES, WEEKDAYS};

/// A menu that only exists to read configurations of RouterOS 6.
const fn older(path: &'static str, shape: MenuShape, help: &'static str) -> Menu {
    Menu {
        effect: Effect::None,
        older: true,
        ..Menu::new(path, shape, help)
    }
}

const CUSTOMER_NAME: Kind = Kind::Reference("userman-customer");
const PLAN: Kind = Kind::Reference("userman-plan");
const RIGHTS: Kind = Kind::List(&Kind::Words(&[
    "config-payment-gw",
    "own-limits",
    "own-profiles",
    "own-routers",
    "own-users",
    "parent-limits",
    "parent-payment-gw",
    "parent-profiles",
    "parent-routers",
    "parent-users",
]));
const DAYS: Kind = Kind::Set(WEEKDAYS);

pub(crate) static CUSTOMER: Menu = Menu {
    properties: &[
        &[
            Property::new("login", Kind::Name, "Name of the customer").required(),
            secret("password", "Password"),
            Property::new("parent", CUSTOMER_NAME, "Parent of the customer").optional(),
            words(
                "permissions",
                &["full", "owner", "read-only", "read-write"],
                "Permissions",
            )
            .default("owner"),
            Property::new("access", RIGHTS, "Managed objects").default(""),
            text("public-id", "Identifier of the page for users"),
            text("public-host", "Address of the page for users"),
            text("company", "Company"),
            text("city", "City"),
            text("country", "Country"),
            text("email", "E-mail address"),
            text("currency", "Currency of prices"),
            text("time-zone", "UTC offset of the time zone"),
            text("date-format", "Format of dates"),
            text("user-prefix", "Prefix of users' names"),
            text("signup-email-subject", "Subject of mail to new users"),
            text("signup-email-body", "Text of mail to new users"),
            no("signup-allowed", "Allow users to sign up"),
            no("backup-allowed", "Allow the customer to save backups"),
            no("paypal-allowed", "Allow payment by PayPal"),
            no(
                "paypal-secure-response",
                "Receive PayPal responses over TLS",
            ),
            no("paypal-accept-pending", "Accept pending payments"),
            no("authorize-net-allowed", "Allow payment by Authorize.Net"),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED,
    columns: &["login", "permissions", "parent"],
    space: Some("userman-customer"),
    key: Some("login"),
    builtin: &[Builtin {
        values: &[("login", "admin")],
    }],
    pick: ExportSelector::Name,
    ..older(
        "/tool/user-manager/customer",
        MenuShape::List,
        "Version 6: customers",
    )
};

pub(crate) static DATABASE: Menu = Menu {
    properties: &[&[text("db-path", "Folder of the data")]],
    ..older(
        "/tool/user-manager/database",
        MenuShape::Settings,
        "Version 6: location of the database",
    )
};

pub(crate) static ROUTER: Menu = Menu {
    properties: &[
        &[
            named("Name of the router"),
            Property::new("customer", CUSTOMER_NAME, "Customer of the router").default("admin"),
            Property::new("ip-address", HOST, "Address of the router").required(),
            secret("shared-secret", "RADIUS shared secret"),
            list(
                "log",
                &Kind::Words(&["acct-fail", "acct-ok", "auth-fail", "auth-ok"]),
                "Events that are logged",
            )
            .default(""),
            no("use-coa", "Use Change of Authorization (CoA)"),
            number(
                "coa-port",
                1,
                65_535,
                "Port for Change of Authorization (CoA)",
            )
            .default("1700"),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED,
    columns: &["name", "customer", "ip-address"],
    key: Some("name"),
    ..older(
        "/tool/user-manager/router",
        MenuShape::List,
        "Version 6: routers that use the server",
    )
};

pub(crate) static PROFILE: Menu = Menu {
    properties: &[&[
        named("Name of the plan"),
        text("name-for-users", "Name shown to users"),
        Property::new("owner", CUSTOMER_NAME, "Customer of the plan").default("admin"),
        span("validity", "Validity of the plan").default("0s"),
        words("starts-at", &["logon", "now"], "Start of validity").default("logon"),
        Property::new("price", Kind::Thousandths, "Price of the plan").default("0"),
        Property::new(
            "override-shared-users",
            Kind::Or(
                &["off", "unlimited"],
                &Kind::Number {
                    min: 1,
                    max: 65_535,
                },
            ),
            "Maximum number of concurrent sessions",
        )
        .default("off"),
    ]],
    columns: &["name", "owner", "validity", "price"],
    space: Some("userman-plan"),
    key: Some("name"),
    ..older(
        "/tool/user-manager/profile",
        MenuShape::List,
        "Version 6: plans of users",
    )
};

pub(crate) static LIMITATION: Menu = Menu {
    properties: &[&[
        named("Name of the limitation"),
        Property::new("owner", CUSTOMER_NAME, "Customer").default("admin"),
        Property::new(
            "download-limit",
            BYTES,
            "Maximum number of bytes to the user",
        )
        .default("0"),
        Property::new(
            "upload-limit",
            BYTES,
            "Maximum number of bytes from the user",
        )
        .default("0"),
        Property::new("transfer-limit", BYTES, "Maximum number of bytes in total").default("0"),
        span("uptime-limit", "Maximum total time").default("0s"),
        Property::new(
            "rate-limit-rx",
            BYTES,
            "Rate limit from the user in bits per second",
        )
        .optional(),
        Property::new(
            "rate-limit-tx",
            BYTES,
            "Rate limit to the user in bits per second",
        )
        .optional(),
        Property::new(
            "rate-limit-burst-rx",
            BYTES,
            "Burst rate from the user in bits per second",
        )
        .optional(),
        Property::new(
            "rate-limit-burst-tx",
            BYTES,
            "Burst rate to the user in bits per second",
        )
        .optional(),
        Property::new(
            "rate-limit-burst-treshold-rx",
            BYTES,
            "Rate below which bursts are allowed",
        )
        .optional(),
        Property::new(
            "rate-limit-burst-treshold-tx",
            BYTES,
            "Rate below which bursts are allowed",
        )
        .optional(),
        span(
            "rate-limit-burst-time-rx",
            "Averaging time of the burst threshold",
        )
        .optional(),
        span(
            "rate-limit-burst-time-tx",
            "Averaging time of the burst threshold",
        )
        .optional(),
        Property::new(
            "rate-limit-min-rx",
            BYTES,
            "Guaranteed rate from the user in bits per second",
        )
        .optional(),
        Property::new(
            "rate-limit-min-tx",
            BYTES,
            "Guaranteed rate to the user in bits per second",
        )
        .optional(),
        number("rate-limit-priority", 1, 8, "Priority").optional(),
        text("group-name", "Name of the group of users"),
        text("ip-pool", "Pool of addresses"),
        text("ip-pool6", "Pool of IPv6 prefixes"),
        text("address-list", "Address list for users"),
    ]],
    columns: &["name", "owner", "download-limit", "upload-limit"],
    space: Some("userman-limitation"),
    key: Some("name"),
    ..older(
        "/tool/user-manager/profile/limitation",
        MenuShape::List,
        "Version 6: limits of plans",
    )
};

pub(crate) static PROFILE_LIMITATION: Menu = Menu {
    properties: &[&[
        Property::new("profile", PLAN, "Plan of the limitation").required(),
        Property::new(
            "limitation",
            Kind::Reference("userman-limitation"),
            "Limitation of the plan",
        )
        .required(),
        span("from-time", "Time of day at which the limits begin").default("0s"),
        span("till-time", "Time of day at which the limits end").default("23h59m59s"),
        Property::new("weekdays", DAYS, "Weekdays")
            .default("sunday,monday,tuesday,wednesday,thursday,friday,saturday"),
    ]],
    columns: &["profile", "limitation", "weekdays"],
    ..older(
        "/tool/user-manager/profile/profile-limitation",
        MenuShape::List,
        "Version 6: limits of plans",
    )
};

pub(crate) static USER: Menu = Menu {
    properties: &[
        &[
            Property::new("username", Kind::Name, "Name of the user").required(),
            secret("password", "Password"),
            Property::new("customer", CUSTOMER_NAME, "Customer of the user").default("admin"),
            Property::new(
                "shared-users",
                Kind::Or(
                    &["unlimited"],
                    &Kind::Number {
                        min: 1,
                        max: 65_535,
                    },
                ),
                "Maximum number of concurrent sessions",
            )
            .default("1"),
            optional_text("caller-id", "Caller identifier of the user"),
            no(
                "caller-id-bind-on-first-use",
                "Bind the user to the first caller identifier",
            ),
            Property::new(
                "ip-address",
                Kind::Address(Family::V4),
                "IP address assigned to the user",
            )
            .optional(),
            Property::new("ipv6-dns", Kind::Address(Family::V6), "DNS server").default("::"),
            text("first-name", "First name"),
            text("last-name", "Last name"),
            text("phone", "Telephone"),
            text("location", "Place"),
            text("email", "E-mail address"),
            optional_text("registration-date", "Registration date of the user"),
            words(
                "wireless-enc-algo",
                ENCRYPTION,
                "Wireless encryption algorithm",
            )
            .default("none"),
            secret("wireless-enc-key", "Wireless encryption key"),
            secret("wireless-psk", "Wireless pre-shared key"),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED,
    columns: &["username", "customer", "shared-users"],
    ..older(
        "/tool/user-manager/user",
        MenuShape::List,
        "Version 6: users of RADIUS",
    )
};

const ENCRYPTION: &[&str] = &["104bit-wep", "40bit-wep", "aes-ccm", "none", "tkip"];
